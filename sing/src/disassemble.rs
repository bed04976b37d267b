//! Disassembly by function, with the names of called functions and the reasons of traps.
//!
//! What the processor cannot reach is shown as data, so that constants of the author's choice do
//! not look like instructions.

use crate::output;
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Formatter as _, Instruction, InstructionInfoFactory,
    IntelFormatter, Mnemonic, OpAccess, OpKind, Register,
};
use sing_abi::trap::Trap;
use sing_files::standard;
use sing_image::elf::Image;
use sing_image::lines::{self, Place};
use sing_image::meta::Func;
use std::collections::{BTreeMap, HashMap};

/// The most bytes of an instruction that are shown.
const BYTES_SHOWN: usize = 10;
/// Bytes of data in a line.
const DATA_SHOWN: u64 = 8;

/// Prints the functions with this name, or if there is none, those whose name contains it; without
/// a name, all that have code.
pub fn run(image: &Image<'_>, wanted: Option<&str>) -> Result<(), String> {
    let first = image.meta.imported_funcs();
    let all = || image.meta.funcs.iter().zip(first..);
    let named = |test: &dyn Fn(&Func, u32) -> bool| -> Vec<(&Func, u32)> {
        all().filter(|(func, index)| test(func, *index)).collect()
    };
    let funcs = match wanted {
        None => named(&|f, _| f.size > 0),
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
        if standard::is_lost() {
            break;
        }
        function(image, func, index);
    }
    Ok(())
}

fn function(image: &Image<'_>, func: &Func, index: u32) {
    output::line("");
    output::line(format!(
        "{:#010x} <{}> function {index}",
        func.offset, func.name
    ));
    if func.size == 0 {
        output::line("  left out: nothing calls it");
    }
    for line in lines(image, func) {
        output::line(line);
    }
}

/// A function's bytes in words: its instructions and, apart from them, the data that stands between
/// and behind.
fn lines(image: &Image<'_>, func: &Func) -> Vec<String> {
    let (start, size) = (func.offset as usize, func.size as usize);
    let Some(code) = image.code.get(start..start + size) else {
        return Vec::new();
    };
    let start = u64::from(func.offset);
    let Paths {
        instructions,
        tables,
    } = Paths::of(code, start);
    let mut formatter = IntelFormatter::new();
    let (mut lines, mut place) = (Vec::new(), String::new());
    let places = lines::Table::new(image.lines);
    let (mut at, end) = (start, start + code.len() as u64);
    while at < end {
        let rest = &code[(at - start) as usize..];
        let (len, text) = if let Some(instruction) = instructions.get(&at) {
            let next = shown(places.at(at as u32));
            if next != place {
                lines.push(if next.is_empty() {
                    "?".into()
                } else {
                    next.clone()
                });
                place = next;
            }
            let mut text = String::new();
            formatter.format(instruction, &mut text);
            text += &notes(image, instruction);
            (instruction.len(), text)
        } else if let Some(table) = tables.iter().find(|t| t.contains(at)) {
            let text = table
                .target(rest)
                .map_or(String::new(), |to| format!(" to {to:#010x}"));
            (4, format!("branch table{text}"))
        } else {
            // As far as one line goes, or the next instruction.
            let next = instructions
                .range(at..)
                .next()
                .map_or(end, |(next, _)| *next);
            let line = (at + 1).next_multiple_of(DATA_SHOWN);
            ((next.min(line) - at) as usize, "constant".to_string())
        };
        let bytes = &rest[..len.min(rest.len())];
        let shown = bytes.iter().take(BYTES_SHOWN);
        let mut hex: String = shown.map(|b| format!("{b:02x} ")).collect();
        if bytes.len() > BYTES_SHOWN {
            hex.push('+');
        }
        lines.push(format!("{at:#010x}  {hex:<31} {text}"));
        at += len as u64;
    }
    lines
}

/// Places in the program's text in words: the line, and those of the calls that it is inlined by.
fn shown<'a>(places: impl Iterator<Item = Place<'a>>) -> String {
    let place = |place: Place<'a>| {
        let inlined = place.function.map(|name| format!(" in {name}, inlined at"));
        format!(
            "{}:{}{}",
            place.file.unwrap_or("?"),
            place.line,
            inlined.unwrap_or_default()
        )
    };
    places.map(place).collect::<Vec<_>>().join(" ")
}

/// The name of a called function, and the reason for which an instruction traps.
fn notes(image: &Image<'_>, instruction: &Instruction) -> String {
    let mut notes = Vec::new();
    if instruction.is_call_near() {
        let target = instruction.near_branch_target() as u32;
        notes.extend(image.meta.func_at(target).map(|f| f.name.to_string()));
    }
    let trap = image.meta.trap_at(instruction.ip() as u32);
    if let Some(trap) = trap.and_then(Trap::from_code) {
        notes.push(format!("traps: {trap}"));
    }
    if notes.is_empty() {
        String::new()
    } else {
        format!("  ; {}", notes.join("; "))
    }
}

