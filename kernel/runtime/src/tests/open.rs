//! Open images: which modules can be linked, and which state they share.

use super::*;
use crate::open::{Extern, LinkError, Memory, Store};
use crate::{ContextParams, Template, Trap};
use alloc::sync::Arc;

fn template(m: Meta, base: u64) -> Arc<Template> {
    template_at(m, base).unwrap()
}

/// A module that defines and exports a thing of each kind.
fn exporter() -> Arc<Template> {
    let mut m = meta(Linkage::Open);
    m.types = vec![func_type(&[ValType::I32], &[]), func_type(&[], &[])];
    m.funcs = vec![func(0, 0), func(1, 32)];
    m.trampolines = vec![(0, 64)];
    m.tables = vec![funcref_table(2, Some(8))];
    m.memory = Some(
        Limits {
            min: 1,
            max: Some(2),
        }
        .into(),
    );
    m.globals = vec![
        (
            GlobalType {
                value: ValType::I32,
                mutable: false,
            },
            ConstExpr::Bits(1),
        ),
        (
            GlobalType {
                value: ValType::I64,
                mutable: true,
            },
            ConstExpr::Bits(77),
        ),
    ];
    m.exports = vec![
        export("f", ExportKind::Func(0)),
        export("g", ExportKind::Func(1)),
        export("table", ExportKind::Table(0)),
        export("memory", ExportKind::Memory(0)),
        export("one", ExportKind::Global(0)),
        export("var", ExportKind::Global(1)),
    ];
    m.start = Some(1);
    template(m, 0x1000)
}

/// A module that imports a thing of each kind, and puts a function of its own into the table.
fn importer() -> Meta {
    let mut m = meta(Linkage::Open);
    m.types = vec![func_type(&[], &[]), func_type(&[ValType::I32], &[])];
    m.imports = vec![
        import("f", ImportKind::Func(1)),
        import("table", ImportKind::Table(funcref_table(1, None))),
        import(
            "memory",
            ImportKind::Memory(
                Limits {
                    min: 1,
                    max: Some(2),
                }
                .into(),
            ),
        ),
        import(
            "one",
            ImportKind::Global(GlobalType {
                value: ValType::I32,
                mutable: false,
            }),
        ),
        import(
            "var",
            ImportKind::Global(GlobalType {
                value: ValType::I64,
                mutable: true,
            }),
        ),
    ];
    m.funcs = vec![func(1, 0)];
    m.globals = vec![(
        GlobalType {
            value: ValType::I32,
            mutable: false,
        },
        ConstExpr::Global(0),
    )];
    let at_one = SegmentMode::Active {
        target: 0,
        offset: ConstExpr::Global(0),
    };
    m.elements = vec![Element {
        mode: at_one,
        items: vec![ConstExpr::RefFunc(1)],
    }];
    m.data = vec![segment(at_one, b"abc")];
    m.exports = vec![
        export("again", ExportKind::Func(0)),
        export("own", ExportKind::Func(1)),
        export("var", ExportKind::Global(1)),
        export("memory", ExportKind::Memory(0)),
    ];
    m
}

struct World {
    store: Store,
    memory: TestMemory,
    first: usize,
}

impl World {
    fn new() -> World {
        let mut store = Store::new();
        let memory = TestMemory::new(1);
        let first = store.link(
            &exporter(),
            &[],
            &[shared(&memory)],
            &ContextParams::default(),
        );
        World {
            store,
            memory,
            first: first.unwrap(),
        }
    }

    fn externs(&self, names: &[&str]) -> Vec<Extern> {
        names
            .iter()
            .map(|n| self.store.export(self.first, n).unwrap())
            .collect()
    }

    fn link(&mut self, m: Meta) -> Result<usize, LinkError> {
        let given = self.externs(&["f", "table", "memory", "one", "var"]);
        let t = template(m, 0x8000);
        self.store.link(&t, &given, &[], &ContextParams::default())
    }
}

fn shared(memory: &TestMemory) -> Memory {
    let limits = Limits {
        min: 1,
        max: Some(2),
    };
    // SAFETY: the tests keep the memory for as long as they use a store.
    unsafe { Memory::new(memory.record(), limits.into()) }
}

