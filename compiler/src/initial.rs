//! A module's data: the bytes of its segments and, for a sealed module, its initial memory.
//!
//! A sealed module's active segments are overlaid here, once, when the program is installed. The
//! image then lists the runs of memory that do not start as zero, in ascending order and without
//! overlaps; the kernel copies those from the file and computes nothing, however many segments the
//! module has.

use crate::error::{Error, ErrorKind, Result};
use crate::module::{Module, Segment};
use sing_image::meta::{ConstExpr, Data, Run, SegmentMode};
use std::collections::BTreeSet;

/// This many zero bytes end a run, as another run costs less than storing them.
const GAP: usize = 128;

/// The part of a module's data that its image holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Initial {
    /// The bytes.
    pub(crate) bytes: Vec<u8>,
    /// The segments.
    pub(crate) segments: Vec<Data>,
    /// The first memory of a sealed module as its active segments leave it.
    pub(crate) runs: Vec<Run>,
    /// The same of the others: each run with its memory's place behind the first.
    pub(crate) further_runs: Vec<(u32, Run)>,
}

impl Initial {
    /// Data that starts with the vectors of constant expressions, as those refer to it by offset.
    fn starting_with(vectors: &[u8]) -> Initial {
        Initial {
            bytes: vectors.to_vec(),
            ..Initial::default()
        }
    }

    /// For open linkage: the active segments stay, and are applied when the module is linked.
    pub(crate) fn open(module: &Module<'_>) -> Result<Initial> {
        let mut initial = Initial::starting_with(&module.vectors);
        for segment in &module.data {
            initial.keep(segment)?;
        }
        Ok(initial)
    }

    /// For a sealed module: the active segments become runs. Of the passive ones those are empty that
    /// no code names, if it is known which code can run.
    pub(crate) fn sealed(module: &Module<'_>, named: Option<&BTreeSet<u32>>) -> Result<Initial> {
        let mut initial = Initial::starting_with(&module.vectors);
        let mut active = Vec::new();
        for (index, segment) in module.data.iter().enumerate() {
            if let SegmentMode::Active { target, offset } = segment.mode {
                active.push(Placed {
                    memory: target,
                    at: place(module, index, segment, target, offset)?,
                    order: index,
                    bytes: segment.bytes,
                });
                initial.segments.push(Data {
                    mode: SegmentMode::Declared,
                    from: 0,
                    len: 0,
                });
            } else if named.is_some_and(|named| !named.contains(&(index as u32))) {
                initial.segments.push(Data {
                    mode: SegmentMode::Declared,
                    from: 0,
                    len: 0,
                });
            } else {
                initial.keep(segment)?;
            }
        }
        // Only `data.drop` can refer to segments after the last passive one, and it has no effect
        // on them.
        let last = initial
            .segments
            .iter()
            .rposition(|d| d.mode == SegmentMode::Passive);
        initial.segments.truncate(last.map_or(0, |last| last + 1));
        // Segments that overlap or are close together form a cluster: so many small segments become
        // few runs, and a cluster is larger than its segments by at most a gap for each.
        active.retain(|p| !p.bytes.is_empty());
        active.sort_unstable_by_key(|p| (p.memory, p.at, p.order));
        for memory in active.chunk_by_mut(|a, b| a.memory == b.memory) {
            let mut end = 0;
            for cluster in memory.chunk_by_mut(|a, b| {
                end = end.max(a.end());
                u64::from(b.at) <= end + GAP as u64
            }) {
                initial.overlay(cluster)?;
            }
        }
        Ok(initial)
    }

