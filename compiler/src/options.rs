//! The options of verification and compilation.

use crate::kept::Keeper;
use crate::module::Module;
use sing_image::meta::{Checks, Linkage, MemoryMode};

/// How to verify and compile a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How the code stays inside its linear memory.
    pub memory_mode: MemoryMode,
    /// Whether the code tests what it does. Without, a program can do anything: for measuring.
    pub checks: Checks,
    /// Whether the module is a SIP by itself, or is linked with others.
    pub linkage: Linkage,
    /// The WebAssembly features that the module may use.
    pub features: Features,
    /// The processor features that the code may use.
    pub cpu: Cpu,
    /// Open linkage: whether the modules that are linked with each other may have tail calls. All
    /// of them are compiled alike. A sealed module is compiled for tail calls if it has any.
    pub tail_calls: bool,
    /// Whether the image keeps lines of the program's text, where the module says them.
    pub lines: bool,
    /// What becomes of functions that nothing can call. Those of an open module are always kept.
    pub unreached: Unreached,
}

impl Options {
    /// For a SIP: sealed, for the baseline processor.
    #[must_use]
    pub fn sip(memory_mode: MemoryMode) -> Options {
        Options {
            memory_mode,
            checks: Checks::All,
            linkage: Linkage::Sealed,
            features: Features::Sip,
            cpu: Cpu::Baseline,
            tail_calls: false,
            lines: true,
            unreached: Unreached::LeftOut,
        }
    }

    /// For a module that is linked with others: [`Features::Core`], for the baseline processor.
    #[must_use]
    pub fn open(memory_mode: MemoryMode) -> Options {
        Options {
            linkage: Linkage::Open,
            features: Features::Core,
            ..Options::sip(memory_mode)
        }
    }

    pub(crate) fn sealed(&self) -> bool {
        self.linkage == Linkage::Sealed
    }

    /// Whether the code tests what it does.
    pub(crate) fn tests(&self) -> bool {
        self.checks == Checks::All
    }
}

impl Default for Options {
    fn default() -> Options {
        Options::sip(MemoryMode::Guard)
    }
}

/// What becomes of functions of a sealed module that nothing can call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unreached {
    /// They have no code in the image, nor have passive segments that no code can name any bytes.
    #[default]
    LeftOut,
    /// They are compiled as all others are.
    Kept,
}

/// How the work of a compilation is done, on which its result does not depend.
#[derive(Clone, Copy, Default)]
pub struct Work<'w> {
    /// The threads that compile functions; with one it is this one. Without a number there are as
    /// many as this process has processors, up to 16, and fewer for a small module.
    pub threads: Option<usize>,
    /// Code of functions from earlier compilations, which is taken in the place of new code.
    pub keeper: Option<&'w dyn Keeper>,
    /// Is told how many functions are done, of how many.
    pub progress: Option<&'w dyn Fn(usize, usize)>,
}

/// Bytes of code for each thread: for fewer it is not worth making it.
const BYTES_OF_THREAD: u64 = 16 << 10;
/// The most threads that are made without being asked for: each needs some megabytes.
const MOST_THREADS: usize = 16;

impl Work<'_> {
    /// The threads for a module.
    pub(crate) fn threads_for(&self, module: &Module<'_>) -> usize {
        if let Some(threads) = self.threads {
            return threads;
        }
        let bytes = module.bodies.iter().map(|body| body.range());
        let bytes: u64 = bytes.map(|range| range.end - range.start).sum();
        let worth = usize::try_from(bytes / BYTES_OF_THREAD).unwrap_or(usize::MAX);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        processors.min(MOST_THREADS).min(worth)
    }
}

/// A set of WebAssembly features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Features {
    /// All of [`Features::Core`], and the threads proposal's atomic instructions on a memory that
    /// is not shared with others: what a SIP may use.
    Sip,
    /// WebAssembly 2.0 and the finished proposals that are supported in full: extended constant
    /// expressions, relaxed vector instructions in the deterministic profile, several memories,
    /// typed references to functions, tail calls, memories and tables with addresses of 64 bits,
    /// memories with pages of a byte, and exceptions, in both encodings.
    Core,
}

