//! The data that functions use.

use super::Program;
use serde_json::{Value, json};
use sing_compiler::uses::{Piece, Reached, Uses};

impl Program<'_> {
    /// All data, and how it is reached.
    pub(super) fn data(&self, uses: &Uses) -> Value {
        let reached = uses.reached(|func| self.reached[func].is_some());
        let sum = |how: Reached| {
            let pieces = uses.pieces.iter().zip(&reached);
            let those = pieces.filter(|(_, found)| **found == how);
            those.map(|(piece, _)| piece.bytes).sum::<u64>()
        };
        let bytes = self.graph.data.iter().sum::<usize>();
        let pieces: u64 = uses.pieces.iter().map(|piece| piece.bytes).sum();
        json!({
            "bytes": bytes,
            "segments": self.graph.data,
            "segment_names": uses.segments,
            "image_bytes": self.image.data.len(),
            "named": sum(Reached::Named),
            "pointed_to": sum(Reached::Pointed),
            "unreached": sum(Reached::Idle),
            "not_attributed": sum(Reached::Not),
            // Of segments that lie over others.
            "overlaid": (bytes as u64).saturating_sub(pieces),
            "note": uses.note,
        })
    }
}

/// The data of each function.
pub(super) struct ByFunction<'a> {
    uses: &'a Uses,
    /// By how many functions each piece is used.
    users: Vec<u32>,
}

impl<'a> ByFunction<'a> {
    pub(super) fn of(uses: &'a Uses) -> ByFunction<'a> {
        let mut users = vec![0; uses.pieces.len()];
        for piece in uses.of.iter().flatten() {
            users[*piece as usize] += 1;
        }
        ByFunction { uses, users }
    }

    /// The pieces that a function names, by their numbers.
    fn named(&self, node: usize) -> impl Iterator<Item = (usize, &Piece)> {
        let pieces = self.uses.of.get(node).into_iter().flatten();
        pieces.map(|number| (*number as usize, &self.uses.pieces[*number as usize]))
    }

    /// The bytes that a function names.
    pub(super) fn bytes(&self, node: usize) -> u64 {
        self.named(node).map(|(_, piece)| piece.bytes).sum()
    }

    /// Those that no other function names.
    pub(super) fn alone(&self, node: usize) -> u64 {
        let own = self
            .named(node)
            .filter(|(piece, _)| self.users[*piece] == 1);
        own.map(|(_, piece)| piece.bytes).sum()
    }

    pub(super) fn pieces(&self, node: usize) -> Value {
        let pieces = self.named(node).map(|(_, piece)| match piece.memory {
            Some(memory) => json!({
                "memory": memory,
                "at": piece.at,
                "bytes": piece.bytes,
                "name": piece.name,
            }),
            None => json!({ "segment": piece.at, "bytes": piece.bytes, "name": piece.name }),
        });
        pieces.collect()
    }
}
