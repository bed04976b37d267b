//! What the store holds at its own bounds fits the memory that its manifest asks for. A test program of
//! its own: it looks at the memory of the whole process.

use store::service::{LONGEST, SUBSCRIBERS};
use store::table::{KEYS, News, Table};

/// As `src/main.rs` has it.
const MEMORY: usize = 4 << 20;

/// Bytes of memory that this process has on its heap and elsewhere.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:"));
    let kib: usize = line
        .unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    kib << 10
}

#[test]
fn the_store_fits_its_memory_when_it_is_full() {
    let manifest = include_str!("../src/main.rs");
    assert!(manifest.contains(&format!("memory: {} MiB", MEMORY >> 20)));
    let before = resident();
    let mut table = Table::default();
    let text = |i: usize| format!("{i:0>LONGEST$}");
    let mut all: Vec<News> = Vec::new();
    all.resize_with(SUBSCRIBERS, || News::new(String::new(), &table));
    for i in 0..KEYS {
        let place = table.put(&text(i), &text(i)).unwrap();
        all.iter_mut()
            .for_each(|news| news.changed(&text(i), place));
    }
    assert_eq!(
        all[SUBSCRIBERS - 1].next(&table),
        Some((&text(0)[..], &text(0)[..]))
    );
    let used = resident() - before;
    // The rest is for its code's data, its channels and the messages.
    assert!(used < MEMORY / 2, "{used} bytes of {MEMORY}");
}
