//! Bindings for C: a header for each contract.
//!
//! Each side has a type for each state, so that what is wrong in a state does not compile: a send
//! takes an endpoint and gives it back in its next state, a receive gives a union with a tag for
//! every message that can come, and one for *closed*. C cannot keep a program from using an
//! endpoint twice; the kernel does.
//!
//! A header includes those of the contracts that it speaks of, after its own endpoint types, so
//! that contracts may speak of each other in a circle. Enums and rep structs stand in every header
//! that needs them, guarded; a program that includes two different ones of the same name does not
//! compile.

mod names;
mod operations;
mod requires;
mod section;
mod types;

use names::{Names, comment, state};
use sing_contract::Contracts;
use sing_contract::model::{Contract, Model, Side, Type};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Warnings of a C compiler about things that a contract may say: conditions that always hold,
/// empty structs.
const QUIET: &str = "#pragma clang diagnostic push
#pragma clang diagnostic ignored \"-Wtautological-compare\"
#pragma clang diagnostic ignored \"-Wunused-parameter\"

";

/// A file that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// The headers of all contracts of a text and its imports.
///
/// # Errors
/// Two things that would have the same name in C; the message names both.
pub fn headers(contracts: &Contracts) -> Result<Vec<Header>, String> {
    let mut model = contracts.model.clone();
    names::set_apart(&mut model);
    let model = &model;
    let all = model.contracts.iter();
    all.map(|contract| {
        let text = Binding {
            contracts,
            model,
            contract,
        }
        .header()?;
        let name = names::header(&contract.name);
        Ok(Header { name, text })
    })
    .collect()
}

/// The source of a header.
struct Binding<'a> {
    contracts: &'a Contracts,
    model: &'a Model,
    contract: &'a Contract,
}

impl Binding<'_> {
    fn header(&self) -> Result<String, String> {
        let name = &self.contract.name;
        let mut names = Names::new(name);
        let mut out = String::new();
        let _ = writeln!(
            out,
            "// Contract {name} for C, made by `sing bind c`: change the contract, not this file.\n//"
        );
        out += &comment("", &self.contract.docs);
        let _ = writeln!(
            out,
            "#ifndef SING_CONTRACT_{name}\n#define SING_CONTRACT_{name}\n\n#include \"singularity.h\"\n"
        );
        out += QUIET;
        out += &self.endpoints(&mut names)?;
        for other in self.spoken_of() {
            let _ = writeln!(out, "#include \"{}\"", names::header(other));
        }
        out.push('\n');
        out += &types::declarations(self, &mut names)?;
        out += &operations::operations(self, &mut names)?;
        out += &section::contracts(self);
        let _ = writeln!(
            out,
            "\n#pragma clang diagnostic pop\n#endif // SING_CONTRACT_{name}"
        );
        Ok(out)
    }

    /// The types of the endpoints.
    fn endpoints(&self, names: &mut Names) -> Result<String, String> {
        let mut out =
            String::from("// Endpoints, by side and state. Each value may be used once.\n");
        for side in self.sides() {
            for s in &self.contract.states {
                let ty = self.endpoint(side, &s.name);
                names.take(&ty, &format!("state {} of side {}", s.name, side.name()))?;
                out += &comment("", &s.docs);
                let _ = writeln!(out, "typedef struct {ty} {{ sing_handle handle; }} {ty};");
            }
        }
        out.push('\n');
        Ok(out)
    }

    /// The sides that have endpoints.
    fn sides(&self) -> Vec<Side> {
        let both = [Side::Imp, Side::Exp].into_iter();
        both.filter(|&s| self.contract.has_side(s)).collect()
    }

    /// The type of an endpoint of this contract.
    fn endpoint(&self, side: Side, name: &str) -> String {
        format!("{}_{}_{}", self.contract.name, side.name(), state(name))
    }

    /// Enums and rep structs that messages carry, each after those that it holds.
    fn carried(&self) -> Vec<&str> {
        let mut found = BTreeSet::new();
        let mut next = Vec::new();
        for message in &self.contract.messages {
            next.extend(message.arguments.iter().filter_map(|a| a.ty.named()));
            // A condition may name an enum that no argument is of.
            next.extend(
                message
                    .requires
                    .iter()
                    .flat_map(|r| requires::enums(&r.term)),
            );
        }
        while let Some(name) = next.pop() {
            if found.insert(name) {
                let fields = self
                    .model
                    .structure(name)
                    .into_iter()
                    .flat_map(|s| &s.fields);
                next.extend(fields.filter_map(|f| f.ty.named()));
            }
        }
        let enums = self.model.enums.iter().map(|e| e.name.as_str());
        let structs = self.model.structs.iter().map(|s| s.name.as_str());
        enums
            .chain(structs)
            .filter(|name| found.contains(name))
            .collect()
    }

    /// Enums and rep structs of which messages carry values that may be absent.
    fn optional(&self) -> BTreeSet<&str> {
        let structs = self.carried().into_iter();
        let structs = structs.filter_map(|name| self.model.structure(name));
        let fields = structs.flat_map(|s| &s.fields);
        let arguments = self.contract.messages.iter().flat_map(|m| &m.arguments);
        let types = fields.chain(arguments).map(|f| &f.ty);
        let optional = types.filter(|ty| matches!(ty, Type::Optional(_)));
        optional.filter_map(Type::named).collect()
    }

    /// Contracts whose headers this one includes: its bases, what it narrows, and those of
    /// endpoints that messages carry.
    fn spoken_of(&self) -> BTreeSet<&str> {
        let bases = self.contract.bases.iter().map(|b| b.name.as_str());
        let narrowed = self.contract.narrows.iter().flat_map(|n| &n.of);
        let mut found: BTreeSet<&str> = bases.chain(narrowed.map(String::as_str)).collect();
        let structs = self.carried();
        let fields = structs.iter().filter_map(|name| self.model.structure(name));
        let types = fields.flat_map(|s| &s.fields).map(|f| &f.ty);
        let arguments = self.contract.messages.iter().flat_map(|m| &m.arguments);
        for ty in types.chain(arguments.map(|a| &a.ty)) {
            if let Type::Endpoint { contract, .. } = ty {
                found.insert(contract);
            }
        }
        found.remove(self.contract.name.as_str());
        found
    }
}
