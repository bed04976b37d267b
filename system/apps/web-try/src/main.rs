//! An extension of the web server for tests: goes wrong as the path says, `/try/crash`.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use core::hint::black_box;
use core::time::Duration;
use sing_sdk::prelude::*;
use sing_sdk::web::{self, Request, Response};

sing_sdk::manifest! {
    name: "web-try",
    description: "an extension of the web server that goes wrong as it is asked to",
    endpoints: { requests: WebContract.Exp:Start, stderr: optional PipeContract.Imp:Start },
    memory: 4 MiB,
}

/// The most of a body that is written for one request.
const MOST: u32 = 16 << 20;

fn crash() {
    let _ = black_box(sing_sdk::wrong::divide(black_box(1), black_box(0)));
}

fn use_too_much_memory() {
    let mut hoard = Vec::new();
    loop {
        hoard.push(black_box(vec![1_u8; 64 << 10]));
    }
}

/// So many bytes, as the query says.
fn size(request: &Request) -> u32 {
    let bytes = request
        .parameter("bytes")
        .and_then(|text| text.parse().ok());
    bytes.unwrap_or(0).min(MOST)
}

fn answer(mut request: Request) -> Response {
    let last = request
        .path()
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .to_owned();
    match last.as_str() {
        "crash" => crash(),
        "spin" => loop {
            core::hint::spin_loop();
        },
        "memory" => use_too_much_memory(),
        "exit" => sing_sdk::process::exit(3),
        "sleep" => sing_sdk::thread::sleep(Duration::from_millis(300)),
        "lie" => return Response::text("more than said").header("content-type\u{1}", "x"),
        "echo" => {
            let mut body = request.body;
            return Response::stream("application/octet-stream", move |out| {
                while let Some(block) = body.receive() {
                    out.send(block)?;
                }
                Ok(())
            });
        }
        "headers" => {
            let line = |(name, value): &(String, String)| format!("{name}: {value}\n");
            return Response::text(&request.headers.iter().map(line).collect::<String>());
        }
        "count" => {
            let bytes = request.body.read_to_end();
            return Response::text(&format!("{} {}\n", request.method, bytes.len()));
        }
        "page" => {
            let mut page: Vec<u8> = (b'a'..=b'z').collect();
            page = page.repeat(size(&request) as usize / page.len() + 1);
            page.truncate(size(&request) as usize);
            return Response::bytes("text/plain", page);
        }
        "stream" => {
            let mut left = size(&request);
            return Response::stream("text/plain", move |out| {
                while left > 0 {
                    let piece = left.min(10_000);
                    out.write(&vec![b'x'; piece as usize])?;
                    left -= piece;
                }
                Ok(())
            });
        }
        "half" => {
            return Response::stream("text/plain", |out| {
                out.write(b"the first half")?;
                out.settle()?;
                crash();
                Ok(())
            });
        }
        _ => return Response::text("nothing of that name\n").status(404),
    }
    Response::text("nothing has gone wrong\n")
}

#[sing_sdk::main]
fn main() -> Result<(), Error> {
    web::serve(startup::requests().ok_or(Error::NotFound)?, answer)
}
