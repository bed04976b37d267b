//! Carries out directives and judges their results.

use crate::proposals;
use crate::protocol::Outcome;
use crate::traps;
use crate::values::{self, Foreign, Pattern, Value};
use crate::world::{self, NoInstance, NoResult, Slot, World};
use sing_abi::trap::Trap;
use wast::token::Id;
use wast::{QuoteWat, WastDirective, WastExecute, WastInvoke, WastRet, Wat};

type Result<T> = std::result::Result<T, Outcome>;

/// The result of an action.
enum Given {
    Values(Vec<Value>),
    Trap(Trap),
}

impl std::fmt::Display for Given {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Given::Values(v) => f.write_str(&values::list(v)),
            Given::Trap(trap) => write!(f, "a trap: {trap}"),
        }
    }
}

fn failed(what: &str, expected: &str, got: &str) -> Outcome {
    Outcome::Failed(format!("{what}, expected {expected}, got {got}"))
}

fn skipped(proposal: &str) -> Outcome {
    Outcome::Skipped(proposal.into())
}

/// Carries out a directive.
pub fn run(world: &mut World<'_>, directive: WastDirective<'_>) -> Outcome {
    let outcome = match directive {
        WastDirective::Module(module) => instance(world, module),
        WastDirective::ModuleDefinition(module) => definition(world, module),
        WastDirective::ModuleInstance {
            instance, module, ..
        } => instance_of(world, instance.map(name), module.map(name)),
        WastDirective::Register {
            name: as_name,
            module,
            ..
        } => register(world, as_name, module.map(name)),
        WastDirective::Invoke(invoke) => action(world, &invoke),
        WastDirective::AssertReturn { exec, results, .. } => assert_return(world, exec, &results),
        WastDirective::AssertTrap { exec, message, .. } => assert_trap(world, exec, message),
        WastDirective::AssertExhaustion { call, message, .. } => {
            assert_trap(world, WastExecute::Invoke(call), message)
        }
        WastDirective::AssertMalformed {
            module, message, ..
        } => assert_refused(world, "malformed module", module, message),
        WastDirective::AssertInvalid {
            module, message, ..
        } => assert_refused(world, "invalid module", module, message),
        WastDirective::AssertUnlinkable {
            module, message, ..
        } => assert_unlinkable(world, module, message),
        WastDirective::AssertException { exec, .. } => assert_exception(world, exec),
        WastDirective::AssertSuspension { .. } => Err(skipped("stack-switching")),
        WastDirective::Thread(_) | WastDirective::Wait { .. } => Err(skipped("threads")),
        WastDirective::AssertMalformedCustom { .. } | WastDirective::AssertInvalidCustom { .. } => {
            Err(skipped("custom-annotations"))
        }
    };
    match outcome {
        Ok(()) => Outcome::Passed,
        Err(outcome) => outcome,
    }
}

fn name<'a>(id: Id<'a>) -> &'a str {
    id.name()
}

/// Interprets a module's failure to become an instance, if a failure was expected.
fn no_instance(what: &str, e: NoInstance) -> (Slot, Outcome) {
    let expected = "an instance";
    let outcome = match e {
        NoInstance::Skipped(p) => return (Slot::Skipped(p.clone()), skipped(&p)),
        NoInstance::Refused(m) => failed(what, expected, &format!("refused: {m}")),
        NoInstance::Unlinkable(m) => failed(what, expected, &format!("unlinkable: {m}")),
        NoInstance::Trap(trap) => failed(what, expected, &format!("a trap: {trap}")),
        NoInstance::Broken(m) => failed(what, expected, &m),
    };
    (Slot::Failed, outcome)
}

fn make(world: &mut World<'_>, wasm: std::result::Result<Vec<u8>, String>) -> (Slot, Result<()>) {
    let made = wasm
        .map_err(NoInstance::Refused)
        .and_then(|wasm| world.instantiate(&wasm));
    match made {
        Ok(instance) => (Slot::Instance(instance), Ok(())),
        Err(e) => {
            let (slot, outcome) = no_instance("module", e);
            (slot, Err(outcome))
        }
    }
}

