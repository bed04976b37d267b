//! Modules that are heavy on operations that compilers get wrong: divisions and shifts at their
//! edges, conversions, floats, bulk copies that overlap and end at the end, calls through tables,
//! very many locals, large jump tables, and an exhausted stack.
//!
//! Each function is an expression of every type, drawn by type from the top down. Every NaN that an
//! operation may give, alone or in a vector, is replaced by one fixed NaN, as the bits of a NaN are
//! unspecified. Functions call only earlier ones, so that all of them end, except the one function
//! that calls itself for ever.

mod addresses;
mod atomics;
mod operations;
mod relaxed;
mod vectors;

use crate::numbers::Numbers;
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, DataCountSection, DataSection, ElementSection, Elements,
    EntityType, ExportKind, ExportSection, Function, FunctionSection, GlobalSection, GlobalType,
    HeapType, Ieee32, Ieee64, ImportSection, Instruction as I, MemorySection, MemoryType, Module,
    RefType, TableSection, TableType, TypeSection, ValType as V,
};

/// The most functions, without the endless one.
const FUNCTIONS: u32 = 5;
/// Parameters of each: two of every type.
const PARAMS: [V; 10] = [
    V::I32,
    V::I64,
    V::F32,
    V::F64,
    V::V128,
    V::I32,
    V::I64,
    V::F32,
    V::F64,
    V::V128,
];
const TYPES: [V; 5] = [V::I32, V::I64, V::F32, V::F64, V::V128];
/// Entries of the table, and the most to which it may grow.
const TABLE: u64 = 10;
/// Functions in each element segment.
const ELEMENTS: usize = FUNCTIONS as usize + 1;
/// The depth of an expression.
const DEPTH: u32 = 5;

struct Gen<'n> {
    numbers: &'n mut Numbers,
    f: Function,
    /// Of each type, indices of locals.
    locals: [Vec<u32>; 5],
    /// The number of this function, among the defined ones.
    index: u32,
    /// The operations left for this function.
    left: u32,
    /// Whether it has atomic accesses.
    atomics: bool,
}

/// The form of a module.
#[derive(Clone, Copy)]
struct Form {
    /// Functions, without the endless one.
    functions: u32,
    /// Operations of a function. Most modules are small, so that more of them are compared.
    operations: u32,
    /// Statements of a function's loop.
    statements: u32,
    atomics: bool,
}

fn place(ty: V) -> usize {
    TYPES.iter().position(|t| *t == ty).unwrap_or(0)
}

