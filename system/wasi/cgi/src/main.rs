//! The adapter of an ordinary program that answers requests of HTTP by the Common Gateway Interface
//! (RFC 3875): as an extension of the web server, each process for one request.
//!
//! The request is the program's environment, its body standard input. What the program writes on standard
//! output is the answer (`answer.rs`), what it writes on standard error goes to the log.
//!
//! Invariant: the program begins when its request has come. Until then there is only what every process
//! of this program has.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

mod answer;

use answer::{Answer, Stdout};
use sing_sdk::fs::Directory;
use sing_sdk::io::{DebugLog, Reader};
use sing_sdk::prelude::*;
use sing_sdk::{args, process};
use wasi_core::cgi::Request;
use wasi_core::running::{self, World, bytes};
use wasi_core::settings::Settings;
use wasi_core::sing::{Merged, Sing, Sink};
use wasi_core::{Wasi, chance};

sing_sdk::manifest! {
    name: "wasi-cgi",
    description: "an ordinary program that answers requests of HTTP",
    memory: 64 MiB,
    stack: 1000 KiB,
    endpoints: {
        requests: WebContract.Exp:Start,
        /// Where its random bytes come from.
        random: optional EntropyContract.Imp:Ready,
        /// Directories for the program, named by its settings.
        directories: many DirectoryContract.Imp:Ready,
    },
}

wasi_core::exports!(crate::end);

/// The most bytes of a text that the server sends with a request.
const MOST: usize = 64 << 10;

/// Ends the program: what it has written is its answer, or none.
fn end(status: i32) -> ! {
    running::leave();
    answer::end(status)
}

/// Makes the program's world.
fn world(
    settings: Settings,
    directories: Vec<(String, Directory)>,
    environment: Vec<Vec<u8>>,
    body: Reader,
) -> Result<World, String> {
    let too_many = |_| String::from("more directories than a program can have open");
    let host = Sing::new(Merged, startup::random().map(chance::given));
    let mut wasi = Wasi::new(host, bytes(settings.arguments), environment);
    wasi.add_source(body, false).map_err(too_many)?;
    wasi.add_sink(Sink::Other(Box::new(Stdout)), false)
        .map_err(too_many)?;
    let log = Sink::Log(Box::new(DebugLog::new()));
    wasi.add_sink(log, false).map_err(too_many)?;
    for (name, directory) in directories {
        wasi.add_directory(directory, name.into_bytes())
            .map_err(too_many)?;
    }
    Ok(wasi)
}

/// Waits for the request, and answers it.
fn serve(requests: WebContract::Exp<WebContract::Start>) -> Result<(), String> {
    let mut settings = Settings::read(args::all())?;
    let preopens = settings.preopens.take().unwrap_or_default();
    let directories =
        running::directories(preopens, |_| Err(Error::NotFound), startup::directories())?;
    let Ok((method, target, headers, body, asked)) = requests.recv_request() else {
        // The server has no request for this process.
        return Ok(());
    };
    let text = |text: &Text| text.get_within(MOST).unwrap_or_default();
    let (method, target) = (text(&method), text(&target));
    let headers = headers.block().prefix(MOST);
    let request = Request {
        method: &method,
        target: &target,
        headers: &headers,
    };
    let id = String::from_utf8_lossy(request.header("x-request-id").unwrap_or_default());
    answer::begin(Answer::new(id.into_owned(), method == "HEAD", asked));
    let given = bytes(core::mem::take(&mut settings.environment));
    let environment = request.environment(given);
    let wasi = world(settings, directories, environment, Reader::new(body))?;
    running::start(wasi);
    end(0)
}

#[sing_sdk::main]
fn main() -> i32 {
    let Some(requests) = startup::requests() else {
        return process::status::USAGE;
    };
    match serve(requests) {
        Ok(()) => 0,
        Err(why) => {
            sing_sdk::log!("{why}");
            1
        }
    }
}
