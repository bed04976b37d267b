//! Fetches a file by HTTP, and writes it to standard output or to a file.
//!
//! The status of the process tells the class of the answer: 0 for a file, 4 for one that cannot be
//! had (404), 5 for a server in trouble, 3 for one that only ever sends elsewhere; 1 if no answer
//! came, or the file could not be written; 2 for an address that is none.
//!
//! With `--retry` it asks again where no answer came, or a server was in trouble, as long as nothing
//! has been written: what is there twice would be no file.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use core::time::Duration;
use get::response::Response;
use get::url::{Bad, Url};
use sing_http::request::{Length, Request};
use sing_sdk::fs::{File, Options};
use sing_sdk::io::{self, Writer};
use sing_sdk::names::Names;
use sing_sdk::net;
use sing_sdk::prelude::*;
use sing_sdk::time::{sleep, uptime};

sing_sdk::manifest! {
    name: "get",
    description: "fetches a file by HTTP: get [--retry SECONDS] http://HOST/PATH [FILE]",
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        names: optional NamespaceContract.Imp:Start,
    },
}

sing_sdk::arguments! {
    /// Ask again for so long, where no answer comes or the server is in trouble.
    retry: option u32 "--retry SECONDS";
    /// The address of the file.
    url: one String "URL";
    /// Where to write it; standard output if it is left out.
    file: optional Path "FILE";
}

/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(20);
/// How often a server may send elsewhere.
const REDIRECTS: usize = 8;

/// Why there is no file: the status, and the reason.
type Failed = (i32, String);

fn bad(text: &str, why: Bad) -> Failed {
    let why = match why {
        Bad::Protocol(protocol) if protocol.eq_ignore_ascii_case("https") => {
            "https is not there yet; only http is".into()
        }
        Bad::Protocol(protocol) => format!("{protocol} is not there; only http is"),
        Bad::Other(why) => why.into(),
    };
    (2, format!("{text}: {why}"))
}

/// Asks for a file.
fn ask(names: &mut Names, url: &Url) -> Result<Response<io::Reader>, String> {
    let server = url.server();
    let path = format!("/tcp/{}/{}", url.host, url.port);
    let connected = net::connect(names, &path).and_then(net::Connection::into_pipes);
    let (mut output, input, _joined) =
        connected.map_err(|error| format!("{server}: {}", net::explain(&url.host, &error)))?;
    let field = |name: &str, value: &str| (name.into(), value.into());
    let request = Request {
        method: "GET".into(),
        target: url.path.clone(),
        host: server.clone(),
        fields: [field("user-agent", "get"), field("accept", "*/*")].into(),
    };
    // An address has no other bytes than those that a line may have.
    let head = request.head(Length::Nothing);
    let written = output
        .write(&head.unwrap_or_default())
        .and_then(|()| output.settle());
    written.map_err(|error| format!("{server}: {error}"))?;
    let response = Response::read(input).map_err(|why| format!("{server}: {why}"));
    // Some servers take its end for the end of the whole connection: not before the answer.
    drop(output);
    response
}

/// Where the bytes go.
enum To {
    Output(Writer),
    File(File, u64),
}

impl To {
    fn open(names: &mut Names, file: Option<&str>) -> Result<To, Error> {
        Ok(match file {
            Some(path) => To::File(File::create(names, path, Options::create().truncate())?, 0),
            None => To::Output(io::take_stdout().ok_or(Error::Closed)?),
        })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match self {
            To::Output(output) => output.write(bytes),
            To::File(file, at) => {
                file.write_at(*at, bytes)?;
                *at += bytes.len() as u64;
                Ok(())
            }
        }
    }

    fn end(self) -> Result<(), Error> {
        match self {
            To::Output(mut output) => output.settle(),
            To::File(..) => Ok(()),
        }
    }
}

/// Fetches a file. `begun` says that some of it has been written, or could not be.
fn fetch(
    names: &mut Names,
    text: &str,
    file: Option<&str>,
    begun: &mut bool,
) -> Result<(), Failed> {
    let mut url = Url::parse(text).map_err(|why| bad(text, why))?;
    for _ in 0..=REDIRECTS {
        let mut response = ask(names, &url).map_err(|why| (1, why))?;
        match (response.status, &response.location) {
            (200..=299, _) => {
                let shown = file.unwrap_or("standard output");
                let own = |error| (1, format!("{shown}: {error}"));
                let mut to = To::open(names, file).map_err(own)?;
                loop {
                    let next = response
                        .next()
                        .map_err(|why| (1, format!("{text}: {why}")))?;
                    match next {
                        Some(bytes) => {
                            *begun = true;
                            to.write(&bytes).map_err(own)?;
                        }
                        None => return to.end().map_err(own),
                    }
                }
            }
            (301 | 302 | 303 | 307 | 308, Some(location)) => {
                url = url.join(location).map_err(|why| {
                    let (_, why) = bad(location, why);
                    (3, format!("{text}: sent to {why}"))
                })?;
            }
            (status, _) => {
                let class = i32::from(status / 100).clamp(1, 5);
                let class = if class == 2 { 1 } else { class };
                return Err((class, format!("{text}: {status} {}", response.reason)));
            }
        }
    }
    Err((
        3,
        format!("{text}: sent elsewhere more than {REDIRECTS} times"),
    ))
}

#[sing_sdk::main]
fn main(Arguments { retry, url, file }: Arguments) -> Result<i32, Error> {
    let mut names = Names::given(startup::names())?;
    let end = uptime() + Duration::from_secs(retry.unwrap_or(0).into());
    let fetched = loop {
        let mut begun = false;
        match fetch(&mut names, &url, file.as_deref(), &mut begun) {
            // A file is begun anew.
            Err((1 | 5, _)) if (!begun || file.is_some()) && uptime() < end => sleep(PAUSE),
            fetched => break fetched,
        }
    };
    match fetched {
        Ok(()) => Ok(0),
        Err((status, why)) => {
            // It comes from a server, too.
            let plain = |c: char| if c.is_control() { '?' } else { c };
            eprintln!("get: {}", why.chars().map(plain).collect::<String>());
            Ok(status)
        }
    }
}
