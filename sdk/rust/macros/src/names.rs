//! Names of contracts as names of Rust.

use proc_macro2::{Ident, Span};
use sing_contract::model::{CLOSED, Contract};

/// An identifier, even if the name is a keyword of Rust.
pub(crate) fn ident(name: &str) -> Ident {
    if syn::parse_str::<Ident>(name).is_ok() {
        return Ident::new(name, Span::call_site());
    }
    if matches!(name, "self" | "Self" | "super" | "crate" | "_") {
        return Ident::new(&format!("{name}_"), Span::call_site());
    }
    Ident::new_raw(name, Span::call_site())
}

/// A parameter or variable. A pattern of some names would not be one: variants of Rust's prelude,
/// the constant of each contract's module; and names with `__` in front are those of the code
/// around it.
pub(crate) fn variable(name: &str) -> Ident {
    if name.starts_with("__") || matches!(name, "None" | "Some" | "Ok" | "Err" | "NAME") {
        return ident(&format!("{name}_"));
    }
    ident(name)
}

/// Types of Rust that the generated code names, and that a type of the same name beside it would
/// hide.
const BUILT_IN: [&str; 17] = [
    "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "str", "u8", "u16",
    "u32", "u64", "u128", "usize",
];

/// Why nothing beside generated code can be called so, if it is so.
pub(crate) fn taken(name: &str) -> Option<&'static str> {
    BUILT_IN
        .contains(&name)
        .then_some("this is a type of Rust's")
}

/// Why no state can be called so, if it is so.
pub(crate) fn taken_of_states(name: &str) -> Option<&'static str> {
    match name {
        "Initial" => Some("a contract's module calls its first state so"),
        "imp" | "exp" => Some("a contract's module keeps there what a side can receive"),
        "checked" => Some("a contract's module keeps there the arguments that have been checked"),
        "Mock" => Some("a contract's module calls its mock so"),
        "import" => Some("a contract's module keeps there what it imports"),
        _ => taken(name),
    }
}

/// `BindLocalEndPoint` as `bind_local_end_point`, `GetUTC` as `get_utc`.
pub(crate) fn snake(name: &str) -> String {
    let mut out = String::new();
    let chars: Vec<char> = name.chars().collect();
    for (i, &c) in chars.iter().enumerate() {
        let after_small =
            i > 0 && (chars[i - 1].is_ascii_lowercase() || chars[i - 1].is_ascii_digit());
        let before_small = i > 0
            && chars[i - 1].is_ascii_uppercase()
            && chars.get(i + 1).is_some_and(char::is_ascii_lowercase);
        if c.is_ascii_uppercase() && (after_small || before_small) {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// The type of a state: `Start'Request` as `Start_Request`, `closed` as `Closed`.
pub(crate) fn state(contract: &Contract, name: &str) -> Ident {
    if name == CLOSED && contract.state("Closed").is_none() {
        return ident("Closed");
    }
    ident(&name.replace('\'', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_methods() {
        for (name, expected) in [
            ("Request", "request"),
            ("AckBind", "ack_bind"),
            ("BindLocalEndPoint", "bind_local_end_point"),
            ("GetUTC", "get_utc"),
            ("IPAddress", "ip_address"),
            ("OK", "ok"),
            ("Ipv4Addr", "ipv4_addr"),
            ("already_snake", "already_snake"),
        ] {
            assert_eq!(snake(name), expected);
        }
    }

    #[test]
    fn keywords() {
        assert_eq!(ident("type").to_string(), "r#type");
        assert_eq!(ident("self").to_string(), "self_");
        assert_eq!(ident("x").to_string(), "x");
    }

    #[test]
    fn variables() {
        for (name, expected) in [
            ("x", "x"),
            ("type", "r#type"),
            ("None", "None_"),
            ("NAME", "NAME_"),
            ("__words", "__words_"),
        ] {
            assert_eq!(variable(name).to_string(), expected);
        }
    }
}
