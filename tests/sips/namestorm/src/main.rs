//! Broken and hostile clients and providers of the name server: whatever they do, the others are
//! served.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::thread;

sing_sdk::manifest! {
    name: "namestorm",
    description: "attacks the name server",
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        names: NamespaceContract.Imp:Start,
    },
    memory: 32 MiB,
}

/// The refusal of an endpoint that is not of the service's contract.
const OTHER: Error = Error::Refused(Refusal::OtherContract);

type Lookup = NamespaceContract::Exp<NamespaceContract::Ready>;

struct Checks {
    done: u32,
    failed: u32,
}

impl Checks {
    fn check(&mut self, what: &str, holds: bool) {
        self.done += 1;
        if !holds {
            self.failed += 1;
            println!("namestorm: failed: {what}");
        }
    }
}

/// Invalid and unknown paths.
fn odd_paths() -> Vec<String> {
    vec![
        String::new(),
        "boot".into(),
        "/..".into(),
        "/boot/../boot/notes.txt".into(),
        "/boot/notes.txt\n".into(),
        "/boot/none".into(),
        "/boot/notes.txt/deeper".into(),
        "/a".repeat(10_000),
        "x".repeat(1 << 20),
    ]
}

fn odd_requests(c: &mut Checks, names: &mut Names) -> Result<(), Error> {
    for path in odd_paths() {
        let short: String = path.chars().take(30).collect();
        let reason = if path.len() > 4096 {
            Error::Refused(Refusal::TooLong)
        } else if !path.starts_with('/') || path.contains("..") || path.contains('\n') {
            Error::Refused(Refusal::BadPath)
        } else {
            Error::NotFound
        };
        let refused = names.open(&path).err() == Some(reason);
        c.check(&format!("open of {short:?} is refused"), refused);
        let refused = match names.list(&path).err() {
            // A file is no directory.
            Some(Error::Refused(Refusal::NotADirectory)) => path.contains("notes.txt"),
            refused => refused == Some(reason) || path.is_empty(),
        };
        c.check(&format!("list of {short:?} is refused"), refused);
        c.check(
            &format!("register of {short:?}"),
            path.starts_with("/a") || names.register(&path).is_err(),
        );
    }
    let (_imp, exp) = ClockContract::new_channel()?;
    let refused = names.bind("/boot/notes.txt", exp) == Err(OTHER);
    c.check("a file is bound only over its contract", refused);
    let (_imp, exp) = FileContract::new_channel()?;
    c.check("the root is no file", names.bind("/", exp) == Err(OTHER));
    let (_imp, exp) = NamespaceContract::new_channel()?;
    let refused = names.bind("/boot/notes.txt", exp) == Err(OTHER);
    c.check("a file is no name server", refused);
    c.check(
        "no service is at the root",
        names.register_as("/", "FileContract").is_err(),
    );
    c.check(
        "a path that is taken cannot be registered",
        names.register("/boot").is_err(),
    );
    c.check(
        "what others registered cannot be deregistered",
        names.deregister("/boot").is_err(),
    );
    // A channel whose other side has closed already.
    let (imp, exp) = FileContract::new_channel()?;
    drop(imp);
    c.check(
        "a dead channel is bound",
        names.bind("/boot/notes.txt", exp).is_ok(),
    );
    c.check(
        "the file is still there",
        names.open("/boot/notes.txt").is_ok(),
    );
    Ok(())
}

fn many_clients(c: &mut Checks, names: &mut Names) -> Result<(), Error> {
    let mut clients = Vec::new();
    for _ in 0..150 {
        clients.push(Names::new(names.connect()?)?);
    }
    let listed = names.list("/")?;
    for (i, client) in clients.iter_mut().enumerate() {
        c.check(
            &format!("client {i} is served"),
            client.list("/").as_ref() == Ok(&listed),
        );
        c.check(
            &format!("client {i} opens a file"),
            client.open("/boot/notes.txt").is_ok(),
        );
    }
    Ok(())
}

/// A provider's answer to its first bind.
#[derive(Clone, Copy)]
enum Provider {
    Accepts,
    Refuses,
    Closes,
}

/// Serves one bind; the result of a client that asks for it in a thread of its own.
fn provide(
    names: &mut Names,
    lookup: Lookup,
    how: Provider,
) -> Result<(Result<(), Error>, Option<Lookup>), Error> {
    let mut other = Names::new(names.connect()?)?;
    let client = thread::spawn(move || {
        let (_imp, exp) = ClockContract::new_channel()?;
        other.bind("/storm/clock", exp)
    })?;
    let lookup = match (lookup.recv(), how) {
        (NamespaceContract::exp::Ready::Bind(_, _, _, next), Provider::Accepts) => {
            // Another client is served while this one waits.
            names.list("/boot")?;
            Some(next.send_ack_bind())
        }
        (NamespaceContract::exp::Ready::Bind(_, _, service, next), Provider::Refuses) => {
            Some(next.send_nak_bind(Refusal::NotFound, service))
        }
        _ => None,
    };
    Ok((client.join()?, lookup))
}