/// What the processor can reach in a function. The rest of its bytes is data: constants, which the
/// program's author chose, and the tables of its branches.
#[derive(Default)]
struct Paths {
    instructions: BTreeMap<u64, Instruction>,
    tables: Vec<Table>,
}

/// A table of branch targets, each as 32 bits relative to the table's start.
#[derive(Clone, Copy)]
struct Table {
    start: u64,
    end: u64,
    /// Whether the end is known from the test before the jump.
    whole: bool,
}

impl Table {
    fn contains(&self, at: u64) -> bool {
        (self.start..self.end).contains(&at)
    }

    /// The target of the entry that these bytes begin with.
    fn target(&self, bytes: &[u8]) -> Option<u64> {
        let entry = i32::from_le_bytes(*bytes.first_chunk()?);
        self.start.checked_add_signed(entry.into())
    }
}

impl Paths {
    /// Follows every branch from the start of a function at this address.
    fn of(code: &[u8], start: u64) -> Paths {
        let mut paths = Paths::default();
        let inside = |at: u64| {
            at.checked_sub(start)
                .and_then(|from| code.get(from as usize..))
        };
        let mut open = vec![start];
        loop {
            while let Some(at) = open.pop() {
                paths.follow(at, &inside, &mut open);
            }
            // A table without a test ends where an instruction is known to begin: one entry at a
            // time.
            for table in paths.tables.iter_mut().filter(|t| !t.whole) {
                let at = table.end;
                let target = inside(at).and_then(|bytes| table.target(bytes));
                if let Some(to) = target.filter(|to| inside(*to).is_some())
                    && !paths.instructions.contains_key(&at)
                {
                    table.end += 4;
                    open.push(to);
                }
            }
            if open.is_empty() {
                return paths;
            }
        }
    }

    /// Takes over what is executed from this address on, up to a branch that is always taken.
    fn follow<'c>(
        &mut self,
        mut at: u64,
        inside: &impl Fn(u64) -> Option<&'c [u8]>,
        open: &mut Vec<u64>,
    ) {
        // What was last loaded with an address after the code so far.
        let mut named = 0;
        let mut bound = Bound::default();
        while let Some(bytes) = inside(at).filter(|bytes| !bytes.is_empty())
            && !self.instructions.contains_key(&at)
        {
            let instruction = Decoder::with_ip(64, bytes, at, DecoderOptions::NONE).decode();
            if instruction.is_invalid() {
                return;
            }
            self.instructions.insert(at, instruction);
            at = instruction.next_ip();
            bound.see(&instruction);
            match instruction.flow_control() {
                FlowControl::ConditionalBranch => open.push(instruction.near_branch_target()),
                FlowControl::UnconditionalBranch => {
                    open.push(instruction.near_branch_target());
                    return;
                }
                FlowControl::IndirectBranch => {
                    if named == at {
                        self.tables.push(table(at, bound.entries(), inside, open));
                    }
                    return;
                }
                FlowControl::Return | FlowControl::Exception => return,
                _ if instruction.mnemonic() == Mnemonic::Lea
                    && instruction.is_ip_rel_memory_operand() =>
                {
                    named = instruction.ip_rel_memory_address();
                }
                _ => {}
            }
        }
    }
}

/// The table behind a jump: with this number of entries, whose targets are open then, or with none
/// yet.
fn table<'c>(
    start: u64,
    entries: Option<u64>,
    inside: &impl Fn(u64) -> Option<&'c [u8]>,
    open: &mut Vec<u64>,
) -> Table {
    let mut table = Table {
        start,
        end: start,
        whole: false,
    };
    let bytes = inside(start).unwrap_or_default();
    let size = entries.and_then(|n| usize::try_from(n.checked_mul(4)?).ok());
    if let Some(entries) = size.and_then(|size| bytes.get(..size)) {
        table.end = start + entries.len() as u64;
        table.whole = true;
        let targets = entries.chunks(4).filter_map(|entry| table.target(entry));
        open.extend(targets.filter(|to| inside(*to).is_some()));
    }
    table
}

/// The test before a branch by table: a constant, which a smaller index replaces (`mov eax, 3; cmp
/// ecx, eax; cmovb eax, ecx`).
#[derive(Default)]
struct Bound {
    /// Registers that hold a constant.
    constants: HashMap<Register, u64>,
    /// The last such constant: the index of the table's last entry.
    last: Option<u64>,
}

