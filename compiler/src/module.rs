//! A valid module, sorted into what verification and translation ask for.
//!
//! Invariant: [`Module::parse`] is given bytes that the validator has accepted, so that indices are in range
//! and types fit; what it cannot represent is an error all the same, never a panic.

use crate::error::{Error, ErrorKind, Result};
use crate::names;
use sing_image::meta::{
    ConstExpr, Element, Export, ExportKind, FuncType, GlobalType, Import, ImportKind, Limits,
    SegmentMode, TableType, ValType,
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

/// A module. The vectors over index spaces (`func_types`, `tables`, `memories`, `globals`) hold what is
/// imported first and what is defined after it.
#[derive(Debug, Default)]
pub(crate) struct Module<'a> {
    pub(crate) types: Vec<FuncType>,
    pub(crate) imports: Vec<Import>,
    /// Type index of each function.
    pub(crate) func_types: Vec<u32>,
    pub(crate) imported_funcs: u32,
    pub(crate) tables: Vec<TableType>,
    pub(crate) imported_tables: u32,
    pub(crate) memories: Vec<Limits>,
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
    /// The vectors of constant expressions, which name them by their place in the image's data: it starts with these.
    pub(crate) vectors: Vec<u8>,
    pub(crate) bodies: Vec<wp::FunctionBody<'a>>,
    pub(crate) customs: Vec<Custom<'a>>,
    /// Names of functions, by index, where the module tells.
    pub(crate) names: Vec<Option<String>>,
}

