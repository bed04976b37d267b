//! Modules that are heavy on ways to leave a function and to come back: typed references to
//! functions in locals, globals and tables, calls and tail calls through them, branches on null,
//! and exceptions with payloads, caught by tag or whole, kept by reference and thrown again.
//!
//! Each function is an expression, drawn by type from the top down. Functions call any other, and
//! take a unit of fuel at their beginning: without fuel they return at once, so that all of them
//! end.

use crate::numbers::Numbers;
use wasm_encoder::{
    BlockType, Catch, CodeSection, ConstExpr, ElementSection, Elements, EntityType, ExportKind,
    ExportSection, Function, FunctionSection, GlobalSection, GlobalType, HeapType, ImportSection,
    Instruction as I, Module, RefType, TableSection, TableType, TagKind, TagSection, TagType,
    TypeSection, ValType as V,
};

/// Functions of each of the two types.
const OF_EACH: u32 = 4;
/// The types of the functions: `(i32, i64) -> i64`, and `(i64) -> i64`.
const TYPES: [u32; 2] = [1, 2];
/// Those of tags: of an exception that carries a number and a reference, and of one that carries
/// nothing.
const TAGS: [u32; 2] = [3, 4];
/// The type of a block that gives what the first of them carries, and of one with the exception.
const CAUGHT: u32 = 5;
const CAUGHT_REF: u32 = 6;
/// Elements of each table.
const TABLE: u64 = 6;
const FUEL: i32 = 300;
/// The global with the fuel; two with references come before it, one of each type.
const FUEL_LEFT: u32 = 2;
const DEPTH: u32 = 5;

/// Locals behind the parameters: of each kind, two.
struct Locals {
    i32: [u32; 2],
    i64: [u32; 2],
    /// Of each type, references that may be null.
    refs: [[u32; 2]; 2],
    exception: u32,
}

struct Gen<'n> {
    numbers: &'n mut Numbers,
    f: Function,
    locals: Locals,
    exceptions: bool,
    left: u32,
}

/// The form of a module.
#[derive(Clone, Copy)]
struct Form {
    exceptions: bool,
    tails: bool,
    /// Expressions of a function. Most modules are small, so that more of them are compared.
    left: u32,
    /// Statements of a function.
    statements: u32,
}

fn nullable(of: usize) -> RefType {
    RefType {
        nullable: true,
        heap_type: HeapType::Concrete(TYPES[of]),
    }
}

fn sure(of: usize) -> RefType {
    RefType {
        nullable: false,
        ..nullable(of)
    }
}

