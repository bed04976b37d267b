//! A manifest and what it makes.
#![deny(unsafe_code)]
use compile_fail::Echo;

sing_sdk::manifest! {
    name: "program",
    version: "1.2.3",
    description: "has everything",
    privileges: [console, create],
    endpoints: {
        /// Where it asks.
        ask: Echo.Imp:Start,
        other: optional compile_fail::C1.Exp,
        /// Of a permission.
        store: optional compile_fail::Lister.Imp:Start,
        clients: many Echo.Exp:Start,
    },
    behavior: "
        rest parallel state Start: one {
            ask.Say! -> ask.Said? -> Start;
            clients.Say? -> clients.Said! -> Start;
            clients.AllClosed? -> end;
        }
    ",
    memory: 4 MiB,
    stack: 64 KiB,
}

pub fn start() -> Option<(Echo::Imp<Echo::Start>, compile_fail::C1::Exp<compile_fail::C1::Start>)> {
    for client in startup::clients() {
        let _: Echo::Exp<Echo::Start> = client;
    }
    startup::store()?.close();
    Some((startup::ask()?, startup::other()?))
}

fn main() {}
