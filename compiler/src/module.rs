//! A valid module, parsed into the form that verification and translation use.
//!
//! Invariant: [`Module::parse`] gets bytes that the validator has accepted, so indices are in range
//! and types match; anything that it cannot represent is an error, never a panic.

use crate::error::{Error, ErrorKind, Result};
use crate::names;
use sing_image::meta::{
    ConstExpr, ConstStep, Element, Export, ExportKind, FuncType, GlobalType, Import, ImportKind,
    Limits, MemoryType, SegmentMode, TableType, ValType,
};
use wasmparser as wp;

/// A custom section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Custom<'a> {
    pub(crate) name: &'a str,
    pub(crate) bytes: &'a [u8],
}

/// A data segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment<'a> {
    pub(crate) mode: SegmentMode,
    pub(crate) bytes: &'a [u8],
}

/// A module. The vectors over index spaces (`func_types`, `tables`, `memories`, `globals`) have
/// imports first and definitions after them.
#[derive(Debug, Default)]
pub(crate) struct Module<'a> {
    pub(crate) types: Vec<FuncType>,
    pub(crate) imports: Vec<Import>,
    /// Type index of each function.
    pub(crate) func_types: Vec<u32>,
    pub(crate) imported_funcs: u32,
    /// Type index of each tag.
    pub(crate) tags: Vec<u32>,
    pub(crate) imported_tags: u32,
    pub(crate) tables: Vec<TableType>,
    pub(crate) imported_tables: u32,
    /// The initial value of the elements of those defined tables that have one.
    pub(crate) table_values: Vec<(u32, ConstExpr)>,
    pub(crate) memories: Vec<MemoryType>,
    pub(crate) imported_memories: u32,
    pub(crate) shared_memory: bool,
    pub(crate) globals: Vec<GlobalType>,
    pub(crate) imported_globals: u32,
    /// Initial values of the defined globals.
    pub(crate) global_values: Vec<ConstExpr>,
    pub(crate) exports: Vec<Export>,
    pub(crate) start: Option<u32>,
    pub(crate) elements: Vec<Element>,
    pub(crate) data: Vec<Segment<'a>>,
    /// The 128-bit values of constant expressions. The image's data starts with these, and
    /// expressions refer to them by their offset there.
    pub(crate) vectors: Vec<u8>,
    /// The steps of constant expressions that depend on imported globals.
    pub(crate) steps: Vec<ConstStep>,
    pub(crate) bodies: Vec<wp::FunctionBody<'a>>,
    /// Where the code section starts in the file.
    pub(crate) code_start: u64,
    pub(crate) customs: Vec<Custom<'a>>,
    /// Names of functions by index, from the name section.
    pub(crate) names: Vec<Option<String>>,
}

