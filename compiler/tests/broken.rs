//! Fuzzing of everything that reads foreign input: verifier and compiler with broken modules,
//! manifests and contracts; the readers of images and system images with broken bytes. Every input
//! gives a result or an error, within bounds of time and memory.
//!
//! Each test runs for a second, or for `SING_FUZZ_SECONDS`. It prints its seed if it fails;
//! `SING_FUZZ_SEED` repeats a run.

use sing_compiler::{ErrorKind, MemoryMode, Options, compile, verify};
use sing_image::elf::Image;
use sing_image::system::{SystemImage, SystemManifest};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The most time that one input may take: far more than any of this size needs, even on a busy
/// machine.
const LONG: Duration = Duration::from_secs(20);
/// The most memory that the tests may ever have used, in KiB.
const MOST: u64 = 2 << 20;

struct Fuzz {
    state: u64,
    seed: u64,
    rounds: u64,
    until: Instant,
}

impl Fuzz {
    fn new() -> Fuzz {
        let variable = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let seed = variable("SING_FUZZ_SEED").unwrap_or(now.as_nanos() as u64);
        let seconds = variable("SING_FUZZ_SECONDS").unwrap_or(1);
        Fuzz {
            state: seed,
            seed,
            rounds: 0,
            until: Instant::now() + Duration::from_secs(seconds),
        }
    }

    /// Whether there is another round.
    fn goes_on(&mut self) -> bool {
        self.rounds += 1;
        Instant::now() < self.until
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ self.state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// Changes bytes in a few places: flips bits, inserts extreme numbers, removes, moves and
    /// repeats pieces.
    fn broken(&mut self, sound: &[u8]) -> Vec<u8> {
        let mut bytes = sound.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            let len = self.below(24).min(bytes.len() - at);
            match self.below(9) {
                0 | 1 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
                2 | 3 if at < bytes.len() => {
                    bytes[at] = [0, 1, 0x7f, 0x80, 0xff, self.next() as u8][self.below(6)];
                }
                4 => drop(bytes.drain(at..at + len)),
                5 => {
                    let piece = bytes[at..at + len].to_vec();
                    let to = self.below(bytes.len());
                    bytes.splice(to..to, piece);
                }
                6 => {
                    // The largest 32-bit number, in the module's encoding (LEB128).
                    bytes.splice(at..at + len.min(1), [0xff, 0xff, 0xff, 0xff, 0x0f]);
                }
                7 => bytes.insert(at, self.next() as u8),
                _ if self.below(8) == 0 => bytes.truncate(at),
                _ => {}
            }
        }
        bytes
    }
}

impl Drop for Fuzz {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}, round {}", self.seed, self.rounds);
        }
    }
}

/// The peak memory of this process, in KiB; `None` if the host does not report it.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn custom(name: &str, text: &str) -> String {
    let escaped: String = text.bytes().map(|b| format!("\\{b:02x}")).collect();
    format!("(@custom {name:?} \"{escaped}\")\n")
}

const MANIFEST: &str = r#"{"name":"broken","abi":1,"privileges":["create"],"memory":8388608,"stack":65536,
    "endpoints":[{"name":"to","contract":"Echo","side":"imp","state":"Start"},
    {"name":"from","contract":"Echo","side":"exp","optional":true,"many":true}]}"#;

const CONTRACTS: &str = "enum Colour : byte { Red = 1 }
contract Echo {
    in message Say(uint a, Colour c) requires a > 0 && a < 9;
    in message Take(byte[] in ExHeap data, Echo.Imp:Start e);
    out message Answer(uint a);
    state Start: one { Say? -> Answer! -> Start; Take? -> Answer! -> Start; }
}
contract Less narrows Echo.Imp { Say; }";

