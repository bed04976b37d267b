//! The file worker: requests on an open file. Those that move data go on in `transfer.rs`.

use crate::directory::{attributes, time};
use crate::faults;
use crate::sync::Sync;
use crate::transfer::{Busy, Reply};
use crate::volume::{At, Client, File, Volume, now};
use sing_sdk::contracts::{FileContract, FileFault};
use sing_sdk::prelude::*;
use sing_sdk::rt::{TypedEndpoint, stand_for};
use sing_store::{BLOCK, Kind, LARGEST_FILE, NodeId};

type Service = ServiceContract::Exp<ServiceContract::Start>;

/// The largest block of a request.
pub const MOST: usize = 1 << 20;

impl Volume {
    /// Serves one request of an open file's holder.
    pub fn file(&mut self, number: u32, file: File, at: At) {
        use FileContract::exp::Ready as Request;
        self.loans.remove(&number);
        let next = match file.recv() {
            Request::GetAttributes(next) => match self.store.attributes(at.node) {
                Ok(known) => next.send_attributes(attributes(&known)),
                Err(error) => next.send_failed(faults::file(error)),
            },
            Request::GetLimits(next) => next.send_limits(BLOCK as u32, MOST as u32),
            Request::Read(offset, buffer, start, count, next) => {
                let (mut block, lent) = self.lend(number, buffer);
                match lent.and_then(|()| self.may_read(&mut block, offset, start, count, at)) {
                    Ok(bytes) if self.quick_read(at, &mut block, offset, start, bytes) => {
                        next.send_data(Vector::from_block(block), bytes as u32)
                    }
                    Ok(bytes) => {
                        let part = (start as usize, bytes, count as usize);
                        let busy = Busy::new(Reply::Read(next), at, block, offset, part);
                        return self.begin(number, busy);
                    }
                    Err(fault) => next.send_refused(fault, Vector::from_block(block)),
                }
            }
            Request::Write(offset, data, start, count, next) => {
                let (block, lent) = self.lend(number, data);
                match lent.and_then(|()| may_write(&block, offset, start, count, at)) {
                    Ok(()) if self.quick_write(at, &block, offset, start, count) => {
                        next.send_written(Vector::from_block(block), count)
                    }
                    Ok(()) => {
                        let part = (start as usize, count as usize, count as usize);
                        let busy = Busy::new(Reply::Write(next), at, block, offset, part);
                        return self.begin(number, busy);
                    }
                    Err(fault) => next.send_refused(fault, Vector::from_block(block)),
                }
            }
            Request::Append(data, start, count, next) => {
                let (block, lent) = self.lend(number, data);
                match lent.and_then(|()| may_write(&block, 0, start, count, at)) {
                    Ok(()) => {
                        let part = (start as usize, count as usize, count as usize);
                        let busy = Busy::new(Reply::Append(next), at, block, 0, part);
                        return self.begin(number, busy);
                    }
                    Err(fault) => next.send_refused(fault, Vector::from_block(block)),
                }
            }
            Request::SetSize(bytes, next) => {
                let fault = match at.write {
                    false => FileFault::ReadOnly,
                    true if bytes > LARGEST_FILE => FileFault::TooLarge,
                    true => return self.begin(number, Busy::resize(next, at, bytes)),
                };
                next.send_failed(fault)
            }
            Request::SetTimes(accessed, modified, next) => {
                let set = |v: &mut Volume| {
                    v.store
                        .set_times(at.node, time(accessed), time(modified), now())
                };
                match if at.write {
                    self.change(set)
                } else {
                    Err(FileFault::ReadOnly)
                } {
                    Ok(()) => next.send_done(),
                    Err(fault) => next.send_failed(fault),
                }
            }
            Request::Sync(next) => return self.ask_sync(number, Sync::File(next), at),
            Request::Another(exp, next) => match self.another(number, at, exp) {
                Ok(()) => next.send_opened(),
                Err((fault, exp)) => next.send_not_opened(fault, exp),
            },
            Request::AnotherToRead(exp, next) => {
                let to_read = At { write: false, ..at };
                match self.another(number, to_read, exp) {
                    Ok(()) => next.send_opened(),
                    Err((fault, exp)) => next.send_not_opened(fault, exp),
                }
            }
            Request::Closed => return self.close(number, at),
        };
        self.slots.put(number, Client::File(next, at));
    }

    /// How many bytes of the file there are for a read.
    fn may_read(
        &mut self,
        block: &mut Block,
        offset: u64,
        start: u32,
        count: u32,
        at: At,
    ) -> Result<usize, FileFault> {
        fits(block, start, count)?;
        // A block with another view cannot be written; to write it all the same ends the process.
        block.unshare().map_err(|_| FileFault::BadRequest)?;
        let size = self.store.size(at.node).map_err(faults::file)?;
        let bytes = size.saturating_sub(offset).min(u64::from(count));
        Ok(usize::try_from(bytes).unwrap_or(0))
    }

    fn another(&mut self, number: u32, at: At, exp: Service) -> Result<(), (FileFault, Service)> {
        let origin = self.slots.origin(number).unwrap_or(u32::MAX);
        let opened = self.open(origin, at, Kind::File, exp.into_endpoint());
        opened.map_err(|(fault, endpoint)| (fault, stand_for(endpoint)))
    }

    /// Throws a file's content away.
    pub fn truncate(&mut self, node: NodeId) -> Result<(), FileFault> {
        self.await_ended();
        self.tidying = true;
        self.change(|v| v.store.set_size(node, 0, now()).map(drop))
    }
}

fn fits(block: &Block, start: u32, count: u32) -> Result<(), FileFault> {
    let (start, count, len) = (start as usize, count as usize, block.len());
    if len <= MOST && start <= len && count <= len - start {
        Ok(())
    } else {
        Err(FileFault::BadRequest)
    }
}

fn may_write(block: &Block, offset: u64, start: u32, count: u32, at: At) -> Result<(), FileFault> {
    fits(block, start, count)?;
    if !at.write {
        return Err(FileFault::ReadOnly);
    }
    if offset > LARGEST_FILE - u64::from(count) {
        return Err(FileFault::TooLarge);
    }
    Ok(())
}
