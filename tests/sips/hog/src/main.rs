//! An unprivileged program that takes more than its share of the services:
//! `hog WHAT [MILLISECONDS]` takes all that it can get, prints the amount and the reason why it got
//! no more, and keeps it for that long.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use core::time::Duration;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::thread;
use sing_sdk::time::Timeout;

sing_sdk::manifest! {
    name: "hog",
    description: "takes more than its part of the services",
    endpoints: {
        stdin: optional PipeContract.Exp:Start,
        stdout: optional PipeContract.Imp:Start,
        names: optional NamespaceContract.Imp:Start,
    },
    memory: 64 MiB,
}

sing_sdk::arguments! {
    /// clients, register, watch, silent, files, overlay, poison, circle, unread, deep; block,
    /// blocks, flood, drip; hold.
    what: one String "WHAT";
    /// How long it keeps what it has taken. Without end where left out.
    time: optional u64 "MILLISECONDS";
}

/// More than a service could ever grant.
const ENOUGH: usize = 1 << 20;

/// Takes until it gets no more.
fn take_all<T>(
    what: &str,
    mut take: impl FnMut(usize) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let mut taken = Vec::new();
    while taken.len() < ENOUGH {
        match take(taken.len()) {
            Ok(one) => taken.push(one),
            Err(reason) => {
                println!("hog: {} {what}, then {reason}", taken.len());
                return Ok(taken);
            }
        }
    }
    println!("hog: {what} without end");
    Err(Error::BadState)
}

/// Clients, each with as many registrations of long paths as it can get; the last ones get none.
fn register(names: &mut Names) -> Result<(Vec<Names>, usize), Error> {
    let long = "x".repeat(4000);
    let (mut clients, mut count) = (Vec::new(), 0);
    for i in 0..100 {
        let Ok(channel) = names.connect() else { break };
        let mut client = Names::new(channel)?;
        for j in 0..64 {
            match client.register(&format!("/{i}-{j}-{long}")) {
                // Its other side need not be served: the name server keeps it until that is closed.
                Ok(lookup) => {
                    core::mem::forget(lookup);
                    count += 1;
                }
                Err(_) => break,
            }
        }
        clients.push(client);
    }
    println!("hog: {count} registrations with {} clients", clients.len());
    Ok((clients, count))
}

/// Watchers that never answer, and many changes at long paths.
fn watch(names: &mut Names) -> Result<impl Sized + use<>, Error> {
    let watchers = take_all("watchers", |_| names.notify("/w"))?;
    let mut other = watchers;
    // One fewer leaves room for a registration at a time.
    other.truncate(other.len().saturating_sub(40));
    let long = "x".repeat(4000);
    for i in 0..100 {
        let path = format!("/w/{i}{long}");
        // There is room when the name server has learnt of the closed ones.
        while names.register(&path).is_err() {
            thread::yield_now();
        }
        let _ = names.deregister(&path);
    }
    println!("hog: 100 changes");
    Ok(other)
}

/// A provider that does not answer, with requests from the most clients possible.
fn silent(names: &mut Names) -> Result<impl Sized + use<>, Error> {
    let lookup = names.register("/silent")?;
    let waiting = take_all("waiting clients", |_| {
        let channel = names.connect()?.recv_success()?;
        find(channel, "/silent/*")
    })?;
    Ok((lookup, waiting))
}

/// A channel to the name server that is ready for a request.
fn client(names: &mut Names) -> Result<Asking, Error> {
    Ok(names.connect()?.recv_success()?)
}

type Asking = NamespaceContract::Imp<NamespaceContract::Ready>;

