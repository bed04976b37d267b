//! Calls from this program into an instance and back (target T18): one made for each call, and one
//! that is kept, at wasmtime's best settings, with a deadline by epochs and with fuel for each call.

use crate::cycles;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};
use wasmtime::{
    Config, Engine, Extern, Instance, InstanceAllocationStrategy, InstancePre, Linker, Memory,
    Module, ModuleExport, OptLevel, PoolingAllocationConfig, Result, Store, TypedFunc, bail,
    format_err,
};

/// What is asked: an echo of 16 bytes, as of the system's plug-in.
const CALL: &[u8] = b"echo 0123456789abcdef";
/// How often the epoch advances.
const EPOCH: Duration = Duration::from_millis(1);
/// How many epochs a call has, and how much fuel: a second's worth, about.
const EPOCHS: u64 = 1000;
const FUEL: u64 = 1_000_000_000;

/// Says where it takes a call of so many bytes, and answers with what is behind the word.
const ECHO: &str = r#"(module
  (memory (export "memory") 1 64)
  (func (export "place") (param i32) (result i32) (i32.const 1024))
  (func (export "call") (param $at i32) (param $len i32) (result i64)
    (local $rest i32)
    (local.set $rest (i32.sub (local.get $len) (i32.const 5)))
    (memory.copy (i32.const 32768) (i32.add (local.get $at) (i32.const 5)) (local.get $rest))
    (i64.or (i64.shl (i64.const 32768) (i64.const 32)) (i64.extend_i32_u (local.get $rest)))))"#;

/// An engine with the module compiled and linked.
struct Ready {
    name: &'static str,
    fuel: bool,
    engine: Engine,
    echo: InstancePre<()>,
    exports: [ModuleExport; 3],
}

/// An instance, and what it exports.
struct Made {
    store: Store<()>,
    memory: Memory,
    place: TypedFunc<u32, u32>,
    call: TypedFunc<(u32, u32), u64>,
}

impl Ready {
    fn new(name: &'static str, fuel: bool) -> Result<Self> {
        let mut pool = PoolingAllocationConfig::new();
        pool.total_core_instances(64)
            .total_memories(64)
            .total_tables(64)
            .max_memory_size(4 << 20)
            .linear_memory_keep_resident(64 << 10);
        let mut config = Config::new();
        config
            .cranelift_opt_level(OptLevel::Speed)
            .memory_init_cow(true)
            .concurrency_support(false)
            .epoch_interruption(true)
            .consume_fuel(fuel)
            .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        let engine = Engine::new(&config)?;
        let module = Module::new(&engine, ECHO)?;
        let export = |name| {
            module
                .get_export_index(name)
                .ok_or_else(|| format_err!("no {name}"))
        };
        let exports = [export("memory")?, export("place")?, export("call")?];
        let echo = Linker::new(&engine).instantiate_pre(&module)?;
        Ok(Self {
            name,
            fuel,
            engine,
            echo,
            exports,
        })
    }

    fn make(&self) -> Result<Made> {
        let mut store = Store::new(&self.engine, ());
        self.limit(&mut store)?;
        let instance: Instance = self.echo.instantiate(&mut store)?;
        let mut export =
            |index: usize| instance.get_module_export(&mut store, &self.exports[index]);
        let (Some(Extern::Memory(memory)), Some(Extern::Func(place)), Some(Extern::Func(call))) =
            (export(0), export(1), export(2))
        else {
            bail!("the module does not export what it should")
        };
        Ok(Made {
            place: place.typed(&store)?,
            call: call.typed(&store)?,
            memory,
            store,
        })
    }

    /// Gives a call its time and its fuel.
    fn limit(&self, store: &mut Store<()>) -> Result<()> {
        store.set_epoch_deadline(EPOCHS);
        if self.fuel {
            store.set_fuel(FUEL)?;
        }
        Ok(())
    }
}

impl Made {
    fn ask(&mut self, bytes: &[u8]) -> Result<Vec<u8>> {
        let len = u32::try_from(bytes.len())?;
        let at = self.place.call(&mut self.store, len)?;
        self.memory.write(&mut self.store, at as usize, bytes)?;
        let answer = self.call.call(&mut self.store, (at, len))?;
        let (at, len) = ((answer >> 32) as usize, answer as u32 as usize);
        let place = self.memory.data(&self.store).get(at..at + len);
        Ok(place.ok_or_else(|| format_err!("out of bounds"))?.to_vec())
    }
}

/// Measures calls of a kind, and prints lines for them.
fn measure(
    peer: &str,
    kind: &str,
    samples: usize,
    mut call: impl FnMut() -> Result<Vec<u8>>,
) -> Result<()> {
    for _ in 0..samples / 10 {
        call()?;
    }
    let mut took = Vec::with_capacity(samples);
    let begun = Instant::now();
    for _ in 0..samples {
        let start = cycles();
        let answer = call()?;
        took.push(cycles() - start);
        if answer != CALL[5..] {
            bail!("the module does not echo");
        }
    }
    let rate = samples as f64 / begun.elapsed().as_secs_f64();
    took.sort_unstable();
    let at = |part: f64| took[((took.len() - 1) as f64 * part).round() as usize];
    let line = |name: &str, unit: &str, value: f64| {
        println!(
            "{{\"peer\":\"{peer}: {name}\",\"id\":\"T18\",\"unit\":\"{unit}\",\"median\":{value:.0}}}"
        );
    };
    line(&format!("call, {kind}"), "cycles", at(0.5) as f64);
    line(
        &format!("99th percentile, {kind}"),
        "cycles",
        at(0.99) as f64,
    );
    line(&format!("calls a second, {kind}"), "calls/s", rate);
    Ok(())
}

/// Measures calls into an instance of their own, and into a kept one.
pub fn run(samples: usize) -> Result<()> {
    for (name, fuel) in [
        ("wasmtime pooling, epochs", false),
        ("wasmtime pooling, epochs and fuel", true),
    ] {
        let ready = Ready::new(name, fuel)?;
        let over = Arc::new(AtomicBool::new(false));
        let clock = {
            let (engine, over) = (ready.engine.clone(), Arc::clone(&over));
            thread::spawn(move || {
                while !over.load(Relaxed) {
                    thread::sleep(EPOCH);
                    engine.increment_epoch();
                }
            })
        };
        let fresh = || ready.make()?.ask(CALL);
        let measured = measure(
            ready.name,
            "a process for each, with budgets and a deadline",
            samples,
            fresh,
        )
        .and_then(|()| {
            let mut kept = ready.make()?;
            measure(
                ready.name,
                "a kept process, with budgets and a deadline",
                samples,
                || {
                    ready.limit(&mut kept.store)?;
                    kept.ask(CALL)
                },
            )
        });
        over.store(true, Relaxed);
        let _ = clock.join();
        measured?;
    }
    Ok(())
}
