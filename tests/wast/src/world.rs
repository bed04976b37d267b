//! The state of a script: its instances, by name and as registered, compiled with the same options.

use crate::machine::Machine;
use crate::proposals;
use crate::spectest;
use crate::values::Value;
use sing_compiler::{Compiled, MemoryMode, Options, Work, compile_by, verify};
use sing_image::meta::{FuncType, ValType};
use sing_runtime::Trap;
use sing_runtime::open::{Callee, Extern, LinkError, Store};
use std::collections::HashMap;
use wast::QuoteWat;
use wast::core::Module;

/// An instance, or the reason for its lack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Its number in the store.
    Instance(usize),
    /// Its module needs this proposal.
    Skipped(String),
    /// Its module failed.
    Failed,
}

/// Why there is no instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoInstance {
    /// The module needs this proposal.
    Skipped(String),
    /// Verifier or compiler refuse the module.
    Refused(String),
    /// An import is missing or does not match.
    Unlinkable(String),
    /// A segment or the start function trapped.
    Trap(Trap),
    /// A fault of this program.
    Broken(String),
}

/// Why a call or a read of a global failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoResult {
    /// The instance's module needs this proposal.
    Skipped(String),
    /// It trapped.
    Trap(Trap),
    /// There is no export of that name or type.
    Broken(String),
}

/// A module that was defined and can be instantiated any number of times.
type Definition = Result<Vec<u8>, Slot>;

/// The state of a script.
pub struct World<'m> {
    machine: &'m Machine,
    options: Options,
    store: Store,
    /// The instance that a directive without a name refers to.
    current: Slot,
    named: HashMap<String, Slot>,
    registered: HashMap<String, Slot>,
    last_definition: Option<Definition>,
    definitions: HashMap<String, Definition>,
}

/// The bytes of a module, or the reason why its text has none.
pub fn encode(module: &mut QuoteWat<'_>) -> Result<Vec<u8>, String> {
    let text = match module.to_test().map_err(|e| e.message())? {
        wast::QuoteWatTest::Binary(bytes) => return Ok(bytes),
        wast::QuoteWatTest::Text(text) => text,
    };
    let text = String::from_utf8(text).map_err(|_| "malformed UTF-8 encoding")?;
    let buffer = crate::script::buffer(&text).map_err(|e| e.message())?;
    let mut wat = wast::parser::parse::<wast::Wat<'_>>(&buffer).map_err(|e| e.message())?;
    wat.encode().map_err(|e| e.message())
}

/// The bytes of a module written in place.
pub fn encode_module(module: &mut Module<'_>) -> Result<Vec<u8>, String> {
    module.encode().map_err(|e| e.message())
}