impl Gen<'_> {
    fn put(&mut self, i: I<'_>) {
        self.f.instruction(&i);
    }

    fn constant(&mut self, ty: V) {
        if ty == V::V128 {
            let bits = self.vector_bits();
            return self.put(I::V128Const(bits));
        }
        let bits = self.numbers.bits();
        let i = match ty {
            V::I32 => I::I32Const(bits as i32),
            V::I64 => I::I64Const(bits as i64),
            V::F32 => I::F32Const(Ieee32::new(if bits as u32 & 0x7fff_ffff > 0x7f80_0000 {
                0x7fc0_0000
            } else {
                bits as u32
            })),
            _ => I::F64Const(Ieee64::new(
                if bits & (u64::MAX >> 1) > 0x7ff0_0000_0000_0000 {
                    0x7ff8 << 48
                } else {
                    bits
                },
            )),
        };
        self.put(i);
    }

    fn local(&mut self, ty: V) -> u32 {
        let of = self.numbers.below(self.locals[place(ty)].len());
        self.locals[place(ty)][of]
    }

    /// Replaces a NaN by the one fixed NaN. The last locals of the two types are for this.
    fn one_nan(&mut self, ty: V) {
        let scratch = *self.locals[place(ty)].last().unwrap_or(&0);
        self.put(I::LocalTee(scratch));
        let wide = ty == V::F64;
        self.put(if wide {
            I::F64Const(Ieee64::new(0x7ff8 << 48))
        } else {
            I::F32Const(Ieee32::new(0x7fc0_0000))
        });
        self.put(I::LocalGet(scratch));
        self.put(I::LocalGet(scratch));
        self.put(if wide { I::F64Eq } else { I::F32Eq });
        self.put(I::Select);
        // Nothing may read its other NaN from there.
        self.put(I::LocalTee(scratch));
    }

    /// Puts a value of the type on the stack.
    fn value(&mut self, ty: V, depth: u32) {
        if depth == 0 || self.left == 0 {
            return if self.numbers.below(3) == 0 {
                self.constant(ty);
            } else {
                let local = self.local(ty);
                self.put(I::LocalGet(local));
            };
        }
        self.left -= 1;
        let depth = depth - 1;
        match self.numbers.below(16) {
            0 => {
                self.value(ty, depth);
                let local = self.local(ty);
                self.put(I::LocalTee(local));
            }
            1 => {
                self.value(ty, depth);
                self.value(ty, depth);
                self.value(V::I32, depth);
                self.put(I::Select);
            }
            2 => {
                self.value(V::I32, depth);
                self.put(I::If(BlockType::Result(ty)));
                self.value(ty, depth);
                self.put(I::Else);
                self.value(ty, depth);
                self.put(I::End);
            }
            3 if self.index > 0 && self.numbers.below(3) == 0 => self.call(ty, depth),
            4 => self.load(ty, depth),
            5 => {
                self.effect(depth);
                self.value(ty, depth);
            }
            6 => self.jump(ty, depth),
            7 | 8 => self.convert(ty, depth),
            _ => self.operate(ty, depth),
        }
    }

    /// A call of an earlier function, directly or through the table. The result of the wanted type
    /// is kept.
    fn call(&mut self, ty: V, depth: u32) {
        for param in PARAMS {
            self.value(param, depth.min(1));
        }
        if self.numbers.below(2) == 0 {
            let to = 1 + self.numbers.below(self.index as usize) as u32;
            self.put(I::Call(to));
        } else {
            // Mostly one that exists and has the right type.
            if self.numbers.below(80) == 0 {
                self.value(V::I32, depth);
            } else {
                let at = self.numbers.below(self.index as usize) as i32;
                self.put(I::I32Const(at));
            }
            self.put(I::CallIndirect {
                type_index: 1,
                table_index: 0,
            });
        }
        // The results are one of each type, the last of them on top.
        for result in TYPES.iter().rev() {
            let local = self.local(*result);
            if *result == ty {
                let scratch = self.locals[place(ty)][0];
                self.put(I::LocalSet(scratch));
            } else {
                self.put(I::LocalSet(local));
            }
        }
        let scratch = self.locals[place(ty)][0];
        self.put(I::LocalGet(scratch));
    }

    fn load(&mut self, ty: V, depth: u32) {
        if self.atomics && matches!(ty, V::I32 | V::I64) {
            return self.atomic_value(ty, depth);
        }
        if ty == V::V128 {
            return self.vector_load(depth);
        }
        let at = self.address(depth);
        let i = match ty {
            V::I32 => match self.numbers.below(5) {
                0 => I::I32Load(at),
                1 => I::I32Load8S(at),
                2 => I::I32Load8U(at),
                3 => I::I32Load16S(at),
                _ => I::I32Load16U(at),
            },
            V::I64 => match self.numbers.below(7) {
                0 => I::I64Load(at),
                1 => I::I64Load8S(at),
                2 => I::I64Load8U(at),
                3 => I::I64Load16S(at),
                4 => I::I64Load16U(at),
                5 => I::I64Load32S(at),
                _ => I::I64Load32U(at),
            },
            V::F32 => I::F32Load(at),
            _ => I::F64Load(at),
        };
        self.put(i);
        if matches!(ty, V::F32 | V::F64) {
            self.one_nan(ty);
        }
    }

    /// Instructions without a result: stores, copies, changes of globals and tables.
    fn effect(&mut self, depth: u32) {
        match self.numbers.below(15) {
            0 | 2 if self.atomics => self.atomic_effect(depth),
            14 => self.go_through(depth),
            12 | 13 => self.vector_store(depth),
            0 | 1 => {
                let at = self.address(depth);
                self.value(V::I32, depth);
                let i = match self.numbers.below(3) {
                    0 => I::I32Store(at),
                    1 => I::I32Store8(at),
                    _ => I::I32Store16(at),
                };
                self.put(i);
            }
            2 | 3 => {
                let at = self.address(depth);
                self.value(V::I64, depth);
                let i = match self.numbers.below(4) {
                    0 => I::I64Store(at),
                    1 => I::I64Store8(at),
                    2 => I::I64Store16(at),
                    _ => I::I64Store32(at),
                };
                self.put(i);
            }
            4 => {
                let at = self.address(depth);
                self.value(V::F64, depth);
                self.put(I::F64Store(at));
            }
            5 => {
                let ty = self.numbers.of(&TYPES);
                self.value(ty, depth);
                self.put(I::GlobalSet(place(ty) as u32));
            }
            6 => {
                self.bounded(40_000);
                self.bounded(40_000);
                self.bounded(25_000);
                self.put(I::MemoryCopy {
                    src_mem: 0,
                    dst_mem: 0,
                });
            }
            7 => {
                self.bounded(62_500);
                self.value(V::I32, depth);
                self.bounded(3000);
                self.put(I::MemoryFill(0));
            }
            8 => {
                self.bounded(65_000);
                self.bounded(30);
                self.bounded(30);
                self.put(I::MemoryInit {
                    mem: 0,
                    data_index: 1,
                });
            }
            9 if self.numbers.below(4) == 0 => match self.numbers.below(4) {
                0 => {
                    self.bounded(6);
                    self.bounded(6);
                    self.bounded(5);
                    self.put(I::TableCopy {
                        src_table: 0,
                        dst_table: 0,
                    });
                }
                1 => {
                    self.bounded(8);
                    self.put(I::RefNull(HeapType::FUNC));
                    self.bounded(3);
                    self.put(I::TableFill(0));
                }
                2 => {
                    self.bounded(7);
                    self.bounded(3);
                    self.bounded(3);
                    self.put(I::TableInit {
                        elem_index: 1,
                        table: 0,
                    });
                }
                _ => {
                    self.put(I::RefFunc(1));
                    self.bounded(3);
                    self.put(I::TableGrow(0));
                    let local = self.local(V::I32);
                    self.put(I::LocalSet(local));
                }
            },
            10 if self.numbers.below(50) == 0 => {
                let dropped = self.numbers.of(&[0, 1]);
                self.put([I::DataDrop(1), I::ElemDrop(1)][dropped].clone());
            }
            10 => {
                self.bounded(3);
                self.put(I::MemoryGrow(0));
                let local = self.local(V::I32);
                self.put(I::LocalSet(local));
            }
            _ => {
                let ty = self.numbers.of(&TYPES);
                self.value(ty, depth);
                let local = self.local(ty);
                self.put(I::LocalSet(local));
            }
        }
    }

    /// A number that is mostly below this one.
    fn bounded(&mut self, n: u32) {
        if self.numbers.below(800) == 0 {
            self.value(V::I32, 1);
        } else {
            let v = self.numbers.below(n as usize) as i32;
            self.put(I::I32Const(v));
        }
    }

    /// A jump table: small, or large.
    fn jump(&mut self, ty: V, depth: u32) {
        let blocks = 2 + self.numbers.below(4) as u32;
        for _ in 0..blocks {
            self.put(I::Block(BlockType::Result(ty)));
        }
        self.value(ty, depth);
        self.value(V::I32, depth);
        let entries = if self.numbers.below(6) == 0 { 300 } else { 5 };
        if self.numbers.below(2) == 0 {
            self.put(I::I32Const(entries));
            self.put(I::I32RemU);
        }
        let targets: Vec<u32> = (0..entries)
            .map(|_| self.numbers.below(blocks as usize) as u32)
            .collect();
        self.put(I::BrTable(targets.into(), 0));
        for n in 0..blocks {
            self.put(I::End);
            if n + 1 < blocks {
                // Each way out leaves a different mark.
                let local = self.local(ty);
                self.put(I::LocalSet(local));
                self.value(ty, 1);
            }
        }
    }
}

