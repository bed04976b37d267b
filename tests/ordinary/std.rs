//! What Rust's standard library does, built for WASI preview 1 and 0.2: the same comes of both.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::time::{Duration, Instant, SystemTime};
use std::{env, fs, io, process, thread};

fn main() -> io::Result<()> {
    for word in env::args().skip(1) {
        println!("word {word:?}");
    }
    for (name, value) in env::vars() {
        println!("{name}={value}");
    }
    let begun = Instant::now();
    thread::sleep(Duration::from_millis(20));
    println!("slept {}", begun.elapsed() >= Duration::from_millis(20));
    let day = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    println!("after 2020 {}", day.is_ok_and(|day| day.as_secs() > 1_577_836_800));
    let map: HashMap<u32, u32> = (0..100).map(|n| (n, n * n)).collect();
    println!("{}", map.values().sum::<u32>());

    fs::create_dir("d")?;
    fs::write("d/a", "some text")?;
    fs::OpenOptions::new().append(true).open("d/a")?.write_all(b", and more")?;
    println!("{}", fs::read_to_string("d/a")?);
    println!("{}", fs::metadata("d/a")?.len());
    fs::rename("d/a", "d/b")?;
    for entry in fs::read_dir("d")? {
        let entry = entry?;
        println!("{:?} {}", entry.file_name(), entry.file_type()?.is_file());
    }
    for name in ["d/a", "d/b/c", "d"] {
        println!("{name}: {:?}", fs::read(name).map_err(|e| e.kind()));
    }
    println!("{:?}", fs::remove_dir("d").map_err(|e| e.kind()));
    fs::remove_file("d/b")?;
    fs::remove_dir("d")?;

    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    println!("{} bytes, {}", text.len(), text.lines().count());
    eprintln!("an error");
    io::stdout().flush()?;
    // WASI 0.2 knows no other statuses.
    process::exit(i32::from(!text.is_empty()))
}
