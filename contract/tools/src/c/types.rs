//! Enums, rep structs, and how values lie in messages and blocks.

use super::Binding;
use super::names::{Names, comment, ident, state};
use sing_contract::ast::Item;
use sing_contract::format;
use sing_contract::model::{Content, Enum, Field, Model, Scalar, Struct, Type};
use std::fmt::Write as _;

/// The type in C.
pub(super) fn c(ty: &Type) -> String {
    match ty {
        Type::Scalar(s) => scalar(*s).into(),
        Type::Enum(name) | Type::Struct(name) => ident(name),
        Type::Vector {
            of: Content::Scalar(Scalar::Char),
            ..
        } => "sing_text".into(),
        Type::Optional(of) => format!("{}_optional", content(of)),
        Type::Vector { of, .. } => format!("{}_vector", content(of)),
        Type::Record { of, .. } => format!("{}_record", content(of)),
        Type::Endpoint {
            contract,
            side,
            state: s,
        } => format!("{contract}_{}_{}", side.name(), state(s)),
    }
}

pub(super) fn content(of: &Content) -> String {
    match of {
        Content::Scalar(s) => format!("sing_{}", s.name()),
        Content::Enum(name) | Content::Struct(name) => ident(name),
    }
}

fn scalar(s: Scalar) -> &'static str {
    match s {
        Scalar::Bool => "bool",
        Scalar::U8 => "uint8_t",
        Scalar::I8 => "int8_t",
        Scalar::U16 => "uint16_t",
        Scalar::I16 => "int16_t",
        Scalar::U32 => "uint32_t",
        Scalar::I32 => "int32_t",
        Scalar::U64 => "uint64_t",
        Scalar::I64 => "int64_t",
        Scalar::Char => "sing_char",
        Scalar::F32 => "float",
        Scalar::F64 => "double",
    }
}

fn fields<'m>(name: &str, model: &'m Model) -> impl Iterator<Item = &'m Field> + use<'m> {
    model.structure(name).into_iter().flat_map(|s| &s.fields)
}

/// Puts a value into `sing_words` from `at` on.
pub(super) fn pack(ty: &Type, value: &str, model: &Model, at: &mut usize, out: &mut String) {
    if let Type::Struct(name) = ty {
        for field in fields(name, model) {
            let value = format!("{value}.{}", ident(&field.name));
            pack(&field.ty, &value, model, at, out);
        }
        return;
    }
    if let Type::Optional(of) = ty {
        let _ = writeln!(out, "  sing_words[{at}] = {value}.has_value;");
        *at += 1;
        let first = *at;
        // Nobody need have set the value of one that is absent.
        let _ = writeln!(out, "  if ({value}.has_value) {{");
        let content = format!("{value}.value");
        pack(&of.clone().into(), &content, model, at, out);
        let _ = writeln!(out, "  }} else {{");
        for word in first..*at {
            let _ = writeln!(out, "  sing_words[{word}] = 0;");
        }
        let _ = writeln!(out, "  }}");
        return;
    }
    let bits = match ty {
        Type::Scalar(Scalar::F32) => format!("sing_float_bits({value})"),
        Type::Scalar(Scalar::F64) => format!("sing_double_bits({value})"),
        Type::Scalar(_) | Type::Enum(_) | Type::Struct(_) | Type::Optional(_) => value.into(),
        Type::Vector { .. } | Type::Record { .. } | Type::Endpoint { .. } => {
            format!("{value}.handle")
        }
    };
    let _ = writeln!(out, "  sing_words[{at}] = (uint64_t){bits};");
    *at += 1;
}

