//! An ordinary program that a host program calls, for the tests of embedding: what it does is the first word
//! of its standard input.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::{env, io};

#[link(wasm_import_module = "wasi_snapshot_preview1")]
unsafe extern "C" {
    fn random_get(at: *mut u8, len: usize) -> u16;
}

/// So many random bytes.
fn random(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    // SAFETY: there are so many bytes to be written.
    let errno = unsafe { random_get(bytes.as_mut_ptr(), len) };
    assert_eq!(errno, 0, "random_get");
    bytes
}

fn main() {
    let call = io::read_to_string(io::stdin()).expect("standard input");
    let (word, number) = call.split_once(' ').unwrap_or((&call, "0"));
    let number: usize = number.parse().expect("a number");
    match word {
        // A hash of nothing by a map's keys, which are random.
        "map" => {
            let map: HashMap<u32, u32> = (0..100).map(|n| (n, n * n)).collect();
            let hash = RandomState::new().build_hasher().finish();
            println!("{} {hash:016x}", map.values().sum::<u32>());
        }
        "random" => {
            let bytes = random(number);
            let mut different: Vec<&[u8]> = bytes.chunks(8).collect();
            different.sort_unstable();
            different.dedup();
            let first: String = bytes[..8].iter().map(|byte| format!("{byte:02x}")).collect();
            println!("{} {first}", different.len());
        }
        "forever" => loop {
            random(number);
        },
        "words" => {
            for word in env::args() {
                println!("{word}");
            }
            for (name, value) in env::vars() {
                println!("{name}={value}");
            }
            println!("{:?}", env::var("HOME").ok());
        }
        _ => println!("it knows no such word"),
    }
}