impl<'a> Module<'a> {
    /// Parses a valid module.
    pub(crate) fn parse(wasm: &'a [u8]) -> Result<Module<'a>> {
        let mut module = Module::default();
        for payload in wp::Parser::new(0).parse_all(wasm) {
            module.payload(payload?)?;
        }
        module.names = names::of_functions(&module);
        Ok(module)
    }

    fn payload(&mut self, payload: wp::Payload<'a>) -> Result<()> {
        match payload {
            wp::Payload::TypeSection(types) => {
                for ty in types.into_iter_err_on_gc_types() {
                    self.types.push(func_type(&ty?)?);
                }
            }
            wp::Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    self.import(&import?)?;
                }
            }
            wp::Payload::FunctionSection(funcs) => {
                for ty in funcs {
                    self.func_types.push(ty?);
                }
            }
            wp::Payload::TableSection(tables) => {
                for table in tables {
                    let table = table?;
                    if let wp::TableInit::Expr(value) = &table.init {
                        let defined = self.tables.len() as u32 - self.imported_tables;
                        let value = self.const_expr(value)?;
                        self.table_values.push((defined, value));
                    }
                    self.tables.push(table_type(&table.ty)?);
                }
            }
            wp::Payload::MemorySection(memories) => {
                for memory in memories {
                    let memory = memory?;
                    self.shared_memory |= memory.shared;
                    self.memories.push(memory_type(&memory)?);
                }
            }
            wp::Payload::GlobalSection(globals) => {
                for global in globals {
                    let global = global?;
                    self.globals.push(global_type(&global.ty)?);
                    let value = self.const_expr(&global.init_expr)?;
                    self.global_values.push(value);
                }
            }
            wp::Payload::TagSection(tags) => {
                for tag in tags {
                    self.tags.push(tag?.func_type_idx);
                }
            }
            wp::Payload::ExportSection(exports) => {
                for export in exports {
                    let export = export?;
                    let kind = match export.kind {
                        wp::ExternalKind::Func => ExportKind::Func(export.index),
                        wp::ExternalKind::Memory => ExportKind::Memory(export.index),
                        wp::ExternalKind::Table => ExportKind::Table(export.index),
                        wp::ExternalKind::Global => ExportKind::Global(export.index),
                        wp::ExternalKind::Tag => ExportKind::Tag(export.index),
                        _ => return Err(unsupported("exports of this kind")),
                    };
                    self.exports.push(Export {
                        name: export.name.into(),
                        kind,
                    });
                }
            }
            wp::Payload::StartSection { func, .. } => self.start = Some(func),
            wp::Payload::ElementSection(elements) => {
                for element in elements {
                    let element = self.element_segment(element?)?;
                    self.elements.push(element);
                }
            }
            wp::Payload::DataSection(segments) => {
                for segment in segments {
                    let segment = segment?;
                    let mode = match segment.kind {
                        wp::DataKind::Passive => SegmentMode::Passive,
                        wp::DataKind::Active {
                            memory_index,
                            offset_expr,
                        } => SegmentMode::Active {
                            target: memory_index,
                            offset: self.const_expr(&offset_expr)?,
                        },
                    };
                    self.data.push(Segment {
                        mode,
                        bytes: segment.data,
                    });
                }
            }
            wp::Payload::CodeSectionStart {
                unchecked_range, ..
            } => self.code_start = unchecked_range.start,
            wp::Payload::CodeSectionEntry(body) => self.bodies.push(body),
            wp::Payload::CustomSection(custom) => {
                self.customs.push(Custom {
                    name: custom.name(),
                    bytes: custom.data(),
                });
            }
            _ => {}
        }
        Ok(())
    }

    fn import(&mut self, import: &wp::Import<'_>) -> Result<()> {
        let kind = match import.ty {
            wp::TypeRef::Func(ty) => {
                self.func_types.push(ty);
                self.imported_funcs += 1;
                ImportKind::Func(ty)
            }
            wp::TypeRef::Table(table) => {
                let table = table_type(&table)?;
                self.tables.push(table);
                self.imported_tables += 1;
                ImportKind::Table(table)
            }
            wp::TypeRef::Memory(memory) => {
                let ty = memory_type(&memory)?;
                self.shared_memory |= memory.shared;
                self.memories.push(ty);
                self.imported_memories += 1;
                ImportKind::Memory(ty)
            }
            wp::TypeRef::Global(global) => {
                let global = global_type(&global)?;
                self.globals.push(global);
                self.imported_globals += 1;
                ImportKind::Global(global)
            }
            wp::TypeRef::Tag(tag) => {
                self.tags.push(tag.func_type_idx);
                self.imported_tags += 1;
                ImportKind::Tag(tag.func_type_idx)
            }
            _ => return Err(unsupported("imports of this kind")),
        };
        self.imports.push(Import {
            module: import.module.into(),
            name: import.name.into(),
            kind,
        });
        Ok(())
    }

    fn element_segment(&mut self, element: wp::Element<'_>) -> Result<Element> {
        let mode = match element.kind {
            wp::ElementKind::Passive => SegmentMode::Passive,
            wp::ElementKind::Declared => SegmentMode::Declared,
            wp::ElementKind::Active {
                table_index,
                offset_expr,
            } => SegmentMode::Active {
                target: table_index.unwrap_or(0),
                offset: self.const_expr(&offset_expr)?,
            },
        };
        let items = match element.items {
            wp::ElementItems::Functions(funcs) => funcs
                .into_iter()
                .map(|f| Ok(ConstExpr::RefFunc(f?)))
                .collect::<Result<_>>()?,
            wp::ElementItems::Expressions(_, exprs) => exprs
                .into_iter()
                .map(|e| self.const_expr(&e?))
                .collect::<Result<_>>()?,
        };
        Ok(Element { mode, items })
    }

    /// A constant expression. Its operators are carried out here, but for those that depend on an
    /// imported global: they become steps for whoever links the module.
    fn const_expr(&mut self, expr: &wp::ConstExpr<'_>) -> Result<ConstExpr> {
        let mut steps = Vec::new();
        // Values that are known, and in place of others nothing.
        let mut stack: Vec<Option<ConstExpr>> = Vec::new();
        let mut ops = expr.get_operators_reader();
        loop {
            let step = match ops.read()? {
                wp::Operator::End => break,
                op => self.const_step(&op)?,
            };
            let value = match step {
                ConstStep::Push(value) => Some(value),
                operation => {
                    let (b, a) = (stack.pop().flatten(), stack.pop().flatten());
                    match (a, b) {
                        (Some(ConstExpr::Bits(a)), Some(ConstExpr::Bits(b))) => {
                            operation.apply(a, b).map(ConstExpr::Bits)
                        }
                        _ => None,
                    }
                }
            };
            stack.push(value);
            steps.push(step);
        }
        match stack.pop() {
            Some(Some(value)) => Ok(value),
            Some(None) => {
                // A module that is read has less than 4 GiB.
                let (from, len) = (self.steps.len() as u32, steps.len() as u32);
                self.steps.extend(steps);
                Ok(ConstExpr::Computed { from, len })
            }
            None => Err(Error::internal("a constant expression without a value")),
        }
    }

    fn const_step(&mut self, op: &wp::Operator<'_>) -> Result<ConstStep> {
        use wp::Operator as O;
        Ok(match *op {
            O::I32Add => ConstStep::Add32,
            O::I32Sub => ConstStep::Sub32,
            O::I32Mul => ConstStep::Mul32,
            O::I64Add => ConstStep::Add64,
            O::I64Sub => ConstStep::Sub64,
            O::I64Mul => ConstStep::Mul64,
            O::I32Const { value } => bits(u64::from(value.cast_unsigned())),
            O::I64Const { value } => bits(value.cast_unsigned()),
            O::F32Const { value } => bits(u64::from(value.bits())),
            O::F64Const { value } => bits(value.bits()),
            O::V128Const { value } => ConstStep::Push(self.keep_vector(*value.bytes())),
            O::GlobalGet { global_index } => ConstStep::Push(ConstExpr::Global(global_index)),
            O::RefFunc { function_index } => ConstStep::Push(ConstExpr::RefFunc(function_index)),
            O::RefNull { .. } => ConstStep::Push(ConstExpr::Null),
            _ => {
                return Err(unsupported(
                    "constant expressions of other than integer sums and products",
                ));
            }
        })
    }

    fn keep_vector(&mut self, bytes: [u8; 16]) -> ConstExpr {
        // A module has less than 4 GiB.
        let from = self.vectors.len() as u32;
        self.vectors.extend_from_slice(&bytes);
        ConstExpr::Vector(from)
    }

    /// The bytes of the vector at an offset of [`ConstExpr::Vector`].
    pub(crate) fn vector(&self, from: u32) -> Option<&[u8]> {
        let from = from as usize;
        self.vectors.get(from..from.checked_add(16)?)
    }

    /// The type of a function.
    pub(crate) fn func_type(&self, func: u32) -> Result<&FuncType> {
        let ty = self.func_types.get(func as usize).copied();
        ty.and_then(|ty| self.types.get(ty as usize))
            .ok_or_else(|| Error::internal(format!("function {func} has no type")))
    }

    /// The type of a tag, whose parameters are the values of its exceptions.
    pub(crate) fn tag_type(&self, tag: u32) -> Result<&FuncType> {
        let ty = self.tags.get(tag as usize).copied();
        ty.and_then(|ty| self.types.get(ty as usize))
            .ok_or_else(|| Error::internal(format!("tag {tag} has no type")))
    }

    /// The function's name for people: from the name section, or by its index.
    pub(crate) fn func_name(&self, func: u32) -> String {
        match self.names.get(func as usize) {
            Some(Some(name)) => name.clone(),
            _ => format!("function {func}"),
        }
    }

    /// The module's export of this name.
    pub(crate) fn export(&self, name: &str) -> Option<ExportKind> {
        self.exports.iter().find(|e| e.name == name).map(|e| e.kind)
    }

    /// The value of a constant expression of an integer type, whose globals the module defines
    /// itself.
    pub(crate) fn constant(&self, mut expr: ConstExpr) -> Result<u64> {
        loop {
            let global = match expr {
                ConstExpr::Bits(bits) => return Ok(bits),
                ConstExpr::Global(global) => global,
                _ => return Err(Error::internal("another value where a number must be")),
            };
            // The validator allows a global's value to refer only to globals before it, so this
            // ends.
            let defined = global.checked_sub(self.imported_globals);
            let value = defined.and_then(|g| self.global_values.get(g as usize));
            expr = *value.ok_or_else(|| Error::internal(format!("no value of global {global}")))?;
        }
    }

    /// For each type, the index of the first equal one.
    pub(crate) fn canonical_types(&self) -> Vec<u32> {
        let mut first = std::collections::HashMap::new();
        let mut numbers: Vec<u32> = Vec::with_capacity(self.types.len());
        for (ty, i) in self.types.iter().zip(0u32..) {
            // A type refers to those before it, or to itself.
            let ty = ty.renumbered(|of| numbers.get(of as usize).copied().unwrap_or(u32::MAX));
            numbers.push(*first.entry(ty).or_insert(i));
        }
        numbers
    }
}

