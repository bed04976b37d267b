//! Maps, sorting, and an interpreter with calls by a table.

use crate::{Random, Ready, mix};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::hint::black_box;

pub fn hash() -> Ready {
    type Map = hashbrown::HashMap<u64, u32, rustc_hash::FxBuildHasher>;
    Box::new(|| {
        let (mut random, mut map) = (Random(987_654_321), Map::default());
        for i in 0..40_000_u32 {
            *map.entry(random.below(30_000)).or_insert(i) ^= i;
        }
        let mut random = Random(987_654_321);
        let found = (0..40_000).filter_map(|_| map.get(&black_box(random.below(60_000))));
        let sum = found.fold(0, |sum, value| mix(sum, u64::from(*value)));
        mix(sum, map.len() as u64)
    })
}

pub fn btree() -> Ready {
    Box::new(|| {
        let (mut random, mut map) = (Random(987_654_321), BTreeMap::new());
        for i in 0..10_000_u32 {
            map.insert((random.next() >> 20) as u32, i);
        }
        let (mut random, mut sum) = (Random(987_654_321), 0);
        for _ in 0..10_000 {
            let key = black_box((random.next() >> 20) as u32);
            sum = mix(sum, map.get(&key).copied().unwrap_or(0).into());
            let next = map.range(key ^ 0x55..).next();
            sum ^= next.map_or(0, |(key, _)| u64::from(*key));
        }
        mix(sum, map.len() as u64)
    })
}

pub fn sort() -> Ready {
    let mut random = Random(12_345_678_901);
    let input: Vec<u64> = (0..60_000).map(|_| random.next()).collect();
    Box::new(move || {
        let mut numbers = black_box(&input).clone();
        numbers.sort_unstable();
        numbers.iter().step_by(1000).fold(0, |sum, n| mix(sum, *n))
    })
}

pub fn sort_strings() -> Ready {
    let mut random = Random(12_345_678_901);
    let input = (0..8_000).map(|_| format!("key-{:x}", random.below(1 << 40)));
    let input: Vec<String> = input.collect();
    Box::new(move || {
        let mut names: Vec<&str> = black_box(&input).iter().map(String::as_str).collect();
        names.sort();
        let lengths = names.iter().map(|name| name.len() as u64);
        lengths.fold(0, mix)
    })
}

type Step = fn(u64) -> u64;

const STEPS: [Step; 4] = [
    |x| x.wrapping_mul(3),
    |x| x ^ (x >> 7),
    |x| x.wrapping_add(11),
    |x| x.rotate_left(5),
];

pub fn interpreter() -> Ready {
    let mut random = Random(424_242);
    let code: Vec<u8> = (0..4096).map(|_| random.below(12) as u8).collect();
    let steps = black_box(STEPS);
    Box::new(move || {
        let (mut registers, mut sum) = ([1_u64; 16], 1_u64);
        for _ in 0..120 {
            for (at, &op) in black_box(&code).iter().enumerate() {
                let register = &mut registers[at & 15];
                match op {
                    0 => sum = sum.wrapping_add(*register),
                    1 => *register = sum,
                    2 => sum ^= *register,
                    3 => sum = sum.rotate_left(3),
                    4 => sum = steps[at & 3](sum),
                    5 => *register = register.wrapping_mul(sum | 1),
                    6 => sum = sum.wrapping_sub(at as u64),
                    7 if sum & 1 == 0 => sum >>= 1,
                    7 => sum = sum.wrapping_mul(3).wrapping_add(1),
                    8 => sum = !sum,
                    9 => *register ^= sum >> 9,
                    10 => sum = steps[(sum & 3) as usize](sum),
                    _ => sum = sum.wrapping_add(1),
                }
            }
        }
        sum
    })
}
