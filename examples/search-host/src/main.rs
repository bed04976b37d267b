//! A program that has an index made of its standard input, by a process that it talks with:
//! `search-host IMAGE WORD ... < TEXT`. Whatever is in the text, it can harm that process alone.
#![forbid(unsafe_code)]

use SearchContract::imp::Answer;
use sing_embed::{Image, System};
use std::time::Duration;

sing_embed::contract!("search.contract");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let image = arguments
        .next()
        .ok_or("usage: search-host IMAGE WORD ...")?;
    let system = System::start(&Image::open(image.as_ref())?)?;
    let search = system.program("search").memory(4 << 20);
    let search = search.deadline(Duration::from_millis(500));
    let mut index: SearchContract::Imp<SearchContract::Start> = search.connect("index")?;
    for line in std::io::stdin().lines() {
        (_, index) = index.send_add(&line?)?.recv_added()?;
    }
    for word in arguments {
        index = match index.call_find(&word)? {
            Answer::Found(lines, next) => {
                // The numbers are read where the process has put them.
                let lines: Vec<String> = lines
                    .elements()
                    .flatten()
                    .map(|line| line.to_string())
                    .collect();
                println!("{word}: {}", lines.join(", "));
                next
            }
            Answer::Unknown(next) => {
                println!("{word} is in no line");
                next
            }
        };
    }
    Ok(())
}
