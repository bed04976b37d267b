//! Room for what functions answer, where the modules that call them make it by functions of their own.

use super::link::Linker;
use crate::parts::count;
use crate::sections::Sections;
use wasm_encoder as we;

/// What is put around imports that name different functions to make room: each says first which one is its
/// own, and one function calls that.
pub(super) struct Around {
    /// The number by which each import is called.
    pub imports: Vec<u32>,
    /// The number of the first function that is made.
    first: u32,
}

impl Around {
    pub fn new(first: u32, linker: &Linker<'_, '_, '_, '_>) -> Around {
        let several = linker.rooms.len() > 1;
        let mut next = first;
        let imports = (0..).zip(&linker.imports).map(|(number, (import, ..))| {
            if several && import.room.is_some() {
                next += 1;
                return next - 1;
            }
            number
        });
        Around {
            imports: imports.collect(),
            first,
        }
    }

    /// Adds what is made; the function that makes room.
    pub fn write(
        &self,
        linker: &Linker<'_, '_, '_, '_>,
        rooms: &[u32],
        sections: &mut Sections,
    ) -> Option<u32> {
        let (Some((last, others)), true) = (rooms.split_last(), rooms.len() > 1) else {
            return rooms.first().copied();
        };
        let current = sections.globals.len();
        let ty = we::GlobalType {
            val_type: we::ValType::I32,
            mutable: true,
            shared: false,
        };
        sections.globals.global(ty, &we::ConstExpr::i32_const(0));
        let mut next = self.first;
        for (number, (import, ty, (member, place))) in (0..).zip(&linker.imports) {
            let Some(room) = import.room else { continue };
            let types = linker.members[*member].numbers.types;
            sections.functions.function(types + *place);
            let mut body = we::Function::new([]);
            let mut code = body.instructions();
            code.i32_const(count(room).cast_signed())
                .global_set(current);
            for param in 0..count(ty.params().len()) {
                code.local_get(param);
            }
            code.call(number).end();
            sections.code.function(&body);
            next += 1;
        }
        let types = linker.members.iter().map(|m| count(m.parts.types.len()));
        sections.functions.function(types.sum());
        let i32 = we::ValType::I32;
        sections.types.ty().function([i32; 4], [i32]);
        let mut body = we::Function::new([]);
        let mut code = body.instructions();
        for (room, function) in (0..).zip(others) {
            code.global_get(current).i32_const(room).i32_eq();
            code.if_(we::BlockType::Empty);
            for param in 0..4 {
                code.local_get(param);
            }
            code.call(*function).return_().end();
        }
        for param in 0..4 {
            code.local_get(param);
        }
        code.call(*last).end();
        sections.code.function(&body);
        Some(next)
    }
}
