//! Values of a script: arguments as cells, and expected results.

use sing_image::meta::ValType;
use std::fmt;
use wast::core::{AbstractHeapType, HeapType, NanPattern, V128Pattern, WastArgCore, WastRetCore};
use wast::token::{F32, F64};
use wast::{WastArg, WastRet};

/// A value that is not supported, as it belongs to this proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign(pub &'static str);

/// A value with its type, as a cell of 128 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Value {
    /// Its type.
    pub ty: ValType,
    /// Its bits. A null reference is 0; an external reference N is N + 1.
    pub bits: u128,
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.bits;
        match self.ty {
            ValType::I32 => write!(f, "i32 {}", bits as u32 as i32),
            ValType::I64 => write!(f, "i64 {}", bits as i64),
            ValType::F32 => write!(
                f,
                "f32 {} ({:#010x})",
                f32::from_bits(bits as u32),
                bits as u32
            ),
            ValType::F64 => write!(f, "f64 {} ({bits:#018x})", f64::from_bits(bits as u64)),
            ValType::V128 => write!(f, "v128 {bits:#034x}"),
            ValType::FuncRef if bits == 0 => f.write_str("null funcref"),
            ValType::FuncRef => f.write_str("funcref"),
            ValType::NonNullFunc | ValType::Typed { .. } if bits == 0 => {
                f.write_str("null funcref")
            }
            ValType::NonNullFunc | ValType::Typed { .. } => f.write_str("funcref"),
            ValType::ExternRef | ValType::NonNullExtern if bits == 0 => {
                f.write_str("null externref")
            }
            ValType::ExnRef | ValType::NonNullExn if bits == 0 => f.write_str("null exnref"),
            ValType::ExnRef | ValType::NonNullExn => f.write_str("exnref"),
            ValType::ExternRef | ValType::NonNullExtern => write!(f, "externref {}", bits - 1),
        }
    }
}

/// The reference type of a null, if it is one of WebAssembly 2.0.
fn reference(heap: &HeapType<'_>) -> Result<ValType, Foreign> {
    match heap {
        HeapType::Abstract {
            shared: false,
            ty: AbstractHeapType::Func,
        } => Ok(ValType::FuncRef),
        HeapType::Abstract {
            shared: false,
            ty: AbstractHeapType::Extern,
        } => Ok(ValType::ExternRef),
        HeapType::Abstract { shared: true, .. } => Err(Foreign("shared-everything-threads")),
        HeapType::Abstract {
            ty: AbstractHeapType::Exn,
            ..
        } => Ok(ValType::ExnRef),
        HeapType::Abstract {
            ty: AbstractHeapType::NoExn,
            ..
        } => Err(Foreign("gc")),
        HeapType::Abstract {
            ty: AbstractHeapType::Cont | AbstractHeapType::NoCont,
            ..
        } => Err(Foreign("stack-switching")),
        // Of which type, no result tells.
        HeapType::Concrete(_) => Ok(ValType::FuncRef),
        _ => Err(Foreign("gc")),
    }
}

/// An argument as a value.
pub fn argument(arg: &WastArg<'_>) -> Result<Value, Foreign> {
    let WastArg::Core(arg) = arg else {
        return Err(Foreign("component-model"));
    };
    let value = |ty, bits| Ok(Value { ty, bits });
    match arg {
        WastArgCore::I32(v) => value(ValType::I32, v.cast_unsigned().into()),
        WastArgCore::I64(v) => value(ValType::I64, v.cast_unsigned().into()),
        WastArgCore::F32(v) => value(ValType::F32, v.bits.into()),
        WastArgCore::F64(v) => value(ValType::F64, v.bits.into()),
        WastArgCore::V128(v) => value(ValType::V128, u128::from_le_bytes(v.to_le_bytes())),
        WastArgCore::RefNull(heap) => value(reference(heap)?, 0),
        WastArgCore::RefExtern(n) => value(ValType::ExternRef, u128::from(*n) + 1),
        WastArgCore::RefHost(_) => Err(Foreign("gc")),
    }
}

/// An expected result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// This very value.
    Value(Value),
    /// A NaN whose payload is the topmost bit alone.
    CanonicalNan(ValType),
    /// A NaN whose payload has the topmost bit.
    ArithmeticNan(ValType),
    /// A vector whose lanes of such floats are these.
    Lanes(ValType, Vec<Pattern>),
    /// Any null reference.
    Null,
    /// A null reference to a function, or of the host.
    NullOf(ValType),
    /// A reference of this type that is not null.
    NotNull(ValType),
    /// Any of these.
    Either(Vec<Pattern>),
}

impl Pattern {
    /// A script's syntax of an expected result.
    pub fn of(ret: &WastRet<'_>) -> Result<Pattern, Foreign> {
        match ret {
            WastRet::Core(ret) => Pattern::core(ret),
            _ => Err(Foreign("component-model")),
        }
    }