impl Gen<'_> {
    fn put(&mut self, i: I<'_>) {
        self.f.instruction(&i);
    }

    fn either(&mut self) -> usize {
        self.numbers.below(2)
    }

    /// Whether the expression ends here.
    fn leaf(&mut self, depth: u32) -> bool {
        let leaf = depth == 0 || self.left == 0;
        self.left = self.left.saturating_sub(1);
        leaf
    }

    fn i32(&mut self, depth: u32) {
        if self.leaf(depth) {
            let local = self.locals.i32[self.either()];
            let bits = self.numbers.bits() as i32;
            let which = self.either();
            return self.put([I::LocalGet(local), I::I32Const(bits)][which].clone());
        }
        match self.numbers.below(6) {
            0 => {
                let of = self.either();
                self.reference(of, depth - 1);
                self.put(I::RefIsNull);
            }
            1 => {
                self.i64(depth - 1);
                self.put(I::I64Eqz);
            }
            2 => {
                self.i64(depth - 1);
                self.put(I::I32WrapI64);
            }
            3 => {
                let table = self.either() as u32;
                self.put(I::TableSize(table));
            }
            _ => {
                self.i32(depth - 1);
                self.i32(depth - 1);
                let op = self.numbers.below(4);
                self.put([I::I32Add, I::I32Xor, I::I32LtS, I::I32Rotl][op].clone());
            }
        }
    }

    fn i64(&mut self, depth: u32) {
        if self.leaf(depth) {
            let local = self.locals.i64[self.either()];
            let bits = self.numbers.bits() as i64;
            let which = self.either();
            return self.put([I::LocalGet(local), I::I64Const(bits)][which].clone());
        }
        let depth = depth - 1;
        match self.numbers.below(14) {
            0 => {
                self.i32(depth);
                self.put(I::I64ExtendI32S);
            }
            1 | 2 => {
                self.i64(depth);
                self.i64(depth);
                let op = self.numbers.below(4);
                self.put([I::I64Add, I::I64Xor, I::I64Mul, I::I64Rotl][op].clone());
            }
            3..=6 => {
                let of = self.either();
                self.call(of, depth, false);
            }
            7 => {
                self.i32(depth);
                self.put(I::If(BlockType::Result(V::I64)));
                self.effect(depth);
                self.i64(depth);
                self.put(I::Else);
                self.i64(depth);
                self.put(I::End);
            }
            8 => {
                // Null ends the outer block.
                let of = self.either();
                self.put(I::Block(BlockType::Result(V::I64)));
                self.i64(depth);
                self.reference(of, depth);
                self.put(I::BrOnNull(0));
                let local = self.locals.refs[of][0];
                self.put(I::LocalSet(local));
                self.put(I::I64Const(1));
                self.put(I::I64Add);
                self.put(I::End);
            }
            9 | 10 if self.exceptions => self.catch(depth),
            11 if self.exceptions => self.catch_all(depth),
            12 if self.exceptions && self.numbers.below(6) == 0 => {
                self.throw(depth);
                // What follows is unreachable, and has any type.
            }
            _ => {
                self.effect(depth);
                self.i64(depth);
            }
        }
    }

    /// A reference that may be null.
    fn reference(&mut self, of: usize, depth: u32) {
        if self.leaf(depth) {
            let local = self.locals.refs[of][self.either()];
            let null = I::RefNull(HeapType::Concrete(TYPES[of]));
            return match self.numbers.below(6) {
                0 => self.put(null),
                1 | 2 => self.sure(of, 0),
                _ => self.put(I::LocalGet(local)),
            };
        }
        let depth = depth - 1;
        match self.numbers.below(6) {
            0 => self.put(I::GlobalGet(of as u32)),
            1 | 2 => {
                self.place();
                self.put(I::TableGet(of as u32));
            }
            3 => {
                self.reference(of, depth);
                self.reference(of, depth);
                self.i32(depth);
                self.put(I::TypedSelect(V::Ref(nullable(of))));
            }
            4 => {
                self.reference(of, depth);
                let local = self.locals.refs[of][self.either()];
                self.put(I::LocalTee(local));
            }
            _ => self.sure(of, depth),
        }
    }

    /// A reference that is not null.
    fn sure(&mut self, of: usize, depth: u32) {
        if !self.leaf(depth) && self.numbers.below(3) == 0 {
            let depth = depth - 1;
            if self.numbers.below(8) == 0 {
                self.reference(of, depth);
                return self.put(I::RefAsNonNull);
            }
            // The block's result if it is not null, or another function.
            self.put(I::Block(BlockType::Result(V::Ref(sure(of)))));
            self.reference(of, depth);
            self.put(I::BrOnNonNull(0));
            self.sure(of, depth);
            return self.put(I::End);
        }
        let function = self.function(of);
        self.put(I::RefFunc(function));
    }

    /// A function of this type. The import is 0.
    fn function(&mut self, of: usize) -> u32 {
        1 + of as u32 * OF_EACH + self.numbers.below(OF_EACH as usize) as u32
    }

    /// A place in a table, mostly there.
    fn place(&mut self) {
        let most = if self.numbers.below(100) == 0 {
            20
        } else {
            TABLE
        };
        let at = self.numbers.below(most as usize) as i32;
        self.put(I::I32Const(at));
    }

    /// A call of a function of this type, in one of three ways; as a tail call, if it is to be one.
    fn call(&mut self, of: usize, depth: u32, tail: bool) {
        if of == 0 {
            self.i32(depth);
        }
        self.i64(depth);
        match self.numbers.below(4) {
            0 => {
                let function = self.function(of);
                self.put([I::Call(function), I::ReturnCall(function)][usize::from(tail)].clone());
            }
            1 => {
                // Sometimes of the other type.
                let table = if self.numbers.below(60) == 0 {
                    1 - of
                } else {
                    of
                };
                self.place();
                let (type_index, table_index) = (TYPES[of], table as u32);
                self.put(match tail {
                    true => I::ReturnCallIndirect {
                        type_index,
                        table_index,
                    },
                    false => I::CallIndirect {
                        type_index,
                        table_index,
                    },
                });
            }
            n => {
                // Mostly of one that is there.
                if n == 2 && self.numbers.below(4) == 0 {
                    self.reference(of, depth);
                } else {
                    self.sure(of, depth);
                }
                let ty = TYPES[of];
                self.put([I::CallRef(ty), I::ReturnCallRef(ty)][usize::from(tail)].clone());
            }
        }
    }

    fn throw(&mut self, depth: u32) {
        if self.numbers.below(3) == 0 {
            return self.put(I::Throw(1));
        }
        self.i64(depth);
        self.reference(0, depth);
        self.put(I::Throw(0));
    }

    /// A number from an expression that may throw: by its tag, perhaps with the exception.
    fn catch(&mut self, depth: u32) {
        let kept = self.either() == 1;
        let ty = if kept { CAUGHT_REF } else { CAUGHT };
        self.put(I::Block(BlockType::FunctionType(ty)));
        let catch = match kept {
            true => Catch::OneRef { tag: 0, label: 0 },
            false => Catch::One { tag: 0, label: 0 },
        };
        self.put(I::TryTable(BlockType::Result(V::I64), vec![catch].into()));
        self.effect(depth);
        self.i64(depth);
        self.put(I::End);
        self.reference(0, depth);
        let exception = self.locals.exception;
        if kept {
            self.put(I::LocalGet(exception));
        }
        self.put(I::End);
        if kept {
            self.put(I::LocalSet(exception));
        }
        let local = self.locals.refs[0][self.either()];
        self.put(I::LocalSet(local));
        if kept && self.numbers.below(3) == 0 {
            self.i32(depth);
            self.put(I::If(BlockType::Empty));
            self.put(I::LocalGet(exception));
            self.put(I::ThrowRef);
            self.put(I::End);
        }
    }

    /// A number from an expression that may throw anything, or call what does.
    fn catch_all(&mut self, depth: u32) {
        let local = self.locals.i64[self.either()];
        self.put(I::Block(BlockType::Empty));
        let mut catches = vec![Catch::All { label: 0 }];
        if self.either() == 0 {
            let exception = self.locals.exception;
            self.put(I::Block(BlockType::Result(V::Ref(RefType::EXNREF))));
            catches[0] = Catch::AllRef { label: 0 };
            self.put(I::TryTable(BlockType::Empty, catches.into()));
            self.i64(depth);
            self.put(I::LocalSet(local));
            self.put(I::End);
            self.put(I::Br(1));
            self.put(I::End);
            self.put(I::LocalSet(exception));
        } else {
            catches.insert(0, Catch::One { tag: 1, label: 0 });
            self.put(I::TryTable(BlockType::Empty, catches.into()));
            self.i64(depth);
            self.put(I::LocalSet(local));
            self.put(I::End);
        }
        self.put(I::End);
        self.put(I::LocalGet(local));
    }

    fn effect(&mut self, depth: u32) {
        let of = self.either();
        match self.numbers.below(8) {
            0 => {
                self.reference(of, depth);
                self.put(I::GlobalSet(of as u32));
            }
            1 | 2 => {
                self.place();
                self.reference(of, depth);
                self.put(I::TableSet(of as u32));
            }
            3 => {
                self.reference(of, depth);
                self.put(I::I32Const(1));
                self.put(I::TableGrow(of as u32));
                let local = self.locals.i32[of];
                self.put(I::LocalSet(local));
            }
            4 => {
                self.i32(depth);
                let local = self.locals.i32[of];
                self.put(I::LocalSet(local));
            }
            5 => {
                self.reference(of, depth);
                let local = self.locals.refs[of][self.either()];
                self.put(I::LocalSet(local));
            }
            _ => {
                self.i64(depth);
                let local = self.locals.i64[of];
                self.put(I::LocalSet(local));
            }
        }
    }
}

