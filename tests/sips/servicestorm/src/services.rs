//! The manager, as its clients see it.

use core::time::Duration;
use sing_sdk::client::{self, Client};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::time;

type Info = ServicesContract::Imp<ServicesContract::Ready>;
type Control = ServiceControlContract::Imp<ServiceControlContract::Ready>;
type Clock = ClockContract::Imp<ClockContract::Ready>;

/// What the manager says of a service.
pub struct Status {
    pub state: ServiceState,
    pub process: u32,
    pub restarts: u32,
    pub reason: String,
}

/// The manager, and the name server.
pub struct Manager {
    pub names: Names,
    info: Option<Info>,
    control: Option<Control>,
}

/// Binds the manager.
pub fn info(names: &mut Names) -> Result<Info, Error> {
    client::bind(names, "/services", ServicesContract::connect)
}

/// Binds a service.
pub fn bind(names: &mut Names, path: &str) -> Result<Clock, Error> {
    let (clock, exp) = ClockContract::new_channel()?;
    names.bind(path, exp)?;
    Ok(clock.recv_success()?)
}

/// A client of a service that asks again.
pub fn client(path: &str) -> Client<Clock> {
    Client::new(path, bind)
}

/// Waits until the manager says so of a service.
pub fn wait_for(
    m: &mut Manager,
    name: &str,
    so: impl Fn(&Status) -> bool,
) -> Result<Status, Error> {
    let start = time::uptime();
    loop {
        let status = m.status(name)?;
        if so(&status) {
            return Ok(status);
        }
        if time::uptime() - start > Duration::from_secs(20) {
            return Err(Error::Timeout);
        }
        time::sleep(Duration::from_millis(1));
    }
}

impl Manager {
    pub fn new(names: NamespaceContract::Imp<NamespaceContract::Start>) -> Result<Manager, Error> {
        let mut names = Names::new(names)?;
        let info = info(&mut names)?;
        let control = client::bind(&mut names, "/services", ServiceControlContract::connect)?;
        Ok(Manager {
            names,
            info: Some(info),
            control: Some(control),
        })
    }

    pub fn status(&mut self, name: &str) -> Result<Status, Error> {
        use ServicesContract::imp::Ready_GetStatus as Answer;
        let name = Text::new(name)?;
        let info = self.info.take().ok_or(Error::Closed)?;
        match info.call_get_status(name) {
            Answer::Status(state, process, restarts, _, reason, next) => {
                self.info = Some(next);
                Ok(Status {
                    state,
                    process,
                    restarts,
                    reason: reason.to_lossy(),
                })
            }
            Answer::NoStatus(next) => {
                self.info = Some(next);
                Err(Error::NotFound)
            }
            Answer::Closed => Err(Error::Closed),
        }
    }

    pub fn start(&mut self, name: &str) -> Result<(), Error> {
        use ServiceControlContract::imp::Ready_StartService as Answer;
        let name = Text::new(name)?;
        match self.control()?.call_start_service(name) {
            Answer::Done(next) => self.done(next, None),
            Answer::Refused(reason, next) => self.done(next, Some(reason)),
            Answer::Closed => Err(Error::Closed),
        }
    }

    pub fn stop(&mut self, name: &str) -> Result<(), Error> {
        use ServiceControlContract::imp::Ready_StopService as Answer;
        let name = Text::new(name)?;
        match self.control()?.call_stop_service(name) {
            Answer::Done(next) => self.done(next, None),
            Answer::Refused(reason, next) => self.done(next, Some(reason)),
            Answer::Closed => Err(Error::Closed),
        }
    }

    pub fn restart(&mut self, name: &str) -> Result<(), Error> {
        use ServiceControlContract::imp::Ready_RestartService as Answer;
        let name = Text::new(name)?;
        match self.control()?.call_restart_service(name) {
            Answer::Done(next) => self.done(next, None),
            Answer::Refused(reason, next) => self.done(next, Some(reason)),
            Answer::Closed => Err(Error::Closed),
        }
    }

    fn control(&mut self) -> Result<Control, Error> {
        self.control.take().ok_or(Error::Closed)
    }

    fn done(&mut self, next: Control, refused: Option<ServiceRefusal>) -> Result<(), Error> {
        self.control = Some(next);
        match refused {
            None => Ok(()),
            Some(ServiceRefusal::NotFound) => Err(Error::NotFound),
            Some(ServiceRefusal::SoAlready | ServiceRefusal::Needed) => Err(Error::BadState),
        }
    }
}