    fn core(ret: &WastRetCore<'_>) -> Result<Pattern, Foreign> {
        let value = |ty, bits| Ok(Pattern::Value(Value { ty, bits }));
        match ret {
            WastRetCore::I32(v) => value(ValType::I32, v.cast_unsigned().into()),
            WastRetCore::I64(v) => value(ValType::I64, v.cast_unsigned().into()),
            WastRetCore::F32(v) => Ok(Pattern::float(ValType::F32, v, |v| v.bits.into())),
            WastRetCore::F64(v) => Ok(Pattern::float(ValType::F64, v, |v| v.bits.into())),
            WastRetCore::V128(v) => Ok(Pattern::vector(v)),
            WastRetCore::RefNull(None) => Ok(Pattern::Null),
            WastRetCore::RefNull(Some(heap)) => reference(heap).map(Pattern::NullOf),
            WastRetCore::RefExtern(Some(n)) => value(ValType::ExternRef, u128::from(*n) + 1),
            WastRetCore::RefExtern(None) => Ok(Pattern::NotNull(ValType::ExternRef)),
            // Which function it is the suite never says, and other scripts by an index of which
            // nothing tells the instance.
            WastRetCore::RefFunc(_) => Ok(Pattern::NotNull(ValType::FuncRef)),
            WastRetCore::Either(any) => Ok(Pattern::Either(
                any.iter().map(Pattern::core).collect::<Result<_, _>>()?,
            )),
            WastRetCore::RefI31Shared => Err(Foreign("shared-everything-threads")),
            WastRetCore::RefHost(_)
            | WastRetCore::RefAny
            | WastRetCore::RefEq
            | WastRetCore::RefArray
            | WastRetCore::RefStruct
            | WastRetCore::RefI31 => Err(Foreign("gc")),
        }
    }

    fn float<T>(ty: ValType, float: &NanPattern<T>, bits: impl Fn(&T) -> u128) -> Pattern {
        match float {
            NanPattern::Value(v) => Pattern::Value(Value { ty, bits: bits(v) }),
            NanPattern::CanonicalNan => Pattern::CanonicalNan(ty),
            NanPattern::ArithmeticNan => Pattern::ArithmeticNan(ty),
        }
    }

    fn vector(lanes: &V128Pattern) -> Pattern {
        let bytes: Vec<u8> = match lanes {
            V128Pattern::I8x16(lanes) => lanes.iter().flat_map(|v| v.to_le_bytes()).collect(),
            V128Pattern::I16x8(lanes) => lanes.iter().flat_map(|v| v.to_le_bytes()).collect(),
            V128Pattern::I32x4(lanes) => lanes.iter().flat_map(|v| v.to_le_bytes()).collect(),
            V128Pattern::I64x2(lanes) => lanes.iter().flat_map(|v| v.to_le_bytes()).collect(),
            V128Pattern::F32x4(lanes) => {
                let lane = |v| Pattern::float(ValType::F32, v, |v: &F32| v.bits.into());
                return Pattern::Lanes(ValType::F32, lanes.iter().map(lane).collect());
            }
            V128Pattern::F64x2(lanes) => {
                let lane = |v| Pattern::float(ValType::F64, v, |v: &F64| v.bits.into());
                return Pattern::Lanes(ValType::F64, lanes.iter().map(lane).collect());
            }
        };
        let bits = bytes.iter().rev().fold(0, |v, b| v << 8 | u128::from(*b));
        Pattern::Value(Value {
            ty: ValType::V128,
            bits,
        })
    }

    /// Whether a value is one of these.
    pub fn matches(&self, v: Value) -> bool {
        match self {
            // A typed reference is one of its kind.
            Pattern::Value(expected) => {
                *expected == v || same(expected.ty, v) && expected.bits == v.bits
            }
            Pattern::CanonicalNan(ty) => *ty == v.ty && nan(v, true),
            Pattern::ArithmeticNan(ty) => *ty == v.ty && nan(v, false),
            Pattern::Lanes(ty, lanes) => {
                let width = 128 / lanes.len();
                let lane = |n: usize| v.bits >> (n * width) & (u128::MAX >> (128 - width));
                let mut lanes = lanes.iter().enumerate();
                let same = |(n, p): (usize, &Pattern)| {
                    p.matches(Value {
                        ty: *ty,
                        bits: lane(n),
                    })
                };
                v.ty == ValType::V128 && lanes.all(same)
            }
            Pattern::Null => v.ty.is_reference() && v.bits == 0,
            Pattern::NullOf(ty) => same(*ty, v) && v.bits == 0,
            Pattern::NotNull(ty) => same(*ty, v) && v.bits != 0,
            Pattern::Either(any) => any.iter().any(|p| p.matches(v)),
        }
    }
}

/// Whether a value is a reference of the same kind: to a function, or of the host.
fn same(ty: ValType, v: Value) -> bool {
    ty.is_reference() && v.ty.is_reference() && ty.is_function() == v.ty.is_function()
}

