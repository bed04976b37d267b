//! A component that is merged with an adapter, as it runs: its world, from its start to its end.

use super::{Component, Outcome, Trap};
use crate::errno::{self, Errno, number};
use crate::running::World;
use crate::sing::{Merged, Sing};
use sing_sdk::program::Local;

/// The world of the component that runs here.
pub type ComponentWorld = Component<Sing<Merged>>;

/// It is there from the component's start on.
static WORLD: Local<ComponentWorld> = Local::new();

/// Ends the process, as any trap does, with the reason in the log.
fn trapped(call: &str, trap: &Trap) -> ! {
    sing_sdk::log!("wasi: {call}: the program {}", trap.0);
    sing_sdk::program::trap()
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
    match sing_sdk::program::run() {
        true => 0,
        false => 1,
    }
}