fn put(memory: Memory, at: u32, bytes: &[u8]) -> Result<(), Trap> {
    // SAFETY: the memory is a live test memory.
    unsafe { crate::SipMemory::new(memory.base(), memory.len()) }.write(at, bytes)
}

#[test]
fn imports_are_shared_not_copied() {
    let mut w = World::new();
    let second = w.link(importer()).unwrap();
    let contexts: Vec<u64> = w.store.contexts().map(|c| c.address()).collect();
    let (a, b) = (contexts[0], contexts[1]);
    assert_eq!(word(b, 640), 0x1000, "code of the imported function");
    assert_eq!(word(b, 648), a, "and its context");
    assert_eq!(word(b, 512), word(a, 512), "one table");
    assert_eq!(word(b, ctx::MEM_DEF), w.memory.record());
    assert_eq!(word(b, ctx::MEM_BASE), w.memory.base());
    assert_eq!(
        word(b, 144),
        a + 144,
        "an imported global is the address of its cell"
    );
    assert_eq!(word(b, 160), 1, "a global initialised by an imported one");
    // (i32) -> () has number 0 in the first module and 1 in the second, and one canonical number.
    assert_eq!(word(b, 896) >> 32, word(a, 896) & 0xffff_ffff);
    assert_ne!(word(b, 896) & 0xffff_ffff, word(a, 896) & 0xffff_ffff);

    w.store.initialise(second, &mut put).unwrap();
    let f = element(a, 512, 1);
    assert_eq!(
        (word(f, ctx::FUNC_CODE), word(f, ctx::FUNC_CTX)),
        (0x8000, b)
    );
    assert_eq!(word(f, ctx::FUNC_SIG) as u32, word(a, 896) as u32);
    assert_eq!(
        (w.memory.byte(0), w.memory.byte(1), w.memory.byte(3)),
        (0, b'a', b'c')
    );
}

#[test]
fn a_vector_has_all_of_its_cell() {
    let mut store = Store::new();
    let ty = GlobalType {
        value: ValType::V128,
        mutable: true,
    };
    let mut m = meta(Linkage::Open);
    m.globals = vec![(ty, ConstExpr::Vector(1))];
    m.exports = vec![export("v", ExportKind::Global(0))];
    let first = store.link(&template(m, 0x1000), &[], &[], &ContextParams::default());
    let Some(Extern::Global(v)) = store.export(first.unwrap(), "v") else {
        panic!("no global")
    };
    let bytes: [u8; 16] = DATA[1..17].try_into().unwrap();
    assert_eq!(store.global(v), Some(u128::from_le_bytes(bytes)));
    // One that starts with another's value, beside the address of the other's cell.
    let fixed = GlobalType {
        mutable: false,
        ..ty
    };
    let mut m = meta(Linkage::Open);
    m.globals = vec![(fixed, ConstExpr::Vector(2))];
    m.exports = vec![export("v", ExportKind::Global(0))];
    let first = store.link(&template(m, 0x2000), &[], &[], &ContextParams::default());
    let given = store.export(first.unwrap(), "v").unwrap();
    let mut m = meta(Linkage::Open);
    m.imports = vec![import("v", ImportKind::Global(fixed))];
    m.globals = vec![(ty, ConstExpr::Global(0))];
    m.exports = vec![export("copy", ExportKind::Global(1))];
    let second = store.link(
        &template(m, 0x3000),
        &[given],
        &[],
        &ContextParams::default(),
    );
    let Some(Extern::Global(copy)) = store.export(second.unwrap(), "copy") else {
        panic!("no global")
    };
    let bytes: [u8; 16] = DATA[2..18].try_into().unwrap();
    assert_eq!(store.global(copy), Some(u128::from_le_bytes(bytes)));
}

#[test]
fn exports_lead_to_where_things_are_defined() {
    let mut w = World::new();
    let second = w.link(importer()).unwrap();
    let Some(Extern::Func(f)) = w.store.export(second, "again") else {
        panic!("no function")
    };
    let Some(Extern::Func(same)) = w.store.export(w.first, "f") else {
        panic!("no function")
    };
    assert_eq!(f, same);
    let a = w.store.contexts().next().unwrap().address();
    let callee = w.store.callee(f).unwrap();
    assert_eq!((callee.context, callee.trampoline), (a, 0x1000 + 64));
    let Some(Extern::Func(own)) = w.store.export(second, "own") else {
        panic!("no function")
    };
    assert_eq!(w.store.callee(own), None, "no trampoline");
    let Some(Extern::Global(var)) = w.store.export(second, "var") else {
        panic!("no global")
    };
    assert_eq!(w.store.global(var), Some(77));
    assert_eq!(w.store.start(w.first).unwrap().trampoline, 0x1000 + 32);
    assert_eq!(w.store.start(second), None);
    assert!(w.store.export(second, "none").is_none());
    assert!(w.store.export(99, "f").is_none());
}