fn function(numbers: &mut Numbers, of: usize, form: Form) -> Function {
    let Form {
        exceptions, tails, ..
    } = form;
    // The parameters, and locals of each kind behind them.
    let (i32, i64) = [([0, 2], [1, 3]), ([1, 2], [0, 3])][of];
    let declared = [
        [(1, V::I32), (1, V::I64)].to_vec(),
        [(2, V::I32), (1, V::I64)].to_vec(),
    ];
    let mut declared = declared[of].clone();
    declared.extend([(2, V::Ref(nullable(0))), (2, V::Ref(nullable(1)))]);
    if exceptions {
        declared.push((1, V::Ref(RefType::EXNREF)));
    }
    let mut g = Gen {
        numbers,
        f: Function::new(declared),
        locals: Locals {
            i32,
            i64,
            refs: [[4, 5], [6, 7]],
            exception: 8,
        },
        exceptions,
        left: form.left,
    };
    g.put(I::GlobalGet(FUEL_LEFT));
    g.put(I::I32Eqz);
    g.put(I::If(BlockType::Empty));
    g.put(I::I64Const(77));
    g.put(I::Return);
    g.put(I::End);
    g.put(I::GlobalGet(FUEL_LEFT));
    g.put(I::I32Const(1));
    g.put(I::I32Sub);
    g.put(I::GlobalSet(FUEL_LEFT));
    for _ in 0..form.statements {
        g.effect(DEPTH);
    }
    if tails && g.either() == 0 {
        let of = g.either();
        g.call(of, DEPTH, true);
    } else {
        g.i64(DEPTH);
    }
    g.put(I::End);
    g.f
}

