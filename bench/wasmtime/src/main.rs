//! `sing-bench-wasmtime`: the cost for wasmtime to create, run and reclaim a small instance (target
//! T6), and for calls into instances ([`calls`]).
//!
//! At its best settings for that: the pooling allocator, copy-on-write memory images, imports and
//! exports resolved beforehand, the pages that an instance touches kept in memory. The module has
//! the shape of a program that says hello: a page of memory, a stack in the first 16 KiB, constant
//! data behind it, one import.

mod calls;

use std::process::ExitCode;
use std::time::{Duration, Instant};
use wasmtime::{
    Caller, Config, Engine, Extern, InstanceAllocationStrategy, InstancePre, Linker, Module,
    ModuleExport, OptLevel, PoolingAllocationConfig, Result, Store, TypedFunc, bail, format_err,
};

/// The output of `--help`.
const HELP: &str = "\
Usage: sing-bench-wasmtime [OPTIONS]

Measures what wasmtime needs to create, run and reclaim a small instance; a line of JSON for each setting.

Options:
      --burst        one burst and no more (the default)
      --seconds S    go on for S seconds
      --samples N    samples in a burst (default 500)
      --id ID        the target that the lines are for (default T6)
      --calls        measure calls into instances instead, SAMPLES of a kind
  -h, --help         print this";

