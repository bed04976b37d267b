//! What the routines do in open images, which exceptions enter and leave.
//!
//! Invariants:
//! - The images of a store are a list that only grows; the word at the place of the context record
//!   that [`Env::linked_images`](super::Env::linked_images) names holds the address of its head.
//! - A slot is kept where it is, in the record of the instance that threw, whoever keeps it; it is
//!   never freed again.

use super::{FREE, KEPT, Maker};
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use sing_abi::ctx;

impl Maker<'_> {
    /// Goes on to `search` with the image in which a return address lies, to the next `frame` if
    /// nothing is caught in that image, and to `done` if it lies in none.
    pub(super) fn image_of(
        &mut self,
        images: i32,
        [back, up]: [Value; 2],
        search: Block,
        frame: Block,
        done: Block,
    ) {
        let list = self.load(types::I64, self.params[0], images);
        let first = self.load(types::I64, list, 0);
        let (look, [image]) = self.block();
        let (test, []) = self.block();
        let (inside, []) = self.block();
        let (next, []) = self.block();
        self.jump(look, &[first]);
        self.b.switch_to_block(look);
        self.branch(image, (test, &[]), (done, &[]));

        self.b.switch_to_block(test);
        let code = self.load(types::I64, image, ctx::IMAGE_CODE);
        let len = self.load(types::I64, image, ctx::IMAGE_LEN);
        let offset = self.b.ins().isub(back, code);
        let is_inside = self.below(offset, len);
        self.branch(is_inside, (inside, &[]), (next, &[]));

        self.b.switch_to_block(next);
        let following = self.load(types::I64, image, ctx::IMAGE_NEXT);
        self.jump(look, &[following]);

        self.b.switch_to_block(inside);
        let table = self.load(types::I64, image, ctx::IMAGE_TABLE);
        self.branch(table, (search, &[up, offset, code, table]), (frame, &[up]));
    }

    /// `Keep`, open linkage: the exception may be another instance's, which looks for a free slot
    /// when it throws the next.
    pub(super) fn keep_open(&mut self) {
        let exception = self.params[1];
        self.set_state(exception, KEPT);
        self.b.ins().return_(&[exception]);
    }

    /// `Slot`: the free slot, or the next that is.
    pub(super) fn slot(&mut self) {
        let (yes, []) = self.block();
        let (taken, []) = self.block();
        let slot = self.free_slot();
        let free = self.has_state(slot, FREE);
        self.branch(free, (yes, &[]), (taken, &[]));
        self.b.switch_to_block(taken);
        let none = self.find_free(yes);
        self.b.switch_to_block(none);
        let null = self.number(0);
        self.b.ins().return_(&[null]);
        self.b.switch_to_block(yes);
        let slot = self.free_slot();
        self.b.ins().return_(&[slot]);
    }

    fn free_slot(&mut self) -> Value {
        let index = self.load32(self.params[0], self.place.at as i32);
        let offset = self.b.ins().ishl_imm_u(index, i64::from(self.place.shift));
        let first = self.first_slot();
        self.b.ins().iadd(first, offset)
    }
}