impl Features {
    /// The set as the validator has it.
    #[must_use]
    pub fn of_wasmparser(self) -> wasmparser::WasmFeatures {
        use wasmparser::WasmFeatures as F;
        let core = F::WASM2
            | F::EXTENDED_CONST
            | F::RELAXED_SIMD
            | F::MULTI_MEMORY
            | F::FUNCTION_REFERENCES
            | F::TAIL_CALL
            | F::MEMORY64
            | F::CUSTOM_PAGE_SIZES
            | F::EXCEPTIONS
            | F::LEGACY_EXCEPTIONS;
        match self {
            Features::Sip => core | F::THREADS,
            Features::Core => core,
        }
    }
}

/// A set of processor features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cpu {
    /// x86-64-v2 with BMI1, BMI2 and LZCNT; no AVX.
    Baseline,
    /// x86-64-v3: the baseline with AVX, AVX2 and FMA.
    V3,
}

impl Cpu {
    /// The features' names as recorded in images, sorted: those of `cpuid` in lower case.
    #[must_use]
    pub fn features(self) -> &'static [&'static str] {
        match self {
            Cpu::Baseline => &[
                "bmi1", "bmi2", "lzcnt", "popcnt", "sse3", "sse4_1", "sse4_2", "ssse3",
            ],
            Cpu::V3 => &[
                "avx", "avx2", "bmi1", "bmi2", "fma", "lzcnt", "popcnt", "sse3", "sse4_1",
                "sse4_2", "ssse3",
            ],
        }
    }

    /// The largest set that this machine's processor has; `None` if it has not even the baseline.
    #[must_use]
    pub fn native() -> Option<Cpu> {
        let has_all = |cpu: &Cpu| cpu.features().iter().all(|name| this_processor_has(name));
        [Cpu::V3, Cpu::Baseline].into_iter().find(has_all)
    }

    /// The features by Cranelift's names.
    pub(crate) fn settings(self) -> impl Iterator<Item = String> {
        self.features()
            .iter()
            .map(|name| format!("has_{}", name.replace('_', "")))
    }
}

/// Whether the processor on which this runs has the feature, and the operating system lets it be
/// used.
#[cfg(target_arch = "x86_64")]
fn this_processor_has(feature: &str) -> bool {
    macro_rules! among {
        ($($name:literal is $detected:tt),*) => {
            match feature {
                $($name => std::arch::is_x86_feature_detected!($detected),)*
                _ => false,
            }
        };
    }
    among!(
        "avx" is "avx", "avx2" is "avx2", "bmi1" is "bmi1", "bmi2" is "bmi2", "fma" is "fma",
        "lzcnt" is "lzcnt", "popcnt" is "popcnt", "sse3" is "sse3", "sse4_1" is "sse4.1",
        "sse4_2" is "sse4.2", "ssse3" is "ssse3"
    )
}

#[cfg(not(target_arch = "x86_64"))]
fn this_processor_has(_: &str) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_native_set_is_the_largest_that_is_there() {
        let native = Cpu::native();
        // Linux' own list, where there is one.
        let Ok(text) = std::fs::read_to_string("/proc/cpuinfo") else {
            return;
        };
        let flags: Vec<&str> = text.split_whitespace().collect();
        // What Linux calls otherwise.
        let linux = |name: &&str| match *name {
            "sse3" => flags.contains(&"pni"),
            "lzcnt" => flags.contains(&"abm"),
            name => flags.contains(&name),
        };
        let has = |cpu: Cpu| cpu.features().iter().all(linux);
        let expected = match (has(Cpu::V3), has(Cpu::Baseline)) {
            (true, _) => Some(Cpu::V3),
            (false, true) => Some(Cpu::Baseline),
            (false, false) => None,
        };
        assert_eq!(native, expected);
    }
}
