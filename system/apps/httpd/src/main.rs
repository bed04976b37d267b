//! Shows what the web server does, or stops it.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use core::time::Duration;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::time::{sleep, uptime};

sing_sdk::manifest! {
    name: "httpd",
    description: "starts the web server, shows what it does, stops it: httpd [status|stop]",
    uses: { "/httpd": WebServerContract },
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        names: optional NamespaceContract.Imp:Start,
    },
}

sing_sdk::choices! {
    /// What to do.
    What: "status" Status, "stop" Stop
}

sing_sdk::arguments! {
    /// `status` starts it if it does not run; `stop` ends it when it has answered its requests.
    what: optional What "WHAT";
}

/// How the server says that it does not listen yet, and how long to wait for it.
const WAITS: &str = "waits for the network";
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);

#[sing_sdk::main]
fn main(Arguments { what }: Arguments) -> Result<i32, Error> {
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    let (server, exp) = WebServerContract::new_channel()?;
    if let Err(error) = names.bind("/httpd", exp) {
        eprintln!("httpd: /httpd: {error}; `services web` says why");
        return Ok(1);
    }
    let server = server.recv_success()?;
    match what.unwrap_or(What::Status) {
        What::Status => {
            let mut server = server;
            let begin = uptime();
            loop {
                let (text, next) = server.call_get_status().status()?;
                let text = text.to_lossy();
                // One that has just been started will listen in a moment.
                let waits = text.contains(WAITS);
                if !waits || uptime().saturating_sub(begin) > PATIENCE {
                    print!("{text}");
                    if waits {
                        eprintln!("httpd: does not listen; the log says why");
                    }
                    return Ok(i32::from(waits));
                }
                sleep(LOOK);
                server = next;
            }
        }
        What::Stop => drop(server.call_stop().stopping()?),
    }
    Ok(0)
}