fn function(numbers: &mut Numbers, index: u32, form: Form) -> Function {
    // Some have very many variables.
    let many = if numbers.below(8) == 0 { 200 } else { 3 };
    let mut locals: [Vec<u32>; 5] = Default::default();
    for (i, ty) in (0..).zip(PARAMS) {
        locals[place(ty)].push(i);
    }
    let mut next = PARAMS.len() as u32;
    let mut declared = Vec::new();
    for ty in TYPES {
        declared.push((many, ty));
        locals[place(ty)].extend(next..next + many);
        next += many;
    }
    let mut g = Gen {
        numbers,
        f: Function::new(declared),
        locals,
        index,
        left: form.operations,
        atomics: form.atomics,
    };
    for param in [2, 7] {
        g.put(I::LocalGet(param));
        g.one_nan(V::F32);
        g.put(I::LocalSet(param));
        g.put(I::LocalGet(param + 1));
        g.one_nan(V::F64);
        g.put(I::LocalSet(param + 1));
    }
    // A loop of a few rounds, so that values come from later in the code, too.
    let rounds = g.locals[0][g.locals[0].len() - 1];
    g.locals[0].pop();
    let turns = 1 + g.numbers.below(3) as i32;
    g.put(I::I32Const(turns));
    g.put(I::LocalSet(rounds));
    g.put(I::Loop(BlockType::Empty));
    for _ in 0..form.statements {
        g.effect(DEPTH);
    }
    g.put(I::LocalGet(rounds));
    g.put(I::I32Const(1));
    g.put(I::I32Sub);
    g.put(I::LocalTee(rounds));
    g.put(I::BrIf(0));
    g.put(I::End);
    g.left += form.operations / 2;
    for ty in TYPES {
        g.value(ty, DEPTH);
    }
    g.put(I::End);
    g.f
}

