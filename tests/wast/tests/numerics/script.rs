//! Scripts of one instruction a module.

use std::fmt::Write;

/// The result of an instruction: a value's text, or a trap's message.
pub enum Gives {
    Value(String),
    Trap(&'static str),
}

/// A value that can be an operand.
pub trait Operand: Copy {
    /// `i32` and so on.
    const TYPE: &'static str;
    /// The value's text; exactly this one, also for NaNs.
    fn text(self) -> String;

    /// A constant expression of it.
    fn constant(self) -> String {
        format!("({}.const {})", Self::TYPE, self.text())
    }
}

macro_rules! integers {
    ($($t:ty, $name:literal;)*) => {$(
        impl Operand for $t {
            const TYPE: &'static str = $name;
            fn text(self) -> String {
                format!("{self:#x}")
            }
        }
    )*};
}

integers! {
    u32, "i32";
    u64, "i64";
}

macro_rules! floats {
    ($($t:ty, $bits:ty, $name:literal, $mantissa:literal;)*) => {$(
        impl Operand for $t {
            const TYPE: &'static str = $name;
            fn text(self) -> String {
                let sign = if self.is_sign_negative() { "-" } else { "" };
                if self.is_nan() {
                    let payload = self.to_bits() & ((1 << $mantissa) - 1);
                    format!("{sign}nan:{payload:#x}")
                } else if self.is_infinite() {
                    format!("{sign}inf")
                } else {
                    // The shortest decimal that reads back as the same number.
                    format!("{self:e}")
                }
            }
        }
    )*};
}

floats! {
    f32, u32, "f32", 23;
    f64, u64, "f64", 52;
}

/// A script in the making: modules with assertions.
#[derive(Default)]
pub struct Script {
    texts: Vec<String>,
    /// Functions of the module being made, and assertions on them.
    module: String,
    asserts: String,
    functions: usize,
}

impl Script {
    /// The scripts: several, so that they run at the same time.
    pub fn texts(mut self) -> Vec<String> {
        self.end_module();
        self.texts
    }

    fn end_module(&mut self) {
        if self.functions > 0 {
            let (module, asserts) = (&self.module, &self.asserts);
            self.texts
                .push(format!("(module (memory 1)\n{module})\n{asserts}"));
        }
        self.module.clear();
        self.asserts.clear();
        self.functions = 0;
    }

    /// Adds a function; returns its name.
    pub fn function(&mut self, signature: &str, body: &str) -> String {
        if self.functions == 2000 {
            self.end_module();
        }
        let name = format!("f{}", self.functions);
        writeln!(self.module, "(func (export \"{name}\") {signature} {body})").unwrap();
        self.functions += 1;
        name
    }

    /// Asserts a function's result.
    pub fn assert(&mut self, name: &str, args: &[String], gives: &Gives) {
        let invoke = format!("(invoke \"{name}\" {})", args.join(" "));
        match gives {
            Gives::Value(value) => writeln!(self.asserts, "(assert_return {invoke} {value})"),
            Gives::Trap(message) => writeln!(self.asserts, "(assert_trap {invoke} \"{message}\")"),
        }
        .unwrap();
    }

    /// An instruction with one operand.
    pub fn unary<T: Operand>(
        &mut self,
        instruction: &str,
        result: &str,
        values: &[T],
        gives: impl Fn(T) -> Gives,
    ) {
        let ty = T::TYPE;
        let local = self.function(
            &format!("(param {ty}) (result {result})"),
            &format!("({instruction} (local.get 0))"),
        );
        let stored = self.function(
            &format!("(param {ty}) (result {result})"),
            &format!(
                "({ty}.store (i32.const 8) (local.get 0)) ({instruction} ({ty}.load (i32.const 8)))"
            ),
        );
        for v in values {
            self.assert(&local, &[v.constant()], &gives(*v));
            self.assert(&stored, &[v.constant()], &gives(*v));
        }
        for v in values {
            let constant = self.function(
                &format!("(result {result})"),
                &format!("({instruction} {})", v.constant()),
            );
            self.assert(&constant, &[], &gives(*v));
        }
    }

