//! Shows what the web server does, or stops it.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::names::Names;
use sing_sdk::prelude::*;

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
    /// Start it if it does not run, and show what it does; or stop it when it has answered what is under way.
    what: optional What "WHAT";
}

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
            let (text, _) = server.call_get_status().status()?;
            print!("{}", text.to_lossy());
        }
        What::Stop => drop(server.call_stop().stopping()?),
    }
    Ok(0)
}
