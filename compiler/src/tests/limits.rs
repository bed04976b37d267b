//! Tests of each limit, at the limit and one above it: verifier and run-time accept and refuse the
//! same modules and images, for the same reason.

use super::{MAIN, PLAIN, sip, sip_with, whole};
use crate::ErrorKind;
use sing_image::elf::Image;
use sing_image::limits::{self, Limit};
use sing_image::meta::{
    ConstExpr, Element, Export, ExportKind, GlobalType, Limits, MemoryType, Meta, SegmentMode,
    TableType, Traps, ValType,
};
use sing_runtime::Preparation;

/// Whether the verifier accepts a module; if not, checks that it names the limit.
fn verified(wasm: &[u8], limit: Limit) -> bool {
    match crate::verify(wasm, &whole()) {
        Ok(_) => true,
        Err(e) => {
            let text = e.to_string();
            assert_eq!(e.kind, ErrorKind::TooLarge, "{text}");
            assert!(
                text.contains(limit.what) && text.contains(limit.way_out),
                "{text}"
            );
            false
        }
    }
}

/// Has the run-time check and prepare an image, without its code.
fn prepared(meta: Meta, data: Vec<u8>, code: u64) -> Result<(), sing_image::Error> {
    let mut preparation = Preparation::new(meta, data.into(), code);
    while !preparation.step()? {}
    Ok(())
}

/// Whether the run-time accepts an image, passed as a file; if not, checks that it names the limit.
fn loaded(meta: Meta, limit: Limit) -> bool {
    let code = 64;
    let made = Meta::decode(&meta.encode()).and_then(|meta| prepared(meta, vec![0; 64], code));
    match made {
        Ok(_) => true,
        Err(e) => {
            assert!(e.message.contains(limit.what), "{e}");
            false
        }
    }
}

/// The metadata of a small module without traps, so that its code is not needed.
fn small() -> Meta {
    let wasm = sip(&format!("(memory 1) (table 1 funcref) {MAIN}"));
    let mut meta = super::compile(&wasm).meta;
    meta.traps = Traps::default();
    meta
}

fn repeated(part: &str, count: u64) -> String {
    part.repeat(count as usize)
}

/// Tests one limit with a module and an image at the limit and above it.
fn walk(limit: Limit, module: impl Fn(u64) -> Vec<u8>, image: impl Fn(&mut Meta, usize)) {
    for (count, fits) in [(limit.most, true), (limit.most + 1, false)] {
        assert_eq!(
            verified(&module(count), limit),
            fits,
            "verifier: {count} {}",
            limit.what
        );
        let mut meta = small();
        image(&mut meta, count as usize);
        assert_eq!(
            loaded(meta, limit),
            fits,
            "run-time: {count} {}",
            limit.what
        );
    }
}

#[test]
fn tables() {
    walk(
        limits::TABLES,
        |n| sip(&format!("{} {MAIN}", repeated("(table 0 funcref)", n))),
        |meta, n| {
            let empty = TableType {
                element: ValType::FuncRef,
                limits: Limits { min: 0, max: None },
                index64: false,
            };
            meta.tables = vec![empty; n];
            // After everything else.
            meta.layout.tables = meta.layout.size;
            meta.layout.size += 1024;
        },
    );
}