fn unsupported(what: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("{what} are not supported"))
}

/// The image's form of a type.
pub(crate) fn val_type(ty: wp::ValType) -> Result<ValType> {
    Ok(match ty {
        wp::ValType::I32 => ValType::I32,
        wp::ValType::I64 => ValType::I64,
        wp::ValType::F32 => ValType::F32,
        wp::ValType::F64 => ValType::F64,
        wp::ValType::FUNCREF => ValType::FuncRef,
        wp::ValType::EXTERNREF => ValType::ExternRef,
        wp::ValType::V128 => ValType::V128,
        wp::ValType::Ref(reference) => return reference_type(reference),
    })
}

fn reference_type(ty: wp::RefType) -> Result<ValType> {
    Ok(match ty.heap_type() {
        wp::HeapType::FUNC if !ty.is_nullable() => ValType::NonNullFunc,
        wp::HeapType::EXTERN if !ty.is_nullable() => ValType::NonNullExtern,
        wp::HeapType::Abstract {
            shared: false,
            ty: wp::AbstractHeapType::Exn,
        } => match ty.is_nullable() {
            true => ValType::ExnRef,
            false => ValType::NonNullExn,
        },
        wp::HeapType::Concrete(wp::UnpackedIndex::Module(of)) => ValType::Typed {
            ty: of,
            nullable: ty.is_nullable(),
        },
        _ => return Err(unsupported(&format!("values of type {ty}"))),
    })
}

