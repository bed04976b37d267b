//! The table of entries as a whole.

use super::*;

#[test]
fn names_are_unique_and_in_order() {
    for (i, e) in ENTRIES.iter().enumerate() {
        assert_eq!(e.index, i);
        assert!(
            ENTRIES[..i].iter().all(|o| o.name != e.name),
            "{} twice",
            e.name
        );
    }
}

#[test]
fn no_entry_needs_more_than_six_registers_but_known_ones() {
    // The context takes the first of the six; CHANNEL_* and PROCESS_CREATE may use the stack.
    for e in ENTRIES.iter().filter(|e| e.signature.params.len() > 5) {
        assert_eq!(e.name, "process_create");
    }
}

#[test]
fn compiler_entries_cannot_be_imported() {
    assert!(find("memory_copy").is_none());
    assert!(find("yield").is_some());
}