#[test]
fn memories() {
    walk(
        limits::MEMORIES,
        |n| sip(&format!("{} {MAIN}", repeated("(memory 0)", n))),
        |meta, n| {
            let empty = MemoryType::from(Limits { min: 0, max: None });
            meta.memory = Some(empty);
            meta.further = vec![empty; n - 1];
            meta.layout.memories = meta.layout.size;
            meta.layout.size += 1024;
        },
    );
    // Their pages count together.
    walk(
        limits::MEMORY_PAGES,
        |n| {
            let manifest = format!(r#"{{"name":"test","abi":1,"memory":{}}}"#, n << 17);
            let fields = format!("(memory 5) (memory {}) {MAIN}", n - 5);
            sip_with(&manifest, "", &fields)
        },
        |meta, n| {
            let of = |min| MemoryType::from(Limits { min, max: None });
            meta.memory = Some(of(5));
            meta.further = vec![of(n as u64 - 5)];
            meta.layout.memories = meta.layout.size;
            meta.layout.size += 64;
        },
    );
}

#[test]
fn table_elements() {
    walk(
        limits::TABLE_ELEMENTS,
        |n| {
            sip(&format!(
                "(table {} funcref) (table 5 funcref) {MAIN}",
                n - 5
            ))
        },
        |meta, n| meta.tables[0].limits.min = n as u64,
    );
}

#[test]
fn globals() {
    walk(
        limits::GLOBALS,
        |n| {
            sip(&format!(
                "{} {MAIN}",
                repeated("(global i64 (i64.const 1))", n)
            ))
        },
        |meta, n| {
            let ty = GlobalType {
                value: ValType::I64,
                mutable: false,
            };
            meta.globals = vec![(ty, ConstExpr::Bits(1)); n];
            meta.layout.globals = meta.layout.size;
            meta.layout.size += n as u32 * 16;
        },
    );
}

#[test]
fn element_segments_and_items() {
    let segments = |n: u64| {
        sip(&format!(
            "(func $f) {} {MAIN}",
            repeated("(elem func $f)", n)
        ))
    };
    let element = |items: usize| Element {
        mode: SegmentMode::Passive,
        items: vec![ConstExpr::Null; items],
    };
    walk(limits::ELEMENT_SEGMENTS, segments, |meta, n| {
        meta.elements = vec![element(1); n];
    });
    let items = |n: u64| {
        let (half, rest) = (repeated("$f ", n / 2), repeated("$f ", n - n / 2));
        sip(&format!(
            "(func $f) (elem func {half}) (elem func {rest}) {MAIN}"
        ))
    };
    walk(limits::ELEMENT_ITEMS, items, |meta, n| {
        meta.elements = vec![element(n / 2), element(n - n / 2)];
    });
}

#[test]
fn functions_types_imports_and_exports() {
    // One is `sip_main`, which compiling needs.
    let functions = |n: u64| sip(&format!("{} {MAIN}", repeated("(func)", n - 1)));
    walk(limits::FUNCTIONS, functions, |meta, n| {
        // Functions are contiguous: the others are empty, at the end of the last one.
        let mut f = meta.funcs.last().expect("`sip_main` is there").clone();
        (f.offset, f.size) = (f.offset + f.size, 0);
        meta.funcs.resize(n, f);
    });
    let types = |n: u64| sip(&format!("{} {MAIN}", repeated("(type (func))", n - 1)));
    walk(limits::TYPES, types, |meta, n| {
        let ty = meta.types[0].clone();
        meta.types.resize(n, ty);
        meta.canonical.resize(n, 0);
    });
    let import = r#"(import "sing_v1" "yield" (func))"#;
    let imports = |n: u64| sip(&format!("{} {MAIN}", repeated(import, n)));
    walk(limits::IMPORTS, imports, |meta, n| {
        let mut meta_of_one = super::compile(&sip(&format!("{import} (memory 1) {MAIN}"))).meta;
        meta_of_one.traps = Traps::default();
        *meta = meta_of_one;
        let import = meta.imports[0].clone();
        meta.imports.resize(n, import);
        for e in &mut meta.exports {
            if let ExportKind::Func(f) = &mut e.kind {
                *f += n as u32 - 1;
            }
        }
    });
    let exports = |n: u64| {
        let more: String = (1..n)
            .map(|i| format!("(export \"x{i}\" (func $f))"))
            .collect();
        sip(&format!("(func $f) {more} {MAIN}"))
    };
    walk(limits::EXPORTS, exports, |meta, n| {
        for i in meta.exports.len()..n {
            meta.exports.push(Export {
                name: i.to_string(),
                kind: ExportKind::Memory(0),
            });
        }
    });
}

#[test]
fn the_code_of_one_function() {
    let image = |size: u64| {
        let mut meta = small();
        let last = meta.funcs.len() - 1;
        meta.funcs[last].offset = 0;
        meta.funcs[last].size = size as u32;
        meta.funcs.drain(..last);
        meta.exports.clear();
        Meta::decode(&meta.encode())
            .and_then(|meta| sing_image::limits::Counts::of_meta(&meta).check())
    };
    let limit = limits::FUNCTION_CODE_BYTES;
    assert_eq!(image(limit.most), Ok(()));
    let said = image(limit.most + 1).unwrap_err().message;
    assert!(said.contains(limit.what), "{said}");
}

#[test]
fn data_segments() {
    let limit = limits::DATA_SEGMENTS;
    let module = |n: u64| sip(&format!("(memory 1) {} {MAIN}", repeated("(data \"\")", n)));
    assert!(verified(&module(limit.most), limit));
    // The validator's own limit is the same.
    assert!(crate::verify(&module(limit.most + 1), &whole()).is_err());
    let image = |n: u64| {
        let mut meta = small();
        let empty = sing_image::meta::Data {
            mode: SegmentMode::Passive,
            from: 0,
            len: 0,
        };
        meta.data = vec![empty; n as usize];
        loaded(meta, limit)
    };
    assert!(image(limit.most) && !image(limit.most + 1));
}

#[test]
fn data_bytes_are_counted_as_the_image_holds_them() {
    let limit = limits::DATA_BYTES;
    // Passive, so that it is kept as it is; the text cannot hold so much.
    let module = |bytes: u64, fields: &str| {
        let wasm = sip(&format!("(memory 0) {fields} {MAIN}"));
        let mut segment = vec![1, 1];
        leb(bytes, &mut segment);
        let mut section = vec![11];
        leb(segment.len() as u64 + bytes, &mut section);
        section.extend(segment);
        section.resize(section.len() + bytes as usize, 0);
        let mut custom = wasm.len();
        // Before the manifest, which stands last.
        let mut at = 8;
        while at < wasm.len() {
            let start = at;
            let id = wasm[at];
            at += 1;
            let mut len = 0;
            for shift in (0..).step_by(7) {
                len |= usize::from(wasm[at] & 0x7f) << shift;
                at += 1;
                if wasm[at - 1] < 0x80 {
                    break;
                }
            }
            at += len;
            if id == 0 && custom == wasm.len() {
                custom = start;
            }
        }
        [&wasm[..custom], &section, &wasm[custom..]].concat()
    };
    let vector = "(global v128 (v128.const i64x2 1 2))";
    assert!(verified(&module(limit.most, ""), limit));
    assert!(!verified(&module(limit.most + 1, ""), limit));
    assert!(verified(&module(limit.most - 16, vector), limit));
    assert!(!verified(&module(limit.most - 15, vector), limit));
}

fn leb(mut n: u64, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

#[test]
fn what_a_manifest_asks_for() {
    let manifest = |stack: u64, name: u64, endpoints: u64| {
        let endpoints: Vec<String> = (0..endpoints)
            .map(|i| format!(r#"{{"name":"e{i}","contract":"Echo","side":"imp"}}"#))
            .collect();
        format!(
            r#"{{"name":"{}","abi":1,"memory":1073741824,"stack":{stack},"endpoints":[{}]}}"#,
            "n".repeat(name as usize),
            endpoints.join(",")
        )
    };
    let verdict = |text: &str, limit| verified(&sip_with(text, super::ECHO, MAIN), limit);
    let (stack, name, endpoints) = (
        limits::STACK_BYTES,
        limits::NAME_BYTES,
        limits::STARTUP_ENDPOINTS,
    );
    for (more, fits) in [(0, true), (1, false)] {
        assert_eq!(verdict(&manifest(stack.most + more, 1, 0), stack), fits);
        assert_eq!(verdict(&manifest(0, name.most + more, 0), name), fits);
        assert_eq!(
            verdict(&manifest(0, 1, endpoints.most + more), endpoints),
            fits
        );
    }
}

#[test]
fn what_is_accepted_at_a_limit_becomes_a_template_of_its_file() {
    // Compiled, as the verifier once accepted these and the kernel refused them.
    for fields in [
        format!("(table {} funcref)", limits::TABLE_ELEMENTS.most),
        repeated("(global (mut i64) (i64.const 1))", limits::GLOBALS.most),
        format!(
            "(table 1 funcref) (elem (i32.const 0) func $f) {} (func $f)",
            repeated("(elem func $f)", limits::ELEMENT_SEGMENTS.most - 1)
        ),
        format!(
            "(memory 1) {}",
            repeated("(data (i32.const 8) \"ab\")", 30_000)
        ),
    ] {
        let file = super::compile(&sip_with(PLAIN, "", &format!("{fields} {MAIN}")))
            .to_elf()
            .unwrap();
        let image = Image::decode(&file).unwrap();
        let (code, data) = (image.code.len() as u64, image.data.to_vec());
        let made = prepared(image.meta, data, code);
        assert!(made.is_ok(), "{:?}", made.err());
    }
}

#[test]
fn the_text_of_contracts_is_counted_before_it_is_read() {
    // Text that does not even parse.
    for (count, fits) in [(0, true), (1, false)] {
        let text = "x".repeat(limits::CONTRACT_TEXT.most as usize - 1 + count);
        let error = crate::verify(&sip_with(PLAIN, &text, MAIN), &whole()).unwrap_err();
        assert_eq!(error.kind == ErrorKind::Contract, fits, "{count}");
        if !fits {
            assert!(!verified(
                &sip_with(PLAIN, &text, MAIN),
                limits::CONTRACT_TEXT
            ));
        }
    }
    // Pieces that are equal count once.
    let piece = format!("// {}\n\0", "x".repeat(1 << 20));
    assert!(verified(
        &sip_with(PLAIN, &piece.repeat(8), MAIN),
        limits::CONTRACT_TEXT
    ));
}

#[test]
fn contracts_count_whether_or_not_they_are_used() {
    for (count, fits) in [
        (limits::CONTRACTS.most, true),
        (limits::CONTRACTS.most + 1, false),
    ] {
        let text: String = (0..count)
            .map(|i| format!("contract C{i}{{in message M();state S:M?->closed;}}"))
            .collect();
        match crate::verify(&sip_with(PLAIN, &text, MAIN), &whole()) {
            Ok(_) => assert!(fits),
            Err(error) => {
                let text = error.to_string();
                let limit = limits::CONTRACTS.check(count).unwrap_err().message;
                assert!(!fits && text.contains(&limit), "{text}");
            }
        }
    }
}

#[test]
fn sizes_of_64_bits_are_counted_without_overflow() {
    for fields in [
        "(memory i64 0x1_0000_0000_0000)",
        "(memory i64 65536) (memory i64 0x1_0000_0000_0000)",
        "(memory i64 0xffff_ffff_ffff_ffff (pagesize 1)) (memory 1 (pagesize 1))",
    ] {
        assert!(
            !verified(&sip(&format!("{fields} {MAIN}")), limits::MEMORY_PAGES),
            "{fields}"
        );
    }
    let tables = "(table i64 0xffff_ffff funcref) (table i64 0xffff_ffff_ffff_ffff funcref)";
    assert!(!verified(
        &sip(&format!("{tables} {MAIN}")),
        limits::TABLE_ELEMENTS
    ));
    // A page of a byte is a part of one, and counts as a whole.
    let bytes = "(memory 1 (pagesize 1)) (memory 65535)";
    let manifest = r#"{"name":"test","abi":1,"memory":8589934592}"#;
    assert!(verified(
        &sip_with(manifest, "", &format!("{bytes} {MAIN}")),
        limits::MEMORY_PAGES
    ));
    assert!(!verified(
        &sip(&format!("{bytes} (memory 1 (pagesize 1)) {MAIN}")),
        limits::MEMORY_PAGES
    ));
}
