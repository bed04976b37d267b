//! The imports of a SIP: kernel entries that its manifest has the privileges for, and operations on
//! its contracts. Nothing else can be imported, so the program can do nothing else.

use crate::error::{Error, ErrorKind, Place, Result};
use crate::module::Module;
use sing_abi::entry::{self, Access, Entry, Int};
use sing_abi::{MAX_REGISTER_WORDS, names};
use sing_image::contract::{ContractTable, Direction, Message};
use sing_image::manifest::{Manifest, Side};
use sing_image::meta::{FuncType, Import, ImportKind, ValType};
use std::collections::HashMap;

/// The meaning of an imported function.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ImportUse {
    /// A kernel entry.
    Entry(&'static Entry),
    /// Creates a channel of a contract.
    NewChannel { contract: u32 },
    /// Sends a message with this many words in registers.
    Send { operation: u32, words: usize },
    /// Sends a message whose words are in memory.
    SendMem { operation: u32 },
    /// Sends a message with this many words in registers, and receives.
    Call { operation: u32, words: usize },
    /// Sends a message whose words are in memory, and receives.
    CallMem { operation: u32 },
    /// Receives.
    Receive { operation: u32 },
    /// Casts an endpoint to a contract.
    Cast { operation: u32 },
    /// Another module's function, bound when the module is linked: the n-th imported function.
    Linked(u32),
}

/// The most words of a call in registers: one less than of a send, as the receive buffer's address
/// takes a register.
const MAX_CALL_WORDS: usize = MAX_REGISTER_WORDS - 1;

/// The meaning of each imported function.
pub(super) fn resolve(
    module: &Module<'_>,
    manifest: &Manifest,
    contracts: &[ContractTable],
) -> Result<Vec<ImportUse>> {
    let contracts = super::contracts::by_name(contracts);
    let mut uses = Vec::with_capacity(module.imported_funcs as usize);
    for import in &module.imports {
        let ImportKind::Func(ty) = import.kind else {
            continue;
        };
        let resolved = one(import, manifest, &contracts)
            .and_then(|(import_use, wanted)| {
                let ty = module.types.get(ty as usize);
                let ty = ty.ok_or_else(|| Error::internal("an import has no type"))?;
                check_type(&wanted, ty)?;
                Ok(import_use)
            })
            .map_err(|e| {
                let (module, name) = (import.module.clone(), import.name.clone());
                e.at(Place::Import { module, name })
            })?;
        uses.push(resolved);
    }
    Ok(uses)
}

fn one(
    import: &Import,
    manifest: &Manifest,
    contracts: &HashMap<&str, (&ContractTable, u32)>,
) -> Result<(ImportUse, FuncType)> {
    if import.module == names::KERNEL_V1 {
        kernel_entry(&import.name, manifest)
    } else if let Some(name) = import.module.strip_prefix(names::CONTRACT_PREFIX) {
        let &(table, index) = contracts.get(name).ok_or_else(|| {
            let message = format!(
                "the text of contract {name:?} is not in section {}; add it there \
                 (sing_sdk::contract! does)",
                names::SECTION_CONTRACTS
            );
            Error::new(ErrorKind::Contract, message)
        })?;
        contract_operation(&import.name, table, index)
    } else if is_kernel_version(&import.module) {
        let message = format!(
            "this system does not know version {} of the ABI; it has {}",
            &import.module[names::KERNEL_PREFIX.len()..],
            names::KERNEL_V1
        );
        Err(Error::new(ErrorKind::Import, message))
    } else {
        let message = format!(
            "foreign import: a SIP imports kernel entries ({:?}) and messages of contracts \
             (\"{}NAME\"), nothing else",
            names::KERNEL_V1,
            names::CONTRACT_PREFIX
        );
        Err(Error::new(ErrorKind::Import, message))
    }
}

fn is_kernel_version(module: &str) -> bool {
    module
        .strip_prefix(names::KERNEL_PREFIX)
        .is_some_and(|v| !v.is_empty() && v.bytes().all(|b| b.is_ascii_digit()))
}

fn kernel_entry(name: &str, manifest: &Manifest) -> Result<(ImportUse, FuncType)> {
    let entry = entry::find(name).ok_or_else(|| {
        let message = format!("version 1 of the ABI has no entry {name:?}");
        Error::new(ErrorKind::Import, message)
    })?;
    if let Access::Privileged(privilege) = entry.access
        && !manifest.privileges.iter().any(|p| p == privilege.name())
    {
        let message = format!(
            "needs privilege {:?}, which the manifest does not ask for",
            privilege.name()
        );
        return Err(Error::new(ErrorKind::Privilege, message));
    }
    let val = |int: Int| match int {
        Int::I32 => ValType::I32,
        Int::I64 => ValType::I64,
    };
    let wanted = FuncType {
        params: entry.signature.params.iter().map(|&p| val(p)).collect(),
        results: entry.signature.result.into_iter().map(val).collect(),
    };
    Ok((ImportUse::Entry(entry), wanted))
}

