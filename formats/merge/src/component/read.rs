//! A component's index spaces, as far as lowering needs them.
//!
//! The component has been validated: indices refer to what came before them. Nothing here relies on
//! that for more than sense; an index that leads nowhere is an error.

use crate::Error;
use wasmparser as wp;

/// What a core function of a component is.
#[derive(Clone, Debug)]
pub(super) enum CoreFunction<'a> {
    /// A function of the component model, called from a module.
    Lowered(u32, Box<[wp::CanonicalOption]>),
    /// Drops a resource of this type.
    Drop(u32),
    /// What a core instance exports.
    Export(u32, &'a str),
    /// Another function of the canonical ABI.
    Builtin(&'static str),
}

/// What an instance of modules is.
#[derive(Clone, Debug)]
pub(super) enum CoreInstance<'a> {
    /// A module, with the instances that it imports from.
    Module(u32, Box<[wp::InstantiationArg<'a>]>),
    /// Things put together.
    Things(Box<[wp::Export<'a>]>),
}

/// A function, an instance, a type, a module or a component of a component.
#[derive(Clone, Debug)]
pub(super) enum Item<'a> {
    /// Imported under this name.
    Imported(&'a str),
    /// What an instance has under this name.
    Of(u32, &'a str),
    /// Another of the same kind: an export's.
    Same(u32),
    /// Of functions: a module's function, made one of the component.
    Lifted(u32, Box<[wp::CanonicalOption]>),
    /// Of instances: a component with what it is given.
    Made(u32, Box<[wp::ComponentInstantiationArg<'a>]>),
    /// Of instances: things put together.
    Things(Box<[wp::ComponentExport<'a>]>),
    /// Of modules and components: their bytes.
    Bytes(&'a [u8]),
    /// Defined here, in a way that lowering does not look at.
    Other,
}

/// What is exported: its name, its kind and its number.
pub(super) type Export<'a> = (&'a str, wp::ComponentExternalKind, u32);

/// A component taken apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Component<'a> {
    pub modules: Vec<Item<'a>>,
    pub components: Vec<Item<'a>>,
    pub core_instances: Vec<CoreInstance<'a>>,
    pub core_functions: Vec<CoreFunction<'a>>,
    pub core_memories: Vec<(u32, &'a str)>,
    pub core_tables: Vec<(u32, &'a str)>,
    pub core_globals: Vec<(u32, &'a str)>,
    pub core_tags: Vec<(u32, &'a str)>,
    pub functions: Vec<Item<'a>>,
    pub instances: Vec<Item<'a>>,
    pub types: Vec<Item<'a>>,
    pub exports: Vec<Export<'a>>,
    /// Whether it has a start function or values, which are of no finished version of the component
    /// model.
    pub starts: bool,
}

impl<'a> Component<'a> {
    /// Reads the sections of a component, not those within it.
    pub fn read(bytes: &'a [u8]) -> Result<Component<'a>, Error> {
        let mut component = Component::default();
        let mut depth = 0_usize;
        let mut parser = wp::Parser::new(0);
        parser.set_features(wp::WasmFeatures::all());
        for payload in parser.parse_all(bytes) {
            let payload = payload?;
            match &payload {
                wp::Payload::End(_) => depth = depth.saturating_sub(1),
                wp::Payload::ModuleSection {
                    unchecked_range, ..
                }
                | wp::Payload::ComponentSection {
                    unchecked_range, ..
                } => {
                    if depth == 0 {
                        let inner = range(bytes, unchecked_range)?;
                        let module = matches!(payload, wp::Payload::ModuleSection { .. });
                        match module {
                            true => component.modules.push(Item::Bytes(inner)),
                            false => component.components.push(Item::Bytes(inner)),
                        }
                    }
                    depth += 1;
                }
                _ if depth > 0 => {}
                _ => component.section(payload)?,
            }
        }
        Ok(component)
    }

    /// The core things of a kind: what instances export under names. Functions are more than that.
    pub fn core(&self, kind: wp::ExternalKind) -> Option<&[(u32, &'a str)]> {
        match kind {
            wp::ExternalKind::Memory => Some(&self.core_memories),
            wp::ExternalKind::Table => Some(&self.core_tables),
            wp::ExternalKind::Global => Some(&self.core_globals),
            wp::ExternalKind::Tag => Some(&self.core_tags),
            wp::ExternalKind::Func | wp::ExternalKind::FuncExact => None,
        }
    }

    fn section(&mut self, payload: wp::Payload<'a>) -> Result<(), Error> {
        match payload {
            wp::Payload::InstanceSection(section) => {
                for instance in section {
                    self.core_instances.push(match instance? {
                        wp::Instance::Instantiate { module_index, args } => {
                            CoreInstance::Module(module_index, args)
                        }
                        wp::Instance::FromExports(exports) => CoreInstance::Things(exports),
                    });
                }
            }
            wp::Payload::ComponentInstanceSection(section) => {
                for instance in section {
                    self.instances.push(match instance? {
                        wp::ComponentInstance::Instantiate {
                            component_index,
                            args,
                        } => Item::Made(component_index, args),
                        wp::ComponentInstance::FromExports(exports) => Item::Things(exports),
                    });
                }
            }
            wp::Payload::ComponentAliasSection(section) => {
                for alias in section {
                    self.alias(alias?);
                }
            }
            wp::Payload::ComponentTypeSection(section) => {
                for ty in section {
                    ty?;
                    self.types.push(Item::Other);
                }
            }
            wp::Payload::ComponentCanonicalSection(section) => {
                for function in section {
                    self.canonical(function?);
                }
            }
            wp::Payload::ComponentImportSection(section) => {
                for import in section {
                    let import = import?;
                    self.add(import.ty.kind(), Item::Imported(import.name.name));
                }
            }
            wp::Payload::ComponentExportSection(section) => {
                for export in section {
                    let export = export?;
                    // An export is a further number of the same thing.
                    self.add(export.kind, Item::Same(export.index));
                    self.exports
                        .push((export.name.name, export.kind, export.index));
                }
            }
            wp::Payload::ComponentStartSection { .. } => self.starts = true,
            _ => {}
        }
        Ok(())
    }

    fn add(&mut self, kind: wp::ComponentExternalKind, item: Item<'a>) {
        match kind {
            wp::ComponentExternalKind::Module => self.modules.push(item),
            wp::ComponentExternalKind::Func => self.functions.push(item),
            wp::ComponentExternalKind::Type => self.types.push(item),
            wp::ComponentExternalKind::Instance => self.instances.push(item),
            wp::ComponentExternalKind::Component => self.components.push(item),
            wp::ComponentExternalKind::Value => self.starts = true,
        }
    }

    fn alias(&mut self, alias: wp::ComponentAlias<'a>) {
        match alias {
            wp::ComponentAlias::InstanceExport {
                kind,
                instance_index,
                name,
            } => self.add(kind, Item::Of(instance_index, name)),
            wp::ComponentAlias::CoreInstanceExport {
                kind,
                instance_index,
                name,
            } => match kind {
                wp::ExternalKind::Func | wp::ExternalKind::FuncExact => {
                    let export = CoreFunction::Export(instance_index, name);
                    self.core_functions.push(export);
                }
                wp::ExternalKind::Memory => self.core_memories.push((instance_index, name)),
                wp::ExternalKind::Table => self.core_tables.push((instance_index, name)),
                wp::ExternalKind::Global => self.core_globals.push((instance_index, name)),
                wp::ExternalKind::Tag => self.core_tags.push((instance_index, name)),
            },
            wp::ComponentAlias::Outer { kind, .. } => match kind {
                wp::ComponentOuterAliasKind::CoreModule => self.modules.push(Item::Other),
                wp::ComponentOuterAliasKind::Type => self.types.push(Item::Other),
                wp::ComponentOuterAliasKind::Component => self.components.push(Item::Other),
                wp::ComponentOuterAliasKind::CoreType => {}
            },
        }
    }

    fn canonical(&mut self, function: wp::CanonicalFunction) {
        use wp::CanonicalFunction as C;
        let core = match function {
            C::Lift {
                core_func_index,
                options,
                ..
            } => {
                self.functions.push(Item::Lifted(core_func_index, options));
                return;
            }
            C::Lower {
                func_index,
                options,
            } => CoreFunction::Lowered(func_index, options),
            C::ResourceDrop { resource } => CoreFunction::Drop(resource),
            C::ResourceNew { .. } | C::ResourceRep { .. } => {
                CoreFunction::Builtin("resources of its own")
            }
            C::ThreadSpawnRef { .. }
            | C::ThreadSpawnIndirect { .. }
            | C::ThreadAvailableParallelism => CoreFunction::Builtin("threads"),
            _ => CoreFunction::Builtin("asynchronous functions (WASI 0.3)"),
        };
        self.core_functions.push(core);
    }
}

fn range<'a>(bytes: &'a [u8], range: &std::ops::Range<u64>) -> Result<&'a [u8], Error> {
    let place = |at: u64| usize::try_from(at).ok();
    let found = place(range.start)
        .zip(place(range.end))
        .and_then(|(start, end)| bytes.get(start..end));
    found.ok_or_else(|| Error::new("not a valid component: a part of it lies outside of it"))
}
