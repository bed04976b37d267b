//! Shows what the web server does, or stops it.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use core::time::Duration;
use sing_sdk::client;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::sync::wait;
use sing_sdk::time::{Timeout, sleep, uptime};

sing_sdk::manifest! {
    name: "httpd",
    description: "starts the web server, shows what it does, stops it: httpd [status|address|stop]",
    uses: { "/httpd": WebServerContract },
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        names: optional NamespaceContract.Imp:Start,
    },
}

sing_sdk::choices! {
    /// What to do.
    What: "status" Status, "address" Address, "stop" Stop
}

sing_sdk::arguments! {
    /// `status` starts it if it does not run; `address` too, and shows where a browser finds the
    /// system, alone; `stop` ends it when it has answered its requests.
    what: optional What "WHAT";
}

/// How the server says that the system is shown by it, and where the key for that is.
const SHOWN: &str = "/system /watch/pages";
const KEY: &str = "/watch/key";

/// How the server says that it does not listen yet, and how long to wait for it.
const WAITS: &str = "waits for the network";
const PATIENCE: Duration = Duration::from_secs(5);
/// The same where a prompt waits for it.
const SHORT_PATIENCE: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(5);
/// The server answers what is under way for five seconds at most.
const STOPPING: Duration = Duration::from_secs(10);

/// The address at which a browser shows the system, with the key behind `#`, which browsers send to
/// nobody.
fn address(names: &mut Names, port: &str) -> Result<String, Error> {
    use WatchKeyContract::imp::Ready_GetKey as Answer;
    let watch = client::reach(names, KEY, WatchKeyContract::connect)?;
    match watch.call_get_key() {
        Answer::Key(key, _) => Ok(format!("http://127.0.0.1:{port}/system#{}", key.to_lossy())),
        // The machine has no source of entropy.
        Answer::NoKey(_) => Err(Error::NotFound),
        Answer::Closed => Err(Error::Closed),
    }
}

/// The value of a line of the server's status.
fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value.trim())
}

/// Where a browser finds the system, or why nowhere; `None` if the server's configuration does not
/// say that it does.
fn address_of(names: &mut Names, text: &str) -> Option<Result<String, Error>> {
    let shown = |line: &str| {
        let mount = line.split_once(' ').filter(|(key, _)| *key == "mount");
        mount.is_some_and(|(_, mount)| mount.trim() == SHOWN)
    };
    let port = value(text, "port").unwrap_or("80");
    text.lines().any(shown).then(|| address(names, port))
}

/// Shows all that the server says of itself.
fn show_status(names: &mut Names, text: &str, listens: bool) {
    print!("{text}");
    match address_of(names, text) {
        Some(Ok(address)) => println!("system       {address}"),
        Some(Err(error)) => println!("system       cannot be shown: {KEY}: {error}"),
        None => {}
    }
    if !listens {
        eprintln!("httpd: does not listen; the log says why");
    }
}

/// Shows the address alone; whether there is one.
fn show_address(names: &mut Names, text: &str, listens: bool) -> bool {
    if !listens {
        eprintln!("httpd: does not listen yet; `httpd` shows what it waits for");
        return false;
    }
    match address_of(names, text) {
        Some(Ok(address)) => {
            println!("In a browser: {address}");
            return true;
        }
        Some(Err(error)) => eprintln!("httpd: the system cannot be shown: {KEY}: {error}"),
        None => eprintln!(
            "httpd: the configuration has no line `mount {SHOWN}`: /web.conf counts before /boot/web.conf, which has it"
        ),
    }
    false
}

#[sing_sdk::main]
fn main(Arguments { what }: Arguments) -> Result<i32, Error> {
    let mut names = Names::given(startup::names())?;
    let (server, exp) = WebServerContract::new_channel()?;
    if let Err(error) = names.bind("/httpd", exp) {
        eprintln!("httpd: /httpd: {error}; `services web` says why");
        return Ok(1);
    }
    let server = server.recv_success()?;
    let what = what.unwrap_or(What::Status);
    match what {
        What::Status | What::Address => {
            let mut server = server;
            let begin = uptime();
            let patience = match what {
                What::Address => SHORT_PATIENCE,
                _ => PATIENCE,
            };
            loop {
                let (text, next) = server.call_get_status().status()?;
                let text = text.to_lossy();
                // One that has just been started will listen in a moment.
                let listens = !text.contains(WAITS);
                if listens || uptime().saturating_sub(begin) > patience {
                    let shown = match what {
                        What::Address => show_address(&mut names, &text, listens),
                        _ => {
                            show_status(&mut names, &text, listens);
                            listens
                        }
                    };
                    return Ok(i32::from(!shown));
                }
                sleep(LOOK);
                server = next;
            }
        }
        What::Stop => {
            let server = server.call_stop().stopping()?;
            // Until it has ended: the next `httpd` is to find another one.
            if wait(&server, Timeout::from(STOPPING)).is_err() {
                eprintln!("httpd: still answers requests; `services web` says when it has ended");
                return Ok(1);
            }
        }
    }
    Ok(0)
}
