//! Compiled code: which of it is loaded, how it is called, and what it calls.

use super::stack::{Fiber, Stack};
use super::{LinearMemory, STACK_RESERVE};
use crate::ground::machine::hal;
use crate::ground::memory;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::ops::Deref;
use sing_abi::entry::{COUNT, ENTRIES, Int};
use sing_arch::switch;
use sing_image::contract;
use sing_image::elf::Sections;
use sing_image::limits::Counts;
use sing_image::manifest::Manifest;
use sing_image::meta::{Meta, Reader};
use sing_image::system::SystemImage;
use sing_image::{Error, Failure};
use sing_runtime::{
    Context, ContextParams, CtxRef, EntryPoint, Instance, NoRoom, Payer, Preparation, Reference,
    Template, Trap,
};

/// The system image that a machine is started with: the one place that programs come from.
#[derive(Clone, Copy, Debug)]
pub struct BootImage(&'static [u8]);

impl BootImage {
    /// A system image. For HALs alone.
    ///
    /// # Safety
    /// The installer wrote it, if it is a system image at all: the machine code of its programs is what the compiler
    /// made of verified modules, together with the tables beside it. Nobody changes the bytes.
    #[must_use]
    pub const unsafe fn new(bytes: &'static [u8]) -> Self {
        Self(bytes)
    }

    /// Reads it.
    ///
    /// # Errors
    /// Where it is not a system image, or broken.
    pub(crate) fn decode(self) -> Result<System, Error> {
        SystemImage::decode(self.0).map(System)
    }
}

/// A system image that has been read.
pub(crate) struct System(SystemImage<'static>);

impl Deref for System {
    type Target = SystemImage<'static>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl System {
    /// The file of the program of this name in a folder.
    pub(crate) fn program(&self, folder: &str, name: &str) -> Option<Program> {
        let mut paths = self.0.paths();
        let path = paths.find(|path| path.strip_prefix(folder) == Some(name))?;
        self.0.file(path).map(Program)
    }
}

/// The file of a program, from the system image.
#[derive(Clone, Copy)]
pub(crate) struct Program(&'static [u8]);

impl Program {
    /// Finds its parts.
    ///
    /// # Errors
    /// Says which part is missing or broken.
    pub(crate) fn read(self) -> Result<Reading, Error> {
        let sections = Sections::find(self.0)?;
        let reader = Reader::new(sections.meta);
        Ok(Reading { sections, reader })
    }
}

/// A program whose tables are being read, in steps.
pub(crate) struct Reading {
    sections: Sections<'static>,
    reader: Reader<'static>,
}

impl Reading {
    /// Goes on; whether all of them have been read.
    ///
    /// # Errors
    /// As for [`Reader::step`].
    pub(crate) fn step(&mut self) -> Result<bool, Failure> {
        self.reader.step()
    }

    /// Bytes of memory that the next step takes, at most.
    pub(crate) fn room(&self) -> u64 {
        self.reader.room()
    }

    /// What has been read.
    pub(crate) fn finish(self) -> Compiled {
        Compiled {
            sections: self.sections,
            meta: self.reader.finish(),
        }
    }
}

/// A program that has been read, and can be looked at before it is made ready.
pub(crate) struct Compiled {
    sections: Sections<'static>,
    meta: Meta,
}

impl Compiled {
    /// The tables beside its code.
    pub(crate) fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Bytes of memory that reading its manifest takes, at most.
    pub(crate) fn manifest_room(&self) -> u64 {
        self.sections.manifest_room()
    }

    /// What it declares.
    ///
    /// # Errors
    /// Where that is broken, or too large.
    pub(crate) fn manifest(&self) -> Result<Manifest, Error> {
        let manifest = self.sections.manifest()?;
        let (code, data) = (self.sections.code.len(), self.sections.data.len());
        Counts::of_image(&self.meta, &manifest, code, data).check()?;
        Ok(manifest)
    }

    /// Begins to read its contracts.
    pub(crate) fn contracts(&self) -> contract::Reader<'static> {
        self.sections.contracts()
    }

    /// Begins to check it and to make it ready.
    pub(crate) fn prepare(self) -> Prepared {
        let Sections { code, data, .. } = self.sections;
        Prepared {
            code,
            preparation: Preparation::new(self.meta, Cow::Borrowed(data), code.len() as u64),
            base: None,
            placed: 0,
        }
    }
}

/// Bytes of code that one step puts into the arena: whole pages.
const CODE_PIECE: usize = 256 << 10;

/// A program that is being checked and made ready, and then put into the code arena, in steps.
pub(crate) struct Prepared {
    code: &'static [u8],
    preparation: Preparation,
    /// Address of its code, once a piece of that is in the arena.
    base: Option<u64>,
    /// Bytes of its code that are in the arena.
    placed: usize,
}

impl Prepared {
    /// Goes on checking; whether all has been checked.
    ///
    /// # Errors
    /// As for [`Preparation::step`].
    pub(crate) fn check(&mut self) -> Result<bool, Failure> {
        self.preparation.step()
    }

    /// Bytes of memory that all of the check takes, at most.
    pub(crate) fn room(&self) -> u64 {
        self.preparation.room()
    }

    /// Whether it exports `sip_main`.
    pub(crate) fn has_main(&self) -> bool {
        self.preparation.has_main()
    }

    /// Puts a piece of its code into the arena; whether all of it is there. `None`, and none of it is there, where there is no
    /// room.
    ///
    /// # Panics
    /// Where another program's code comes in between.
    pub(crate) fn place(&mut self) -> Option<bool> {
        if self.base.is_some() && self.placed == self.code.len() {
            return Some(true);
        }
        if self.base.is_none() && hal().code_room() < self.code.len() as u64 {
            return None;
        }
        let end = self.code.len().min(self.placed + CODE_PIECE);
        let Some(at) = hal().load_code(&self.code[self.placed..end]) else {
            self.withdraw();
            return None;
        };
        let base = *self.base.get_or_insert(at);
        assert_eq!(at, base + self.placed as u64, "code in one piece");
        memory::count_code((end - self.placed) as u64);
        self.placed = end;
        Some(end == self.code.len())
    }

    /// Takes its code out of the arena again: what holds others back.
    fn withdraw(&mut self) {
        let Some(base) = self.base.take() else {
            return;
        };
        memory::uncount_code(core::mem::take(&mut self.placed) as u64);
        // SAFETY: it was loaded last, as nobody else's comes in between (`place`). Only the template that `finish` makes
        // lets it be run, and that consumes this.
        unsafe { hal().unload_code(base) };
    }

    /// The template that its SIPs are made of.
    ///
    /// # Errors
    /// As for [`Preparation::finish`].
    ///
    /// # Panics
    /// Where not all of its code is in the arena.
    pub(crate) fn finish(self) -> Result<Arc<Template>, Error> {
        let base = self.base.filter(|_| self.placed == self.code.len());
        let base = base.expect("a program whose code is in the arena");
        // SAFETY: code, meta and data come from one program of the system image, for which `BootImage::new` vouches. The
        // code lies at `base` now, in one piece as was just seen of each, for ever and unchanged, as HALs promise.
        unsafe { self.preparation.finish(base) }
    }
}

/// Makes the instance of a template in a SIP's linear memory, for which `payer` pays.
///
/// # Errors
/// `BadArgument` where fewer addresses are reserved than the template's code can reach, `OutOfMemory` where the payer has no
/// room.
pub(crate) fn instance(
    template: &Arc<Template>,
    memory: &LinearMemory,
    payer: &'static dyn Payer,
) -> Result<(), Trap> {
    memory.occupy(|base, reserved| {
        // SAFETY: the addresses are reserved; their owner keeps the instance, and gives them up only when nobody else does
        // (`LinearMemory::take`).
        unsafe { Instance::new(template, base, reserved, payer) }
    })
}

/// What tells the threads of a SIP apart.
pub(crate) struct ThreadParams {
    pub(crate) sip_id: u32,
    pub(crate) thread_id: u32,
    pub(crate) kernel_word: u64,
    pub(crate) stack_pointer: Option<u32>,
}

/// Makes the context record of a thread that will run on this stack, for which `payer` pays.
pub(crate) fn context(
    instance: &Instance,
    entries: KernelTable,
    stack: &Stack,
    params: &ThreadParams,
    payer: &'static dyn Payer,
) -> Result<Context, NoRoom> {
    let params = ContextParams {
        kernel_table: entries.0,
        stack_limit: stack_limit(stack),
        sip_id: params.sip_id,
        thread_id: params.thread_id,
        kernel_word: params.kernel_word,
        cycles_per_second: hal().cycles_per_second(),
        stack_pointer: params.stack_pointer,
    };
    // SAFETY: the table is one of kernel entries of the proper types; below the limit, the stack has the room that
    // entries and interrupts need. `Fiber::call` calls with a context on its own stack only.
    unsafe { Context::new(instance, &params, payer) }
}

/// The lowest stack pointer that code of SIPs may have on a stack.
fn stack_limit(stack: &Stack) -> u64 {
    let range = stack.range();
    assert!(
        range.end - range.start > STACK_RESERVE,
        "a stack without room"
    );
    range.start + STACK_RESERVE
}

impl Fiber {
    /// Whether a context is for code on this fiber's stack, and this fiber runs.
    fn checked<F>(&self, entry: &EntryPoint<F>) -> (u64, u64) {
        let ours = self.stack().contains(&entry.stack_limit());
        assert!(
            ours && self.runs(),
            "code is called on another thread's stack"
        );
        (entry.code(), entry.context())
    }

    /// Calls `sip_main` on this fiber's stack, which is the one in use.
    pub(crate) fn call_main(&self, entry: &EntryPoint<fn() -> i32>) -> i32 {
        let (code, context) = self.checked(entry);
        // SAFETY: an entry point is a function of this type with a context of its own image. It is the running thread's,
        // as just seen, whose context lives until the thread has ended.
        unsafe { switch::call(code, context) }
    }

    /// Calls the start function, likewise.
    pub(crate) fn call_start(&self, entry: &EntryPoint<fn()>) {
        let (code, context) = self.checked(entry);
        // SAFETY: as for `call_main`.
        unsafe { switch::call_with(code, context, 0) };
    }

    /// Calls `sip_thread`, likewise.
    pub(crate) fn call_thread(&self, entry: &EntryPoint<fn(u32)>, argument: u32) {
        let (code, context) = self.checked(entry);
        // SAFETY: as for `call_main`.
        unsafe { switch::call_with(code, context, u64::from(argument)) };
    }
}

/// A call of code that no installed image has.
pub struct GuestCall {
    code: u64,
    context: u64,
    arguments: u64,
}

impl GuestCall {
    /// `code(context, arguments)`.
    ///
    /// # Safety
    /// `code` is a function that the compiler made of a verified module for such a call, or one that ignores what it is
    /// given; it is loaded, and `context` the record of its instance, linked for the guest that is to run it. Both stay,
    /// with all that they are linked to, and so do the cells of arguments and results, until the call has ended.
    #[must_use]
    pub unsafe fn new(code: u64, context: u64, arguments: *mut u128) -> Self {
        Self {
            code,
            context,
            arguments: arguments as u64,
        }
    }
}

impl Fiber {
    /// The lowest stack pointer that code of SIPs may have on its stack.
    pub(crate) fn stack_limit(&self) -> u64 {
        self.with_stack(stack_limit)
    }

    /// Makes a guest's call on this fiber's stack, which is the one in use.
    pub(crate) fn call_guest(&self, call: GuestCall) {
        assert!(self.runs(), "code is called on another thread's stack");
        // SAFETY: `GuestCall::new`'s caller has vouched for it.
        unsafe { switch::call_with(call.code, call.context, call.arguments) };
    }
}

/// The table of kernel entries, complete: its address.
#[derive(Clone, Copy)]
pub(crate) struct KernelTable(u64);

impl KernelTable {
    /// Its address.
    pub(crate) fn address(self) -> u64 {
        self.0
    }
}

/// A table of kernel entries in the making: each place takes a function of the type that compiled code calls there.
pub(crate) struct Entries([usize; COUNT]);

impl Entries {
    /// A table of entries that do not return.
    pub(crate) fn of(missing: extern "C" fn(CtxRef) -> !) -> Self {
        // Whatever the arguments are: it looks at none, and goes back to nobody.
        Self([missing as usize; COUNT])
    }

    /// Puts a function into its place.
    ///
    /// # Panics
    /// Where its type is another than the ABI says.
    pub(crate) fn set<F: EntryFn>(&mut self, index: usize, function: F) {
        let declared = ENTRIES[index].signature;
        assert!(
            declared.params == F::PARAMS && declared.result == F::RESULT,
            "kernel entry {} has another type than the ABI says",
            ENTRIES[index].name
        );
        self.0[index] = function.address();
    }

    /// Whether this place still has the function that the table was made of.
    pub(crate) fn is_missing(&self, index: usize, missing: extern "C" fn(CtxRef) -> !) -> bool {
        self.0[index] == missing as usize
    }

    /// Makes it the kernel's, for good.
    pub(crate) fn publish(self) -> KernelTable {
        #[expect(clippy::disallowed_methods, reason = "once, before the first SIP runs")]
        let table = Box::leak(Box::new(self.0));
        KernelTable(core::ptr::from_ref(table) as u64)
    }
}

/// A parameter or result of a kernel entry.
pub(crate) trait Word {
    /// What the ABI calls it.
    const TYPE: Int;
}

macro_rules! words {
    ($($word:ty = $int:ident;)*) => {$(
        impl Word for $word {
            const TYPE: Int = Int::$int;
        }
    )*};
}

words! {
    u32 = I32;
    i32 = I32;
    u64 = I64;
    i64 = I64;
    Reference = I64;
}

/// The result of a kernel entry.
pub(crate) trait Outcome {
    /// What the ABI calls it.
    const TYPE: Option<Int>;
}

impl<W: Word> Outcome for W {
    const TYPE: Option<Int> = Some(W::TYPE);
}

impl Outcome for () {
    const TYPE: Option<Int> = None;
}

/// A function that compiled code can call.
pub(crate) trait EntryFn {
    /// Its parameters, without the context.
    const PARAMS: &'static [Int];
    /// Its result.
    const RESULT: Option<Int>;

    /// Its address.
    fn address(self) -> usize;
}

macro_rules! entry_fns {
    ($(($($p:ident)*))*) => {$(
        impl<R: Outcome, $($p: Word),*> EntryFn for extern "C" fn(CtxRef $(, $p)*) -> R {
            const PARAMS: &'static [Int] = &[$($p::TYPE),*];
            const RESULT: Option<Int> = R::TYPE;

            fn address(self) -> usize {
                self as usize
            }
        }
    )*};
}

entry_fns! { () (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) (A B C D E F G) }
