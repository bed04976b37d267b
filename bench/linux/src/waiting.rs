//! T5: the additional cost of waiting for the first of many, over waiting for one.
//!
//! A child answers a byte; either it reads from the pipe of that byte, or it asks `epoll` which of
//! many pipes is ready, all but that one idle. A sample is the difference.

use crate::host::{Child, Cores, exchange, pipe};
use crate::measure::{Peer, sample};
use rustix::event::epoll;
use std::fs::File;
use std::io::{self, Read, Write};

/// Pipes beside the one that is used.
const IDLE: [usize; 3] = [7, 63, 511];

/// The peers.
pub fn peers(cores: Cores) -> Vec<Peer> {
    IDLE.into_iter()
        .map(|idle| {
            let name = format!("linux epoll of {} pipes, over a read", idle + 1);
            Peer::new("T5", name, move |n| {
                let read = answered(n, cores.first, None)?;
                let waited = answered(n, cores.first, Some(idle))?;
                Ok(waited.iter().zip(&read).map(|(w, r)| w - r).collect())
            })
        })
        .collect()
}

/// Round trips to a child that reads at once, or waits for the first of one and `idle` more pipes.
fn answered(n: usize, core: usize, idle: Option<usize>) -> io::Result<Vec<f64>> {
    let ((mut there, mut to), (mut here, mut back)) = (pipe()?, pipe()?);
    let idle: Option<Vec<(File, File)>> = idle
        .map(|count| (0..count).map(|_| pipe()).collect())
        .transpose()?;
    let set = match &idle {
        Some(idle) => Some(watch(&there, idle)?),
        None => None,
    };
    let mut byte = [0];
    let _child = Child::fork(core, || {
        if let Some(set) = &set {
            let mut events = Vec::with_capacity(1);
            epoll::wait(set, rustix::buffer::spare_capacity(&mut events), None)?;
            if events.first().is_none_or(|e| e.data.u64() != 0) {
                return Err(io::Error::other("an idle pipe has something"));
            }
        }
        there.read_exact(&mut byte)?;
        back.write_all(&byte)
    })?;
    let mut byte = [1];
    sample(n, 30, || exchange(&mut to, &mut here, &mut byte))
}

/// An epoll of these pipes: the one that is used under 0.
fn watch(used: &File, idle: &[(File, File)]) -> io::Result<std::os::fd::OwnedFd> {
    let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let all = std::iter::once(used).chain(idle.iter().map(|(read, _)| read));
    for (pipe, number) in all.zip(0..) {
        let number = epoll::EventData::new_u64(number);
        epoll::add(&set, pipe, number, epoll::EventFlags::IN)?;
    }
    Ok(set)
}