impl Bound {
    /// Takes notice of the next instruction.
    fn see(&mut self, instruction: &Instruction) {
        let to = instruction.op0_register().full_register();
        let constant = match (
            instruction.mnemonic(),
            instruction.op0_kind(),
            instruction.op1_kind(),
        ) {
            (Mnemonic::Mov, OpKind::Register, OpKind::Immediate32) => {
                Some(u64::from(instruction.immediate32()))
            }
            (Mnemonic::Mov, OpKind::Register, OpKind::Register) => {
                let from = instruction.op1_register().full_register();
                self.constants.get(&from).copied()
            }
            (Mnemonic::Xor, OpKind::Register, OpKind::Register)
                if instruction.op0_register() == instruction.op1_register() =>
            {
                Some(0)
            }
            (Mnemonic::Cmovb, OpKind::Register, _) => {
                self.last = self.constants.get(&to).copied();
                None
            }
            _ => None,
        };
        for used in InstructionInfoFactory::new()
            .info(instruction)
            .used_registers()
        {
            if !matches!(used.access(), OpAccess::Read | OpAccess::CondRead) {
                self.constants.remove(&used.register().full_register());
            }
        }
        self.constants
            .extend(constant.map(|constant| (to, constant)));
    }

    /// How many entries the table has.
    fn entries(&self) -> Option<u64> {
        self.last.map(|last| last + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sing_compiler::{Options, Unreached};

    /// What is shown of the function `$f` of a program with these fields.
    fn shown(fields: &str) -> Vec<String> {
        let manifest = r#"{\"name\":\"test\",\"abi\":1}"#;
        let text = format!(
            "(module {fields} (func (export \"sip_main\") (result i32) i32.const 0)
             (@custom \"singularity.manifest\" \"{manifest}\"))"
        );
        let wasm = wat::parse_str(text).unwrap();
        let options = Options {
            unreached: Unreached::Kept,
            ..Options::default()
        };
        let file = sing_compiler::compile(&wasm, &options)
            .unwrap()
            .to_elf()
            .unwrap();
        let image = Image::decode(&file).unwrap();
        let func = image.meta.funcs.iter().find(|f| f.name == "f").unwrap();
        lines(&image, func)
    }

    #[test]
    fn constants_are_no_instructions() {
        // Bytes of `int`, `iretd` and a call, for who reads them as such.
        let shown = shown(
            "(func $f (param v128) (result v128)
               local.get 0 v128.const i8x16 0xcd 0xce 0xcf 0xe8 0 0 0 0 0xcd 0xce 0xcf 0xe8 0 0 0 0 v128.xor)",
        );
        let constants = shown.iter().filter(|l| l.contains("constant"));
        let hex: String = constants
            .map(|l| l[12..43].trim_end().to_owned() + " ")
            .collect();
        assert!(
            hex.contains("cd ce cf e8 00 00 00 00 cd ce cf e8 00 00 00 00"),
            "{shown:#?}"
        );
        let last = shown.iter().rposition(|l| l.contains(" ret")).unwrap();
        assert!(shown[last + 1..].iter().all(|l| l.contains("constant")));
        let wrong = |l: &&String| l.contains("int ") || l.contains("iret") || l.contains("(bad)");
        assert_eq!(shown.iter().find(wrong), None);
    }

    #[test]
    fn branch_tables_are_no_instructions() {
        let shown = shown(
            "(func $f (param i32) (result i32)
               (block (block (block (block local.get 0 br_table 0 1 2 3)
                 i32.const 1001 return) i32.const 1002 return) i32.const 1003 return) i32.const 1004)",
        );
        let entries = shown.iter().filter(|l| l.contains("branch table to 0x"));
        assert_eq!(entries.count(), 4, "{shown:#?}");
        for result in ["3E9h", "3EAh", "3EBh", "3ECh"] {
            assert!(shown.iter().any(|l| l.contains(result)), "{shown:#?}");
        }
        assert!(
            !shown
                .iter()
                .any(|l| l.contains("(bad)") || l.contains("constant"))
        );
    }

    /// Behind some of the tables, the code generator leaves a jump that nothing reaches, whose
    /// bytes could be an entry.
    #[test]
    fn a_branch_table_has_the_entries_that_the_code_tests_for() {
        let one = "(block (block (block local.get 0 br_table 0 1 2 0)
            local.get 0 i32.const 1 i32.add local.set 0) local.get 0 i32.const 3 i32.add local.set 0)";
        let shown = shown(&format!(
            "(func $f (param i32) (result i32) {} local.get 0)",
            one.repeat(200)
        ));
        let count = |what: &str| shown.iter().filter(|l| l.contains(what)).count();
        assert_eq!(count("jmp r"), 200);
        assert_eq!(count("branch table to 0x"), 800);
        assert_eq!(count("(bad)"), 0);
        // Jumps of 5 bytes, in two lines at the most.
        let constants: Vec<_> = shown.iter().filter(|l| l.contains("constant")).collect();
        assert!(constants.len() < 40, "{constants:#?}");
    }
}