fn providers(c: &mut Checks, names: &mut Names) -> Result<(), Error> {
    let mut told = names.notify("/storm")?;
    let lookup = names.register_as("/storm/clock", "ClockContract")?;
    c.check("a registration is told", told.is_ready());
    told = told.recv_changed()?.send_ack();
    c.check(
        "the directory above is there",
        names.list("/storm")?[0].path == "/storm/clock",
    );
    c.check("twice is refused", names.register("/storm/clock").is_err());
    let mut other = Names::new(names.connect()?)?;
    for path in ["/storm/clock", "/storm/clock/below", "/storm"] {
        let held = other.register(path).err() == Some(Error::Held);
        c.check(&format!("another's {path} is refused"), held);
    }
    c.check(
        "its own below is not",
        names.register("/storm/clock/b").is_ok(),
    );

    let (result, lookup) = provide(names, lookup, Provider::Accepts)?;
    c.check("an accepted bind", result.is_ok());
    let (result, lookup) = provide(names, lookup.ok_or(Error::Closed)?, Provider::Refuses)?;
    c.check("a refused bind", result == Err(Error::NotFound));
    let (_, lookup) = provide(names, lookup.ok_or(Error::Closed)?, Provider::Closes)?;
    c.check("a provider that closes is gone", lookup.is_none());
    // However many changes there are before the answer, it gets one message.
    let next = told.recv_changed()?;
    for _ in 0..3 {
        let more = names.register("/storm/more")?;
        names.deregister("/storm/more")?;
        drop(more);
    }
    told = next.send_ack();
    // Waits until they are told.
    told = told.recv_changed()?.send_ack();
    names.list("/")?;
    c.check("of many at once", !told.is_ready());
    c.check(
        "the directory above is gone",
        names.list("/storm") == Err(Error::NotFound),
    );

    let lookup = names.register_as("/storm/clock", "ClockContract")?;
    names.deregister("/storm/clock")?;
    let closed = matches!(lookup.recv(), NamespaceContract::exp::Ready::Closed);
    c.check("who was deregistered hears of it", closed);

    // A provider that never answers, with clients that give up.
    let silent = names.register("/storm/silent")?;
    for _ in 0..20 {
        let channel = names.connect()?.recv_success()?;
        let (_imp, exp) = ClockContract::new_channel()?;
        drop(channel.send_bind(Text::new("/storm/silent")?, 0, exp.into()));
    }
    c.check("others are served", names.open("/boot/notes.txt").is_ok());
    drop(silent);

    c.check(
        "the root is the system's",
        names.register("/").err() == Some(Error::Held),
    );

    // A provider that fails: its channel is closed before it says Success.
    let channel = names.connect()?.recv_success()?;
    let (imp, exp) = NamespaceContract::new_channel()?;
    drop(exp);
    let channel = channel.call_register(Text::new("/storm/dead")?, Text::new("")?, 0, imp);
    let taken = matches!(channel, NamespaceContract::imp::Registering::AckRegister(_));
    c.check("a dead provider is taken at first", taken);
    thread::sleep(core::time::Duration::from_millis(5));
    c.check(
        "and forgotten then",
        names.list("/storm") == Err(Error::NotFound),
    );

    // Its own name server, which would have to wait for itself.
    let (imp, exp) = NamespaceContract::new_channel()?;
    names.bind("/", exp)?;
    let channel = names.connect()?.recv_success()?;
    let channel = channel.call_register(
        Text::new("/storm/loop")?,
        Text::new("NamespaceContract")?,
        0,
        imp,
    );
    let taken = matches!(channel, NamespaceContract::imp::Registering::AckRegister(_));
    c.check("the name server below itself", taken);
    c.check(
        "is served through itself",
        names.list("/storm/loop/boot").is_ok(),
    );
    Ok(())
}

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    let mut c = Checks { done: 0, failed: 0 };
    odd_requests(&mut c, &mut names)?;
    many_clients(&mut c, &mut names)?;
    providers(&mut c, &mut names)?;
    println!("namestorm: {} checks, {} failed", c.done, c.failed);
    Ok(i32::from(c.failed > 0))
}
