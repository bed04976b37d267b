//! What the compiler is asked for.

use sing_image::meta::{Linkage, MemoryMode};

/// How to verify and compile a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How the code keeps inside its linear memory.
    pub memory_mode: MemoryMode,
    /// Whether the module is a SIP of its own or can be linked with others.
    pub linkage: Linkage,
    /// Which WebAssembly the module may use.
    pub features: Features,
    /// Which processor the code is for.
    pub cpu: Cpu,
}

impl Options {
    /// For a SIP: sealed, for the baseline processor.
    #[must_use]
    pub fn sip(memory_mode: MemoryMode) -> Options {
        Options {
            memory_mode,
            linkage: Linkage::Sealed,
            features: Features::Sip,
            cpu: Cpu::Baseline,
        }
    }

    /// For a module that is linked with others: WebAssembly 2.0, for the baseline processor.
    #[must_use]
    pub fn open(memory_mode: MemoryMode) -> Options {
        Options {
            linkage: Linkage::Open,
            features: Features::Wasm2,
            ..Options::sip(memory_mode)
        }
    }

    pub(crate) fn sealed(&self) -> bool {
        self.linkage == Linkage::Sealed
    }
}

impl Default for Options {
    fn default() -> Options {
        Options::sip(MemoryMode::Guard)
    }
}

/// A set of WebAssembly features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Features {
    /// WebAssembly 2.0, and the threads proposal's atomic instructions on a memory that is not shared with others: what a
    /// SIP may use.
    Sip,
    /// WebAssembly 2.0, and nothing else.
    Wasm2,
}

impl Features {
    pub(crate) fn of_wasmparser(self) -> wasmparser::WasmFeatures {
        use wasmparser::WasmFeatures as F;
        match self {
            Features::Sip => F::WASM2 | F::THREADS,
            Features::Wasm2 => F::WASM2,
        }
    }
}

/// A set of processor features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cpu {
    /// x86-64-v2 with BMI1, BMI2 and LZCNT; no AVX.
    Baseline,
    /// x86-64-v3: the same with AVX, AVX2 and FMA.
    V3,
}

impl Cpu {
    /// Names of the features as images record them, sorted: those of `cpuid` in lower case.
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

    /// The same, by Cranelift's names.
    pub(crate) fn settings(self) -> impl Iterator<Item = String> {
        self.features()
            .iter()
            .map(|name| format!("has_{}", name.replace('_', "")))
    }
}
