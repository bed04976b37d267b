//! Shows services, and starts and stops them.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::time::Duration;
use sing_sdk::client::{self, Client};
use sing_sdk::names::Names;

sing_sdk::manifest! {
    name: "services",
    description: "shows services, and starts and stops them: services [NAME [start|stop|restart]]",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
    uses: { "/services": ServicesContract },
}

sing_sdk::choices! {
    /// What to do with a service.
    Verb: "start" Start, "stop" Stop, "restart" Restart
}

sing_sdk::arguments! {
    /// The service; all if left out.
    name: optional Service "NAME";
    /// What to do with it: start, stop or restart; show it if left out.
    verb: optional Verb "VERB";
}

const PLACE: &str = "/services";

type Info = Client<ServicesContract::Imp<ServicesContract::Ready>>;
type Status = (ServiceState, u32, u32, u64, Text);

fn info() -> Info {
    ServicesContract::client(PLACE)
}

fn status(info: &mut Info, names: &mut Names, name: &str) -> Result<Option<Status>, Error> {
    use ServicesContract::imp::Ready_GetStatus as Answer;
    info.ask(names, |channel| {
        let text = Text::new(name).map_err(|_| Closed)?;
        match channel.call_get_status(text) {
            Answer::Status(state, process, restarts, time, reason, next) => {
                Ok((Some((state, process, restarts, time, reason)), next))
            }
            Answer::NoStatus(next) => Ok((None, next)),
            Answer::Closed => Err(Closed),
        }
    })
}

fn list(names: &mut Names) -> Result<i32, Error> {
    let mut info = info();
    let mut table = format!(
        "{:<16} {:<9} {:>7} {:>8} {:>10} {}\n",
        "NAME", "STATE", "PROCESS", "RESTARTS", "FOR", "REASON"
    );
    for found in names.list(PLACE)? {
        let name = found.name();
        let Some((state, process, restarts, time, reason)) = status(&mut info, names, name)? else {
            continue;
        };
        let process = if process == 0 {
            "-".into()
        } else {
            process.to_string()
        };
        let time = format!("{:.1?}", Duration::from_nanos(time));
        let line = format!(
            "{name:<16} {state:<9} {process:>7} {restarts:>8} {time:>10} {}",
            reason.to_lossy()
        );
        table.push_str(line.trim_end());
        table.push('\n');
    }
    print!("{table}");
    Ok(0)
}

fn show(names: &mut Names, name: &str) -> Result<i32, Error> {
    match names.open(&format!("{PLACE}/{name}")) {
        Ok(mut file) => {
            let text = file.read_to_end()?;
            print!("{}", String::from_utf8_lossy(&text));
            Ok(0)
        }
        Err(Error::NotFound) => Ok(unknown(name)),
        Err(e) => Err(e),
    }
}

fn unknown(name: &str) -> i32 {
    eprintln!("services: {name}: no such service; `services` lists them");
    1
}

fn control(names: &mut Names, name: &str, verb: Verb) -> Result<i32, Error> {
    use ServiceControlContract::imp::{
        Ready_RestartService, Ready_StartService, Ready_StopService,
    };
    let control = client::reach(names, PLACE, ServiceControlContract::connect)?;
    let text = Text::new(name)?;
    let refused = match verb {
        Verb::Start => match control.call_start_service(text) {
            Ready_StartService::Done(_) => None,
            Ready_StartService::Refused(reason, _) => Some(reason),
            Ready_StartService::Closed => return Err(Error::Closed),
        },
        Verb::Stop => match control.call_stop_service(text) {
            Ready_StopService::Done(_) => None,
            Ready_StopService::Refused(reason, _) => Some(reason),
            Ready_StopService::Closed => return Err(Error::Closed),
        },
        Verb::Restart => match control.call_restart_service(text) {
            Ready_RestartService::Done(_) => None,
            Ready_RestartService::Refused(reason, _) => Some(reason),
            Ready_RestartService::Closed => return Err(Error::Closed),
        },
    };
    match refused {
        None => Ok(0),
        Some(ServiceRefusal::NotFound) => Ok(unknown(name)),
        Some(ServiceRefusal::Needed) => {
            eprintln!("services: {name}: nothing works without it; `restart` starts it anew");
            Ok(1)
        }
        Some(ServiceRefusal::SoAlready) => {
            let so = match verb {
                Verb::Stop => "it is stopped already",
                Verb::Start | Verb::Restart => "it runs already; `restart` starts it anew",
            };
            eprintln!("services: {name}: {so}");
            Ok(1)
        }
    }
}

#[sing_sdk::main]
fn main(Arguments { name, verb }: Arguments) -> Result<i32, Error> {
    let mut names = Names::given(startup::names())?;
    match (name, verb) {
        (None, _) => list(&mut names),
        (Some(name), None) => show(&mut names, &name),
        (Some(name), Some(verb)) => control(&mut names, &name, verb),
    }
}
