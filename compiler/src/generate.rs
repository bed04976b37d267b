//! The functions of an image, each made by itself: translated to Cranelift's intermediate code, and
//! from there to machine code. What becomes of one depends on no other, so several threads can each
//! have a [`Generator`].

use crate::error::{Error, Result};
use crate::kept::{self, Keeper};
use crate::piece::Piece;
use crate::translate::{self, Env, Routine, Translated};
use cranelift_codegen::Context;
use cranelift_codegen::ir::{UserExternalName, UserFuncName};
use cranelift_codegen::isa::TargetIsa;
use cranelift_frontend::FunctionBuilderContext;
use std::time::Instant;

/// A function that an image gets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    /// Its index, or of a trampoline that of the function which it calls.
    pub(crate) index: u32,
    /// Its type.
    pub(crate) ty: u32,
    /// The function whose name it has.
    pub(crate) known_as: u32,
    pub(crate) kind: Kind,
}

/// Where a function's code comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// The module's text.
    Body,
    /// It calls an import, and stands for it as a value.
    Thunk,
    /// It calls this function for the kernel, by the kernel's convention.
    Entry(u32),
    /// It is called by those outside an open module.
    Trampoline,
    /// It is a routine for exceptions.
    Routine(Routine),
    /// Nowhere: nothing can call it, and it has no code.
    LeftOut,
}

impl Job {
    pub(crate) fn new(index: u32, ty: u32, known_as: u32, kind: Kind) -> Job {
        Job {
            index,
            ty,
            known_as,
            kind,
        }
    }

    pub(crate) fn trampoline(func: u32) -> Job {
        Job::new(func, 0, func, Kind::Trampoline)
    }

    pub(crate) fn routine(routine: Routine) -> Job {
        Job::new(u32::MAX, 0, u32::MAX, Kind::Routine(routine))
    }
}

/// A function that has its code.
#[derive(Clone)]
pub(crate) struct Made {
    pub(crate) job: Job,
    pub(crate) piece: Piece,
    /// The names to which the piece refers.
    pub(crate) names: Vec<UserExternalName>,
    /// The place in the text to which the piece's are relative.
    pub(crate) first_place: u32,
    /// What came of its translation.
    pub(crate) translated: Translated,
    /// Whether the piece was there before.
    pub(crate) kept: bool,
    pub(crate) translate_ns: u64,
    pub(crate) codegen_ns: u64,
}

impl Made {
    /// A function that has no code.
    fn without_code(job: &Job) -> Made {
        Made {
            job: *job,
            piece: Piece::default(),
            names: Vec::new(),
            first_place: 0,
            translated: Translated::default(),
            kept: false,
            translate_ns: 0,
            codegen_ns: 0,
        }
    }
}

/// Makes functions.
pub(crate) struct Generator<'g> {
    env: &'g Env<'g>,
    isa: &'g dyn TargetIsa,
    keeper: Option<&'g dyn Keeper>,
    builder: FunctionBuilderContext,
    context: Context,
    registers: regalloc2::Ctx,
}

impl<'g> Generator<'g> {
    pub(crate) fn new(
        env: &'g Env<'g>,
        isa: &'g dyn TargetIsa,
        keeper: Option<&'g dyn Keeper>,
    ) -> Generator<'g> {
        Generator {
            env,
            isa,
            keeper,
            builder: FunctionBuilderContext::new(),
            context: Context::new(),
            registers: regalloc2::Ctx::default(),
        }
    }

    /// Makes the function.
    pub(crate) fn make(&mut self, job: &Job) -> Result<Made> {
        if let Kind::LeftOut = job.kind {
            return Ok(Made::without_code(job));
        }
        let started = Instant::now();
        self.context.clear();
        self.context.func.name = UserFuncName::user(0, job.index);
        let translated = self.translate(job).inspect_err(|_| {
            // It may have been left in the middle of a function.
            self.builder = FunctionBuilderContext::new();
        })?;
        let ended = Instant::now();
        let (piece, kept) = self.piece()?;
        let params = &self.context.func.params;
        Ok(Made {
            job: *job,
            piece,
            names: params.user_named_funcs().values().cloned().collect(),
            first_place: params.base_srcloc().bits(),
            translated,
            kept,
            translate_ns: (ended - started).as_nanos() as u64,
            codegen_ns: ended.elapsed().as_nanos() as u64,
        })
    }

    /// The machine code; whether it was there before.
    fn piece(&mut self) -> Result<(Piece, bool)> {
        let Some(keeper) = self.keeper else {
            let piece = Piece::make(
                &mut self.context,
                &mut self.registers,
                self.isa,
                self.env.lines,
            );
            return Ok((piece?, false));
        };
        let name = kept::name(&self.context.func, self.env.options, self.env.lines);
        if let Some(piece) = keeper.get(&name).and_then(Piece::decode) {
            return Ok((piece, true));
        }
        let piece = Piece::make(
            &mut self.context,
            &mut self.registers,
            self.isa,
            self.env.lines,
        )?;
        if let Some(bytes) = piece.encode() {
            keeper.put(name, bytes);
        }
        Ok((piece, false))
    }

    /// Makes the intermediate code.
    fn translate(&mut self, job: &Job) -> Result<Translated> {
        let (env, builder) = (self.env, &mut self.builder);
        let module = env.module;
        let func = &mut self.context.func;
        let ty = || {
            let ty = module.types.get(job.ty as usize);
            ty.ok_or_else(|| Error::internal(format!("there is no type {}", job.ty)))
        };
        match job.kind {
            Kind::Body => {
                let body = job.index.checked_sub(module.imported_funcs);
                let body = body.and_then(|place| module.bodies.get(place as usize));
                let body = body.ok_or_else(|| {
                    Error::internal(format!("function {} has no body", job.index))
                })?;
                func.signature = env.signature(ty()?);
                return translate::function(env, func, builder, job.index, body);
            }
            Kind::Thunk => {
                func.signature = env.signature(ty()?);
                translate::thunk(env, func, builder, job.known_as)?;
            }
            Kind::Entry(to) => {
                func.signature = env.signature_by(ty()?, translate::KERNEL_CONVENTION);
                translate::entry(env, func, builder, to, job.ty)?;
            }
            Kind::Trampoline => translate::trampoline(env, func, builder, job.index)?,
            Kind::Routine(routine) => routine.make(env, func, builder)?,
            Kind::LeftOut => return Err(Error::internal("a function without code")),
        }
        Ok(Translated::default())
    }
}
