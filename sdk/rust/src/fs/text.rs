//! Files that are texts in a service's memory: what a service shows of itself.

use crate::contracts::{FileAttributes, FileContract, FileFault, FileKind};
use crate::rt::Vector;
use FileContract::exp::Ready as Request;

/// The channel of an open file, between two requests.
pub type Open = FileContract::Exp<FileContract::Ready>;

/// The largest request.
const MOST: u32 = 1 << 20;

/// Answers one request to a text; waits for it if there is none. `None`: the client has gone.
pub fn answer(text: &str, file: Open) -> Option<Open> {
    const NO: FileFault = FileFault::ReadOnly;
    Some(match file.recv() {
        Request::GetAttributes(next) => next.send_attributes(FileAttributes {
            id: 0,
            kind: FileKind::File,
            links: 1,
            bytes: text.len() as u64,
            allocated: 0,
            accessed: 0,
            modified: 0,
            changed: 0,
            created: 0,
        }),
        Request::GetLimits(next) => next.send_limits(1, MOST),
        Request::Read(offset, buffer, start, count, next) => {
            match read(text.as_bytes(), offset, buffer, (start, count)) {
                Ok((data, count)) => next.send_data(data, count),
                Err((fault, buffer)) => next.send_refused(fault, buffer),
            }
        }
        Request::Write(_, data, _, _, next) => next.send_refused(NO, data),
        Request::Append(data, _, _, next) => next.send_refused(NO, data),
        Request::SetSize(_, next) => next.send_failed(NO),
        Request::SetTimes(_, _, next) => next.send_failed(NO),
        Request::Sync(next) => next.send_done(),
        Request::Another(exp, next) => next.send_not_opened(FileFault::NotSupported, exp),
        Request::AnotherToRead(exp, next) => next.send_not_opened(FileFault::NotSupported, exp),
        Request::Closed => return None,
    })
}

fn read(
    text: &[u8],
    offset: u64,
    buffer: Vector<u8>,
    (start, count): (u32, u32),
) -> Result<(Vector<u8>, u32), (FileFault, Vector<u8>)> {
    let mut block = buffer.into_block();
    let (start, count) = (start as usize, count as usize);
    let fits = start <= block.len() && count <= block.len() - start;
    // What is shared cannot be written: to try would end the service.
    if !fits || count > MOST as usize || block.unshare().is_err() {
        return Err((FileFault::BadRequest, Vector::from_block(block)));
    }
    let at = usize::try_from(offset).unwrap_or(usize::MAX);
    let rest = text.get(at..).unwrap_or(&[]);
    let piece = &rest[..rest.len().min(count)];
    block.write(start, piece);
    Ok((Vector::from_block(block), piece.len() as u32))
}
