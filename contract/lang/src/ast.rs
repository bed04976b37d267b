//! A source text as written, before names are looked up.

pub use crate::source::Span;
pub use sing_image::contract::Direction;
pub use sing_image::manifest::Side;

/// A name with its place.
#[derive(Clone, Debug)]
pub struct Name {
    /// The name.
    pub text: String,
    /// The place of the name in the text.
    pub span: Span,
}

/// A source text.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// Texts that it imports.
    pub imports: Vec<Name>,
    /// Declarations, in order; those of imported texts come first.
    pub items: Vec<Item>,
}

/// A declaration.
#[derive(Clone, Debug)]
pub enum Item {
    /// `contract C { … }`
    Contract(Contract),
    /// `contract N narrows C.Imp { … }`
    Narrowing(Narrowing),
    /// `enum E { … }`
    Enum(Enum),
    /// `rep struct S { … }`
    Struct(Struct),
}

impl Item {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &Name {
        match self {
            Item::Contract(c) => &c.name,
            Item::Narrowing(n) => &n.name,
            Item::Enum(e) => &e.name,
            Item::Struct(s) => &s.name,
        }
    }
}

/// `contract C : B { … }`
#[derive(Clone, Debug)]
pub struct Contract {
    /// Documentation lines.
    pub docs: Vec<String>,
    /// Whether `public` was said.
    pub public: bool,
    /// Its name.
    pub name: Name,
    /// The contract that it derives from.
    pub base: Option<Name>,
    /// Messages, in order.
    pub messages: Vec<Message>,
    /// States, in order, nested ones after the one they stand in.
    pub states: Vec<State>,
    /// The place of all of it, documentation included.
    pub span: Span,
}

/// `contract N narrows C.Imp { M; … }`: a permission ([O] 5.5.3).
#[derive(Clone, Debug)]
pub struct Narrowing {
    /// Documentation lines.
    pub docs: Vec<String>,
    /// Whether `public` was said.
    pub public: bool,
    /// Its name.
    pub name: Name,
    /// The contract, or the permission, that it narrows.
    pub of: Name,
    /// The side whose endpoints it narrows.
    pub side: Side,
    /// The place of the side in the text.
    pub side_span: Span,
    /// The messages that this side may still send, in order.
    pub messages: Vec<Name>,
}

/// `in message M(T a) requires a > 0;`
#[derive(Clone, Debug)]
pub struct Message {
    /// Documentation lines.
    pub docs: Vec<String>,
    /// Direction.
    pub direction: Direction,
    /// Its name.
    pub name: Name,
    /// Its arguments.
    pub arguments: Vec<Field>,
    /// The conditions that its arguments must meet.
    pub requires: Vec<Expr>,
}

/// An argument, or a field of a rep struct.
#[derive(Clone, Debug)]
pub struct Field {
    /// Documentation lines.
    pub docs: Vec<String>,
    /// Its type.
    pub ty: Type,
    /// Its name.
    pub name: Name,
}

/// A type as written.
#[derive(Clone, Debug)]
pub struct Type {
    /// The kind of type.
    pub kind: TypeKind,
    /// The place of the type in the text.
    pub span: Span,
}

/// Kinds of types.
#[derive(Clone, Debug)]
pub enum TypeKind {
    /// A scalar, an enum or a rep struct, by name.
    Named(Name),
    /// `T?`: a value that may be absent.
    Optional(Name),
    /// `T[] in ExHeap`, or `T[]? in ExHeap`
    Vector {
        /// The type of its elements.
        of: Name,
        /// Whether it may be absent.
        optional: bool,
    },
    /// `T* in ExHeap`, or `T*? in ExHeap`
    Pointer {
        /// The type of its content.
        of: Name,
        /// Whether it may be absent.
        optional: bool,
    },
    /// `C.Imp:S`
    Endpoint {
        /// The contract.
        contract: Name,
        /// The side.
        side: Side,
        /// The state; the contract's first where none is named.
        state: Option<Name>,
    },
}

/// `enum E : byte { A, B = 3 }`
#[derive(Clone, Debug)]
pub struct Enum {
    /// Documentation lines.
    pub docs: Vec<String>,
    /// Its name.
    pub name: Name,
    /// The integer type that holds it; `int` where none is named.
    pub repr: Option<Name>,
    /// Its values.
    pub values: Vec<EnumValue>,
}

/// A value of an enum.
#[derive(Clone, Debug)]
pub struct EnumValue {
    /// Documentation lines.
    pub docs: Vec<String>,
    /// Its name.
    pub name: Name,
    /// Its number; one more than the last where none is given.
    pub value: Option<i128>,
}

/// `rep struct S { T a; }`
#[derive(Clone, Debug)]
pub struct Struct {
    /// Documentation lines.
    pub docs: Vec<String>,
    /// Its name.
    pub name: Name,
    /// Its fields.
    pub fields: Vec<Field>,
}

/// `override state S: …;`
#[derive(Clone, Debug)]
pub struct State {
    /// Documentation lines.
    pub docs: Vec<String>,
    /// Whether `override` was said.
    pub overrides: bool,
    /// Its name.
    pub name: Name,
    /// The alternatives that a conversation has here. None in a state in which only the close is
    /// left.
    pub body: Vec<Sequence>,
}

/// Steps one after the other.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// The steps; at least one.
    pub steps: Vec<Step>,
    /// Where.
    pub span: Span,
}

/// A step of a sequence.
#[derive(Clone, Debug)]
pub enum Step {
    /// `M?` or `M!`, from the exporting side's point of view.
    Message {
        /// The message.
        name: Name,
        /// The side that sends it: importing for `?`, exporting for `!`.
        sender: Side,
    },
    /// `( … or … )` or `one { …; …; }`
    Choice(Vec<Sequence>, Span),
    /// `S` at the end of a sequence.
    State(Name),
}

/// A condition, or a part of one.
#[derive(Clone, Debug)]
pub struct Expr {
    /// The kind of expression.
    pub kind: ExprKind,
    /// The place of the expression in the text.
    pub span: Span,
}

/// Kinds of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A whole number.
    Number(i128),
    /// `true` or `false`.
    Bool(bool),
    /// An argument.
    Argument(String),
    /// A field of a rep struct, or a value of an enum.
    Member(Box<Expr>, Name),
    /// `!a` or `-a`.
    Unary(&'static str, Box<Expr>),
    /// `a op b`.
    Binary(&'static str, Box<Expr>, Box<Expr>),
}
