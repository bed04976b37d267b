//! Contracts of another crate: derived from, narrowed and passed on here.
#![deny(unsafe_code)]
use sing_sdk::rt::Closed;

sing_sdk::contract!(
    "contract Echo {
       in message Say(int x);
       out message Said(int x);
       state Start: Say? -> Said! -> Start;
     }
     contract Base { out message Success(); state Start: Success! -> Bound; state Bound; }
     contract Mute narrows Echo.Imp { }
     contract Service : Base {
       in message Work(Mute.Imp:Start words, Echo.Imp:Start endpoint);
       override state Start: Success! -> Ready;
       state Ready: Work? -> Success! -> Ready;
     }
     rep struct Odd { int block; byte[]? in ExHeap at; int words; byte[]? in ExHeap bytes; }",
    use compile_fail::{Base, Echo},
    const TEXT
);

pub fn serve(exp: Service::Exp<Service::Start>) -> Base::Exp<Base::Bound> {
    let base: Base::Exp<Base::Start> = exp.into();
    base.send_success()
}

pub fn ask(imp: Service::Imp<Service::Start>, echo: Echo::Imp<Echo::Start>) -> Result<(), Closed> {
    let (other, _) = Echo::new_channel().map_err(|_| Closed)?;
    let mute: Mute::Imp<Mute::Start> = echo.into();
    imp.recv_success()?.send_work(mute, other).recv_success()?.close();
    Ok(())
}

fn main() {}
