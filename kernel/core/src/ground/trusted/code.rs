//! Compiled code: its loading, the calls into it, and the entries that it calls.

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
use sing_image::lines::Table;
use sing_image::manifest::Manifest;
use sing_image::meta::{Meta, Reader};
use sing_image::system::SystemImage;
use sing_image::{Error, Failure};
use sing_runtime::{
    Context, ContextParams, CtxRef, EntryPoint, Instance, NoRoom, Payer, Preparation, Reference,
    Template, Trap,
};

/// The system image that a machine is started with: the only source of programs.
#[derive(Clone, Copy, Debug)]
pub struct BootImage(&'static [u8]);

impl BootImage {
    /// A system image. For HALs alone.
    ///
    /// # Safety
    /// If this is a system image, the installer wrote it: the compiler made the machine code of its
    /// programs from verified modules, together with the tables beside it. The bytes never change.
    #[must_use]
    pub const unsafe fn new(bytes: &'static [u8]) -> Self {
        Self(bytes)
    }

    /// Reads the system image.
    ///
    /// # Errors
    /// If it is not a system image, or broken.
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
    /// Returns the file of the program of this name in a folder.
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
    /// Finds the parts of the program.
    ///
    /// # Errors
    /// Says which part is missing or broken.
    pub(crate) fn read(self) -> Result<Reading, Error> {
        let sections = Sections::find(self.0)?;
        let reader = Reader::in_place(sections.meta);
        let file = self.0;
        Ok(Reading {
            file,
            sections,
            reader,
        })
    }

    /// Finds what the program declares, without reading it.
    ///
    /// # Errors
    /// As for [`Program::read`].
    pub(crate) fn declarations(&self) -> Result<Declarations, Error> {
        Sections::find(self.0).map(Declarations)
    }
}

/// What a program declares, which is known before anything else of it is read.
pub(crate) struct Declarations(Sections<'static>);

impl Declarations {
    /// Returns the most bytes of memory that reading the manifest takes.
    pub(crate) fn room(&self) -> u64 {
        self.0.manifest_room()
    }

    /// The manifest's bytes, if they are one.
    ///
    /// # Errors
    /// If the manifest is broken.
    pub(crate) fn manifest(&self) -> Result<&'static [u8], Error> {
        self.0.manifest()?;
        Ok(self.0.manifest_bytes())
    }
}

/// A program whose tables are being read, in steps.
pub(crate) struct Reading {
    file: &'static [u8],
    sections: Sections<'static>,
    reader: Reader<'static>,
}

impl Reading {
    /// Does a step; returns whether all tables have been read.
    ///
    /// # Errors
    /// As for [`Reader::step`].
    pub(crate) fn step(&mut self) -> Result<bool, Failure> {
        self.reader.step()
    }

    /// Returns the most bytes of memory that the next step takes.
    pub(crate) fn room(&self) -> u64 {
        self.reader.room()
    }

    /// Returns the tables that have been read.
    pub(crate) fn finish(self) -> Compiled {
        Compiled {
            file: self.file,
            sections: self.sections,
            meta: self.reader.finish(),
        }
    }
}

/// A program whose tables have been read, and can be examined before it is made ready.
pub(crate) struct Compiled {
    file: &'static [u8],
    sections: Sections<'static>,
    meta: Meta,
}

impl Compiled {
    /// Returns the tables beside the code.
    pub(crate) fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Returns the most bytes of memory that reading the manifest takes.
    pub(crate) fn manifest_room(&self) -> u64 {
        self.sections.manifest_room()
    }

    /// Reads the manifest. The check of the tables applies their limits.
    ///
    /// # Errors
    /// If the manifest is broken, or too large, or if the code or the data is.
    pub(crate) fn manifest(&self) -> Result<Manifest, Error> {
        let manifest = self.sections.manifest()?;
        let (code, data) = (self.sections.code.len(), self.sections.data.len());
        let counts = Counts {
            code_bytes: code as u64,
            data_bytes: data as u64,
            ..Counts::default()
        };
        counts.with_manifest(&manifest).check()?;
        Ok(manifest)
    }

    /// Begins to read the contracts.
    pub(crate) fn contracts(&self) -> contract::Reader<'static> {
        self.sections.contracts()
    }

    /// Begins to check the program and to make it ready.
    pub(crate) fn prepare(self) -> Prepared {
        let Sections { code, data, .. } = self.sections;
        Prepared {
            file: self.file,
            code,
            lines: Table::new(self.sections.lines),
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
    /// The program's file.
    pub(crate) file: &'static [u8],
    pub(crate) code: &'static [u8],
    /// The lines of the program's text that its code comes from.
    pub(crate) lines: Table<'static>,
    preparation: Preparation,
    /// Address of the code, once its first piece is in the arena.
    base: Option<u64>,
    /// Bytes of code in the arena.
    placed: usize,
}

impl Prepared {
    /// Continues the check; returns whether everything has been checked.
    ///
    /// # Errors
    /// As for [`Preparation::step`].
    pub(crate) fn check(&mut self) -> Result<bool, Failure> {
        self.preparation.step()
    }

    /// Returns the most bytes of memory that the whole check takes.
    pub(crate) fn room(&self) -> u64 {
        self.preparation.room()
    }

    /// Whether the program exports `sip_main`.
    pub(crate) fn has_main(&self) -> bool {
        self.preparation.has_main()
    }

    /// Puts a piece of the code into the arena, or lets a piece of the tables say where it lies;
    /// returns whether all is done. Returns `None`, and removes all of the code, if there is no room.
    ///
    /// # Panics
    /// If another program's code comes in between.
    pub(crate) fn place(&mut self) -> Option<bool> {
        if let Some(base) = self.base
            && self.placed == self.code.len()
        {
            return Some(self.preparation.locate(base));
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
        Some(end == self.code.len() && self.preparation.locate(base))
    }

    /// Removes the code from the arena again, as it would block other loads.
    pub(crate) fn withdraw(&mut self) {
        let Some(base) = self.base.take() else {
            return;
        };
        memory::uncount_code(core::mem::take(&mut self.placed) as u64);
        // SAFETY: it was loaded last, as no other code comes in between (`place`). Only the
        // template that `finish` makes lets it be run, and that consumes this.
        unsafe { hal().unload_code(base) };
    }

    /// Returns the template for the program's SIPs.
    ///
    /// # Errors
    /// As for [`Preparation::finish`].
    ///
    /// # Panics
    /// If not all of the code is in the arena.
    pub(crate) fn finish(self) -> Result<Arc<Template>, Error> {
        let base = self.base.filter(|_| self.placed == self.code.len());
        let base = base.expect("a program whose code is in the arena");
        // SAFETY: code, meta and data come from one program of the system image, for which
        // `BootImage::new` vouches. The code is contiguous at `base`, as `place` checked for each
        // piece, for ever and unchanged, as HALs promise.
        unsafe { self.preparation.finish(base) }
    }
}

/// Makes the instance of a template in a SIP's linear memory, for which `payer` pays; `registers`:
/// with a table for windows on registers of devices.
///
/// # Errors
/// `BadArgument` if fewer addresses are reserved than the template's code can reach, `OutOfMemory`
/// if the payer has no room.
pub(crate) fn instance(
    template: &Arc<Template>,
    memory: &LinearMemory,
    registers: bool,
    payer: &'static dyn Payer,
) -> Result<(), Trap> {
    memory.occupy(|memory, further| {
        let further = |i: usize| further.get(i).map_or((0, 0), |m| (m.base(), m.reserved()));
        // SAFETY: the addresses are reserved; their owner has a reference to the instance, and
        // gives them up only when it is the last one (`LinearMemory::take`, `take_further`).
        let made =
            unsafe { Instance::new(template, memory.base(), memory.reserved(), further, payer) };
        let mut instance = made?;
        if registers {
            let furnished = instance.furnish_windows();
            furnished.map_err(|NoRoom| Trap::OutOfMemory)?;
        }
        Ok(instance)
    })
}

/// The parameters that differ between threads of a SIP.
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
        // A machine may have to measure it, which takes milliseconds.
        cycles_per_second: match instance.template().reads_rate() {
            true => hal().cycles_per_second(),
            false => 0,
        },
        stack_pointer: params.stack_pointer,
    };
    // SAFETY: the table is one of kernel entries of the proper types; below the limit, the stack
    // has the room that entries and interrupts need. `Fiber::call` calls with a context on its own
    // stack only.
    unsafe { Context::new(instance, &params, payer) }
}

/// Returns the lowest stack pointer that code of SIPs may have on a stack.
fn stack_limit(stack: &Stack) -> u64 {
    let range = stack.range();
    assert!(
        range.end - range.start > STACK_RESERVE,
        "a stack without room"
    );
    range.start + STACK_RESERVE
}

impl Fiber {
    /// Checks that a context is for code on this fiber's stack, and that this fiber runs; returns
    /// code and context.
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
        // SAFETY: an entry point is a function of this type with a context of its own image. The
        // context is the running thread's, as just checked, and lives until the thread has ended.
        unsafe { switch::call(code, context) }
    }

    /// Calls the start function on this fiber's stack, which is the one in use.
    pub(crate) fn call_start(&self, entry: &EntryPoint<fn()>) {
        let (code, context) = self.checked(entry);
        // SAFETY: as for `call_main`.
        unsafe { switch::call_with(code, context, 0) };
    }

    /// Calls `sip_thread` on this fiber's stack, which is the one in use.
    pub(crate) fn call_thread(&self, entry: &EntryPoint<fn(u32)>, argument: u32) {
        let (code, context) = self.checked(entry);
        // SAFETY: as for `call_main`.
        unsafe { switch::call_with(code, context, u64::from(argument)) };
    }
}

