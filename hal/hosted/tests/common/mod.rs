//! What the tests share: what Linux says about the process's mappings, and children.
#![allow(
    dead_code,
    reason = "each test is a program of its own, and needs a part"
)]

pub mod player;
pub mod terminal;

use std::process::Command;

/// A mapping of this process.
#[derive(Clone, Debug)]
pub struct Mapping {
    pub start: u64,
    pub end: u64,
    pub access: String,
}

/// All mappings of this process.
pub fn mappings() -> Vec<Mapping> {
    let text = std::fs::read_to_string("/proc/self/maps").unwrap();
    let parse = |line: &str| {
        let mut words = line.split_whitespace();
        let (start, end) = words.next().unwrap().split_once('-').unwrap();
        let number = |text| u64::from_str_radix(text, 16).unwrap();
        let access = words.next().unwrap()[..3].to_owned();
        Mapping {
            start: number(start),
            end: number(end),
            access,
        }
    };
    text.lines().map(parse).collect()
}

/// How every page of a range can be accessed, as `rwx`; panics if not all of it is mapped, or
/// unlike.
pub fn access(at: u64, bytes: u64) -> String {
    let mut from = at;
    let mut found: Option<String> = None;
    for mapping in mappings() {
        if mapping.start <= from && from < mapping.end {
            assert!(
                found.as_ref().is_none_or(|a| *a == mapping.access),
                "access differs at {from:#x}"
            );
            found = Some(mapping.access);
            from = mapping.end;
        }
        if from >= at + bytes {
            return found.unwrap();
        }
    }
    panic!("{from:#x} is not mapped")
}

/// This test program again, running one test with `SCENE` set.
pub fn scene(test: &str, scene: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env("SCENE", scene);
    command
}

/// The scene that this process is to play, if it is such a child.
pub fn my_scene() -> Option<String> {
    std::env::var("SCENE").ok()
}
