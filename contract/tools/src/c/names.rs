//! Names of contracts as names of C.

use sing_contract::model::{Model, Term};
use std::collections::BTreeMap;

/// Words of C, of C23 and of clang's dialects too, and those that the headers it comes with or the
/// generated code define.
const RESERVED: &str = "auto break case char const continue default do double else enum extern float for goto if \
    inline int long register restrict return short signed sizeof static struct switch typedef union unsigned void \
    volatile while asm bool true false typeof typeof_unqual alignas alignof constexpr nullptr static_assert \
    thread_local linux unix NULL offsetof unreachable self next sip_main";

/// Ends of names that <stdint.h>, <stddef.h> and the compiler define, or may: of types, limits and
/// macros that make constants.
const RESERVED_ENDS: [&str; 5] = ["_t", "_MAX", "_MIN", "_C", "_WIDTH"];

/// Headers that a program includes besides those of contracts, and those that may come with the
/// compiler.
const HEADERS: &str = "singularity print assert complex ctype errno fenv float inttypes iso646 limits locale math \
    setjmp signal stdalign stdarg stdatomic stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string \
    tgmath threads time uchar wchar wctype";

fn is_word_of(words: &str, name: &str) -> bool {
    words.split_whitespace().any(|w| w == name)
}

/// Whether C, or what the generated code is made of, keeps a name for itself.
fn is_reserved(name: &str) -> bool {
    is_word_of(RESERVED, name)
        || RESERVED_ENDS.iter().any(|end| name.ends_with(end))
        // Names of the compiler's own begin with two of these, or with one and a capital.
        || name.starts_with("__")
        || name.strip_prefix('_').is_some_and(|n| n.starts_with(|c: char| c.is_ascii_uppercase()))
        // Names of the generated code and its header.
        || name.starts_with("sing_")
        || name.starts_with("SING_")
}

/// Whether the compiler or its headers define a name that is put together of two: `UINT8` and
/// `MAX`, `size` and `t`.
fn is_standard(name: &str) -> bool {
    let numbers = ["int", "uint", "INT", "UINT"]
        .iter()
        .any(|n| name.starts_with(n));
    let others = "size_t SIZE_MAX ptrdiff_t PTRDIFF_MIN PTRDIFF_MAX wchar_t WCHAR_MIN WCHAR_MAX WINT_MIN WINT_MAX \
        SIG_ATOMIC_MIN SIG_ATOMIC_MAX max_align_t rsize_t nullptr_t";
    is_word_of(others, name) || numbers && RESERVED_ENDS.iter().any(|end| name.ends_with(end))
}

/// A name that C lets a type, parameter or member have. Names that differ stay different: what ends
/// like one that was changed is changed too.
pub(super) fn ident(name: &str) -> String {
    let plain = name.trim_end_matches('_');
    if is_reserved(name) || is_reserved(plain) {
        format!("{name}_")
    } else {
        name.to_owned()
    }
}

/// The member of what is received that stands for a message; beside it lies the tag.
pub(super) fn member(message: &str) -> String {
    if message.trim_end_matches('_') == "tag" {
        format!("{message}_")
    } else {
        ident(message)
    }
}

/// The file that a contract's header is, and which hides no other that programs include.
pub(super) fn header(contract: &str) -> String {
    let plain = contract.trim_end_matches('_');
    let kept = is_word_of(HEADERS, plain) || contract.starts_with("__");
    format!("{contract}{}.h", if kept { "_" } else { "" })
}

/// Gives arguments and fields that are called like what a header declares other names: where they
/// are in scope, the code that is made speaks of both.
pub(super) fn set_apart(model: &mut Model) {
    let enums = model.enums.iter().map(|e| &e.name);
    let structs = model.structs.iter().map(|s| &s.name);
    let types: Vec<String> = enums.chain(structs).cloned().collect();
    let contracts: Vec<String> = model.contracts.iter().map(|c| c.name.clone()).collect();
    let belongs = |name: &str, to: &String| {
        let rest = name.strip_prefix(to.as_str());
        rest.is_some_and(|rest| rest.starts_with('_'))
    };
    let apart = |name: &mut String| {
        let taken = types.iter().any(|t| t == name)
            || types.iter().chain(&contracts).any(|t| belongs(name, t));
        if taken {
            name.push('_');
        }
    };
    let fields = model.structs.iter_mut().flat_map(|s| &mut s.fields);
    fields.for_each(|f| apart(&mut f.name));
    for message in model.contracts.iter_mut().flat_map(|c| &mut c.messages) {
        message
            .arguments
            .iter_mut()
            .for_each(|a| apart(&mut a.name));
        for condition in &mut message.requires {
            each_value(&mut condition.term, &mut |path| {
                path.iter_mut().for_each(&apart)
            });
        }
    }
}

/// Looks at every argument that a term speaks of.
fn each_value(term: &mut Term, look: &mut impl FnMut(&mut Vec<String>)) {
    match term {
        Term::Value { path, .. } | Term::Length { path, .. } | Term::Present { path, .. } => {
            look(path)
        }
        Term::Not(inner) | Term::Negative(inner) => each_value(inner, look),
        Term::Binary { left, right, .. } => {
            each_value(left, look);
            each_value(right, look);
        }
        Term::Int(_) | Term::Bool(_) | Term::Enum(..) => {}
    }
}

/// A state in the name of a type: `Start'Request` as `Start_Request`.
pub(super) fn state(name: &str) -> String {
    name.replace('\'', "_")
}

/// Documentation lines as comments.
pub(super) fn comment(indent: &str, docs: &[String]) -> String {
    docs.iter()
        .map(|line| {
            // A backslash at a line's end would join it with the next.
            let line = format!("{indent}// {}", line.trim_end_matches('\\'));
            format!("{}\n", line.trim_end())
        })
        .collect()
}

/// The names that a header declares, each once.
pub(super) struct Names<'a> {
    contract: &'a str,
    taken: BTreeMap<String, String>,
}

impl<'a> Names<'a> {
    pub fn new(contract: &'a str) -> Names<'a> {
        let taken = BTreeMap::new();
        Names { contract, taken }
    }

    /// Takes a name for something; fails where something else has it.
    pub fn take(&mut self, name: &str, what: &str) -> Result<(), String> {
        if is_standard(name) {
            return Err(format!(
                "contract {}: {what} would be called {name}, which C has already; rename it",
                self.contract
            ));
        }
        match self.taken.insert(name.to_owned(), what.to_owned()) {
            None => Ok(()),
            Some(other) => Err(format!(
                "contract {}: {other} and {what} would both be called {name} in C; rename one of them",
                self.contract
            )),
        }
    }
}
