//! A disk that keeps a request back (`tests/sips/slowdisk`).

use crate::stage::{Running, appears};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;

sing_sdk::contract!(
    "../slowdisk/keep.contract",
    use sing_sdk::contracts::ServiceContract
);

/// A disk that keeps a request back, before another.
pub struct Slow {
    pub running: Running,
    pub path: String,
    switches: Option<KeepContract::Imp<KeepContract::Ready>>,
}

impl Slow {
    /// `patience`: how many milliseconds its server waits for an answer; without end if none.
    pub fn new(
        names: &mut Names,
        of: &str,
        path: &str,
        patience: Option<u32>,
    ) -> Result<Slow, Error> {
        let patience = patience.map(|p| p.to_string());
        let mut arguments = vec![of, path];
        arguments.extend(patience.iter().flat_map(|p| ["--patience", p.as_str()]));
        let running = Running::new("slowdisk", &arguments)?;
        appears(names, path)?;
        let switches = format!("{path}-switches");
        appears(names, &switches)?;
        let (imp, exp) = KeepContract::new_channel()?;
        names.bind(&switches, exp)?;
        Ok(Slow {
            running,
            path: path.into(),
            switches: Some(imp.recv_success()?),
        })
    }

    fn channel(&mut self) -> Result<KeepContract::Imp<KeepContract::Ready>, Error> {
        self.switches.take().ok_or(Error::Closed)
    }

    /// The write (or read) that comes after so many others is kept back.
    pub fn keep(&mut self, writes: bool, before: u32) -> Result<(), Error> {
        self.switches = Some(self.channel()?.call_keep(writes, before).done()?);
        Ok(())
    }

    /// Waits until it has come.
    pub fn kept(&mut self) -> Result<(), Error> {
        self.switches = Some(self.channel()?.call_await().done()?);
        Ok(())
    }

    /// Does it now.
    pub fn release(&mut self) -> Result<(), Error> {
        self.switches = Some(self.channel()?.call_release().done()?);
        Ok(())
    }
}