fn func_type(ty: &wp::FuncType) -> Result<FuncType> {
    let all = |types: &[wp::ValType]| types.iter().map(|&t| val_type(t)).collect::<Result<_>>();
    Ok(FuncType {
        params: all(ty.params())?,
        results: all(ty.results())?,
    })
}

fn table_type(ty: &wp::TableType) -> Result<TableType> {
    if ty.shared {
        return Err(unsupported("shared tables"));
    }
    Ok(TableType {
        element: val_type(wp::ValType::Ref(ty.element_type))?,
        limits: Limits {
            min: ty.initial,
            max: ty.maximum,
        },
        index64: ty.table64,
    })
}

fn memory_type(ty: &wp::MemoryType) -> Result<MemoryType> {
    let page_bits = match ty.page_size_log2 {
        None => MemoryType::PAGE_BITS,
        Some(bits @ (0 | 16)) => bits as u8,
        Some(_) => {
            return Err(unsupported(
                "memories with pages of neither 1 nor 65536 bytes",
            ));
        }
    };
    Ok(MemoryType {
        limits: Limits {
            min: ty.initial,
            max: ty.maximum,
        },
        index64: ty.memory64,
        page_bits,
    })
}

fn global_type(ty: &wp::GlobalType) -> Result<GlobalType> {
    if ty.shared {
        return Err(unsupported("shared globals"));
    }
    Ok(GlobalType {
        value: val_type(ty.content_type)?,
        mutable: ty.mutable,
    })
}

fn bits(bits: u64) -> ConstStep {
    ConstStep::Push(ConstExpr::Bits(bits))
}