fn contract_operation(
    field: &str,
    table: &ContractTable,
    index: u32,
) -> Result<(ImportUse, FuncType)> {
    let operation =
        |side: Side, message: u16| index << 16 | (side.index() as u32) << 15 | u32::from(message);
    let ints = |params: Vec<ValType>| FuncType {
        params,
        results: vec![ValType::I32],
    };
    let receive = |side| {
        let import_use = ImportUse::Receive {
            operation: operation(side, 0),
        };
        (import_use, ints(vec![ValType::I32; 2]))
    };
    let cast = |side| {
        let import_use = ImportUse::Cast {
            operation: operation(side, 0),
        };
        (import_use, ints(vec![ValType::I32; 2]))
    };
    let send = |side: Side, message: &str| {
        let (message, number) = sendable(table, side, message)?;
        let (operation, words) = (operation(side, number), message.words.len());
        let mut params = vec![ValType::I32];
        Ok(if words <= MAX_REGISTER_WORDS {
            params.resize(1 + words, ValType::I64);
            (ImportUse::Send { operation, words }, ints(params))
        } else {
            params.push(ValType::I32);
            (ImportUse::SendMem { operation }, ints(params))
        })
    };
    let call = |side: Side, message: &str| {
        let (message, number) = sendable(table, side, message)?;
        let (operation, words) = (operation(side, number), message.words.len());
        let mut params = vec![ValType::I32];
        Ok(if words <= MAX_CALL_WORDS {
            params.resize(1 + words, ValType::I64);
            params.push(ValType::I32);
            (ImportUse::Call { operation, words }, ints(params))
        } else {
            params.extend([ValType::I32; 2]);
            (ImportUse::CallMem { operation }, ints(params))
        })
    };
    if let Some(narrowing) = &table.narrows
        && !field.starts_with(side_prefix(narrowing.side))
    {
        let message = format!(
            "contract {:?} is a permission: it narrows the {} side of {:?}, and has neither channels nor another side of \
             its own",
            table.name,
            narrowing.side.name(),
            narrowing.of.last().map_or("?", |(name, _)| name)
        );
        return Err(Error::new(ErrorKind::Contract, message));
    }
    match field {
        names::NEW_CHANNEL => Ok((
            ImportUse::NewChannel { contract: index },
            ints(vec![ValType::I32]),
        )),
        names::IMP_RECV => Ok(receive(Side::Imp)),
        names::EXP_RECV => Ok(receive(Side::Exp)),
        names::IMP_CAST => Ok(cast(Side::Imp)),
        names::EXP_CAST => Ok(cast(Side::Exp)),
        _ => {
            if let Some(message) = field.strip_prefix(names::IMP_SEND) {
                send(Side::Imp, message)
            } else if let Some(message) = field.strip_prefix(names::EXP_SEND) {
                send(Side::Exp, message)
            } else if let Some(message) = field.strip_prefix(names::IMP_CALL) {
                call(Side::Imp, message)
            } else if let Some(message) = field.strip_prefix(names::EXP_CALL) {
                call(Side::Exp, message)
            } else {
                let message = format!("{field:?} is no operation on a contract");
                Err(Error::new(ErrorKind::Contract, message))
            }
        }
    }
}

/// The prefix of a side's operations.
fn side_prefix(side: Side) -> &'static str {
    match side {
        Side::Imp => "imp.",
        Side::Exp => "exp.",
    }
}

/// The message of that name and its number, if this side may send it.
fn sendable<'t>(table: &'t ContractTable, side: Side, name: &str) -> Result<(&'t Message, u16)> {
    let fail = |message| Err(Error::new(ErrorKind::Contract, message));
    let Some(number) = table.message(name) else {
        return fail(format!("contract {:?} has no message {name:?}", table.name));
    };
    let message = &table.messages[usize::from(number)];
    let allowed = match message.direction {
        Direction::In => side == Side::Imp,
        Direction::Out => side == Side::Exp,
        Direction::Both => true,
    };
    if !allowed {
        return fail(format!(
            "message {name:?} of contract {:?} is sent by {}, never by {}",
            table.name,
            side.peer().name(),
            side.name()
        ));
    }
    let narrowed = table.narrows.is_some()
        && !(0..table.states.len() as u16).any(|s| table.step(s, number, side).is_some());
    if narrowed {
        return fail(format!(
            "contract {:?} is a permission without message {name:?}",
            table.name
        ));
    }
    Ok((message, number))
}

fn check_type(wanted: &FuncType, found: &FuncType) -> Result<()> {
    if wanted == found {
        return Ok(());
    }
    let message = format!(
        "its type is {}, but must be {}",
        describe(&found.params, &found.results),
        describe(&wanted.params, &wanted.results)
    );
    Err(Error::new(ErrorKind::Import, message))
}

/// A function's type as text.
pub(super) fn describe(params: &[ValType], results: &[ValType]) -> String {
    let list = |types: &[ValType]| {
        let names: Vec<String> = types
            .iter()
            .map(|ty| match *ty {
                ValType::I32 => "i32".into(),
                ValType::I64 => "i64".into(),
                ValType::F32 => "f32".into(),
                ValType::F64 => "f64".into(),
                ValType::FuncRef => "funcref".into(),
                ValType::ExternRef => "externref".into(),
                ValType::V128 => "v128".into(),
                ValType::NonNullFunc => "(ref func)".into(),
                ValType::NonNullExtern => "(ref extern)".into(),
                ValType::ExnRef => "exnref".into(),
                ValType::NonNullExn => "(ref exn)".into(),
                ValType::Typed { ty, nullable } => {
                    format!("(ref {}{ty})", if nullable { "null " } else { "" })
                }
            })
            .collect();
        names.join(", ")
    };
    match results {
        [one] => format!("({}) -> {}", list(params), list(&[*one])),
        _ => format!("({}) -> ({})", list(params), list(results)),
    }
}