/// A program that says hello: fills a buffer on its stack from constant data, and has the host
/// write it.
const HELLO: &str = r#"(module
  (import "host" "write" (func $write (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (global $stack (mut i32) (i32.const 16384))
  (data (i32.const 16384) "Hello\n")
  (func (export "run") (result i32)
    (local $buffer i32)
    (global.set $stack (local.tee $buffer (i32.sub (global.get $stack) (i32.const 64))))
    (memory.copy (local.get $buffer) (i32.const 16384) (i32.const 6))
    (call $write (local.get $buffer) (i32.const 6))
    (global.set $stack (i32.add (local.get $buffer) (i32.const 64)))))"#;

/// The time-stamp counter, ordered with the surrounding instructions.
fn cycles() -> u64 {
    use core::arch::x86_64::{__rdtscp, _mm_lfence};
    let mut processor = 0;
    // SAFETY: every x86-64 processor of the last 15 years has the instructions, and Linux lets
    // processes use them; the pointer is valid for the call.
    unsafe {
        _mm_lfence();
        let now = __rdtscp(&raw mut processor);
        _mm_lfence();
        now
    }
}

/// The host's record of an instance: its memory, the number of bytes written, and the last of them.
struct Host {
    memory: ModuleExport,
    written: u32,
    last: u8,
}

/// A setting.
struct Setting {
    name: &'static str,
    /// Bytes of a memory that are cleared by writing instead of by a system call.
    keep: usize,
}

const SETTINGS: [Setting; 2] = [
    Setting {
        name: "wasmtime pooling",
        keep: 64 << 10,
    },
    Setting {
        name: "wasmtime pooling, nothing kept",
        keep: 0,
    },
];

/// An engine with the module compiled and linked.
struct Ready {
    name: &'static str,
    engine: Engine,
    hello: InstancePre<Host>,
    run: ModuleExport,
    memory: ModuleExport,
    samples: Vec<f64>,
}

fn write(mut caller: Caller<'_, Host>, at: u32, len: u32) -> Result<u32> {
    let export = caller.data().memory;
    let Some(Extern::Memory(memory)) = caller.get_module_export(&export) else {
        bail!("no memory")
    };
    let range = at as usize..at as usize + len as usize;
    let bytes = memory
        .data(&caller)
        .get(range)
        .ok_or_else(|| format_err!("out of bounds"))?;
    let last = bytes.last().copied().unwrap_or_default();
    caller.data_mut().written += len;
    caller.data_mut().last = last;
    Ok(len)
}

impl Ready {
    fn new(setting: &Setting) -> Result<Self> {
        let mut pool = PoolingAllocationConfig::new();
        pool.total_core_instances(64)
            .total_memories(64)
            .total_tables(64)
            .max_memory_size(1 << 20)
            .linear_memory_keep_resident(setting.keep);
        let mut config = Config::new();
        config
            .cranelift_opt_level(OptLevel::Speed)
            .memory_init_cow(true)
            .concurrency_support(false)
            .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        let engine = Engine::new(&config)?;
        let mut linker = Linker::new(&engine);
        linker.func_wrap("host", "write", write)?;
        let module = Module::new(&engine, HELLO)?;
        let export = |name| {
            module
                .get_export_index(name)
                .ok_or_else(|| format_err!("no {name}"))
        };
        let (run, memory) = (export("run")?, export("memory")?);
        let hello = linker.instantiate_pre(&module)?;
        Ok(Self {
            name: setting.name,
            engine,
            hello,
            run,
            memory,
            samples: Vec::new(),
        })
    }

    /// One life of an instance.
    fn once(&self) -> Result<()> {
        let mut store = Store::new(
            &self.engine,
            Host {
                memory: self.memory,
                written: 0,
                last: 0,
            },
        );
        let instance = self.hello.instantiate(&mut store)?;
        let Some(Extern::Func(run)) = instance.get_module_export(&mut store, &self.run) else {
            bail!("no function")
        };
        let run: TypedFunc<(), u32> = run.typed(&store)?;
        let returned = run.call(&mut store, ())?;
        let host = store.data();
        if returned != 6 || host.written != 6 || host.last != b'\n' {
            bail!("the module did not say hello");
        }
        Ok(())
    }

    fn burst(&mut self, samples: usize) -> Result<()> {
        const WARM_UP: usize = 50;
        for i in 0..samples + WARM_UP {
            let start = cycles();
            self.once()?;
            let took = cycles() - start;
            if i >= WARM_UP {
                self.samples.push(took as f64);
            }
        }
        Ok(())
    }

    fn line(&mut self, id: &str) -> String {
        self.samples.sort_by(f64::total_cmp);
        let at =
            |part: f64| self.samples[((self.samples.len() - 1) as f64 * part).round() as usize];
        format!(
            "{{\"peer\":\"{}\",\"id\":\"{id}\",\"unit\":\"cycles\",\"median\":{:.1},\"p10\":{:.1},\"p90\":{:.1}}}",
            self.name,
            at(0.5),
            at(0.1),
            at(0.9)
        )
    }
}

/// The duration, and the samples in a burst.
struct Request {
    seconds: f64,
    samples: usize,
    id: String,
    calls: bool,
}

/// Reads the command line; `None` on a request for help.
fn parse(mut parser: lexopt::Parser) -> Result<Option<Request>, lexopt::Error> {
    use lexopt::prelude::*;
    let mut request = Request {
        seconds: 0.0,
        samples: 500,
        id: "T6".into(),
        calls: false,
    };
    while let Some(argument) = parser.next()? {
        match argument {
            Long("burst") => request.seconds = 0.0,
            Long("seconds") => request.seconds = parser.value()?.parse()?,
            Long("samples") => request.samples = parser.value()?.parse()?,
            Long("id") => request.id = parser.value()?.string()?,
            Long("calls") => request.calls = true,
            Short('h') | Long("help") => return Ok(None),
            other => return Err(other.unexpected()),
        }
    }
    if !(0.0..=86_400.0).contains(&request.seconds) || request.samples == 0 {
        return Err("a number of seconds, and of samples, above zero is needed".into());
    }
    Ok(Some(request))
}

fn run(request: &Request) -> Result<()> {
    if request.calls {
        return calls::run(request.samples);
    }
    let mut ready = SETTINGS
        .iter()
        .map(Ready::new)
        .collect::<Result<Vec<_>>>()?;
    let end = Instant::now() + Duration::from_secs_f64(request.seconds);
    loop {
        for one in &mut ready {
            one.burst(request.samples)?;
        }
        if Instant::now() >= end {
            break;
        }
    }
    for one in &mut ready {
        println!("{}", one.line(&request.id));
    }
    Ok(())
}

fn main() -> ExitCode {
    let request = match parse(lexopt::Parser::from_env()) {
        Ok(Some(request)) => request,
        Ok(None) => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("sing-bench-wasmtime: {error}\nTry `sing-bench-wasmtime --help`.");
            return ExitCode::from(64);
        }
    };
    match run(&request) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sing-bench-wasmtime: {error:#}");
            ExitCode::FAILURE
        }
    }
}
