//! The contract's text in the module: what the installer reads, and the manifest and contract
//! tables come from.

use super::Binding;
use sing_contract::ast::Item;
use sing_contract::format;
use std::fmt::Write as _;

/// The custom section with the contract, and the enums and rep structs that it carries. Those of
/// contracts that it speaks of come with their own headers.
pub(super) fn contracts(binding: &Binding<'_>) -> String {
    let carried = binding.carried();
    let wanted = |item: &&Item| {
        let name = &item.name().text;
        *name == binding.contract.name || carried.contains(&name.as_str())
    };
    let mut seen = Vec::new();
    let mut out = String::from("// The contract itself, for the installer.\n__asm__(\n");
    let _ = writeln!(
        out,
        "  \".section .custom_section.{},\\\"\\\",@\\n\"",
        sing_abi::names::SECTION_CONTRACTS
    );
    for item in binding.contracts.file.items.iter().filter(wanted) {
        let name = &item.name().text;
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        for line in format::item(item, false).lines() {
            let _ = writeln!(out, "  \".ascii \\\"{}\\\\n\\\"\\n\"", twice_escaped(line));
        }
    }
    // A zero keeps the pieces of several headers apart.
    out += "  \".byte 0\\n\"\n  \".text\\n\"\n);\n";
    out
}

/// A text in a string of assembly in a string of C.
fn twice_escaped(text: &str) -> String {
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    escaped(&escaped(text))
}
