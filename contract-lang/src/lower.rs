//! From the model to the tables that the kernel steps.

use crate::model::{Contract, Model, Type};
use sing_image::contract::{Argument, Base, ContractTable, Hash, Message, NONE, Narrowing, Word};
use std::collections::HashMap;

/// The tables of all contracts, in order.
#[must_use]
pub fn tables(model: &Model) -> Vec<ContractTable> {
    let mut lowering = Lowering::new(model);
    let all = model.contracts.iter();
    all.map(|c| lowering.table(c)).collect()
}

/// The table of a contract.
#[must_use]
pub fn table(model: &Model, contract: &Contract) -> ContractTable {
    Lowering::new(model).table(contract)
}

/// What follows each send: `next` of a contract's table.
pub(crate) fn steps(contract: &Contract) -> Vec<u16> {
    let count = contract.messages.len();
    let mut next = vec![NONE; contract.states.len() * count * 2];
    for (s, state) in contract.states.iter().enumerate() {
        for t in &state.transitions {
            next[(s * count + t.message) * 2 + t.sender.index()] = t.target as u16;
        }
    }
    next
}

/// A table names others by their hash, so those come first; each is made once, however many name it.
struct Lowering<'a> {
    model: &'a Model,
    hashes: HashMap<&'a str, Hash>,
}

impl<'a> Lowering<'a> {
    fn new(model: &'a Model) -> Self {
        Lowering {
            model,
            hashes: HashMap::new(),
        }
    }

    fn hash(&mut self, name: &'a str) -> Hash {
        if let Some(hash) = self.hashes.get(name) {
            return *hash;
        }
        let contract = self.model.contract(name);
        let hash = contract.map_or([0; 32], |c| self.table(c).hash());
        self.hashes.insert(name, hash);
        hash
    }

    fn table(&mut self, contract: &'a Contract) -> ContractTable {
        let bases = contract.bases.iter().map(|base| Base {
            name: base.name.clone(),
            hash: self.hash(&base.name),
            stands: [0, 1].map(|side| {
                let pairs = base.pairs[side].iter();
                pairs.map(|&(own, of)| (own as u16, of as u16)).collect()
            }),
        });
        let bases = bases.collect();
        let narrows = contract.narrows.as_ref().map(|n| Narrowing {
            side: n.side,
            of: n.of.iter().map(|o| (o.clone(), self.hash(o))).collect(),
        });
        let messages = contract.messages.iter().map(|m| {
            let mut words = Vec::new();
            for a in &m.arguments {
                flatten(&a.ty, self.model, &mut words);
            }
            let arguments = m.arguments.iter().map(|a| Argument {
                name: a.name.clone(),
                ty: a.ty.to_string(),
            });
            Message {
                name: m.name.clone(),
                direction: m.direction,
                arguments: arguments.collect(),
                words,
            }
        });
        ContractTable {
            name: contract.name.clone(),
            bases,
            narrows,
            messages: messages.collect(),
            states: contract.states.iter().map(|s| s.name.clone()).collect(),
            next: steps(contract),
            queue: contract.queue,
        }
    }
}

/// Adds the words of a value of this type.
fn flatten(ty: &Type, model: &Model, words: &mut Vec<Word>) {
    match ty {
        Type::Scalar(_) | Type::Enum(_) => words.push(Word::Scalar),
        Type::Vector { .. } | Type::Record { .. } => words.push(Word::Block),
        Type::Endpoint {
            contract,
            side,
            state,
        } => words.push(Word::Endpoint {
            contract: contract.clone(),
            side: *side,
            state: Some(state.clone()),
        }),
        Type::Struct(name) => {
            // What has no words is passed over: it could be nested as deeply as a text likes.
            let with_words = model.structure(name).filter(|s| s.words > 0);
            for field in with_words.iter().flat_map(|s| &s.fields) {
                flatten(&field.ty, model, words);
            }
        }
    }
}
