//! Disassembly by function, with the names of called functions and the reasons of traps.

use crate::output;
use iced_x86::{Decoder, DecoderOptions, Formatter as _, IntelFormatter};
use sing_abi::trap::Trap;
use sing_image::elf::Image;
use sing_image::meta::Func;

/// The column where instructions begin, after address and bytes.
const BYTES_SHOWN: usize = 10;

/// Prints the functions with this name, or if there is none, those whose name contains it; without
/// a name, all.
pub fn run(image: &Image<'_>, wanted: Option<&str>) -> Result<(), String> {
    let first = image.meta.imported_funcs();
    let all = || image.meta.funcs.iter().zip(first..);
    let named = |test: &dyn Fn(&Func, u32) -> bool| -> Vec<(&Func, u32)> {
        all().filter(|(func, index)| test(func, *index)).collect()
    };
    let funcs = match wanted {
        None => named(&|_, _| true),
        Some(name) => {
            let exact = named(&|f, index| f.name == name || index.to_string() == name);
            if exact.is_empty() {
                named(&|f, _| f.name.contains(name))
            } else {
                exact
            }
        }
    };
    if funcs.is_empty() {
        let name = wanted.unwrap_or_default();
        return Err(format!(
            "there is no function {name:?}; --functions lists them"
        ));
    }
    for (func, index) in funcs {
        function(image, func, index);
    }
    Ok(())
}

fn function(image: &Image<'_>, func: &Func, index: u32) {
    output::line(format!(
        "\n{:#010x} <{}> function {index}",
        func.offset, func.name
    ));
    let (start, size) = (func.offset as usize, func.size as usize);
    let Some(code) = image.code.get(start..start + size) else {
        return;
    };
    let mut decoder = Decoder::with_ip(64, code, u64::from(func.offset), DecoderOptions::NONE);
    let mut formatter = IntelFormatter::new();
    while decoder.can_decode() {
        let instruction = decoder.decode();
        let at = instruction.ip() as u32;
        let from = (at - func.offset) as usize;
        let bytes = code.get(from..from + instruction.len()).unwrap_or_default();
        let mut hex: String = bytes
            .iter()
            .take(BYTES_SHOWN)
            .map(|b| format!("{b:02x} "))
            .collect();
        if bytes.len() > BYTES_SHOWN {
            hex.push('+');
        }
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        let mut notes = Vec::new();
        if instruction.is_call_near() {
            let target = instruction.near_branch_target() as u32;
            notes.extend(image.meta.func_at(target).map(|f| f.name.clone()));
        }
        if let Some(trap) = image.meta.trap_at(at).and_then(Trap::from_code) {
            notes.push(format!("traps: {trap}"));
        }
        let notes = if notes.is_empty() {
            String::new()
        } else {
            format!("  ; {}", notes.join("; "))
        };
        output::line(format!("{at:#010x}  {hex:<31} {text}{notes}"));
    }
}
