//! Answers requests by the Common Gateway Interface, in all the ways that the tests ask for.
use std::io::{Read, Write};

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

fn main() {
    let path = variable("PATH_INFO");
    match path.as_str() {
        "/env" => {
            eprintln!("said on standard error");
            println!("Content-Type: text/plain\n");
            let mut all: Vec<_> = std::env::vars().collect();
            all.sort();
            for (name, value) in all {
                println!("{name}={value}");
            }
            println!("arguments={:?}", std::env::args().collect::<Vec<_>>());
        }
        "/echo" => {
            let mut body = Vec::new();
            std::io::stdin().read_to_end(&mut body).expect("the body");
            print!(
                "Content-Type: application/octet-stream\nContent-Length: {}\n\n",
                body.len()
            );
            std::io::stdout().write_all(&body).expect("the answer");
        }
        "/count" => {
            let (mut piece, mut count) = (vec![0; 65536], 0);
            loop {
                match std::io::stdin().read(&mut piece).expect("the body") {
                    0 => break,
                    some => count += some,
                }
            }
            println!(
                "Content-Type: text/plain\n\n{count} of {}",
                variable("CONTENT_LENGTH")
            );
        }
        "/missing" => {
            println!("Status: 404 Not Found\r\nContent-Type: text/plain\r\n\r\nnothing here")
        }
        "/redirect" => println!("Location: /env\n"),
        "/crash" => panic!("on purpose"),
        "/exit" => {
            println!("Content-Type: text/plain\n\na part");
            std::process::exit(3)
        }
        "/broken" => println!("<p>Hello, no header.\n\n"),
        "/silent" => {}
        "/slow" => {
            std::thread::sleep(std::time::Duration::from_millis(700));
            println!("Content-Type: text/plain\n\nat last");
        }
        "/spin" => loop {
            std::hint::spin_loop();
        },
        "/flood" => {
            println!("Content-Type: text/plain\n");
            loop {
                println!("{}", "x".repeat(60_000));
            }
        }
        "/headers" => loop {
            print!("X: {}\n", "x".repeat(100));
        },
        "/file" => {
            let name = format!("/data/{}", variable("QUERY_STRING"));
            match std::fs::read_to_string(&name) {
                Ok(text) => print!("Content-Type: text/plain\n\n{text}"),
                Err(error) => println!("Status: 404\nContent-Type: text/plain\n\n{name}: {error}"),
            }
        }
        _ => println!(
            "Content-Type: text/plain\n\nHello, {}.",
            variable("QUERY_STRING")
        ),
    }
}
