//! The disk: requests in the terms of its clients, and how they become commands.
//!
//! A block whose pages are its own is mapped for the device as it is. Another is copied, a page at
//! a time, by way of memory that the device shares with this driver.

use crate::command::{Command, FLUSH, MANAGE, PAGE, READ, WRITE};
use crate::controller::{Controller, SIZE};
use disk_driver::{Answer, DiskDevice, Geometry, MOST, NotBegun, PARALLEL, Request};
use sing_sdk::device::{Device, Irq};
use sing_sdk::dma::{Access, Mapping};
use sing_sdk::prelude::*;

/// Pages of a request that are shared with the device: a list of others, and bytes that are copied.
const PAGES: u32 = 2;
const LIST: u32 = 0;
const COPIED: u32 = 1;
/// Forget the sectors (a command to manage some).
const DEALLOCATE: u32 = 4;

const _: () = assert!(PARALLEL < SIZE as usize);

/// A client's block, while the device works.
enum Data {
    None,
    /// The device has it: so many bytes.
    Mapped(Mapping, u32),
    /// It is copied: from byte `at` on, a page at a time, up to `end`.
    Copied {
        block: Block,
        at: u32,
        end: u32,
    },
}

/// A request that the device has.
struct Under {
    kind: u8,
    /// The first sector of what follows this command.
    sector: u64,
    data: Data,
}

/// The disk.
pub struct Disk {
    controller: Controller,
    geometry: Geometry,
    under: Vec<Option<Under>>,
}

impl Disk {
    /// Starts the device.
    pub fn start(device: Device) -> Result<Disk, Error> {
        let controller = Controller::start(device, PAGES * PARALLEL as u32)?;
        let facts = &controller.facts;
        let geometry = Geometry {
            sectors: facts.sectors,
            shift: facts.shift,
            most: facts.most.unwrap_or(u64::MAX).min(u64::from(MOST)) as u32,
            read_only: facts.read_only,
            flushes: facts.flushes,
            discards: facts.discards && !facts.read_only,
        };
        let mut under = Vec::new();
        under.resize_with(PARALLEL.min(controller.queue.room()), || None);
        Ok(Disk {
            controller,
            geometry,
            under,
        })
    }
}

impl DiskDevice for Disk {
    type Signal = Irq;

    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn irq(&self) -> &Irq {
        &self.controller.irq
    }

    fn begin(&mut self, request: Request) -> Result<usize, NotBegun> {
        let Some(number) = self.under.iter().position(Option::is_none) else {
            let reason = Error::WouldBlock;
            return Err(NotBegun { request, reason });
        };
        let (kind, sector, data) = match request {
            Request::Flush => (FLUSH, 0, Data::None),
            Request::Discard { sector, sectors } => {
                self.put_range(number, sector, sectors);
                (MANAGE, sector, Data::None)
            }
            Request::Read {
                sector,
                block,
                start,
                count,
            } => match self.give(block, start, count, Access::Write) {
                Ok(data) => (READ, sector, data),
                Err((block, reason)) => {
                    let request = Request::Read {
                        sector,
                        block,
                        start,
                        count,
                    };
                    return Err(NotBegun { request, reason });
                }
            },
            Request::Write {
                sector,
                block,
                start,
                count,
            } => match self.give(block, start, count, Access::Read) {
                Ok(data) => (WRITE, sector, data),
                Err((block, reason)) => {
                    let request = Request::Write {
                        sector,
                        block,
                        start,
                        count,
                    };
                    return Err(NotBegun { request, reason });
                }
            },
        };
        let mut under = Under { kind, sector, data };
        self.put(number, &mut under);
        self.under[number] = Some(under);
        Ok(number)
    }

    /// An interrupt comes for all that the device does, however soon.
    fn notify(&self) -> bool {
        self.controller.queue.notify(&self.controller.registers);
        false
    }

    fn take(&mut self) -> Result<Answer, Error> {
        loop {
            let controller = &mut self.controller;
            let Some(answer) = controller.queue.take(&controller.device) else {
                controller.queue.taken(&controller.registers);
                let failed = controller.has_failed();
                return Err(if failed {
                    Error::BadState
                } else {
                    Error::WouldBlock
                });
            };
            let number = usize::from(answer.number);
            let under = self.under.get_mut(number).and_then(Option::take);
            // It claims to be done with what it does not have: it is not to be trusted.
            let mut under = under.ok_or(Error::BadState)?;
            let done = answer.status == 0;
            if done && self.goes_on(number, &mut under) {
                self.put(number, &mut under);
                self.under[number] = Some(under);
                self.notify();
                continue;
            }
            let block = match under.data {
                Data::None => None,
                Data::Copied { block, .. } => Some(block),
                Data::Mapped(mapping, _) => {
                    let unmapped = self.controller.device.unmap(mapping);
                    Some(unmapped.map_err(|n| n.error)?)
                }
            };
            return Ok(Answer {
                number,
                done,
                block,
            });
        }
    }
}