    /// An instruction with two operands. Constants are taken from `few`.
    pub fn binary<T: Operand>(
        &mut self,
        instruction: &str,
        result: &str,
        (values, few): (&[T], &[T]),
        gives: impl Fn(T, T) -> Gives,
    ) {
        let ty = T::TYPE;
        let two = format!("(param {ty} {ty}) (result {result})");
        let store = format!("({ty}.store (i32.const 8) (local.get 0))");
        let load = format!("({ty}.load (i32.const 8))");
        let bodies = [
            format!("({instruction} (local.get 0) (local.get 1))"),
            format!("{store} ({instruction} {load} (local.get 1))"),
        ];
        for body in bodies {
            let f = self.function(&two, &body);
            for (a, b) in pairs(values) {
                self.assert(&f, &[a.constant(), b.constant()], &gives(a, b));
            }
        }
        let f = self.function(
            &two,
            &format!("{store} ({instruction} (local.get 1) {load})"),
        );
        for (a, b) in pairs(values) {
            self.assert(&f, &[b.constant(), a.constant()], &gives(a, b));
        }
        let one = format!("(param {ty}) (result {result})");
        let same = self.function(
            &one,
            &format!("({instruction} (local.get 0) (local.get 0))"),
        );
        for v in values {
            self.assert(&same, &[v.constant()], &gives(*v, *v));
        }
        for c in few {
            let right = self.function(
                &one,
                &format!("({instruction} (local.get 0) {})", c.constant()),
            );
            let left = self.function(
                &one,
                &format!("({instruction} {} (local.get 0))", c.constant()),
            );
            for v in values {
                self.assert(&right, &[v.constant()], &gives(*v, *c));
                self.assert(&left, &[v.constant()], &gives(*c, *v));
            }
        }
        for (a, b) in pairs(few) {
            let body = format!("({instruction} {} {})", a.constant(), b.constant());
            let f = self.function(&format!("(result {result})"), &body);
            self.assert(&f, &[], &gives(a, b));
        }
    }

    /// A comparison: a binary instruction, and a condition.
    pub fn comparison<T: Operand>(
        &mut self,
        instruction: &str,
        sets: (&[T], &[T]),
        holds: impl Fn(T, T) -> bool,
    ) {
        let number = |b: bool| Gives::Value(format!("(i32.const {})", u32::from(b)));
        self.binary(instruction, "i32", sets, |a, b| number(holds(a, b)));
        let ty = T::TYPE;
        let condition = format!("({instruction} (local.get 0) (local.get 1))");
        let bodies = [
            (
                false,
                format!("(if (result i32) {condition} (then (i32.const 1)) (else (i32.const 0)))"),
            ),
            (
                false,
                format!("(select (i32.const 1) (i32.const 0) {condition})"),
            ),
            (
                false,
                format!("(block (br_if 0 {condition}) (return (i32.const 0))) (i32.const 1)"),
            ),
            (true, format!("(i32.eqz {condition})")),
            (
                true,
                format!(
                    "(if (result i32) (i32.eqz {condition}) (then (i32.const 1)) (else (i32.const 0)))"
                ),
            ),
            (
                true,
                format!(
                    "(block (br_if 0 (i32.eqz {condition})) (return (i32.const 0))) (i32.const 1)"
                ),
            ),
            (
                true,
                format!("(i32.sub (i32.const 1) (i32.and {condition} {condition}))"),
            ),
        ];
        for (negated, body) in bodies {
            let f = self.function(&format!("(param {ty} {ty}) (result i32)"), &body);
            for (a, b) in pairs(sets.0) {
                self.assert(
                    &f,
                    &[a.constant(), b.constant()],
                    &number(holds(a, b) != negated),
                );
            }
        }
        // A select between the operands themselves, as in a hand-written minimum.
        let body = format!("(select (local.get 0) (local.get 1) {condition})");
        let f = self.function(&format!("(param {ty} {ty}) (result {ty})"), &body);
        for (a, b) in pairs(sets.0) {
            let chosen = if holds(a, b) { a } else { b };
            self.assert(
                &f,
                &[a.constant(), b.constant()],
                &Gives::Value(chosen.constant()),
            );
        }
    }
}

fn pairs<T: Copy>(values: &[T]) -> impl Iterator<Item = (T, T)> + '_ {
    values
        .iter()
        .flat_map(move |a| values.iter().map(move |b| (*a, *b)))
}