/// Takes a value out of `sing_words` from `at` on; `sing_good` ends up false where it is none.
/// `within` are the values that may be absent of which this is a part: then it is all zeros.
pub(super) fn unpack(
    ty: &Type,
    to: &str,
    within: &[String],
    model: &Model,
    at: &mut usize,
    out: &mut String,
) {
    if let Type::Struct(name) = ty {
        for field in fields(name, model) {
            let to = format!("{to}.{}", ident(&field.name));
            unpack(&field.ty, &to, within, model, at, out);
        }
        return;
    }
    if let Type::Optional(of) = ty {
        let _ = writeln!(
            out,
            "      sing_good = sing_good && sing_words[{at}] <= 1;\n      {to}.has_value = sing_words[{at}] == 1;"
        );
        *at += 1;
        let first = *at;
        let value = format!("{to}.value");
        let within = [within, &[to.to_owned()]].concat();
        unpack(&of.clone().into(), &value, &within, model, at, out);
        for word in first..*at {
            let _ = writeln!(
                out,
                "      sing_good = sing_good && ({to}.has_value || sing_words[{word}] == 0);"
            );
        }
        return;
    }
    let word = format!("sing_words[{at}]");
    let (test, value) = match ty {
        Type::Scalar(Scalar::Bool) => (format!("{word} <= 1"), format!("{word} == 1")),
        Type::Scalar(Scalar::Char) => (
            format!("sing_is_char({word})"),
            format!("(sing_char){word}"),
        ),
        Type::Scalar(Scalar::F32) => (
            format!("{word} <= UINT32_MAX"),
            format!("sing_float_of((uint32_t){word})"),
        ),
        Type::Scalar(Scalar::F64) => (String::new(), format!("sing_double_of({word})")),
        Type::Enum(name) => {
            let name = ident(name);
            (
                format!("{name}_known(({name}){word})"),
                format!("({name}){word}"),
            )
        }
        Type::Scalar(_) | Type::Struct(_) | Type::Optional(_) => {
            (String::new(), format!("({}){word}", c(ty)))
        }
        Type::Vector { .. } | Type::Record { .. } | Type::Endpoint { .. } => {
            (String::new(), format!("({}){{(sing_handle){word}}}", c(ty)))
        }
    };
    if !test.is_empty() {
        let absent = within.iter().map(|of| format!("!{of}.has_value || "));
        let absent: String = absent.collect();
        let test = match absent.is_empty() {
            true => test,
            false => format!("({absent}{test})"),
        };
        let _ = writeln!(out, "      sing_good = sing_good && {test};");
    }
    let _ = writeln!(out, "      {to} = {value};");
    *at += 1;
}

/// Gives up what a value owns.
pub(super) fn give_up(ty: &Type, value: &str, model: &Model, indent: &str, out: &mut String) {
    match ty {
        Type::Scalar(_) | Type::Enum(_) | Type::Optional(_) => {}
        Type::Struct(name) => {
            for field in fields(name, model) {
                let value = format!("{value}.{}", ident(&field.name));
                give_up(&field.ty, &value, model, indent, out);
            }
        }
        Type::Vector { optional, .. } | Type::Record { optional, .. } => {
            if *optional {
                let _ = writeln!(
                    out,
                    "{indent}if ({value}.handle != 0) {{ sing_xh_free({value}.handle); }}"
                );
                return;
            }
            let _ = writeln!(out, "{indent}sing_xh_free({value}.handle);");
        }
        Type::Endpoint { .. } => {
            let _ = writeln!(out, "{indent}sing_handle_dispose({value}.handle);");
        }
    }
}

/// The enum or rep struct of this name.
fn named(name: &str, model: &Model) -> Content {
    match model.enumeration(name) {
        Some(_) => Content::Enum(name.to_owned()),
        None => Content::Struct(name.to_owned()),
    }
}

/// The enums and rep structs that the contract's messages carry.
pub(super) fn declarations(binding: &Binding<'_>, names: &mut Names<'_>) -> Result<String, String> {
    let mut out = String::new();
    let carried = binding.carried();
    let optional = binding.optional();
    // Structs may point to each other in a circle, so what points comes before all of them.
    for name in &carried {
        let name = ident(name);
        let _ = writeln!(
            out,
            "#ifndef SING_BLOCKS_{name}\n#define SING_BLOCKS_{name}\nSING_BLOCKS_OF({name})\n#endif"
        );
    }
    for name in carried {
        let text = if let Some(e) = binding.model.enumeration(name) {
            for (_, value, _) in &e.values {
                let what = format!("value {value} of enum {name}");
                names.take(&format!("{}_{value}", ident(name)), &what)?;
            }
            enumeration(e)
        } else if let Some(s) = binding.model.structure(name) {
            structure(s)
        } else {
            continue;
        };
        for made in [
            "", "_vector", "_record", "_size", "_load", "_store", "_known",
        ] {
            let what = format!("what belongs to the type {name}");
            names.take(&format!("{}{made}", ident(name)), &what)?;
        }
        let items = &binding.contracts.file.items;
        let declared = items.iter().find(|i| i.name().text == name);
        let mark = mark(&declared.map_or(String::new(), |i: &Item| format::item(i, false)));
        let guard = format!("SING_TYPE_{name}");
        let _ = write!(
            out,
            "#ifndef {guard}\n#define {guard} {mark:#x}\n{text}#elif {guard} != {mark:#x}\n\
             #error \"two contracts mean different things by {name}\"\n#endif\n\n"
        );
        if optional.contains(name) {
            let ty = ident(name);
            for made in ["", "_size", "_of", "_load", "_store"] {
                let what = format!("what belongs to the type {name}?");
                names.take(&format!("{ty}_optional{made}"), &what)?;
            }
            let content = Type::Optional(named(name, binding.model));
            let align = binding.model.layout(&content).align;
            let _ = write!(
                out,
                "#ifndef SING_OPTIONAL_{name}\n#define SING_OPTIONAL_{name}\n\
                 SING_OPTIONAL({ty}, {ty}, {align})\n#endif\n\n"
            );
        }
    }
    Ok(out)
}

