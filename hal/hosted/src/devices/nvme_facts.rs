//! What an NVMe controller says of itself, of its namespace and of its health ([NVM Express] 1.2,
//! 5.10 and 5.11).

use super::disk::SECTOR;

/// The version: 1.2.
pub(super) const VERSION: u32 = 0x0001_0200;
/// The namespace's number.
pub(super) const NAMESPACE: u32 = 1;
/// Log2 of the most pages of a command's data, and the bytes.
const LARGEST: u8 = 7;
pub(super) const MOST: usize = (sing_abi::PAGE as usize) << LARGEST;

/// The maker of QEMU's controller, like which this one is.
const MAKER: u16 = 0x1b36;
const SUBSYSTEM: u16 = 0x1af4;

fn put(page: &mut [u8], at: usize, bytes: &[u8]) {
    page[at..at + bytes.len()].copy_from_slice(bytes);
}

/// Text with blanks behind it.
fn put_text(page: &mut [u8], at: usize, len: usize, text: &[u8]) {
    page[at..at + len].fill(b' ');
    put(page, at, &text[..text.len().min(len)]);
}

/// The controller; `name` is the file's.
pub(super) fn controller(name: &[u8]) -> Vec<u8> {
    let mut page = vec![0; 4096];
    put(&mut page, 0, &MAKER.to_le_bytes());
    put(&mut page, 2, &SUBSYSTEM.to_le_bytes());
    let printable: Vec<u8> = name
        .iter()
        .map(|b| if b.is_ascii_graphic() { *b } else { b'_' })
        .collect();
    put_text(&mut page, 4, 20, &printable);
    put_text(&mut page, 24, 40, b"Singularity hosted disk");
    put_text(&mut page, 64, 8, b"1");
    page[77] = LARGEST;
    put(&mut page, 80, &VERSION.to_le_bytes());
    // One place for firmware, which cannot be written.
    page[260] = 1 << 1 | 1;
    // Warm and hot, in Kelvin.
    put(&mut page, 266, &343u16.to_le_bytes());
    put(&mut page, 268, &373u16.to_le_bytes());
    // Commands of 64 bytes, answers of 16, one namespace.
    page[512] = 6 << 4 | 6;
    page[513] = 4 << 4 | 4;
    put(&mut page, 516, &1u32.to_le_bytes());
    // It can forget sectors, and has a cache that is to be flushed: the host's.
    page[520] = 1 << 2;
    page[525] = 1;
    page
}

/// The namespace, of so many sectors.
pub(super) fn namespace(sectors: u64, read_only: bool) -> Vec<u8> {
    let mut page = vec![0; 4096];
    for at in [0, 8, 16] {
        put(&mut page, at, &sectors.to_le_bytes());
    }
    page[99] = u8::from(read_only);
    page[128 + 2] = SECTOR.trailing_zeros() as u8;
    page
}

/// The numbers of namespaces above this one.
pub(super) fn namespaces(above: u32) -> Vec<u8> {
    let mut page = vec![0; 4096];
    if above < NAMESPACE {
        put(&mut page, 0, &NAMESPACE.to_le_bytes());
    }
    page
}

/// The log of its health: all is well, at 50 degrees.
pub(super) fn health() -> Vec<u8> {
    let mut page = vec![0; 512];
    put(&mut page, 1, &323u16.to_le_bytes());
    // Parts in a hundred that are spare, and when there are too few.
    (page[3], page[4]) = (100, 10);
    page
}
