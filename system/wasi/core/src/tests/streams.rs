//! Standard streams, and lists of buffers.

use super::*;
use crate::abi::fdflags;

#[test]
fn what_does_not_fit_stays_for_the_next_read() {
    let mut world = world();
    world.input.0.borrow_mut().0.push_back(b"hello".to_vec());
    assert_eq!(world.read(0, 0).unwrap(), b"");
    assert_eq!(world.read(0, 2).unwrap(), b"he");
    let (list, count) = world.list(&[(DATA, 1), (DATA, 0), (DATA + 10, 9)]);
    world.wasi.fd_read(0, list, count, OUT).unwrap();
    // It does not wait for more.
    assert_eq!(world.u32(OUT), 3);
    assert_eq!(world.get(DATA, 1), b"l");
    assert_eq!(world.get(DATA + 10, 2), b"lo");
    world.input.0.borrow_mut().1 = true;
    assert_eq!(world.read(0, 2).unwrap(), b"");
    assert_eq!(world.read(0, 2).unwrap(), b"");
}

#[test]
fn output_goes_in_pieces() {
    let mut world = world();
    assert_eq!(world.write(1, b"a line\n"), Ok(7));
    assert_eq!(world.write(1, b""), Ok(0));
    assert_eq!(world.output.0.borrow().blocks, 1);
    let large = vec![7; 150_000];
    assert_eq!(world.write(1, &large), Ok(150_000));
    assert_eq!(world.output.0.borrow().blocks, 4);
    assert_eq!(world.output.0.borrow().bytes.len(), 150_007);
    world.output.0.borrow_mut().gone = true;
    assert_eq!(world.write(1, b"x"), Err(Errno::Pipe));
}

#[test]
fn a_stream_that_is_not_to_wait() {
    let mut world = world();
    for fd in [0, 1] {
        let flags = fdflags::NONBLOCK.into();
        world.wasi.fd_fdstat_set_flags(fd, flags).unwrap();
    }
    assert_eq!(world.read(0, 1), Err(Errno::Again));
    // What is written waits all the same, as with other engines.
    world.output.0.borrow_mut().full = true;
    let large = vec![7; 150_000];
    assert_eq!(world.write(1, &large), Ok(150_000));
    assert_eq!(world.wasi.fd_fdstat_set_flags(0, 32), Err(Errno::Inval));
    world.wasi.fd_fdstat_get(0, OUT).unwrap();
    assert_eq!(world.get(OUT, 4), [0, 0, 4, 0]);
    world.wasi.fd_fdstat_get(1, OUT).unwrap();
    assert_eq!(world.get(OUT, 1), [2], "said to be a terminal");
}

#[test]
fn streams_are_no_files() {
    let mut world = world();
    assert_eq!(world.read(1, 1), Err(Errno::Badf));
    assert_eq!(world.write(0, b"x"), Err(Errno::Badf));
    assert_eq!(world.seek(0, 0, 1), Err(Errno::Spipe));
    assert_eq!(world.read_at(0, 1, 0), Err(Errno::Spipe));
    assert_eq!(world.wasi.fd_sync(1), Err(Errno::Inval));
    assert_eq!(world.wasi.fd_advise(0, 0, 0, 0), Err(Errno::Spipe));
    assert_eq!(world.wasi.fd_allocate(0, 0, 1), Err(Errno::Spipe));
    assert_eq!(world.wasi.fd_filestat_set_size(1, 0), Err(Errno::Inval));
    assert_eq!(
        world.wasi.fd_readdir(0, DATA, 100, 0, OUT),
        Err(Errno::Notdir)
    );
    assert_eq!(world.open_as(0, "x", 0, RIGHTS, 0), Err(Errno::Notdir));
    world.wasi.fd_filestat_get(0, OUT).unwrap();
    assert_eq!(world.get(OUT, 64), [0; 64]);
    world.wasi.fd_close(0).unwrap();
    assert_eq!(world.read(0, 1), Err(Errno::Badf));
    assert_eq!(world.wasi.fd_close(0), Err(Errno::Badf));
}

#[test]
fn thousands_of_buffers() {
    let mut world = world();
    let buffers: Vec<_> = (0..1500).map(|i| (DATA + i, i % 3)).collect();
    let (list, count) = world.list(&buffers);
    world.put(DATA, &[b'x'; 2000]);
    world.wasi.fd_write(1, list, count, OUT).unwrap();
    assert_eq!(world.u32(OUT), 1500);
    assert_eq!(world.output.0.borrow().bytes, [b'x'; 1500]);
    // One buffer again and again: more than the program's memory in all.
    let (list, count) = world.list(&[(0, MEMORY as u32); 5]);
    world.wasi.fd_write(1, list, count, OUT).unwrap();
    assert_eq!(world.u32(OUT), 5 << 20);
    assert_eq!(world.output.0.borrow().bytes.len(), 1500 + (5 << 20));
}

#[test]
fn buffers_that_are_not_there() {
    let mut world = world();
    let end = MEMORY as u32;
    for buffer in [(end - 1, 2), (end, 1), (u32::MAX, u32::MAX), (1, u32::MAX)] {
        let (list, count) = world.list(&[(DATA, 4), buffer]);
        for fd in [0, 1] {
            let read = world.wasi.fd_read(fd, list, count, OUT);
            let written = world.wasi.fd_write(fd, list, count, OUT);
            assert_eq!((read, written), (Err(Errno::Fault), Err(Errno::Fault)));
        }
    }
    // Nothing has been written before.
    assert_eq!(world.output.0.borrow().blocks, 0);
    // An empty buffer may be anywhere.
    let (list, count) = world.list(&[(u32::MAX, 0), (DATA, 1)]);
    assert_eq!(world.wasi.fd_write(1, list, count, OUT), Ok(()));
    // The list itself, and the result.
    for count in [u32::MAX, 1 << 29, 1 << 17] {
        assert_eq!(world.wasi.fd_write(1, LIST, count, OUT), Err(Errno::Fault));
    }
    let (list, count) = world.list(&[(DATA, 1)]);
    assert_eq!(
        world.wasi.fd_write(1, list, count, end - 3),
        Err(Errno::Fault)
    );
    assert_eq!(world.output.0.borrow().blocks, 1);
    // More bytes than a call can tell.
    let (list, count) = world.list(&[(0, MEMORY as u32); 2048]);
    assert_eq!(world.wasi.fd_write(1, list, count, OUT), Err(Errno::Inval));
}

#[test]
fn what_is_read_may_change_the_list_itself() {
    let mut world = world();
    // The first buffer is the second one's place in the list, which then says something wrong.
    world.input.0.borrow_mut().0.push_back(vec![0xff; 16]);
    let (list, count) = world.list(&[(LIST + 8, 8), (DATA, 8)]);
    assert_eq!(world.wasi.fd_read(0, list, count, OUT), Err(Errno::Fault));
    assert_eq!(world.get(LIST + 8, 8), [0xff; 8]);
    assert_eq!(world.get(DATA, 8), [0; 8]);
}