impl Disk {
    /// Makes a block ready for the device.
    fn give(
        &self,
        block: Block,
        start: u32,
        count: u32,
        access: Access,
    ) -> Result<Data, (Block, Error)> {
        let end = start + count;
        match self.controller.device.map(block, start..end, access) {
            Ok(mapping) => Ok(Data::Mapped(mapping, count)),
            // Others have bytes on its pages.
            Err(refused) if refused.error == Error::Held => Ok(Data::Copied {
                block: refused.content,
                at: start,
                end,
            }),
            Err(refused) => Err((refused.content, refused.error)),
        }
    }

    /// The page with a request's list of pages, and that for bytes that are copied.
    fn page(&self, number: usize, which: u32) -> u64 {
        self.controller.page(number as u32 * PAGES + which)
    }

    /// Puts a command into the queue, for all of a request or its next page.
    fn put(&mut self, number: usize, under: &mut Under) {
        let device = &self.controller.device;
        let sector = self.geometry.sector();
        let first = under.sector;
        let mut len = 0;
        let mut data = [self.page(number, LIST), 0];
        match &under.data {
            Data::None => {}
            Data::Mapped(mapping, count) => {
                data = self.describe(number, mapping.address(), *count);
                len = *count;
            }
            Data::Copied { block, at, end } => {
                len = (*end - *at).min(PAGE);
                data = [self.page(number, COPIED), 0];
                if under.kind == WRITE {
                    let mut bytes = [0; PAGE as usize];
                    let bytes = &mut bytes[..len as usize];
                    block.read(*at as usize, bytes);
                    device.copy_in(data[0], bytes);
                }
            }
        }
        let words = match under.kind {
            FLUSH => [0; 3],
            // One range.
            MANAGE => [0, DEALLOCATE, 0],
            _ => [
                first as u32,
                (first >> 32) as u32,
                (len / sector).max(1) - 1,
            ],
        };
        if under.kind == FLUSH {
            data = [0; 2];
        }
        under.sector += u64::from(len / sector);
        let command = Command {
            kind: under.kind,
            number: number as u16,
            namespace: self.controller.facts.namespace,
            data,
            words,
        };
        let controller = &mut self.controller;
        controller.queue.put(&controller.device, &command);
    }

    /// Says where data is that lies in neighbouring pages: the first, and the second or, if there
    /// are more, a list of them.
    fn describe(&self, number: usize, address: u64, count: u32) -> [u64; 2] {
        let page = u64::from(PAGE);
        let end = address + u64::from(count);
        let second = address / page * page + page;
        if end <= second {
            return [address, 0];
        }
        if end <= second + page {
            return [address, second];
        }
        let pages = (second..end).step_by(PAGE as usize);
        let list: Vec<u8> = pages.flat_map(u64::to_le_bytes).collect();
        let at = self.page(number, LIST);
        self.controller.device.copy_in(at, &list);
        [address, at]
    }

    /// Writes the range of sectors that is to be forgotten.
    fn put_range(&self, number: usize, sector: u64, sectors: u64) {
        let mut range = [0; 16];
        let count = u32::try_from(sectors).unwrap_or(u32::MAX);
        range[4..8].copy_from_slice(&count.to_le_bytes());
        range[8..].copy_from_slice(&sector.to_le_bytes());
        self.controller
            .device
            .copy_in(self.page(number, LIST), &range);
    }

    /// After a part that was copied: whether there is another.
    fn goes_on(&self, number: usize, under: &mut Under) -> bool {
        let Data::Copied { block, at, end } = &mut under.data else {
            return false;
        };
        let len = (*end - *at).min(PAGE);
        if under.kind == READ {
            let mut bytes = [0; PAGE as usize];
            let bytes = &mut bytes[..len as usize];
            let from = self.page(number, COPIED);
            self.controller.device.copy_out(from, bytes);
            block.write(*at as usize, bytes);
        }
        *at += len;
        *at < *end
    }
}