    /// Stores a segment as it is.
    fn keep(&mut self, segment: &Segment<'_>) -> Result<()> {
        let from = self.append(segment.bytes)?;
        self.segments.push(Data {
            mode: segment.mode,
            from,
            len: segment.bytes.len() as u32,
        });
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<u32> {
        let from = u32::try_from(self.bytes.len())
            .map_err(|_| Error::new(ErrorKind::TooLarge, "4 GiB of data segments"))?;
        self.bytes.extend_from_slice(bytes);
        Ok(from)
    }

    /// Overlays the segments of a cluster in the order of the module, and stores the runs that are
    /// not zero.
    fn overlay(&mut self, cluster: &mut [Placed<'_>]) -> Result<()> {
        let start = cluster.iter().map(|p| p.at).min().unwrap_or(0);
        let end = cluster.iter().map(Placed::end).max().unwrap_or(0);
        let memory = cluster.first().map_or(0, |p| p.memory);
        cluster.sort_unstable_by_key(|p| p.order);
        let mut bytes = vec![0; (end - u64::from(start)) as usize];
        for p in cluster {
            let at = (p.at - start) as usize;
            bytes[at..at + p.bytes.len()].copy_from_slice(p.bytes);
        }
        let mut rest = 0;
        while let Some(first) = bytes[rest..].iter().position(|b| *b != 0).map(|p| rest + p) {
            let mut last = first;
            let mut i = first;
            while i < bytes.len() && i - last <= GAP {
                if bytes[i] != 0 {
                    last = i;
                }
                i += 1;
            }
            let from = self.append(&bytes[first..=last])?;
            let run = Run {
                at: start + first as u32,
                from,
                len: (last - first + 1) as u32,
            };
            match memory.checked_sub(1) {
                None => self.runs.push(run),
                Some(further) => self.further_runs.push((further, run)),
            }
            rest = last + 1;
        }
        Ok(())
    }
}

/// An active segment with its place in memory.
#[derive(Clone, Copy)]
struct Placed<'a> {
    memory: u32,
    at: u32,
    /// Its index: later segments overwrite earlier ones.
    order: usize,
    bytes: &'a [u8],
}

impl Placed<'_> {
    fn end(&self) -> u64 {
        u64::from(self.at) + self.bytes.len() as u64
    }
}