impl<'m> World<'m> {
    /// A world with only `spectest`, whose modules are compiled with these options.
    pub fn new(machine: &'m Machine, options: Options) -> Result<World<'m>, String> {
        let mut world = World {
            machine,
            options,
            store: Store::new(),
            current: Slot::Failed,
            named: HashMap::new(),
            registered: HashMap::new(),
            last_definition: None,
            definitions: HashMap::new(),
        };
        let buffer = crate::script::buffer(spectest::TEXT).map_err(|e| e.message())?;
        let mut module = wast::parser::parse::<wast::Wat<'_>>(&buffer).map_err(|e| e.message())?;
        let wasm = module.encode().map_err(|e| e.message())?;
        let instance = world
            .instantiate(&wasm)
            .map_err(|e| format!("spectest: {e:?}"))?;
        world
            .registered
            .insert("spectest".into(), Slot::Instance(instance));
        Ok(world)
    }

    /// Whether the verifier accepts a module; if not, the reason.
    pub fn verify(&self, wasm: &[u8]) -> Result<(), String> {
        verify(wasm, &self.options)
            .map(|_| ())
            .map_err(|e| e.to_string())
    }

    /// Compiles a module on one thread and on several, which must make no difference.
    fn compile(&self, wasm: &[u8]) -> Result<sing_compiler::Result<Compiled>, NoInstance> {
        let on = |threads| {
            let threads = Some(threads);
            let work = Work {
                threads,
                ..Work::default()
            };
            compile_by(wasm, &self.options, &work)
        };
        let several = on(4);
        if self.options.memory_mode == MemoryMode::Explicit {
            // Once is enough: the other mode has shown it.
            return Ok(several);
        }
        let one = on(1);
        let same = match (&one, &several) {
            (Ok(one), Ok(several)) => match (one.to_elf(), several.to_elf()) {
                (Ok(one), Ok(several)) => one == several,
                (one, several) => one.is_err() && several.is_err(),
            },
            (Err(one), Err(several)) => one.to_string() == several.to_string(),
            _ => false,
        };
        match same {
            true => Ok(several),
            false => Err(NoInstance::Broken(
                "several threads compile it otherwise".into(),
            )),
        }
    }

    /// Makes an instance of a module.
    pub fn instantiate(&mut self, wasm: &[u8]) -> Result<usize, NoInstance> {
        let compiled = self.compile(wasm)?.map_err(|e| {
            // A script promises that this module is valid.
            let beyond = proposals::needed(wasm).or_else(|| proposals::missing(wasm));
            beyond.map_or(NoInstance::Refused(e.to_string()), NoInstance::Skipped)
        })?;
        let imports = self.resolve(&compiled.meta)?;
        let template = self
            .machine
            .load(&compiled.code, compiled.data, compiled.meta)
            .map_err(NoInstance::Broken)?;
        let meta = template.meta();
        let memories = meta.memory.iter().chain(&meta.further);
        let memories = memories.map(|ty| self.machine.memory(*ty, self.options.memory_mode));
        let memories: Vec<_> = memories
            .collect::<Result<_, _>>()
            .map_err(NoInstance::Broken)?;
        let linked = self
            .store
            .link(&template, &imports, &memories, &self.machine.params());
        let instance = linked.map_err(|e| match e {
            LinkError::Incompatible { .. } => {
                NoInstance::Unlinkable("incompatible import type".into())
            }
            other => NoInstance::Broken(other.to_string()),
        })?;
        let machine = self.machine;
        let initialised = self
            .store
            .initialise(instance, &mut |m, at, bytes| machine.write(m, at, bytes));
        initialised.map_err(NoInstance::Trap)?;
        if let Some(start) = self.store.start(instance) {
            self.machine
                .run(start, &mut [0])
                .map_err(NoInstance::Trap)?;
        }
        Ok(instance)
    }

    fn resolve(&self, meta: &sing_image::meta::Meta) -> Result<Vec<Extern>, NoInstance> {
        let mut imports = Vec::with_capacity(meta.imports.len());
        for import in &meta.imports {
            let unknown = || NoInstance::Unlinkable("unknown import".into());
            // Scripts of others than the suite import from a module by the name that it has there.
            let known = self.registered.get(&import.module);
            let known = known.or_else(|| self.named.get(&import.module));
            match known.ok_or_else(unknown)? {
                Slot::Instance(i) => {
                    imports.push(self.store.export(*i, &import.name).ok_or_else(unknown)?);
                }
                Slot::Skipped(proposal) => return Err(NoInstance::Skipped(proposal.clone())),
                Slot::Failed => {
                    let message = format!("imports from {:?}, which failed", import.module);
                    return Err(NoInstance::Broken(message));
                }
            }
        }
        Ok(imports)
    }

    /// Makes an instance, or the reason for its lack, the target of later directives.
    pub fn enter(&mut self, name: Option<&str>, slot: Slot) {
        if let Some(name) = name {
            self.named.insert(name.into(), slot.clone());
        }
        self.current = slot;
    }

    /// The instance of this name, or the current one.
    fn slot(&self, name: Option<&str>) -> Slot {
        match name {
            None => self.current.clone(),
            Some(name) => self.named.get(name).cloned().unwrap_or(Slot::Failed),
        }
    }

    /// Lets modules import from an instance under this name.
    pub fn register(&mut self, name: &str, instance: Option<&str>) -> Slot {
        let slot = self.slot(instance);
        self.registered.insert(name.into(), slot.clone());
        slot
    }

    /// Keeps a module for later instances.
    pub fn define(&mut self, name: Option<&str>, definition: Definition) {
        if let Some(name) = name {
            self.definitions.insert(name.into(), definition.clone());
        }
        self.last_definition = Some(definition);
    }

    /// The module of this name, or the last defined.
    pub fn definition(&self, name: Option<&str>) -> Option<Definition> {
        match name {
            Some(name) => self.definitions.get(name).cloned(),
            None => self.last_definition.clone(),
        }
    }

    fn export(&self, instance: Option<&str>, name: &str) -> Result<Extern, NoResult> {
        match self.slot(instance) {
            Slot::Instance(i) => {
                let export = self.store.export(i, name);
                export.ok_or_else(|| NoResult::Broken(format!("no export {name:?}")))
            }
            Slot::Skipped(proposal) => Err(NoResult::Skipped(proposal)),
            Slot::Failed => Err(NoResult::Broken("no instance: its module failed".into())),
        }
    }

    /// Calls an exported function.
    pub fn invoke(
        &self,
        instance: Option<&str>,
        name: &str,
        args: &[Value],
    ) -> Result<Vec<Value>, NoResult> {
        let (callee, ty) = match self.export(instance, name)? {
            Extern::Func(f) => (self.store.callee(f), self.store.func_type(f).cloned()),
            _ => return Err(NoResult::Broken(format!("export {name:?} is no function"))),
        };
        let (Some(callee), Some(ty)) = (callee, ty) else {
            return Err(NoResult::Broken(format!(
                "{name:?} cannot be called from outside"
            )));
        };
        self.call(callee, &ty, args)
    }

    fn call(&self, callee: Callee, ty: &FuncType, args: &[Value]) -> Result<Vec<Value>, NoResult> {
        let given: Vec<ValType> = args.iter().map(|a| a.ty).collect();
        let fits = |(arg, ty): (&Value, &ValType)| {
            let null = arg.ty.is_reference() && arg.bits == 0;
            arg.ty == *ty
                || null && ty.has_null() && arg.ty.is_function() == ty.is_function()
                || !null && arg.ty == ValType::ExternRef && *ty == ValType::NonNullExtern
        };
        if args.len() != ty.params.len() || !args.iter().zip(&ty.params).all(fits) {
            let message = format!(
                "arguments {given:?} for a function that takes {:?}",
                ty.params
            );
            return Err(NoResult::Broken(message));
        }
        // A cell that is not overwritten must not look like a result.
        let mut cells = vec![u128::MAX / 17 * 5; args.len().max(ty.results.len()).max(1)];
        for (cell, arg) in cells.iter_mut().zip(args) {
            *cell = arg.bits;
        }
        self.machine
            .run(callee, &mut cells)
            .map_err(NoResult::Trap)?;
        Ok(ty
            .results
            .iter()
            .zip(cells)
            .map(|(ty, bits)| value(*ty, bits))
            .collect())
    }

    /// The value of an exported global.
    pub fn global(&self, instance: Option<&str>, name: &str) -> Result<Vec<Value>, NoResult> {
        let Extern::Global(g) = self.export(instance, name)? else {
            return Err(NoResult::Broken(format!("export {name:?} is no global")));
        };
        match (self.store.global_type(g), self.store.global(g)) {
            (Some(ty), Some(bits)) => Ok(vec![value(ty.value, bits)]),
            _ => Err(NoResult::Broken(format!("global {name:?} is gone"))),
        }
    }
}

/// A cell as a value: the lowest bits, as many as the type has.
fn value(ty: ValType, bits: u128) -> Value {
    let bits = match ty {
        ValType::I32 | ValType::F32 => u128::from(bits as u32),
        ValType::V128 => bits,
        _ => u128::from(bits as u64),
    };
    Value { ty, bits }
}