/// A number that tells a declaration from others of the same name.
fn mark(text: &str) -> u32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    text.bytes().fold(0x811c_9dc5, step)
}

fn enumeration(e: &Enum) -> String {
    let name = ident(&e.name);
    let repr = scalar(e.repr);
    let mut out = comment("", &e.docs);
    let _ = writeln!(out, "typedef {repr} {name};");
    for (docs, value, number) in &e.values {
        out += &comment("", docs);
        let sign = if *number < 0 { "-" } else { "" };
        // The smallest number of all has no positive counterpart in 64 bits.
        let digits = number.unsigned_abs();
        let _ = writeln!(out, "#define {name}_{value} (({name}){sign}{digits}ULL)");
    }
    let known: Vec<String> = e
        .values
        .iter()
        .map(|(_, value, _)| format!("value == {name}_{value}"))
        .collect();
    let _ = write!(
        out,
        "static inline bool {name}_known({name} value) {{\n  return {};\n}}\n\
         enum {{ {name}_size = sizeof({name}) }};\n\
         static inline bool {name}_load(const unsigned char *bytes, {name} *out) {{\n  \
         __builtin_memcpy(out, bytes, {name}_size);\n  return {name}_known(*out);\n}}\n\
         static inline void {name}_store(unsigned char *bytes, {name} value) {{\n  \
         __builtin_memcpy(bytes, &value, {name}_size);\n}}\n\
         SING_IN_BLOCKS({name}, {name})\n",
        known.join(" || ")
    );
    out
}

/// The name that loads and stores of a type have.
fn in_blocks(ty: &Type) -> String {
    match ty {
        Type::Scalar(s) => format!("sing_{}", s.name()),
        other => c(other),
    }
}

fn structure(s: &Struct) -> String {
    let name = ident(&s.name);
    let mut out = comment("", &s.docs);
    let _ = writeln!(out, "typedef struct {name} {{");
    for field in &s.fields {
        out += &comment("  ", &field.docs);
        if field.ty.is_optional_block() {
            out += "  // May be absent.\n";
        }
        let _ = writeln!(out, "  {} {};", c(&field.ty), ident(&field.name));
    }
    let _ = writeln!(out, "}} {name};");
    if s.endpoints {
        return out;
    }
    let (mut loads, mut stores, mut parts) = (String::new(), String::new(), String::new());
    for (field, at) in s.fields.iter().zip(&s.offsets) {
        let (kind, ty, field) = (in_blocks(&field.ty), &field.ty, ident(&field.name));
        if matches!(ty, Type::Vector { .. } | Type::Record { .. }) {
            // In the block nothing stands in its place: the kernel knows what is attached there.
            let _ = writeln!(loads, "  out->{field}.handle = 0;");
            parts += &part(&name, &field, &c(ty), *at);
        } else {
            let _ = writeln!(
                loads,
                "  good = {kind}_load(bytes + {at}, &out->{field}) && good;"
            );
            let _ = writeln!(stores, "  {kind}_store(bytes + {at}, value.{field});");
        }
    }
    // No block is empty.
    let blocks = if s.layout.size > 0 {
        format!("SING_IN_BLOCKS({name}, {name})\n")
    } else {
        String::new()
    };
    let _ = write!(
        out,
        "enum {{ {name}_size = {} }};\n\
         static inline bool {name}_load(const unsigned char *bytes, {name} *out) {{\n  \
         bool good = true;\n  (void)bytes;\n  (void)out;\n{loads}  return good;\n}}\n\
         static inline void {name}_store(unsigned char *bytes, {name} value) {{\n  \
         (void)bytes;\n  (void)value;\n{stores}}}\n\
         {blocks}{parts}",
        s.layout.size
    );
    out
}

/// The functions that put a block into a field of a struct that lies in a block, and take it out.
fn part(name: &str, field: &str, ty: &str, at: usize) -> String {
    format!(
        "// The block `{field}` of a {name} that lies in a block, `at` bytes from its start: makes it a part, takes it out.\n\
         static inline sing_status {name}_attach_{field}(sing_handle block, uint32_t at, {ty} part) {{\n  \
         return sing_xh_attach(block, at + {at}, part.handle);\n}}\n\
         static inline bool {name}_detach_{field}(sing_handle block, uint32_t at, {ty} *out) {{\n  \
         sing_status part = sing_xh_detach(block, at + {at});\n  \
         out->handle = part > 0 ? (sing_handle)part : 0;\n  return part > 0;\n}}\n"
    )
}