#[test]
fn imports_of_another_type_are_refused() {
    type Change = (&'static str, fn(&mut Meta));
    let changes: [Change; 8] = [
        ("f", |m| m.imports[0].kind = ImportKind::Func(0)),
        ("table", |m| {
            m.imports[1].kind = ImportKind::Table(funcref_table(3, None))
        }),
        ("table", |m| {
            m.imports[1].kind = ImportKind::Table(funcref_table(1, Some(7)))
        }),
        ("table", |m| {
            m.elements.clear();
            let limits = Limits { min: 0, max: None };
            let ty = TableType {
                element: ValType::ExternRef,
                limits,
                index64: false,
            };
            m.imports[1].kind = ImportKind::Table(ty);
        }),
        ("memory", |m| {
            m.imports[2].kind = ImportKind::Memory(Limits { min: 2, max: None }.into())
        }),
        ("memory", |m| {
            m.imports[2].kind = ImportKind::Memory(
                Limits {
                    min: 0,
                    max: Some(1),
                }
                .into(),
            )
        }),
        ("var", |m| {
            let ty = GlobalType {
                value: ValType::I64,
                mutable: false,
            };
            m.imports[4].kind = ImportKind::Global(ty);
        }),
        ("var", |m| {
            let ty = GlobalType {
                value: ValType::F64,
                mutable: true,
            };
            m.imports[4].kind = ImportKind::Global(ty);
        }),
    ];
    let mut w = World::new();
    for (i, (name, change)) in changes.into_iter().enumerate() {
        let mut m = importer();
        change(&mut m);
        match w.link(m) {
            Err(LinkError::Incompatible { name: n, .. }) => assert_eq!(n, name, "case {i}"),
            other => panic!("case {i}: {other:?}"),
        }
    }
    // An import of another kind, and the wrong number of imports.
    let t = template(importer(), 0x8000);
    let given = w.externs(&["table", "f", "memory", "one", "var"]);
    assert!(
        w.store
            .link(&t, &given, &[], &ContextParams::default())
            .is_err()
    );
    let linked = w
        .store
        .link(&t, &given[1..], &[], &ContextParams::default());
    assert_eq!(linked, Err(LinkError::Missing));
    assert_eq!(
        w.store.contexts().count(),
        1,
        "what failed is not in the store"
    );
    assert!(w.link(importer()).is_ok());
}

#[test]
fn a_grown_table_satisfies_what_its_type_did_not() {
    let mut w = World::new();
    let mut m = importer();
    m.imports[1].kind = ImportKind::Table(funcref_table(3, Some(8)));
    assert!(w.link(m.clone()).is_err());
    let Some(Extern::Table(t)) = w.store.export(w.first, "table") else {
        panic!("no table")
    };
    assert_eq!(t.grow(0, 1), 2);
    assert!(w.link(m).is_ok());
}

#[test]
fn segments_before_the_one_that_fails_stay() {
    let mut w = World::new();
    let mut m = importer();
    m.data.push(active(65_535, b"xy"));
    let second = w.link(m).unwrap();
    assert_eq!(
        w.store.initialise(second, &mut put),
        Err(Trap::MemoryOutOfBounds)
    );
    assert_eq!((w.memory.byte(1), w.memory.byte(65_535)), (b'a', 0));
    let a = w.store.contexts().next().unwrap().address();
    assert_ne!(
        element(a, 512, 1),
        0,
        "and so does the function in the table"
    );
}

#[test]
fn a_sealed_image_is_not_linked() {
    let t = template(meta(Linkage::Sealed), 0);
    let linked = Store::new().link(&t, &[], &[], &ContextParams::default());
    assert_eq!(linked, Err(LinkError::Sealed));
}