fn instance(world: &mut World<'_>, mut module: QuoteWat<'_>) -> Result<()> {
    let id = module.name().map(|id| id.name().to_owned());
    let wasm = world::encode(&mut module);
    world.define(id.as_deref(), wasm.clone().map_err(|_| Slot::Failed));
    let (slot, outcome) = make(world, wasm);
    world.enter(id.as_deref(), slot);
    outcome
}

fn definition(world: &mut World<'_>, mut module: QuoteWat<'_>) -> Result<()> {
    let id = module.name().map(|id| id.name().to_owned());
    let wasm = world::encode(&mut module);
    let (definition, outcome) = match wasm {
        Err(m) => (
            Err(Slot::Failed),
            Err(failed("module definition", "a module", &m)),
        ),
        Ok(wasm) => match world.verify(&wasm) {
            Ok(()) => (Ok(wasm), Ok(())),
            Err(m) => match proposals::needed(&wasm) {
                Some(p) => (Err(Slot::Skipped(p.clone())), Err(skipped(&p))),
                None => (
                    Err(Slot::Failed),
                    Err(failed("module definition", "a module", &m)),
                ),
            },
        },
    };
    world.define(id.as_deref(), definition);
    outcome
}

fn instance_of(world: &mut World<'_>, id: Option<&str>, module: Option<&str>) -> Result<()> {
    let (slot, outcome) = match world.definition(module) {
        Some(Ok(wasm)) => make(world, Ok(wasm)),
        Some(Err(Slot::Skipped(p))) => (Slot::Skipped(p.clone()), Err(skipped(&p))),
        _ => (
            Slot::Failed,
            Err(failed("module instance", "a module of that name", "none")),
        ),
    };
    world.enter(id, slot);
    outcome
}

fn register(world: &mut World<'_>, as_name: &str, instance: Option<&str>) -> Result<()> {
    match world.register(as_name, instance) {
        Slot::Instance(_) => Ok(()),
        Slot::Skipped(p) => Err(skipped(&p)),
        Slot::Failed => Err(failed(
            &format!("register {as_name:?}"),
            "an instance",
            "none",
        )),
    }
}

fn no_result(what: &str, e: NoResult) -> Result<Given> {
    match e {
        NoResult::Trap(trap) => Ok(Given::Trap(trap)),
        NoResult::Skipped(p) => Err(skipped(&p)),
        NoResult::Broken(m) => Err(failed(what, "a result", &m)),
    }
}

fn invoke(world: &World<'_>, what: &str, call: &WastInvoke<'_>) -> Result<Given> {
    let args = call
        .args
        .iter()
        .map(values::argument)
        .collect::<std::result::Result<Vec<_>, _>>();
    let args = args.map_err(|Foreign(proposal)| skipped(proposal))?;
    match world.invoke(call.module.map(name), call.name, &args) {
        Ok(values) => Ok(Given::Values(values)),
        Err(e) => no_result(what, e),
    }
}

/// Describes an action, in a message.
fn describe(exec: &WastExecute<'_>) -> String {
    match exec {
        WastExecute::Invoke(call) => {
            let args: Vec<String> = call
                .args
                .iter()
                .map(|a| values::argument(a).map_or("?".into(), |v| v.to_string()))
                .collect();
            let of = call
                .module
                .map_or(String::new(), |m| format!("${} ", m.name()));
            format!("invoke {of}{:?} ({})", call.name, args.join(", "))
        }
        WastExecute::Get { global, .. } => format!("get {global:?}"),
        WastExecute::Wat(_) => "module".into(),
    }
}