/// A SIP with every kind of section.
fn sip(manifest: &str, contracts: &str) -> Vec<u8> {
    let text = format!(
        r#"(module
        (import "sing_v1" "xh_load32" (func $x (param i32 i32) (result i32)))
        (import "sing_v1" "process_start" (func $start (param i32) (result i32)))
        (import "contract:Echo" "imp.send.Say" (func $say (param i32 i64 i64) (result i32)))
        (memory 1 3) (data $d "abc") (data (i32.const 9) "def") (global $g (mut i32) (i32.const 1))
        (table $t 2 9 funcref) (elem $s func $x $start) (elem (table $t) (i32.const 0) func $x)
        (func $f (param i32 i64 f32 f64) (result i32 i64)
          (block (result i32) (loop (result i32)
            (if (result i32) (local.get 0) (then i32.const 3) (else i32.const 4))
            (br_if 1 (i32.const 5) (local.get 0))
            (br_table 1 1 1 (i32.const 6) (local.get 0))))
          (local.set 1 (i64.div_s (local.get 1) (i64.const 3)))
          (i64.trunc_f64_u (local.get 3)) (local.tee 1))
        (func $m (param i32) (result i32)
          (i32.store8 offset=3 (local.get 0) (i32.load16_s (i32.const 9)))
          (memory.init $d (i32.const 0) (i32.const 0) (i32.const 2)) (data.drop $d)
          (table.init $t $s (i32.const 0) (i32.const 0) (i32.const 1)) (elem.drop $s)
          (global.set $g (memory.grow (i32.const 1)))
          (call_indirect $t (param i32 i32) (result i32) (i32.const 1) (local.get 0) (i32.const 0)))
        (func (export "sip_main") (result i32)
          (drop (call $say (i32.const 1) (i64.const 2) (i64.const 1)))
          (call $m (call $x (i32.const 1) (i32.const 2))))
        {}{})"#,
        custom("singularity.manifest", manifest),
        custom("singularity.contracts", contracts)
    );
    wat::parse_str(&text).unwrap_or_else(|e| panic!("{e}"))
}

fn modes() -> [Options; 2] {
    [
        Options::sip(MemoryMode::Guard),
        Options::sip(MemoryMode::Explicit),
    ]
}

/// Verifies, and compiles what was accepted; whether it was.
fn survives(wasm: &[u8], options: &Options) -> bool {
    let start = Instant::now();
    let accepted = match verify(wasm, options) {
        Err(e) => {
            assert_ne!(e.kind, ErrorKind::Internal, "{e}");
            assert!(!e.message.is_empty());
            false
        }
        Ok(_) => true,
    };
    if accepted {
        match compile(wasm, options) {
            Ok(compiled) => {
                let file = compiled.to_elf().unwrap_or_else(|e| panic!("{e}"));
                assert!(Image::decode(&file).is_ok());
            }
            Err(e) => assert_ne!(e.kind, ErrorKind::Internal, "{e}"),
        }
    }
    assert!(start.elapsed() < LONG, "it took {:?}", start.elapsed());
    accepted
}

fn enough(fuzz: &Fuzz, accepted: u64) {
    assert!(
        accepted > 0 && accepted < fuzz.rounds,
        "{accepted} of {} were accepted",
        fuzz.rounds
    );
    let peak = peak().unwrap_or(0);
    assert!(peak < MOST, "{peak} KiB were used");
}

#[test]
fn broken_modules() {
    let mut fuzz = Fuzz::new();
    let sound = sip(MANIFEST, CONTRACTS);
    let modes = modes();
    assert!(modes.iter().all(|options| survives(&sound, options)));
    let mut accepted = 0;
    while fuzz.goes_on() {
        let wasm = fuzz.broken(&sound);
        let mode = fuzz.below(2);
        accepted += u64::from(survives(&wasm, &modes[mode]));
    }
    enough(&fuzz, accepted);
}

#[test]
fn broken_manifests_and_contracts() {
    let mut fuzz = Fuzz::new();
    let modes = modes();
    let mut accepted = 0;
    while fuzz.goes_on() {
        let mut text = |sound: &str| {
            let bytes = if fuzz.below(3) == 0 {
                sound.as_bytes().to_vec()
            } else {
                fuzz.broken(sound.as_bytes())
            };
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let wasm = sip(&text(MANIFEST), &text(CONTRACTS));
        let mode = fuzz.below(2);
        accepted += u64::from(survives(&wasm, &modes[mode]));
    }
    enough(&fuzz, accepted);
}

#[test]
fn broken_images() {
    let mut fuzz = Fuzz::new();
    let compiled =
        compile(&sip(MANIFEST, CONTRACTS), &modes()[0]).unwrap_or_else(|e| panic!("{e}"));
    let image = compiled.to_elf().unwrap_or_else(|e| panic!("{e}"));
    let files = [
        ("bin/a".to_string(), &image[..]),
        ("notes".into(), &b"text"[..]),
    ];
    let system =
        SystemImage::encode(&SystemManifest::default(), &files).unwrap_or_else(|e| panic!("{e}"));
    let mut accepted = 0;
    while fuzz.goes_on() {
        let start = Instant::now();
        accepted += u64::from(Image::decode(&fuzz.broken(&image)).is_ok());
        let broken = fuzz.broken(&system[..system.len().min(400)]);
        let broken = [&broken[..], &system[system.len().min(400)..]].concat();
        if let Ok(system) = SystemImage::decode(&broken) {
            for path in system.paths() {
                // Each of them lies inside.
                let file = system.file(path).unwrap_or_default();
                assert!(file.len() <= broken.len());
            }
        }
        assert!(start.elapsed() < LONG, "it took {:?}", start.elapsed());
    }
    enough(&fuzz, accepted);
}