/// A module; with exceptions in three of four, and with tail calls in every second one.
pub fn module(numbers: &mut Numbers) -> Vec<u8> {
    let form = Form {
        exceptions: numbers.below(4) != 0,
        tails: numbers.below(2) == 0,
        left: numbers.of(&[6, 8, 12, 16, 16, 24, 32, 120]),
        statements: numbers.of(&[1, 2, 3]),
    };
    let exceptions = form.exceptions;
    let mut types = TypeSection::new();
    types.ty().function([], [V::I32]);
    types.ty().function([V::I32, V::I64], [V::I64]);
    types.ty().function([V::I64], [V::I64]);
    let carried = [V::I64, V::Ref(nullable(0))];
    types.ty().function(carried, []);
    types.ty().function([], []);
    types.ty().function([], carried);
    let with_exception = [carried[0], carried[1], V::Ref(RefType::EXNREF)];
    types.ty().function([], with_exception);
    let mut imports = ImportSection::new();
    imports.import("sing_v1", "startup_arg_count", EntityType::Function(0));
    let mut functions = FunctionSection::new();
    let mut exports = ExportSection::new();
    let mut code = CodeSection::new();
    for (of, ty) in TYPES.into_iter().enumerate() {
        for _ in 0..OF_EACH {
            functions.function(ty);
            code.function(&function(numbers, of, form));
        }
    }
    for index in 1..=2 * OF_EACH {
        exports.export(&format!("f{index}"), ExportKind::Func, index);
    }
    let mut tables = TableSection::new();
    let mut globals = GlobalSection::new();
    for of in 0..2 {
        let table = TableType {
            element_type: nullable(of),
            table64: false,
            minimum: TABLE,
            maximum: Some(TABLE + 8),
            shared: false,
        };
        let first = ConstExpr::ref_func(1 + of as u32 * OF_EACH);
        if numbers.below(2) == 0 {
            tables.table_with_init(table, &first);
        } else {
            tables.table(table);
        }
        let global = GlobalType {
            val_type: V::Ref(nullable(of)),
            mutable: true,
            shared: false,
        };
        globals.global(global, &first);
    }
    let fuel = GlobalType {
        val_type: V::I32,
        mutable: true,
        shared: false,
    };
    globals.global(fuel, &ConstExpr::i32_const(FUEL));
    let mut elements = ElementSection::new();
    for of in 0..2u32 {
        let list: Vec<ConstExpr> = (0..OF_EACH)
            .map(|i| ConstExpr::ref_func(1 + of * OF_EACH + i))
            .collect();
        elements.active(
            Some(of),
            &ConstExpr::i32_const(1),
            Elements::Expressions(nullable(of as usize), list.into()),
        );
    }
    let all: Vec<u32> = (1..=2 * OF_EACH).collect();
    elements.declared(Elements::Functions(all.into()));
    let mut tags = TagSection::new();
    for func_type_idx in TAGS {
        tags.tag(TagType {
            kind: TagKind::Exception,
            func_type_idx,
        });
    }
    let mut module = Module::new();
    module
        .section(&types)
        .section(&imports)
        .section(&functions)
        .section(&tables);
    if exceptions {
        module.section(&tags);
    }
    module
        .section(&globals)
        .section(&exports)
        .section(&elements)
        .section(&code);
    module.finish()
}
