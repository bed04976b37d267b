//! A file system's life: made, used, mounted again, checked.

mod common;

use common::{Ram, mounted};
use sing_store::{Error, MountOptions, Progress, ROOT, Store};

fn check(store: &mut Store<Ram>) {
    let report = store.check(10).expect("check");
    assert!(report.is_clean(), "{report:?}");
}

#[test]
fn what_was_synced_is_there_after_a_mount() {
    let mut store = mounted(4 << 20);
    let directory = store.make_directory(ROOT, "home", 1).expect("directory");
    let file = store.create(directory, "letter", 2).expect("file");
    store.write_at(file, 3, b"hello", 3).expect("write");
    store
        .make_link(directory, "link", "letter", 4)
        .expect("link");
    store.set_label("mine").expect("label");
    check(&mut store);
    let disk = store.unmount().expect("unmount");
    let mut store = Store::mount(disk, &MountOptions::default()).expect("mount");
    assert_eq!(store.volume().label, "mine");
    let home = store.lookup(ROOT, "home").expect("home").node;
    let letter = store.lookup(home, "letter").expect("letter").node;
    let mut buffer = [9; 16];
    assert_eq!(store.read_at(letter, 0, &mut buffer), Ok(8));
    assert_eq!(&buffer[..8], b"\0\0\0hello");
    let names: Vec<_> = store
        .list(home, 0, 10)
        .expect("list")
        .into_iter()
        .map(|e| e.name)
        .collect();
    assert_eq!(names, ["letter", "link"]);
    let link = store.lookup(home, "link").expect("link").node;
    assert_eq!(store.read_link(link).as_deref(), Ok("letter"));
    check(&mut store);
}

#[test]
fn a_removed_file_lives_until_it_is_released() {
    let mut store = mounted(4 << 20);
    let free = store.space().free;
    let file = store.create(ROOT, "f", 1).expect("file");
    store.write_at(file, 0, &[7; 100_000], 1).expect("write");
    store.hold(file).expect("hold");
    store.unlink(ROOT, "f", 2).expect("unlink");
    assert_eq!(store.tidy(), Ok(Progress::Done));
    assert_eq!(store.lookup(ROOT, "f"), Err(Error::NotFound));
    let mut buffer = [0; 4];
    assert_eq!(store.read_at(file, 99_998, &mut buffer), Ok(2));
    check(&mut store);
    store.release(file).expect("release");
    while store.tidy().expect("tidy") == Progress::More {}
    assert_eq!(store.attributes(file), Err(Error::NotFound));
    store.sync().expect("sync");
    store.reclaim().expect("reclaim");
    assert!(
        store.space().free + (1 << 20) > free,
        "{:?} {free}",
        store.space()
    );
    check(&mut store);
}

#[test]
fn nothing_of_what_was_cut_off_shows_again() {
    let mut store = mounted(4 << 20);
    let file = store.create(ROOT, "f", 1).expect("file");
    store.write_at(file, 0, &[7; 10_000], 1).expect("write");
    for (shrink, grow) in [(5000, 9000), (4096, 9000), (100, 3000), (50, 20_000)] {
        store.set_size(file, shrink, 2).expect("shrink");
        store.set_size(file, grow, 2).expect("grow");
        let mut buffer = vec![1; grow as usize + 10];
        assert_eq!(store.read_at(file, 0, &mut buffer), Ok(grow as usize));
        assert!(
            buffer[..shrink as usize].iter().all(|&b| b == 7),
            "{shrink}"
        );
        assert!(
            buffer[shrink as usize..grow as usize]
                .iter()
                .all(|&b| b == 0),
            "{shrink}"
        );
        store
            .write_at(file, 0, &vec![7; grow as usize], 3)
            .expect("write");
    }
    // Writing behind the end, in the same block and far beyond it.
    for (shrink, write) in [(100, 200), (300, 50_000), (20, 8192)] {
        store.set_size(file, shrink, 4).expect("shrink");
        store.write_at(file, write, b"x", 5).expect("write");
        let mut buffer = vec![1; write as usize + 1];
        assert_eq!(store.read_at(file, 0, &mut buffer), Ok(write as usize + 1));
        assert!(
            buffer[shrink as usize..write as usize]
                .iter()
                .all(|&b| b == 0),
            "{shrink}"
        );
        store
            .write_at(file, 0, &vec![7; write as usize + 1], 3)
            .expect("write");
    }
    check(&mut store);
}
