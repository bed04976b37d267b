//! What an ordinary program does, with Rust's standard library: see `xtask/src/programs.rs`.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let folder = Path::new(&words[0]);
    println!("words: {}", words[1..].join(" "));
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input)?;
    println!("input: {} lines", input.lines().count());
    let text = fs::read_to_string(folder.join("in.txt"))?;
    println!("file: {} bytes", text.len());
    let made = folder.join("rust.out");
    fs::write(&made, text.to_uppercase())?;
    print!("made: {}", fs::read_to_string(&made)?);
    let listed = |name: &str| -> std::io::Result<bool> {
        let mut names = fs::read_dir(folder)?.filter_map(Result::ok);
        Ok(names.any(|entry| entry.file_name() == name))
    };
    println!("listed: {}", listed("rust.out")?);
    fs::remove_file(&made)?;
    println!("removed: {}", !listed("rust.out")?);
    let missing = fs::read(folder.join("missing")).unwrap_err();
    println!("missing: {}", missing.kind() == std::io::ErrorKind::NotFound);
    let start = Instant::now();
    std::thread::sleep(Duration::from_millis(5));
    let year = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let late = year.is_ok_and(|since| since > Duration::from_secs(1_600_000_000));
    println!("clocks: {}", start.elapsed() >= Duration::from_millis(5) && late);
    // The order of a map is random.
    use std::hash::{BuildHasher as _, RandomState};
    println!("random: {}", RandomState::new().hash_one(1) != 0);
    eprintln!("to errors");
    std::process::exit(7)
}