fn execute(world: &mut World<'_>, what: &str, exec: WastExecute<'_>) -> Result<Given> {
    match exec {
        WastExecute::Invoke(call) => invoke(world, what, &call),
        WastExecute::Get { module, global, .. } => match world.global(module.map(name), global) {
            Ok(values) => Ok(Given::Values(values)),
            Err(e) => no_result(what, e),
        },
        WastExecute::Wat(wat) => match world.instantiate(&wat_bytes(what, wat)?) {
            Ok(_) => Ok(Given::Values(vec![])),
            Err(NoInstance::Trap(trap)) => Ok(Given::Trap(trap)),
            Err(e) => Err(no_instance(what, e).1),
        },
    }
}

fn wat_bytes(what: &str, mut wat: Wat<'_>) -> Result<Vec<u8>> {
    match &mut wat {
        Wat::Module(module) => {
            world::encode_module(module).map_err(|m| failed(what, "a module", &m))
        }
        Wat::Component(_) => Err(skipped("component-model")),
    }
}

fn action(world: &mut World<'_>, call: &WastInvoke<'_>) -> Result<()> {
    let what = format!("invoke {:?}", call.name);
    match invoke(world, &what, call)? {
        Given::Values(_) => Ok(()),
        given => Err(failed(&what, "a return", &given.to_string())),
    }
}

fn assert_return(
    world: &mut World<'_>,
    exec: WastExecute<'_>,
    results: &[WastRet<'_>],
) -> Result<()> {
    let what = describe(&exec);
    let given = execute(world, &what, exec)?;
    let patterns = results
        .iter()
        .map(Pattern::of)
        .collect::<std::result::Result<Vec<_>, _>>();
    let patterns = patterns.map_err(|Foreign(proposal)| skipped(proposal))?;
    match &given {
        Given::Values(v)
            if v.len() == patterns.len() && v.iter().zip(&patterns).all(|(v, p)| p.matches(*v)) =>
        {
            Ok(())
        }
        _ => Err(failed(&what, &values::list(&patterns), &given.to_string())),
    }
}

fn assert_trap(world: &mut World<'_>, exec: WastExecute<'_>, message: &str) -> Result<()> {
    let what = describe(&exec);
    match execute(world, &what, exec)? {
        Given::Trap(trap) if traps::matches(trap, message) => Ok(()),
        given => Err(failed(
            &what,
            &format!("the trap {message:?}"),
            &given.to_string(),
        )),
    }
}

fn assert_exception(world: &mut World<'_>, exec: WastExecute<'_>) -> Result<()> {
    let what = describe(&exec);
    match execute(world, &what, exec)? {
        Given::Trap(Trap::UncaughtException) => Ok(()),
        given => Err(failed(&what, "an exception", &given.to_string())),
    }
}

/// Whether two messages agree: the suite's is often the beginning of a longer one.
fn says(ours: &str, theirs: &str) -> bool {
    !theirs.is_empty() && ours.contains(theirs)
}

fn assert_refused(
    world: &World<'_>,
    what: &str,
    mut module: QuoteWat<'_>,
    message: &str,
) -> Result<()> {
    let Ok(wasm) = world::encode(&mut module) else {
        return Ok(());
    };
    match world.verify(&wasm) {
        Ok(()) => Err(failed(
            what,
            &format!("a refusal: {message}"),
            "an acceptance",
        )),
        Err(ours) if says(&ours, message) => Ok(()),
        // Refused for another reason than the expected one, which was never reached.
        Err(_) => match proposals::missing(&wasm) {
            Some(p) => Err(skipped(&p)),
            None => Ok(()),
        },
    }
}

fn assert_unlinkable(world: &mut World<'_>, module: Wat<'_>, message: &str) -> Result<()> {
    let what = "unlinkable module";
    let expected = format!("a refusal: {message}");
    match world.instantiate(&wat_bytes(what, module)?) {
        Ok(_) => Err(failed(what, &expected, "an instance")),
        Err(NoInstance::Unlinkable(ours)) if says(&ours, message) => Ok(()),
        // What a segment outside its memory was by the first specification.
        Err(NoInstance::Trap(trap)) if traps::matches(trap, message) => Ok(()),
        Err(NoInstance::Unlinkable(ours)) => Err(failed(what, &expected, &ours)),
        Err(e) => Err(no_instance(what, e).1),
    }
}
