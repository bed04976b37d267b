//! What threads may send each other, and what they may share.
#![deny(unsafe_code)]
use compile_fail::*;
use core::cell::Cell;
use sing_sdk::prelude::*;
use sing_sdk::rt::{Endpoint, Record};
use sing_sdk::select::Select;
use sing_sdk::set::WaitSet;
use sing_sdk::sync::{AutoEvent, ManualEvent, Mutex, MutexGuard};
use sing_sdk::thread::JoinHandle;
use sing_sdk::tref::{ParkedBlock, TRef};

type Client = Echo::Imp<Echo::Start>;

const fn given<T: Send>() {}
const fn shared<T: Sync>() {}

const _: () = {
    // Endpoints, events and types made of them belong to the whole program.
    given::<(Endpoint, Client, EndpointSet<Client>, WaitSet, Select<4>)>();
    shared::<(Endpoint, Client, EndpointSet<Client>, WaitSet, Select<4>)>();
    given::<(AutoEvent, ManualEvent, JoinHandle<u32>, ParkedBlock)>();
    shared::<(AutoEvent, ManualEvent, JoinHandle<Cell<u32>>, ParkedBlock)>();
    // A mutex makes a type that can be sent one that can be shared, and so does a cell of blocks.
    given::<(Mutex<Cell<u32>>, TRef<Block>, TRef<(Record<Point>, Client)>)>();
    shared::<(Mutex<Cell<u32>>, TRef<Block>, TRef<(Record<Point>, Client)>)>();
    shared::<MutexGuard<'static, u32>>();
};

fn main() {}
