//! Says hello, and is there for as many seconds as its argument says: with the standard library.

use std::time::Duration;

fn main() {
    println!("Hello.");
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok());
    std::thread::sleep(Duration::from_secs(seconds.unwrap_or(0)));
}