/// Providers that get a request and are deregistered before the answer: the client gets an answer,
/// and a closed client leaves nothing behind.
fn poison(names: &mut Names) -> Result<(), Error> {
    let mut asked = Vec::new();
    // As many as its share allows with a request of each: one that is refused never comes.
    for i in 0..40 {
        let path = format!("/poison/{i}");
        let (Ok(asking), Ok(lookup)) = (client(names), names.register(&path)) else {
            break;
        };
        let asking = match i % 3 {
            0 => Asked::Binding(bind(asking, &path)?),
            _ => Asked::Finding(find(asking, &format!("{path}/*"))?),
        };
        // The request is with the provider.
        sing_sdk::sync::wait(&lookup, Timeout::FOREVER)?;
        asked.push((path, lookup, asking));
    }
    let mut answers = 0;
    for (i, (path, lookup, asking)) in asked.into_iter().enumerate() {
        // Some of the clients have closed by then.
        let asking = (i % 2 == 0).then_some(asking);
        names.deregister(&path)?;
        answers += asking.map_or(1, |asking| usize::from(asking.answered()));
        drop(lookup);
    }
    println!("hog: {answers} answers of providers that had gone");
    Ok(())
}

/// The answer that a client waits for.
enum Asked {
    Binding(NamespaceContract::Imp<NamespaceContract::Binding>),
    Finding(NamespaceContract::Imp<NamespaceContract::Finding>),
}

impl Asked {
    /// Waits for the answer; returns whether it came.
    fn answered(self) -> bool {
        use NamespaceContract::imp::{Binding, Finding};
        match self {
            Asked::Binding(asking) => !matches!(asking.recv(), Binding::Closed),
            Asked::Finding(asking) => !matches!(asking.recv(), Finding::Closed),
        }
    }
}

/// Asks what matches a specification.
fn find(
    asking: Asking,
    spec: &str,
) -> Result<NamespaceContract::Imp<NamespaceContract::Finding>, Error> {
    Ok(asking.send_find(Text::new(spec)?, Text::new("")?, Text::new("")?))
}

/// Asks to bind a path, with an endpoint whose contract does not matter.
fn bind(
    asking: Asking,
    path: &str,
) -> Result<NamespaceContract::Imp<NamespaceContract::Binding>, Error> {
    let (_, exp) = FileContract::new_channel()?;
    Ok(asking.send_bind(Text::new(path)?, 0, exp.into()))
}

/// Clients whose providers have the name server itself, or the request, at their other end, and
/// which ask these and close.
fn circle(names: &mut Names) -> Result<(), Error> {
    use NamespaceContract::imp::Registering;
    let mut count = 0;
    while let Ok(asking) = client(names) {
        let path = format!("/circle-{count}");
        let (imp, exp) = NamespaceContract::new_channel()?;
        // Every other one keeps its exporting end, to hand it over with a request to itself.
        let kept = match count % 2 {
            0 => match names.bind("/", exp) {
                Ok(()) => None,
                Err(_) => break,
            },
            _ => Some(exp),
        };
        let (at, contract) = (Text::new(&path)?, Text::new("NamespaceContract")?);
        let registered = asking.call_register(at, contract, 0, imp);
        let Registering::AckRegister(asking) = registered else {
            break;
        };
        match kept {
            None => drop(find(asking, &format!("{path}{path}/x/*"))?),
            Some(exp) => drop(asking.send_bind(Text::new(&path)?, 0, exp.into())),
        }
        count += 1;
        if count == 100 {
            break;
        }
    }
    println!("hog: {count} circles");
    Ok(())
}

/// Clients that ask for lists, and do not read the answers: long ones first, then such as fit into
/// the rest.
fn unread(names: &mut Names) -> Result<impl Sized + use<>, Error> {
    let long = format!("/unread/m/{}", "x".repeat(4000));
    let lookups = [names.register(&long)?, names.register("/unread/s/x")?];
    let asked = take_all("clients with a list", |i| {
        let path = match i {
            0..150 => "/*",
            150..220 => "/unread/m/*",
            _ => "/unread/s/*",
        };
        find(client(names)?, path)
    })?;
    // All of them have their answers, since each is served in turn.
    for _ in 0..2 {
        let _ = names.find("/nowhere");
    }
    Ok((lookups, asked))
}

