//! A component that is merged with an adapter, as it runs: its world, from its start to its end.

use super::client::Client;
use super::{Component, Outcome, Room, Trap};
use crate::errno::{self, Errno, number};
use crate::running::World;
use crate::sing::{Merged, Sing};
use sing_sdk::program::{self, Local};

/// The world of the component that runs here.
pub type ComponentWorld = Component<Sing<Merged>>;

/// It is there from the component's start on.
static WORLD: Local<ComponentWorld> = Local::new();

/// A request to others, the host, and whether the program waits: what [`go_on`] works with.
static HANDED: Local<(ComponentHost, Client<ComponentHost>, bool)> = Local::new();

type ComponentHost = Sing<Merged>;

impl Room for ComponentHost {
    fn room(&mut self, alignment: u32, len: u32) -> u32 {
        program::realloc(0, 0, alignment, len)
    }

    /// By way of the merger, which leads to [`go_on`] if the program can send requests, and else nowhere.
    fn step(&mut self, client: &mut Client<Self>, waits: bool) {
        let host = core::mem::replace(self, Sing::nothing());
        let moved = core::mem::replace(client, Client::new(None));
        HANDED.with(|handed| *handed = Some((host, moved, waits)));
        program::go_on();
        if let Some((host, moved, _)) = HANDED.with(Option::take) {
            (*self, *client) = (host, moved);
        }
    }
}

/// Does for the request that was handed over what can be done without waiting.
pub fn go_on() {
    HANDED.with(|handed| {
        if let Some((host, client, waits)) = handed {
            client.step(host, *waits);
        }
    });
}

/// Ends the process, as any trap does, with the reason in the log.
fn trapped(call: &str, trap: &Trap) -> ! {
    sing_sdk::log!("wasi: {call}: the program {}", trap.0);
    program::trap()
}

/// Answers a call of an interface.
pub fn call<T>(name: &str, work: impl FnOnce(&mut ComponentWorld) -> Outcome<T>) -> T {
    let outcome = WORLD.with(|world| match world {
        Some(component) => work(component),
        None => Err("calls this before it has begun".into()),
    });
    outcome.unwrap_or_else(|trap| trapped(name, &trap))
}

/// Answers a call of preview 1, which a component has that was made of a module for it.
pub fn call_preview1(work: impl FnOnce(&mut World) -> errno::Result) -> i32 {
    WORLD.with(|world| match world {
        Some(component) => number(work(&mut component.wasi)),
        None => number(Err(Errno::Badf)),
    })
}

/// Makes this the component's world.
pub fn begin(component: ComponentWorld) {
    WORLD.with(|world| *world = Some(component));
}

/// Gives up all that the component has.
pub fn leave() {
    WORLD.with(|world| drop(world.take()));
}

/// The status of a component that has returned from `run`.
#[must_use]
pub fn run() -> i32 {
    match program::run() {
        true => 0,
        false => 1,
    }
}