/// Whether a float is a NaN with the topmost bit of its payload set and, where `alone`, no other.
/// Its sign does not matter.
fn nan(v: Value, alone: bool) -> bool {
    let (canonical, magnitude) = match v.ty {
        ValType::F32 => (0x7fc0_0000, v.bits & 0x7fff_ffff),
        ValType::F64 => (0x7ff8 << 48, v.bits & u128::from(u64::MAX >> 1)),
        _ => return false,
    };
    if alone {
        magnitude == canonical
    } else {
        magnitude & canonical == canonical
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Value(v) => v.fmt(f),
            Pattern::CanonicalNan(ty) => write!(f, "a canonical NaN ({ty:?})"),
            Pattern::ArithmeticNan(ty) => write!(f, "an arithmetic NaN ({ty:?})"),
            Pattern::Lanes(_, lanes) => write!(f, "a v128 of [{}]", list(lanes)),
            Pattern::Null => f.write_str("a null reference"),
            Pattern::NullOf(ty) => write!(f, "a null {ty:?}"),
            Pattern::NotNull(ty) => write!(f, "a {ty:?} that is not null"),
            Pattern::Either(any) => write!(f, "one of [{}]", list(any)),
        }
    }
}

/// Several of them in a message.
pub fn list<T: fmt::Display>(items: &[T]) -> String {
    if items.is_empty() {
        return "nothing".into();
    }
    items
        .iter()
        .map(T::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f32(bits: u32) -> Value {
        Value {
            ty: ValType::F32,
            bits: bits.into(),
        }
    }

    fn f64(bits: u64) -> Value {
        Value {
            ty: ValType::F64,
            bits: bits.into(),
        }
    }

    #[test]
    fn nans_are_told_apart() {
        let canonical = Pattern::CanonicalNan(ValType::F32);
        let arithmetic = Pattern::ArithmeticNan(ValType::F32);
        for (bits, c, a) in [
            (0x7fc0_0000, true, true),
            (0xffc0_0000, true, true),
            (0x7fc0_0001, false, true),
            (0x7f80_0001, false, false),
            (0x7fa0_0000, false, false),
            (0x7f80_0000, false, false),
            (0, false, false),
        ] {
            assert_eq!(canonical.matches(f32(bits)), c, "{bits:#x}");
            assert_eq!(arithmetic.matches(f32(bits)), a, "{bits:#x}");
        }
        let canonical = Pattern::CanonicalNan(ValType::F64);
        assert!(canonical.matches(f64(0xfff8 << 48)));
        assert!(!canonical.matches(f64(0x7ff0 << 48)));
        assert!(!canonical.matches(f64(0x7ff8 << 48 | 1)));
        assert!(!canonical.matches(f32(0x7fc0_0000)));
        assert!(Pattern::ArithmeticNan(ValType::F64).matches(f64(0x7ff8 << 48 | 1)));
    }

    #[test]
    fn vectors_are_compared_lane_by_lane() {
        let vector = |bits| Value {
            ty: ValType::V128,
            bits,
        };
        let one = u128::from(1.0f64.to_bits());
        let nan = u128::from(f64::NAN.to_bits());
        let pattern = Pattern::vector(&V128Pattern::F64x2([
            NanPattern::CanonicalNan,
            NanPattern::Value(F64 { bits: one as u64 }),
        ]));
        assert!(pattern.matches(vector(one << 64 | nan)));
        assert!(pattern.matches(vector(one << 64 | nan | 1 << 63)));
        assert!(!pattern.matches(vector(one << 64 | nan | 1)));
        assert!(!pattern.matches(vector(nan << 64 | one)));
        assert!(!pattern.matches(f64(nan as u64)), "a vector is no float");
        let pattern = Pattern::vector(&V128Pattern::I16x8([1, 2, 3, 4, 5, 6, 7, -1]));
        assert!(pattern.matches(vector(0xffff_0007_0006_0005_0004_0003_0002_0001)));
        assert!(!pattern.matches(vector(0xffff_0007_0006_0005_0004_0003_0002_0000)));
    }

    #[test]
    fn values_are_compared_by_their_bits() {
        assert!(
            !Pattern::Value(f32(0)).matches(f32(0x8000_0000)),
            "0 is not -0"
        );
        assert!(
            Pattern::Value(f32(0x7f80_0001)).matches(f32(0x7f80_0001)),
            "a NaN is itself"
        );
        assert!(!Pattern::Value(f32(0)).matches(Value {
            ty: ValType::I32,
            bits: 0
        }));
        let null = Value {
            ty: ValType::FuncRef,
            bits: 0,
        };
        assert!(Pattern::Null.matches(null));
        assert!(!Pattern::NotNull(ValType::FuncRef).matches(null));
        assert!(!Pattern::NotNull(ValType::FuncRef).matches(Value {
            ty: ValType::ExternRef,
            bits: 1
        }));
        let either = Pattern::Either(vec![Pattern::Null, Pattern::Value(f32(1))]);
        assert!(either.matches(f32(1)) && !either.matches(f32(2)));
        let pattern = Pattern::Value(Value {
            ty: ValType::FuncRef,
            bits: 0,
        });
        assert!(
            !pattern.matches(Value {
                ty: ValType::ExternRef,
                bits: 0
            }),
            "nulls have types"
        );
    }
}
