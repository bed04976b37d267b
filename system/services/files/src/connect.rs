//! Connections to a disk's driver, found by name.
//!
//! Invariant: a connection stands when the driver has told the geometry, which it does when all
//! requests that came before have ended, also those of channels that are closed.

use crate::drive::patience;
use core::time::Duration;
use sing_sdk::contracts::{DiskContract, NamespaceContract, VolumeFault};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::time::uptime;
use sing_store::{BLOCK, SECTOR};

pub type Channel = DiskContract::Imp<DiskContract::Ready>;
pub type Asked = DiskContract::Imp<DiskContract::Ready_GetGeometry>;

/// What comes of the question for the geometry.
pub enum Told {
    Geometry(Channel, Geometry),
    /// It is not answered yet.
    Late(Asked),
}

/// How long a name server or a driver may take to connect.
const CONNECT: Duration = Duration::from_secs(2);
/// How long a dead driver's successor is waited for.
pub const RETURN: Duration = Duration::from_secs(5);
/// Between two looks for it.
pub const LOOK: Duration = Duration::from_millis(20);
/// A disk as it presents itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    pub bytes: u64,
    pub read_only: bool,
    pub parallel: u32,
    pub most: usize,
    /// Bytes of a sector: a power of two, and at most a block.
    pub sector: u64,
}

/// Why there is no connection.
pub enum Vain {
    /// Driver or name server ended meanwhile: there may be one with the successor.
    Ended,
    Fault(VolumeFault),
}

impl From<VolumeFault> for Vain {
    fn from(fault: VolumeFault) -> Vain {
        Vain::Fault(fault)
    }
}

impl From<Error> for Vain {
    fn from(error: Error) -> Vain {
        match error {
            Error::Closed => Vain::Ended,
            _ => Vain::Fault(VolumeFault::NoResources),
        }
    }
}

/// Connects to the driver under a path.
pub fn connect(names: &mut Names, path: &str) -> Result<(Channel, Geometry), Vain> {
    match geometry(path, begin(names, path)?, patience())? {
        Told::Geometry(disk, geometry) => Ok((disk, geometry)),
        Told::Late(_) => Err(VolumeFault::Medium.into()),
    }
}

/// Binds the driver under a path, and asks for the geometry.
pub fn begin(names: &mut Names, path: &str) -> Result<Asked, Vain> {
    // A connection of its own: one on which a bind hangs is given up.
    let names = names.connect()?.recv_success().map_err(Error::from)?;
    let (disk, exp) = DiskContract::new_channel()?;
    let binding: NamespaceContract::Imp<_> = names.send_bind(Text::new(path)?, 0, exp.into());
    switch_receive! {
        case binding.AckBind() as _ => {}
        case binding.NakBind(reason, _exp) as _ => return Err(Vain::Fault(match reason {
            // The name server has just been started again: names are missing that come back.
            Refusal::Again => return Err(Vain::Ended),
            Refusal::NoResources => VolumeFault::NoResources,
            _ => VolumeFault::NotFound,
        })),
        case binding.ChannelClosed() => return Err(Vain::Ended),
        timeout CONNECT => return Err(VolumeFault::NotFound.into()),
    }
    let disk = switch_receive! {
        case disk.Success() as ready => ready,
        case disk.ChannelClosed() => return Err(Vain::Ended),
        timeout CONNECT => return Err(VolumeFault::Medium.into()),
    };
    Ok(disk.send_get_geometry())
}

/// Waits for the geometry. The driver tells it when the requests that came before have ended, also
/// those of channels that are closed, and they may be slow.
pub fn geometry(path: &str, asked: Asked, patience: Duration) -> Result<Told, Vain> {
    switch_receive! {
        case asked.Geometry(sectors, sector_bytes, read_only, parallel, most) as disk => {
            let sector = u64::from(sector_bytes);
            let bytes = sectors.checked_mul(sector).ok_or(VolumeFault::BadSize)?;
            let most = most as usize / BLOCK as usize * BLOCK as usize;
            // A block is whole sectors, so that no sector is in two of them.
            if !sector.is_power_of_two() || !(SECTOR..=BLOCK).contains(&sector) || most == 0 {
                sing_sdk::log!(
                    "files: {path}: sectors of {sector} bytes, up to {most} bytes at once: there can be \
                     a file system on disks with sectors of {SECTOR} to {BLOCK} bytes that take {BLOCK} at once"
                );
                return Err(VolumeFault::BadSize.into());
            }
            Ok(Told::Geometry(disk, Geometry { bytes, read_only, parallel, most, sector }))
        }
        case asked.ChannelClosed() => Err(Vain::Ended),
        timeout patience => Ok(Told::Late(asked)),
    }
}

/// Connects to the driver under a path, or to one of its successors if it ends meanwhile.
pub fn connect_first(names: &mut Names, path: &str) -> Result<(Channel, Geometry), VolumeFault> {
    let until = uptime() + RETURN;
    loop {
        match connect(names, path) {
            Ok(connected) => return Ok(connected),
            Err(Vain::Fault(fault)) => return Err(fault),
            Err(Vain::Ended) if uptime() > until => return Err(VolumeFault::Medium),
            Err(Vain::Ended) => sing_sdk::time::sleep(LOOK),
        }
    }
}