impl<'a> Module<'a> {
    /// Sorts a valid module.
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
                    if !matches!(table.init, wp::TableInit::RefNull) {
                        return Err(unsupported("tables with an initial expression"));
                    }
                    self.tables.push(table_type(&table.ty)?);
                }
            }
            wp::Payload::MemorySection(memories) => {
                for memory in memories {
                    let memory = memory?;
                    self.shared_memory |= memory.shared;
                    self.memories.push(memory_limits(&memory)?);
                }
            }
            wp::Payload::GlobalSection(globals) => {
                for global in globals {
                    let global = global?;
                    self.globals.push(global_type(&global.ty)?);
                    let value = match vector(&global.init_expr)? {
                        Some(bytes) => self.keep_vector(bytes),
                        None => const_expr(&global.init_expr)?,
                    };
                    self.global_values.push(value);
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
                    self.elements.push(element_segment(element?)?);
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
                            offset: const_expr(&offset_expr)?,
                        },
                    };
                    self.data.push(Segment {
                        mode,
                        bytes: segment.data,
                    });
                }
            }
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
                let limits = memory_limits(&memory)?;
                self.shared_memory |= memory.shared;
                self.memories.push(limits);
                self.imported_memories += 1;
                ImportKind::Memory(limits)
            }
            wp::TypeRef::Global(global) => {
                let global = global_type(&global)?;
                self.globals.push(global);
                self.imported_globals += 1;
                ImportKind::Global(global)
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

    fn keep_vector(&mut self, bytes: [u8; 16]) -> ConstExpr {
        // A module that is read has less than 4 GiB.
        let from = self.vectors.len() as u32;
        self.vectors.extend_from_slice(&bytes);
        ConstExpr::Vector(from)
    }

    /// The bytes of a vector that [`ConstExpr::Vector`] names.
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

    /// What a person calls the function.
    pub(crate) fn func_name(&self, func: u32) -> String {
        match self.names.get(func as usize) {
            Some(Some(name)) => name.clone(),
            _ => format!("function {func}"),
        }
    }

    /// What the module exports under this name.
    pub(crate) fn export(&self, name: &str) -> Option<ExportKind> {
        self.exports.iter().find(|e| e.name == name).map(|e| e.kind)
    }

    /// The value of a constant expression of type i32, whose globals the module defines itself.
    pub(crate) fn constant_i32(&self, mut expr: ConstExpr) -> Result<u32> {
        loop {
            let global = match expr {
                ConstExpr::Bits(bits) => return Ok(bits as u32),
                ConstExpr::Global(global) => global,
                ConstExpr::RefFunc(_) | ConstExpr::Null | ConstExpr::Vector(_) => {
                    return Err(Error::internal("another value where an i32 must be"));
                }
            };
            // The validator lets a global's value name only those before it.
            let defined = global.checked_sub(self.imported_globals);
            let value = defined.and_then(|g| self.global_values.get(g as usize));
            expr = *value.ok_or_else(|| Error::internal(format!("no value of global {global}")))?;
        }
    }

    /// For each type, the least index of an equal one.
    pub(crate) fn canonical_types(&self) -> Vec<u32> {
        let mut first = std::collections::HashMap::new();
        let numbered = self.types.iter().zip(0u32..);
        numbered
            .map(|(ty, i)| *first.entry(ty).or_insert(i))
            .collect()
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

fn limits(initial: u64, maximum: Option<u64>) -> Result<Limits> {
    let size = |n: u64| u32::try_from(n).map_err(|_| unsupported("64-bit limits"));
    Ok(Limits {
        min: size(initial)?,
        max: maximum.map(size).transpose()?,
    })
}

fn table_type(ty: &wp::TableType) -> Result<TableType> {
    if ty.table64 || ty.shared {
        return Err(unsupported("64-bit and shared tables"));
    }
    Ok(TableType {
        element: val_type(wp::ValType::Ref(ty.element_type))?,
        limits: limits(ty.initial, ty.maximum)?,
    })
}

fn memory_limits(ty: &wp::MemoryType) -> Result<Limits> {
    if ty.memory64 || ty.page_size_log2.is_some() {
        return Err(unsupported(
            "64-bit memories and memories with pages of their own size",
        ));
    }
    limits(ty.initial, ty.maximum)
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

fn element_segment(element: wp::Element<'_>) -> Result<Element> {
    let mode = match element.kind {
        wp::ElementKind::Passive => SegmentMode::Passive,
        wp::ElementKind::Declared => SegmentMode::Declared,
        wp::ElementKind::Active {
            table_index,
            offset_expr,
        } => SegmentMode::Active {
            target: table_index.unwrap_or(0),
            offset: const_expr(&offset_expr)?,
        },
    };
    let items = match element.items {
        wp::ElementItems::Functions(funcs) => funcs
            .into_iter()
            .map(|f| Ok(ConstExpr::RefFunc(f?)))
            .collect::<Result<_>>()?,
        wp::ElementItems::Expressions(_, exprs) => exprs
            .into_iter()
            .map(|e| const_expr(&e?))
            .collect::<Result<_>>()?,
    };
    Ok(Element { mode, items })
}

/// The vector that an expression is, if it is one.
fn vector(expr: &wp::ConstExpr<'_>) -> Result<Option<[u8; 16]>> {
    let mut ops = expr.get_operators_reader();
    Ok(match (ops.read()?, ops.read()?) {
        (wp::Operator::V128Const { value }, wp::Operator::End) => Some(*value.bytes()),
        _ => None,
    })
}

fn const_expr(expr: &wp::ConstExpr<'_>) -> Result<ConstExpr> {
    let mut ops = expr.get_operators_reader();
    let value = match ops.read()? {
        wp::Operator::I32Const { value } => ConstExpr::Bits(u64::from(value.cast_unsigned())),
        wp::Operator::I64Const { value } => ConstExpr::Bits(value.cast_unsigned()),
        wp::Operator::F32Const { value } => ConstExpr::Bits(u64::from(value.bits())),
        wp::Operator::F64Const { value } => ConstExpr::Bits(value.bits()),
        wp::Operator::GlobalGet { global_index } => ConstExpr::Global(global_index),
        wp::Operator::RefFunc { function_index } => ConstExpr::RefFunc(function_index),
        wp::Operator::RefNull { .. } => ConstExpr::Null,
        _ => return Err(unsupported("constant expressions of more than a constant")),
    };
    match ops.read()? {
        wp::Operator::End => Ok(value),
        _ => Err(unsupported("constant expressions of more than a constant")),
    }
}