/// A call of code outside any installed image.
pub struct GuestCall {
    code: u64,
    context: u64,
    arguments: u64,
}

impl GuestCall {
    /// Makes a call `code(context, arguments)`.
    ///
    /// # Safety
    /// The compiler made `code` of a verified module for such a call, or `code` ignores its
    /// arguments; it is loaded, and `context` is the record of its instance, linked for the guest
    /// that is to run it. Both stay, with everything that they are linked to and the cells of
    /// arguments and results, until the call has ended.
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
    /// Returns the lowest stack pointer that code of SIPs may have on this fiber's stack.
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

/// Address of a complete table of kernel entries.
#[derive(Clone, Copy)]
pub(crate) struct KernelTable(u64);

impl KernelTable {
    /// Returns the address.
    pub(crate) fn address(self) -> u64 {
        self.0
    }
}

/// A table of kernel entries under construction: each place takes a function of the type that
/// compiled code calls there.
pub(crate) struct Entries([usize; COUNT]);

impl Entries {
    /// Makes a table that holds `missing` in all places.
    pub(crate) fn of(missing: extern "C" fn(CtxRef) -> !) -> Self {
        // The arguments of the entry do not matter: `missing` reads none, and never returns.
        Self([missing as usize; COUNT])
    }

    /// Enters a function.
    ///
    /// # Panics
    /// If its type differs from the ABI's.
    pub(crate) fn set<F: EntryFn>(&mut self, index: usize, function: F) {
        let declared = ENTRIES[index].signature;
        assert!(
            declared.params == F::PARAMS && declared.result == F::RESULT,
            "kernel entry {} has another type than the ABI says",
            ENTRIES[index].name
        );
        self.0[index] = function.address();
    }

    /// Whether this place still holds `missing`.
    pub(crate) fn is_missing(&self, index: usize, missing: extern "C" fn(CtxRef) -> !) -> bool {
        self.0[index] == missing as usize
    }

    /// Makes the table the kernel's, for ever.
    pub(crate) fn publish(self) -> KernelTable {
        #[expect(clippy::disallowed_methods, reason = "once, before the first SIP runs")]
        let table = Box::leak(Box::new(self.0));
        KernelTable(core::ptr::from_ref(table) as u64)
    }
}

/// A parameter or result of a kernel entry.
pub(crate) trait Word {
    /// The ABI's type.
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
    /// The ABI's type.
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
    /// Parameters, without the context.
    const PARAMS: &'static [Int];
    /// Result.
    const RESULT: Option<Int>;

    /// Returns the address of the function.
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