/// A module, with atomic accesses in one of three.
pub fn module(numbers: &mut Numbers) -> Vec<u8> {
    let form = Form {
        functions: numbers.of(&[1, 1, 2, 2, 3, FUNCTIONS]),
        operations: numbers.of(&[4, 6, 8, 8, 12, 12, 16, 16, 24, 24, 40, 160]),
        statements: numbers.of(&[1, 2, 4]),
        atomics: numbers.below(3) == 0,
    };
    let mut types = TypeSection::new();
    types.ty().function([], [V::I32]);
    types.ty().function(PARAMS, TYPES);
    types.ty().function([V::I64], [V::I64]);
    let mut imports = ImportSection::new();
    imports.import("sing_v1", "startup_arg_count", EntityType::Function(0));
    let mut functions = FunctionSection::new();
    let mut exports = ExportSection::new();
    let mut code = CodeSection::new();
    // Functions are from 1 on; the import is 0.
    let last = form.functions;
    for index in 0..last {
        functions.function(1);
        code.function(&function(numbers, index, form));
    }
    // It never ends, and leaves a mark in the globals each time.
    functions.function(2);
    let mut endless = Function::new([]);
    endless.instruction(&I::LocalGet(0));
    endless.instruction(&I::GlobalSet(1));
    endless.instruction(&I::LocalGet(0));
    endless.instruction(&I::I64Const(3));
    endless.instruction(&I::I64Mul);
    endless.instruction(&I::Call(last + 1));
    endless.instruction(&I::I64Const(1));
    endless.instruction(&I::I64Add);
    endless.instruction(&I::End);
    code.function(&endless);
    // The last of them uses the others; one in four modules exhausts its stack.
    for index in (1..=last).rev() {
        exports.export(&format!("f{index}"), ExportKind::Func, index);
    }
    if numbers.below(4) == 0 {
        exports.export("endless", ExportKind::Func, last + 1);
    }
    let mut tables = TableSection::new();
    tables.table(TableType {
        element_type: RefType::FUNCREF,
        table64: false,
        minimum: TABLE,
        maximum: Some(TABLE + 10),
        shared: false,
    });
    let mut memories = MemorySection::new();
    memories.memory(MemoryType {
        minimum: 1,
        maximum: Some(3),
        memory64: false,
        shared: false,
        page_size_log2: None,
    });
    let mut globals = GlobalSection::new();
    for ty in TYPES {
        let start = match ty {
            V::I32 => ConstExpr::i32_const(7),
            V::I64 => ConstExpr::i64_const(-7),
            V::F32 => ConstExpr::f32_const(Ieee32::new(0x3f80_0000)),
            V::F64 => ConstExpr::f64_const(Ieee64::new(0x3ff0 << 48)),
            _ => ConstExpr::v128_const(0x0123_4567_89ab_cdef << 60 | 0x7fff_8000),
        };
        let global = GlobalType {
            val_type: ty,
            mutable: true,
            shared: false,
        };
        globals.global(global, &start);
    }
    let mut elements = ElementSection::new();
    // As many however few functions there are: accesses to the table count on them.
    let list: Vec<u32> = (1..=last + 1).cycle().take(ELEMENTS).collect();
    elements.active(
        None,
        &ConstExpr::i32_const(0),
        Elements::Functions(list.clone().into()),
    );
    elements.passive(Elements::Functions(list.into()));
    let mut data = DataSection::new();
    let bytes: Vec<u8> = (0..64).map(|_| numbers.next() as u8).collect();
    data.active(0, &ConstExpr::i32_const(65_400), bytes.clone());
    data.passive(bytes);
    let mut module = Module::new();
    module
        .section(&types)
        .section(&imports)
        .section(&functions)
        .section(&tables)
        .section(&memories)
        .section(&globals)
        .section(&exports)
        .section(&elements)
        .section(&DataCountSection { count: 2 })
        .section(&code)
        .section(&data);
    module.finish()
}