/// The address of an active segment, which must fit into the initial memory.
fn place(
    module: &Module<'_>,
    index: usize,
    segment: &Segment<'_>,
    target: u32,
    offset: ConstExpr,
) -> Result<u32> {
    let at = module.constant(offset)?;
    let end = at.saturating_add(segment.bytes.len() as u64);
    let memory = module.memories.get(target as usize);
    let memory = memory.map_or(0, |m| m.min_bytes());
    if end > memory {
        let message = format!(
            "data segment {index} ends at byte {end}, outside the {memory} bytes that memory {target} starts with"
        );
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    // Empty where it is 4 GiB, and otherwise below.
    Ok(at as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryMode;
    use crate::options::Options;
    use crate::tests::processor_time;
    use std::time::Duration;

    fn initial(fields: &str) -> Result<Initial> {
        let text = format!("(module {fields})");
        let wasm = wat::parse_str(&text).unwrap();
        crate::verify::check(&wasm, &Options::open(MemoryMode::Guard)).unwrap();
        Initial::sealed(&Module::parse(&wasm)?, None)
    }

    /// The runs with their bytes.
    fn runs(initial: &Initial) -> Vec<(u32, &[u8])> {
        let bytes = |r: &Run| &initial.bytes[r.from as usize..][..r.len as usize];
        initial.runs.iter().map(|r| (r.at, bytes(r))).collect()
    }

    #[test]
    fn later_segments_lie_over_earlier_ones() {
        let made = initial(
            r#"(memory 1) (data (i32.const 18) "LL") (data (i32.const 16) "hello") (data (i32.const 17) "E")
               (data (i32.const 21) "!") (data (i32.const 40000) "\00\00x\00")"#,
        )
        .unwrap();
        assert_eq!(runs(&made), [(16, &b"hEllo!"[..]), (40002, b"x")]);
        assert_eq!(made.segments, [], "nothing can name one of them");
    }

    #[test]
    fn each_memory_has_runs_of_its_own() {
        let made = initial(
            r#"(memory 1) (memory 0) (memory 1) (data (memory 2) (i32.const 20) "behind")
               (data (i32.const 18) "first") (data (memory 2) (i32.const 18) "ab") (data (memory 1) (i32.const 0) "")"#,
        )
        .unwrap();
        assert_eq!(runs(&made), [(18, &b"first"[..])]);
        let further: Vec<(u32, u32, &[u8])> = made
            .further_runs
            .iter()
            .map(|(memory, r)| {
                let bytes = &made.bytes[r.from as usize..][..r.len as usize];
                (*memory, r.at, bytes)
            })
            .collect();
        assert_eq!(further, [(1, 18, &b"abbehind"[..])]);
        let said = initial(r#"(memory 1) (memory 0) (data (memory 1) (i32.const 0) "x")"#);
        let said = said.unwrap_err().to_string();
        assert!(said.contains("outside the 0 bytes that memory 1"), "{said}");
    }

    #[test]
    fn a_long_segment_takes_in_all_that_lie_in_it() {
        let made = initial(
            r#"(memory 1) (data (i32.const 0) "abcdefghij") (data (i32.const 1) "1") (data (i32.const 8) "2")
               (data (i32.const 200) "z")"#,
        )
        .unwrap();
        assert_eq!(runs(&made), [(0, &b"a1cdefgh2j"[..]), (200, b"z")]);
    }

    #[test]
    fn short_zeros_are_kept_and_long_ones_left_out() {
        let zeros = |n| "\\00".repeat(n);
        let text = format!(
            r#"(memory 1) (data (i32.const 0) "a{}b{}c{}")"#,
            zeros(GAP - 1),
            zeros(GAP),
            zeros(9)
        );
        let made = initial(&text).unwrap();
        let lens: Vec<(u32, u32)> = made.runs.iter().map(|r| (r.at, r.len)).collect();
        assert_eq!(lens, [(0, GAP as u32 + 1), (2 * GAP as u32 + 1, 1)]);
    }

    #[test]
    fn passive_segments_keep_their_place() {
        let made = initial(
            r#"(memory 1) (data (i32.const 0) "a") (data "passive")
               (data (i32.const 5) "b") (data (i32.const 9) "c")"#,
        )
        .unwrap();
        assert_eq!(made.segments.len(), 2);
        let passive = made.segments[1];
        let at = passive.from as usize;
        assert_eq!(&made.bytes[at..at + passive.len as usize], b"passive");
        assert_eq!(made.segments[0].mode, SegmentMode::Declared);
        let joined: Vec<u8> = runs(&made).iter().flat_map(|r| r.1.to_vec()).collect();
        assert_eq!(joined, b"a\0\0\0\0b\0\0\0c");
    }

    #[test]
    fn passive_segments_that_nothing_names_are_left_out() {
        let text = r#"(module (memory 1) (data "one") (data (i32.const 0) "a") (data "two") (data "three"))"#;
        let wasm = wat::parse_str(text).unwrap();
        let module = Module::parse(&wasm).unwrap();
        let made = Initial::sealed(&module, Some(&BTreeSet::from([2]))).unwrap();
        let lens: Vec<u32> = made.segments.iter().map(|s| s.len).collect();
        assert_eq!(lens, [0, 0, 3]);
        assert_eq!(made.bytes, b"twoa");
    }

    #[test]
    fn segments_that_do_not_fit_are_refused() {
        for (fields, part) in [
            (
                r#"(memory 1) (data (i32.const 65535) "ab")"#,
                "segment 0 ends at byte 65537",
            ),
            (r#"(memory 1) (data (i32.const -1) "")"#, "segment 0"),
            (
                r#"(memory 0) (data (i32.const 0) "a")"#,
                "outside the 0 bytes",
            ),
        ] {
            let said = initial(fields).unwrap_err().to_string();
            assert!(said.contains(part), "{said}");
        }
        assert!(initial(r#"(memory 1) (data (i32.const 65536) "")"#).is_ok());
    }

    #[test]
    fn many_segments_take_time_in_proportion() {
        let timed = |n: u32| {
            let mut module = Module::default();
            let limits = sing_image::meta::Limits {
                min: 1024,
                max: None,
            };
            module.memories.push(limits.into());
            // Far apart, and in descending order: each is a run of its own.
            module.data = (0..n)
                .rev()
                .map(|i| Segment {
                    mode: SegmentMode::Active {
                        target: 0,
                        offset: ConstExpr::Bits(u64::from(i) * 600),
                    },
                    bytes: b"some bytes",
                })
                .collect();
            let (made, took) = processor_time(|| Initial::sealed(&module, None).unwrap());
            assert_eq!(made.runs.len(), n as usize);
            assert!(made.runs.is_sorted_by_key(|r| r.at));
            took
        };
        // If this were quadratic, the larger module would take a hundred times as long as the
        // smaller one; a slow machine slows both.
        let few = timed(10_000).max(Duration::from_millis(1));
        let many = timed(100_000);
        assert!(many < few * 60, "{few:?} for 10,000, {many:?} for 100,000");
    }
}
