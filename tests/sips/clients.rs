//! Shared by the test programs that kill services: clients of those, which are started and ended
//! together.

use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::process::Child;

/// Clients that go on until their pipes are closed.
#[derive(Default)]
pub struct Clients(Vec<(PipeContract::Imp<PipeContract::Start>, Child)>);

impl Clients {
    /// Starts one more: this program, with these arguments.
    pub fn start(&mut self, names: &mut Names, arguments: &[&str]) -> Result<(), Error> {
        let (until, exp) = PipeContract::new_channel()?;
        let child = Child::of(arguments[0])
            .args(arguments)
            .endpoint("until", exp)
            .endpoint("names", names.connect()?)
            .start()?;
        self.0.push((until, child));
        Ok(())
    }

    /// Has all of them end; how many failed.
    pub fn end(self) -> Result<u32, Error> {
        let mut failed = 0;
        for (until, child) in self.0 {
            drop(until);
            failed += u32::from(child.join()?.status() != 0);
        }
        Ok(failed)
    }
}
