//! Work for `cargo xtask bench programs`, by Rust's standard library, on this system, under wasmtime
//! and natively: `work files FOLDER` reads all files below it, `work compute N` counts primes below N.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    // The measured program says at once that it has begun.
    println!("begun");
    io::stdout().flush()?;
    match (words.first().map(String::as_str), words.get(1)) {
        (Some("files"), Some(folder)) => {
            let mut found = (0, 0, 0);
            read(Path::new(folder), &mut found)?;
            println!("{} files, {} bytes, {} functions", found.0, found.1, found.2);
        }
        (Some("compute"), Some(most)) => {
            let most = most.parse().map_err(io::Error::other)?;
            println!("{} primes", primes(most));
        }
        _ => println!("work files FOLDER | work compute N"),
    }
    Ok(())
}

fn read(folder: &Path, found: &mut (u32, usize, usize)) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            read(&entry.path(), found)?;
        } else if kind.is_file() {
            let bytes = fs::read(entry.path())?;
            found.0 += 1;
            found.1 += bytes.len();
            found.2 += bytes.windows(3).filter(|w| w == b"fn ").count();
        }
    }
    Ok(())
}

fn primes(most: usize) -> usize {
    let mut composite = vec![false; most];
    let mut count = 0;
    for n in 2..most {
        if composite[n] {
            continue;
        }
        count += 1;
        for multiple in (n * n..most).step_by(n) {
            composite[multiple] = true;
        }
    }
    count
}
