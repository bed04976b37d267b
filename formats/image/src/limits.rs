//! How large a module and its image may be: one set of limits, which the verifier and the kernel
//! both apply.
//!
//! The verifier counts a module, the kernel an image, both into [`Counts`]; [`Counts::check`] is
//! the only place that compares a count with its limit. So the kernel loads every module that the
//! verifier accepts, as far as size goes, and the reader of an image knows how much it may have to
//! allocate before it trusts a count in a file.

use crate::Error;
use crate::manifest::Manifest;
use crate::meta::{MemoryType, Meta, SegmentMode};
use alloc::format;

/// Values for each byte of code that no program is refused for. Code whose functions and blocks
/// have few parameters and results has about one.
pub const VALUES_PER_BYTE: u64 = 4;

/// The most bytes of a thread's context record that exceptions take: one carries up to a thousand
/// values.
pub const EXCEPTION_BYTES: u64 = (256 << 10) + 64;

/// A limit on the size of modules and images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The thing that is counted.
    pub what: &'static str,
    /// The largest count.
    pub most: u64,
    /// Advice for a module that exceeds the limit.
    pub way_out: &'static str,
}

macro_rules! limits {
    ($($name:ident $field:ident: $most:expr, $what:literal, $way_out:literal;)*) => {
        $(
            #[doc = concat!("The most ", $what, ".")]
            pub const $name: Limit = Limit { what: $what, most: $most, way_out: $way_out };
        )*

        /// All limits, in the order in which they are checked.
        pub const ALL: &[Limit] = &[$($name),*];

        /// A count for each limit.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counts {
            $(#[doc = concat!("Number of ", $what, ".")] pub $field: u64,)*
        }

        impl Counts {
            /// Compares every count with its limit.
            ///
            /// # Errors
            /// Names the first limit that is exceeded, the count and a way out.
            pub fn check(&self) -> Result<(), Error> {
                $($name.check(self.$field)?;)*
                Ok(())
            }
        }
    };
}

limits! {
    TYPES types: 65_536, "types", "use fewer function types";
    IMPORTS imports: 16_384, "imports", "import fewer functions";
    // With the imports a million, which is the most that the validator takes.
    FUNCTIONS functions: 983_616, "functions defined", "split the program into several processes";
    FUNCTION_BYTES function_bytes: 7_654_321, "bytes of WebAssembly code of one function", "split the function";
    FUNCTION_LOCALS function_locals: 50_000, "locals of one function, parameters among them", "keep values in memory, or split the function";
    FUNCTION_PARAMS function_params: 1000, "parameters of one function type", "pass values in memory";
    FUNCTION_RESULTS function_results: 1000, "results of one function type", "return values in memory";
    LOOPS_NESTED loops_nested: 1000, "loops in each other", "make functions of the inner ones";
    CATCHING_NESTED catching_nested: 10_000, "blocks that catch exceptions in each other", "make functions of the inner ones";
    CATCHES catches: 10_000, "clauses that catch exceptions in one block", "catch all, and tell exceptions apart by what they carry";
    STRING_BYTES string_bytes: 100_000, "bytes in one name of an import, export or section", "choose shorter names";
    TAGS tags: 65_536, "tags of exceptions", "use one tag for several exceptions, and a number in each";
    TABLES tables: 64, "tables", "put several tables into one";
    TABLE_ELEMENTS table_elements: 768 << 10, "table elements at the start, in all tables together",
        "take the address of fewer functions";
    GLOBALS globals: 65_536, "globals", "keep values in memory";
    EXPORTS exports: 65_536, "exports", "export less (link without --export-all)";
    REGIONS regions: 1000, "functions declared to allocate nothing", "declare those that call the others";
    ELEMENT_SEGMENTS element_segments: 65_536, "element segments", "merge segments that follow each other";
    ELEMENT_ITEMS element_items: 768 << 10, "items in all element segments together", "take the address of fewer functions";
    DATA_SEGMENTS data_segments: 100_000, "data segments", "merge segments that follow each other (wasm-opt does)";
    DATA_BYTES data_bytes: 256 << 20, "bytes in all data segments together", "read the data from a file";
    CODE_BYTES code_bytes: 256 << 20, "bytes of machine code", "split the program into several processes";
    FUNCTION_CODE_BYTES function_code_bytes: 16 << 20, "bytes of machine code of one function", "split the function";
    FUNCTION_VALUES function_values: 1 << 20, "values in one function", "split the function";
    VALUES_BEYOND values_beyond: 65_536, "values beyond four for each byte of code",
        "give functions and blocks fewer parameters and results";
    LOCALS_CARRIED locals_carried: 1 << 19, "values of locals that branches of one function carry, beyond four for each of its bytes",
        "split the function, or let its loops change fewer locals";
    LOCALS_IN_LOOPS locals_in_loops: 32 << 20, "pairs of locals that a loop uses, over all loops of one function",
        "split the function, or let its inner loops use fewer locals";
    VALUES_KEPT values_kept: 64 << 20, "instructions that values of one function are kept for, over all values",
        "split the function, or keep values in memory";
    LOCALS_BY_BLOCKS locals_by_blocks: 64 << 20, "locals times blocks of one function", "split the function";
    ALL_LOCALS_CARRIED all_locals_carried: 16 << 20,
        "values of locals that branches of all functions carry, beyond four for each of their bytes",
        "let the loops of its largest functions change fewer locals";
    ALL_LOCALS_IN_LOOPS all_locals_in_loops: 1 << 30, "pairs of locals that a loop uses, over all loops of all functions",
        "let the inner loops of its largest functions use fewer locals";
    ALL_VALUES_KEPT all_values_kept: 16 << 30, "instructions that values are kept for, over all values of all functions",
        "split its largest functions, or keep values in memory";
    ALL_LOCALS_BY_BLOCKS all_locals_by_blocks: 8 << 30, "locals times blocks, over all functions",
        "split its largest functions";
    ALL_CATCHING all_catching: 512 << 20, "blocks that catch exceptions around each other one, over all functions",
        "make functions of the inner ones";
    MEMORIES memories: 16, "memories", "put several memories into one";
    MEMORY_PAGES memory_pages: 65_536, "pages of 64 KiB that all memories together start with", "start with less and grow";
    NAME_BYTES name_bytes: 256, "bytes in the program's name", "choose a shorter name";
    STARTUP_ENDPOINTS startup_endpoints: 1024, "start-up endpoints declared", "ask for the others in messages";
    STACK_BYTES stack_bytes: 64 << 20, "bytes of stack for each thread", "ask for less (\"stack\" in the manifest)";
    MANIFEST_BYTES manifest_bytes: 256 << 10, "bytes of the manifest", "say less in it";
    CONTRACT_TEXT contract_text: 4 << 20, "bytes of contract text, equal pieces counted once",
        "leave out contracts that the program does not use";
    CONTRACTS contracts: 4096, "contracts", "leave out those that the program does not use";
    ONE_CONTRACT_BYTES one_contract_bytes: 128 << 10, "bytes of one contract's table", "give it fewer states and messages, or make two of it";
    LINE_BYTES line_bytes: 64 << 20, "bytes of an image's lines", "take them out (`sing strip`)";
    CONTRACT_BYTES contract_bytes: 4 << 20, "bytes of contract tables", "split the program into several processes";
}

