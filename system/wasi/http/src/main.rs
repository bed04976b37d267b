//! The adapter of a component that answers requests of HTTP (`wasi:http/incoming-handler`): as an extension
//! of the web server, each process for one request.
//!
//! The request and its body are the component's `incoming-request`; what it gives to `response-outparam`
//! is the answer (`answer.rs`). Its standard output and standard error go to the log.
//!
//! Invariants:
//! - The component begins when its request has come. Until then there is only what every process of this program
//!   has.
//! - It has a network only if its settings say so and the web server has given it names.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

mod answer;

extern crate alloc;

use alloc::rc::Rc;
use answer::Answer;
use core::cell::RefCell;
use sing_sdk::fs::Directory;
use sing_sdk::io::{DebugLog, Reader};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::{args, process, program};
use wasi_core::component::{self, Component, web};
use wasi_core::running::{self, World, bytes};
use wasi_core::settings::Settings;
use wasi_core::sing::{Merged, Sing, Sink};
use wasi_core::{Wasi, cgi, chance};

sing_sdk::manifest! {
    name: "wasi-http",
    description: "a component that answers requests of HTTP",
    memory: 64 MiB,
    stack: 1000 KiB,
    endpoints: {
        requests: WebContract.Exp:Start,
        /// Where its random bytes come from.
        random: optional EntropyContract.Imp:Ready,
        /// Where it finds the network, if the web server lets it have one.
        names: optional NamespaceContract.Imp:Start,
        /// Directories for the program, named by its settings.
        directories: many DirectoryContract.Imp:Ready,
    },
}

wasi_core::component_exports!(crate::end);
wasi_core::http_exports!();

/// The most bytes of a text that the server sends with a request.
const MOST: usize = 64 << 10;

/// Ends the component, which has called `exit`: what it has answered is its answer, or none.
fn end(status: i32) -> ! {
    component::running::leave();
    answer::end(status)
}

/// Makes the component's world. There is nothing on its standard input.
fn world(
    settings: Settings,
    directories: Vec<(String, Directory)>,
    body: Reader,
) -> Result<(World, u32), String> {
    let too_many = |_| String::from("more directories than a program can have open");
    let mut host = Sing::new(Merged, startup::random().map(chance::given));
    let names = startup::names().and_then(|names| Names::new(names).ok());
    let names = names.map(|names| Rc::new(RefCell::new(names)));
    host.network = running::network(settings.network, names);
    let environment = bytes(settings.environment);
    let mut wasi = Wasi::new(host, bytes(settings.arguments), environment);
    let (nothing, end) = PipeContract::new_channel().map_err(|_| "no memory for a pipe")?;
    drop(nothing);
    wasi.add_source(Reader::new(end), false).map_err(too_many)?;
    for _ in ["stdout", "stderr"] {
        let log = Sink::Log(Box::new(DebugLog::new()));
        wasi.add_sink(log, false).map_err(too_many)?;
    }
    for (name, directory) in directories {
        wasi.add_directory(directory, name.into_bytes())
            .map_err(too_many)?;
    }
    let body = wasi.add_source(body, false).map_err(too_many)?;
    Ok((wasi, body))
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
    let request = cgi::Request {
        method: &method,
        target: &target,
        headers: &headers,
    };
    let word = |name| {
        let found = request.header(name);
        found.map(|value| String::from_utf8_lossy(value).into_owned())
    };
    let id = word("x-request-id").unwrap_or_default();
    let (wasi, body) = world(settings, directories, Reader::new(body))?;
    let request = web::Request {
        authority: word("host"),
        fields: request.fields(),
        body: Some(body),
        method: method.clone(),
        target: target.clone(),
    };
    answer::begin(id, method == "HEAD", asked);
    let mut component = Component::new(wasi);
    let begun = component.begin(request, Box::new(Answer));
    let (request, response) = begun.map_err(|trap| trap.0.into_owned())?;
    component::running::begin(component);
    program::handle(request, response);
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