/// Long paths of very many parts, and clients that ask for such ones again and again.
fn deep(names: &mut Names, time: u64) -> Result<(), Error> {
    use NamespaceContract::imp::Finding;
    let long = "/a".repeat(2000);
    for i in 0..8 {
        core::mem::forget(names.register(&format!("{long}/{i}"))?);
    }
    let asked = format!("{long}/nowhere/at/all/*");
    let mut clients = take_all("clients that ask", |_| client(names))?;
    let end = sing_sdk::time::uptime() + Duration::from_millis(time);
    while sing_sdk::time::uptime() < end {
        let asking: Result<Vec<_>, Error> = clients
            .into_iter()
            .map(|client| find(client, &asked))
            .collect();
        let answer =
            |asking: NamespaceContract::Imp<NamespaceContract::Finding>| match asking.recv() {
                Finding::AckFind(.., next) | Finding::NakFind(_, next) => Some(next),
                Finding::Closed => None,
            };
        clients = asking?.into_iter().filter_map(answer).collect();
    }
    Ok(())
}

#[sing_sdk::main]
fn main(Arguments { what, time }: Arguments) -> Result<i32, Error> {
    let hold = || match time {
        Some(time) => thread::sleep(Duration::from_millis(time)),
        None => loop {
            thread::sleep(Duration::from_secs(3600));
        },
    };
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    match what.as_str() {
        "clients" => {
            let clients = take_all("clients", |_| names.connect())?;
            hold();
            drop(clients);
        }
        "register" => {
            let registered = register(&mut names)?;
            hold();
            drop(registered);
        }
        "watch" => {
            let watchers = watch(&mut names)?;
            hold();
            drop(watchers);
        }
        "silent" => {
            let waiting = silent(&mut names)?;
            hold();
            drop(waiting);
        }
        "files" => {
            let files = take_all("files", |_| names.open("/boot/notes.txt"))?;
            hold();
            drop(files);
        }
        // Tries to register in the place of the system's own paths.
        "overlay" => {
            for path in ["/boot", "/boot/notes.txt", "/boot/bin", "/boot/new/file"] {
                match names.register(path) {
                    Ok(_) => println!("hog: stands at {path}"),
                    Err(reason) => println!("hog: {path}: {reason}"),
                }
            }
        }
        "poison" => poison(&mut names)?,
        "circle" => circle(&mut names)?,
        "unread" => {
            let asked = unread(&mut names)?;
            hold();
            drop(asked);
        }
        "deep" => deep(&mut names, time.unwrap_or(1000))?,
        // One block to print, as large as its memory allows.
        "block" => {
            let (pipe, lines) = (startup_pipe()?, "x".repeat(63) + "\n");
            let mut block = Vector::<u8>::new(20 << 20)?.into_block();
            for i in 0..1024 {
                block.write(i * 64, lines.as_bytes());
            }
            let answer = pipe.send_write(Vector::from_block(block)).recv_ack();
            hold();
            drop(answer);
        }
        // The same in pieces that are accepted, without end.
        "blocks" => {
            let mut out = sing_sdk::io::take_stdout().ok_or(Error::NotFound)?;
            let lines = ("flood".repeat(12) + "floo\n").repeat(1 << 14);
            loop {
                out.write(lines.as_bytes())?;
            }
        }
        // Prints for ever.
        "flood" => loop {
            println!("{}", "flood ".repeat(500));
        },
        // The same in drips of one byte.
        "drip" => {
            let mut pipe = startup_pipe()?;
            loop {
                pipe = pipe.send_write(Vector::from_bytes(b"x")?).recv_ack()?;
            }
        }
        // Holds its input and never reads it.
        "hold" => {
            let input = sing_sdk::io::stdin();
            hold();
            drop(input);
        }
        _ => return Ok(2),
    }
    Ok(0)
}

/// A pipe to the console of its own: the SDK would cut blocks to standard output into pieces.
fn startup_pipe() -> Result<PipeContract::Imp<PipeContract::Start>, Error> {
    let stdout = sing_sdk::io::take_stdout().ok_or(Error::NotFound)?;
    stdout.into_pipe()
}
