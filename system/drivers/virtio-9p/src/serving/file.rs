//! Requests on an open file.

use super::{Announces, File, FileStart, Server, Service};
use crate::{Opened, Transport};
use sing_sdk::contracts::{FileContract, FileFault};
use sing_sdk::prelude::*;
use sing_sdk::rt::{TypedEndpoint, stand_for};

/// In which blocks files are best read and written.
const BLOCK: u32 = 4096;
/// The largest block of a request: none takes long.
const MOST: u32 = 1 << 20;

/// What was asked with a block: the block back, unless the host is lost, and the outcome.
type Back = (Option<Block>, Result<u32, FileFault>);

impl<T: Transport<Data = Block>, D: Announces> Server<T, D> {
    /// Serves one request; `None` when the client has gone, or its block with the host.
    pub(super) fn file(&mut self, file: File, open: Opened, number: u32) -> Option<File> {
        use FileContract::exp::Ready as Request;
        let fid = open.fid;
        Some(match file.recv() {
            Request::GetAttributes(next) => match self.session.attributes_of(fid) {
                Ok(attributes) => next.send_attributes(attributes),
                Err(fault) => next.send_failed(fault),
            },
            Request::GetLimits(next) => next.send_limits(BLOCK, MOST),
            Request::Read(offset, buffer, start, count, next) => {
                let (block, read) = self.read(fid, offset, buffer.into_block(), start, count);
                let block = Vector::from_block(block?);
                match read {
                    Ok(count) => next.send_data(block, count),
                    Err(fault) => next.send_refused(fault, block),
                }
            }
            Request::Write(offset, data, start, count, next) => {
                let (block, written) = self.write(open, offset, data.into_block(), start, count);
                let block = Vector::from_block(block?);
                match written {
                    Ok(count) => next.send_written(block, count),
                    Err(fault) => next.send_refused(fault, block),
                }
            }
            Request::Append(data, start, count, next) => {
                // Requests are served one after the other: those of the system do not overlap.
                match self.session.size_of(fid) {
                    Ok(end) => {
                        let (block, written) =
                            self.write(open, end, data.into_block(), start, count);
                        let block = Vector::from_block(block?);
                        match written {
                            Ok(count) => next.send_appended(block, count, end),
                            Err(fault) => next.send_refused(fault, block),
                        }
                    }
                    Err(fault) => next.send_refused(fault, data),
                }
            }
            Request::SetSize(bytes, next) => {
                match may(open).and_then(|()| self.session.resize(fid, bytes)) {
                    Ok(()) => next.send_done(),
                    Err(fault) => next.send_failed(fault),
                }
            }
            Request::SetTimes(accessed, modified, next) => {
                match may(open).and_then(|()| self.session.set_times(fid, accessed, modified)) {
                    Ok(()) => next.send_done(),
                    Err(fault) => next.send_failed(fault),
                }
            }
            Request::Sync(next) => match self.session.sync_of(open, false) {
                Ok(()) => next.send_done(),
                Err(fault) => next.send_failed(fault),
            },
            Request::Another(exp, next) => match self.another(number, open, exp) {
                Ok(()) => next.send_opened(),
                Err((fault, exp)) => next.send_not_opened(fault, exp),
            },
            Request::AnotherToRead(exp, next) => {
                let to_read = Opened {
                    write: false,
                    ..open
                };
                match self.another(number, to_read, exp) {
                    Ok(()) => next.send_opened(),
                    Err((fault, exp)) => next.send_not_opened(fault, exp),
                }
            }
            Request::Closed => return None,
        })
    }

    fn read(&mut self, fid: u32, offset: u64, mut block: Block, start: u32, count: u32) -> Back {
        // A block with another view cannot be written.
        if !fits(&block, start, count) || block.unshare().is_err() {
            return (Some(block), Err(FileFault::BadRequest));
        }
        let part = start..start + count;
        self.session.read_all(fid, offset, block, part)
    }

    fn write(&mut self, open: Opened, offset: u64, block: Block, start: u32, count: u32) -> Back {
        if !fits(&block, start, count) {
            return (Some(block), Err(FileFault::BadRequest));
        }
        if let Err(fault) = may(open) {
            return (Some(block), Err(fault));
        }
        let part = start..start + count;
        self.session.write_all(open.fid, offset, block, part)
    }

    fn another(
        &mut self,
        number: u32,
        open: Opened,
        exp: Service,
    ) -> Result<(), (FileFault, Service)> {
        let endpoint = exp.into_endpoint();
        if !FileStart::matches(&endpoint) {
            return Err((FileFault::NotDirectory, stand_for(endpoint)));
        }
        let taken = self.take(self.origin(number), open, endpoint);
        match taken {
            Ok(()) => {
                self.share(open.fid);
                Ok(())
            }
            Err((fault, endpoint)) => Err((fault, stand_for(endpoint))),
        }
    }
}

fn may(open: Opened) -> Result<(), FileFault> {
    if open.write {
        Ok(())
    } else {
        Err(FileFault::ReadOnly)
    }
}

fn fits(block: &Block, start: u32, count: u32) -> bool {
    let (start, count, len) = (start as usize, count as usize, block.len());
    len <= MOST as usize && start <= len && count <= len - start
}
