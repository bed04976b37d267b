//! The records of events and mutexes, for a debugger ([`crate::ground::layout`]).

use super::{EVENTS, Event, MUTEXES, Mutex};
use crate::ground::layout::Layout;

/// Events.
pub(crate) static EVENTS_LAYOUT: Layout<Event, 0> = Layout::new(&EVENTS, []);

/// Mutexes.
pub(crate) static MUTEXES_LAYOUT: Layout<Mutex, 0> = Layout::new(&MUTEXES, []);