/// How many of so many values are beyond four for each byte of code.
#[must_use]
pub fn beyond(values: u64, bytes: u64) -> u64 {
    values.saturating_sub(bytes.saturating_mul(VALUES_PER_BYTE))
}

/// Counts the pages of 64 KiB that memories start with; a part of one counts as a whole.
#[must_use]
pub fn pages<'a>(memories: impl Iterator<Item = &'a MemoryType>) -> u64 {
    let pages = |m: &MemoryType| m.min_bytes().div_ceil(sing_abi::WASM_PAGE);
    memories.map(pages).fold(0, u64::saturating_add)
}

impl Limit {
    /// Compares a count with the limit.
    ///
    /// # Errors
    /// Names the limit, the count and a way out.
    pub fn check(&self, count: u64) -> Result<(), Error> {
        if count <= self.most {
            return Ok(());
        }
        Err(Error::new(format!(
            "{count} {}, where {} are allowed: {}",
            self.what, self.most, self.way_out
        )))
    }
}

impl Counts {
    /// Counts an image.
    #[must_use]
    pub fn of_image(meta: &Meta, manifest: &Manifest, code: usize, data: usize) -> Counts {
        let counts = Counts {
            code_bytes: code as u64,
            data_bytes: data as u64,
            ..Counts::of_meta(meta)
        };
        counts.with_manifest(manifest)
    }

    /// Counts the tables beside the code.
    #[must_use]
    pub fn of_meta(meta: &Meta) -> Counts {
        let items = meta.elements.iter().map(|e| e.items.len() as u64);
        let passive = meta
            .data
            .iter()
            .filter(|d| d.mode == SegmentMode::Passive)
            .map(|d| u64::from(d.len));
        let initial = meta.initial.iter().map(|r| u64::from(r.len));
        let functions = meta.funcs.iter().map(|f| u64::from(f.size));
        let further = meta.further_initial.iter().map(|r| u64::from(r.1.len));
        Counts {
            element_items: items.sum(),
            data_bytes: passive.chain(initial).chain(further).sum(),
            function_code_bytes: functions.max().unwrap_or(0),
            ..Counts::of_lengths(meta)
        }
    }

    /// Counts the same, but for what the items of long lists add up to: items of element segments,
    /// bytes of data and of functions.
    #[must_use]
    pub fn of_lengths(meta: &Meta) -> Counts {
        let elements = meta.tables.iter().map(|t| t.limits.min);
        let memories = || meta.memory.iter().chain(&meta.further);
        Counts {
            types: meta.types.len() as u64,
            imports: meta.imports.len() as u64,
            functions: meta.funcs.len() as u64,
            tables: meta.tables.len() as u64,
            table_elements: elements.fold(0, u64::saturating_add),
            globals: meta.globals.len() as u64,
            exports: meta.exports.len() as u64,
            element_segments: meta.elements.len() as u64,
            data_segments: meta.data.len() as u64,
            memories: memories().count() as u64,
            memory_pages: pages(memories()),
            ..Counts::default()
        }
    }

    /// The counts of so many values in so many bytes of code.
    #[must_use]
    pub fn of_values(values: u64, bytes: u64) -> Counts {
        Counts {
            values_beyond: beyond(values, bytes),
            ..Counts::default()
        }
    }

    /// Adds the counts of a manifest.
    #[must_use]
    pub fn with_manifest(self, manifest: &Manifest) -> Counts {
        Counts {
            name_bytes: manifest.name.len() as u64,
            startup_endpoints: manifest.endpoints.len() as u64,
            stack_bytes: u64::from(manifest.stack),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn the_limit_itself_is_allowed_and_one_more_is_named() {
        for limit in ALL {
            assert_eq!(limit.check(limit.most), Ok(()), "{}", limit.what);
            let said = limit.check(limit.most + 1).unwrap_err().to_string();
            assert!(
                said.contains(limit.what) && said.contains(limit.way_out),
                "{said}"
            );
        }
        let counts = Counts {
            globals: GLOBALS.most + 1,
            ..Counts::default()
        };
        assert!(counts.check().unwrap_err().message.contains("globals"));
    }
}
