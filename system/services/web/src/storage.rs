//! Whether files that are not there may be there soon: the file system may just be starting, or have
//! ended and be about to start again. What is not there then is not missing: a client that is told so
//! would believe it, and so would the server itself, of its configuration.

use core::time::Duration;
use sing_sdk::client;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::time::{sleep, uptime};

/// The service that mounts file systems.
const FILES: &str = "files";
/// How long it is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// Whether the file system is on its way, as the service manager says.
fn is_coming(names: &mut Names) -> Result<bool, Error> {
    use ServicesContract::imp::Ready_GetStatus as Answer;
    let info = client::bind(names, "/services", |names, path| {
        let (info, exp) = ServicesContract::new_channel()?;
        names.bind(path, exp)?;
        Ok(info.recv_success()?)
    })?;
    match info.call_get_status(Text::new(FILES)?) {
        Answer::Status(state, ..) => Ok(matches!(
            state,
            ServiceState::Pending | ServiceState::Starting | ServiceState::Delayed
        )),
        Answer::NoStatus(_) => Ok(false),
        Answer::Closed => Err(Error::Closed),
    }
}

/// Looks for something in the file system, again when that is back, for a while. What is not there
/// when the file system is, is [`Error::NotFound`]; and [`Error::Closed`] says that it has not come
/// back. Without patience it is looked for once more at most.
pub fn find<T>(
    names: &mut Names,
    patient: bool,
    mut look: impl FnMut(&mut Names) -> Result<T, Error>,
) -> Result<T, Error> {
    let end = uptime() + PATIENCE;
    let mut there = false;
    loop {
        match look(names) {
            // It was there before this look, and may have come just behind the look before.
            Err(Error::NotFound) if !there => {
                // A system without such a service has no file system that could come.
                there = !is_coming(names).unwrap_or(false);
            }
            Err(Error::Closed) => there = false,
            found => return found,
        }
        if !there {
            if !patient || uptime() >= end {
                return Err(Error::Closed);
            }
            sleep(PAUSE);
        }
    }
}
