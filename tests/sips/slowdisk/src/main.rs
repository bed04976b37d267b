//! A disk that keeps one request back: it passes requests on to another disk, and does the others
//! meanwhile. The one kept back is done when it is released, or never.
//!
//! It has the server that drivers have (`disk-driver`), over a device that is this program's own;
//! how long the server waits for it is an argument.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::time::Duration;
use disk_driver::{
    Answer, DiskDevice, Geometry, MOST, NotBegun, PARALLEL, Request, Server, Signal,
};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::provider::Provider;
use sing_sdk::rt::{Handle, Waitable};
use sing_sdk::sync::{AutoEvent, ManualEvent, Mutex, wait};
use sing_sdk::time::Timeout;

sing_sdk::contract!("keep.contract", use sing_sdk::contracts::ServiceContract);

sing_sdk::manifest! {
    name: "slowdisk",
    description: "a disk before another one that keeps a request back",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

sing_sdk::arguments! {
    /// The disk that it is before.
    of: one String "OF";
    /// Its own path; its switches are at the same with `-switches` behind.
    path: one String "PATH";
    /// How long the server waits for the device, in milliseconds: without end.
    patience: option u32 "--patience MILLISECONDS";
}

type Channel = DiskContract::Imp<DiskContract::Ready>;

/// What the switches say.
#[derive(Default)]
struct Orders {
    /// Keep a write (or a read) back, after so many others.
    keep: Option<(bool, u32)>,
    release: bool,
}

/// Between the switches' thread and the device.
struct Shared {
    orders: Mutex<Orders>,
    /// The request has come; it has been done.
    come: AutoEvent,
    done: AutoEvent,
    irq: ManualEvent,
}

/// The device's interrupt.
struct Irq(Arc<Shared>);

impl Waitable for Irq {
    fn handle(&self) -> Handle {
        self.0.irq.handle()
    }
}

impl Signal for Irq {
    fn acknowledge(&self) {
        self.0.irq.reset();
    }
}

struct Device {
    below: Option<Channel>,
    geometry: Geometry,
    irq: Irq,
    /// Numbers that no request has.
    free: Vec<usize>,
    done: VecDeque<Answer>,
    kept: Option<(usize, Request)>,
}

impl Device {
    /// Whether this request is the one to be kept back.
    fn keeps(&self, request: &Request) -> bool {
        let mut orders = self.irq.0.orders.lock();
        let Some((writes, before)) = orders.keep else {
            return false;
        };
        let meant = match request {
            Request::Write { .. } => writes,
            Request::Read { .. } => !writes,
            Request::Flush | Request::Discard { .. } => false,
        };
        if !meant {
            return false;
        }
        orders.keep = before.checked_sub(1).map(|before| (writes, before));
        orders.keep.is_none()
    }

    /// Has the disk below do a request.
    fn pass(&mut self, number: usize, request: Request) -> Answer {
        use DiskContract::imp::{Ready_Read, Ready_Write};
        let Some(below) = self.below.take() else {
            panic!("the disk below has gone");
        };
        let (done, block, next) = match request {
            Request::Read {
                sector,
                block,
                start,
                count,
            } => match below.call_read(sector, Vector::from_block(block), start, count) {
                Ready_Read::Data(block, next) => (true, Some(block), next),
                Ready_Read::Failed(_, block, next) => (false, Some(block), next),
                Ready_Read::Closed => panic!("the disk below has gone"),
            },
            Request::Write {
                sector,
                block,
                start,
                count,
            } => match below.call_write(sector, Vector::from_block(block), start, count) {
                Ready_Write::Written(block, next) => (true, Some(block), next),
                Ready_Write::Failed(_, block, next) => (false, Some(block), next),
                Ready_Write::Closed => panic!("the disk below has gone"),
            },
            Request::Flush | Request::Discard { .. } => (true, None, below),
        };
        self.below = Some(next);
        Answer {
            number,
            done,
            block: block.map(Vector::into_block),
        }
    }
}

impl DiskDevice for Device {
    type Signal = Irq;

    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn irq(&self) -> &Irq {
        &self.irq
    }

    fn begin(&mut self, request: Request) -> Result<usize, NotBegun> {
        let Some(number) = self.free.pop() else {
            return Err(NotBegun {
                request,
                reason: Error::WouldBlock,
            });
        };
        if self.keeps(&request) {
            self.kept = Some((number, request));
            self.irq.0.come.set();
        } else {
            let answer = self.pass(number, request);
            self.done.push_back(answer);
        }
        Ok(number)
    }

    fn notify(&self) -> bool {
        !self.done.is_empty()
    }

    fn take(&mut self) -> Result<Answer, Error> {
        if core::mem::take(&mut self.irq.0.orders.lock().release) {
            if let Some((number, request)) = self.kept.take() {
                let answer = self.pass(number, request);
                self.done.push_back(answer);
            }
            self.irq.0.done.set();
        }
        let answer = self.done.pop_front().ok_or(Error::WouldBlock)?;
        self.free.push(answer.number);
        Ok(answer)
    }
}

/// Serves the switches.
fn switches(mut names: Names, path: &str, shared: &Shared) -> Result<(), Error> {
    let mut switches = Provider::register(&mut names, path, KeepContract::Exp::send_success)?;
    loop {
        switch_receive! {
            case switches.clients[key].Keep(writes, before) as client => {
                *shared.orders.lock() = Orders { keep: Some((writes, before)), release: false };
                switches.clients.put(key, client.send_done());
            }
            case switches.clients[key].Await() as client => {
                wait(&shared.come, Timeout::FOREVER)?;
                switches.clients.put(key, client.send_done());
            }
            case switches.clients[key].Release() as client => {
                *shared.orders.lock() = Orders { keep: None, release: true };
                shared.irq.set();
                wait(&shared.done, Timeout::FOREVER)?;
                switches.clients.put(key, client.send_done());
            }
            case switches.clients[_].ChannelClosed() => {}
            case &switches.lookup => {
                if switches.answer(|path| (path == "/").then_some(())).is_err() {
                    return Ok(());
                }
            }
        }
    }
}

#[sing_sdk::main]
fn main(arguments: Arguments) -> Result<(), Error> {
    let Arguments { of, path, patience } = arguments;
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    let (imp, exp) = DiskContract::new_channel()?;
    names.bind(&of, exp)?;
    let below = imp.recv_success()?;
    let (sectors, bytes, read_only, _, most, below) = below.call_get_geometry().geometry()?;
    let shared = Arc::new(Shared {
        orders: Mutex::new(Orders::default()),
        come: AutoEvent::new(false)?,
        done: AutoEvent::new(false)?,
        irq: ManualEvent::new(false)?,
    });
    let device = Device {
        below: Some(below),
        geometry: Geometry {
            sectors,
            shift: bytes.trailing_zeros(),
            most: most.min(MOST),
            read_only,
            flushes: true,
            discards: false,
        },
        irq: Irq(Arc::clone(&shared)),
        free: (0..PARALLEL).collect(),
        done: VecDeque::new(),
        kept: None,
    };
    let others = Names::new(names.connect()?)?;
    let at = format!("{path}-switches");
    drop(sing_sdk::thread::spawn(move || {
        switches(others, &at, &shared)
    })?);
    let provider = Provider::register(&mut names, &path, DiskContract::Exp::send_success)?;
    let patience = patience.map_or(Duration::MAX / 2, |p| Duration::from_millis(p.into()));
    Server::of(device, provider, patience).run()
}
