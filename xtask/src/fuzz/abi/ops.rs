//! The calls that a fuzzing SIP makes of each entry of the ABI: one line an entry.
//!
//! An argument is drawn by its role; a handle comes from a pool of the SIP's handles of that kind.
//! Entries that need more have a body of their own in `bodies.wat`. A test compares this table with
//! `sing_abi::entry`: an entry that is missing here is an error.

/// Kinds of handles, each with a pool. Blocks belong to a thread, so that each thread has pools of
/// its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// An event.
    Event = 0,
    /// A mutex.
    Mutex = 1,
    /// A thread.
    Thread = 2,
    /// A child.
    Process = 3,
    /// A device interrupt.
    Interrupt = 4,
    /// A set of endpoints.
    Set = 5,
    /// A parked block.
    Parked = 10,
    /// A block that can be written.
    Block = 12,
    /// A block that may be read-only.
    Shared = 13,
}

/// How an argument is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arg {
    /// A handle of this kind, which stays.
    Use(Kind),
    /// A handle of this kind, which the call consumes unless it fails.
    Give(Kind),
    /// A handle of any object that a thread can wait for.
    Waitable,
    /// A handle of any kind, which the call consumes unless it fails.
    Anything,
    /// A place in memory.
    Pointer,
    /// A length in bytes.
    Length,
    /// A time-out or duration.
    Timeout,
    /// A block's size.
    Size,
    /// A number below this one; sometimes any.
    Below(u32),
    /// Any number, 32 or 64 bits wide.
    Any,
    /// A text that may be printed, and its length: two arguments.
    Text,
    /// The name of an image, and its length: two arguments.
    Image,
    /// The path of a boot file, and its length: two arguments.
    Path,
}

/// The kinds of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// No result.
    Nothing,
    /// A status, a number.
    Status,
    /// A handle of this kind.
    Handle(Kind),
}

/// The weight and the arguments of an entry.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    /// The entry's name.
    pub entry: &'static str,
    /// Its weight, relative to the others.
    pub weight: u32,
    /// Its arguments; `None` if `bodies.wat` has it.
    pub plan: Option<(&'static [Arg], Gives)>,
}

const fn op(entry: &'static str, weight: u32, args: &'static [Arg], gives: Gives) -> Op {
    let plan = Some((args, gives));
    Op {
        entry,
        weight,
        plan,
    }
}

const fn body(entry: &'static str, weight: u32) -> Op {
    Op {
        entry,
        weight,
        plan: None,
    }
}

use Arg::{
    Any, Anything, Below, Give, Image, Length, Path, Pointer, Size, Text, Timeout, Use, Waitable,
};
use Gives::{Handle, Nothing, Status};
use Kind::{Block, Event, Interrupt, Mutex, Parked, Process, Set, Shared, Thread};

/// All of them.
pub const OPS: &[Op] = &[
    body("process_create", 6),
    op("process_start", 8, &[Use(Process)], Status),
    op("process_join", 2, &[Use(Process), Timeout], Status),
    op("process_stop", 2, &[Use(Process), Any], Status),
    op("process_suspend", 3, &[Use(Process), Below(2)], Status),
    op("process_resume", 4, &[Use(Process), Below(2)], Status),
    op("process_id", 1, &[Use(Process)], Status),
    op("process_exit_status", 2, &[Use(Process), Pointer], Status),
    body("process_exit", 1),
    op("self_id", 1, &[], Status),
    op("startup_arg_count", 1, &[], Status),
    op("startup_arg", 2, &[Below(3), Pointer, Length], Status),
    body("startup_endpoint", 6),
    op("uptime", 1, &[], Status),
    op("utc", 1, &[], Status),
    op("cycle_count", 1, &[], Status),
    op("cycles_per_second", 1, &[], Status),
    op("cycles_per_second_inline", 1, &[], Status),
    op("debug_print", 1, &[Text], Status),
    body("thread_create", 4),
    op("thread_start", 6, &[Use(Thread)], Status),
    op("thread_join", 1, &[Use(Thread), Timeout], Status),
    op("thread_state", 2, &[Use(Thread)], Status),
    op("thread_time", 1, &[Use(Thread)], Status),
    op("thread_id", 1, &[], Status),
    op("tls_get", 1, &[], Status),
    op("tls_set", 1, &[Any], Nothing),
    op("sleep", 3, &[Timeout], Status),
    op("yield", 8, &[], Nothing),
    body("spin", 1),
    op("auto_event_create", 4, &[Below(2)], Handle(Event)),
    op("manual_event_create", 3, &[Below(2)], Handle(Event)),
    op("event_set", 6, &[Use(Event)], Status),
    op("event_reset", 2, &[Use(Event)], Status),
    op("mutex_create", 3, &[Below(2)], Handle(Mutex)),
    op("mutex_release", 4, &[Use(Mutex)], Status),
    op("wait_one", 8, &[Waitable, Timeout], Status),
    body("wait_any", 6),
    op("handle_dispose", 10, &[Anything], Status),
    // The console holds all interrupt lines, so that this gives nothing, and the calls that need
    // one use other handles, stale and forged ones: less often than they are drawn.
    op("interrupt_create", 1, &[Below(4)], Handle(Interrupt)),
    op("interrupt_ack", 4, &[Use(Interrupt)], Status),
    op("xh_alloc", 12, &[Size, Any], Handle(Block)),
    op("xh_free", 4, &[Give(Block)], Status),
    op("xh_size", 1, &[Use(Shared)], Status),
    op("xh_type", 1, &[Use(Block)], Status),
    body("xh_share", 4),
    body("xh_split", 5),
    body("xh_unshare", 4),
    body("xh_read", 3),
    body("xh_write", 3),
    body("xh_load8", 1),
    body("xh_load16", 1),
    body("xh_load32", 1),
    body("xh_load64", 1),
    body("xh_store8", 1),
    body("xh_store16", 1),
    body("xh_store32", 1),
    body("xh_store64", 1),
    body("channel_new", 8),
    body("channel_send", 24),
    body("channel_send_mem", 6),
    body("channel_recv", 24),
    body("channel_call", 2),
    body("channel_call_mem", 1),
    body("endpoint_peek", 3),
    op("console_write", 1, &[Text], Status),
    op("console_read", 1, &[Pointer, Length], Status),
    op("console_size", 1, &[Pointer], Status),
    op("boot_name", 1, &[Below(40), Pointer, Length], Status),
    op("boot_size", 1, &[Path], Status),
    op("boot_read", 2, &[Path, Below(100), Use(Block)], Status),
    op("sys_query", 2, &[Below(8), Pointer, Length], Status),
    op("trace_control", 1, &[Below(64)], Status),
    op("trace_read", 1, &[Pointer, Length, Timeout], Status),
    body("sys_stop", 2),
    body("memory_grow", 2),
    body("memory_copy", 1),
    body("memory_fill", 1),
    body("memory_init", 1),
    body("data_drop", 1),
    body("table_grow", 1),
    body("table_fill", 1),
    body("table_copy", 1),
    body("table_init", 1),
    body("elem_drop", 1),
    body("ref_func", 1),
    op("image_manifest", 2, &[Image, Pointer, Length], Status),
    body("endpoint_cast", 4),
    op("set_create", 3, &[], Handle(Set)),
    body("set_add", 8),
    body("set_remove", 3),
    op("set_wait", 5, &[Use(Set), Timeout], Status),
    body("select", 6),
    body("xh_attach", 5),
    body("xh_detach", 3),
    op("xh_park", 4, &[Give(Block)], Handle(Parked)),
    op("xh_unpark", 4, &[Give(Parked)], Handle(Shared)),
    op("console_unwritten", 1, &[], Status),
    body("sys_stop_by", 1),
    body("any_memory_grow", 2),
    body("any_memory_copy", 1),
    body("any_memory_fill", 1),
    body("any_memory_init", 1),
    // The fuzzing SIPs declare no device and are given none, so that all handles of devices are of
    // other kinds, stale or forged; drivers that have one are `tests/sips/hostile-driver`.
    op("device_info", 1, &[Below(4), Pointer, Length], Status),
    op(
        "device_give",
        2,
        &[Use(Process), Below(3), Below(4)],
        Status,
    ),
    op("startup_device", 1, &[Below(3)], Status),
    op("device_registers", 3, &[Use(Interrupt), Below(3)], Status),
    op("device_irq", 3, &[Use(Interrupt)], Status),
    op("io_len", 3, &[Use(Interrupt)], Status),
    op("io_read", 3, &[Use(Interrupt), Any, Below(9)], Status),
    op(
        "io_write",
        3,
        &[Use(Interrupt), Any, Below(9), Any],
        Nothing,
    ),
    op("device_reset", 3, &[Use(Interrupt)], Status),
    op("device_accept", 3, &[Use(Interrupt), Any], Status),
    op("device_ready", 3, &[Use(Interrupt)], Status),
    op("queue_create", 3, &[Use(Interrupt), Below(3), Any], Status),
    op(
        "queue_add",
        3,
        &[Use(Interrupt), Pointer, Below(10)],
        Status,
    ),
    op("queue_notify", 3, &[Use(Interrupt)], Status),
    op("process_supervise", 3, &[Use(Process)], Status),
    op("process_renew", 3, &[Use(Process)], Handle(Process)),
    op("startup_process", 3, &[Below(3)], Status),
    body("startup_kept", 3),
    body("endpoint_keep", 6),
    op("queue_take", 3, &[Use(Interrupt), Pointer], Status),
    op(
        "dma_map",
        3,
        &[Use(Interrupt), Use(Block), Any, Any, Below(4)],
        Status,
    ),
    op("dma_unmap", 3, &[Use(Interrupt), Any], Status),
    op("dma_load", 3, &[Use(Interrupt), Any, Below(9)], Status),
    op(
        "dma_store",
        3,
        &[Use(Interrupt), Any, Below(9), Any],
        Nothing,
    ),
    op(
        "dma_copy_out",
        3,
        &[Use(Interrupt), Any, Pointer, Length],
        Nothing,
    ),
    op(
        "dma_copy_in",
        3,
        &[Use(Interrupt), Any, Pointer, Length],
        Nothing,
    ),
    op("dma_fault", 3, &[Use(Interrupt)], Status),
    op("io_load8", 1, &[Use(Interrupt), Any], Status),
    op("io_load16", 1, &[Use(Interrupt), Any], Status),
    op("io_load32", 1, &[Use(Interrupt), Any], Status),
    op("io_load64", 1, &[Use(Interrupt), Any], Status),
    op("io_store8", 1, &[Use(Interrupt), Any, Any], Nothing),
    op("io_store16", 1, &[Use(Interrupt), Any, Any], Nothing),
    op("io_store32", 1, &[Use(Interrupt), Any, Any], Nothing),
    op("io_store64", 1, &[Use(Interrupt), Any, Any], Nothing),
];

/// Entries that no fuzzing SIP calls: one ends the system, as the end of every run does, and one
/// lets children outlive the run, after which nothing may be left.
pub const NOT_CALLED: &[&str] = &["sys_shutdown", "process_detach"];

#[cfg(test)]
mod tests {
    use super::*;
    use sing_abi::entry::ENTRIES;

    #[test]
    fn every_entry_is_called_and_nothing_else() {
        for entry in &ENTRIES {
            let ops = OPS.iter().filter(|o| o.entry == entry.name).count();
            let left_out = NOT_CALLED.contains(&entry.name);
            assert_eq!(ops + usize::from(left_out), 1, "{}", entry.name);
        }
        assert_eq!(OPS.len() + NOT_CALLED.len(), ENTRIES.len());
    }

    #[test]
    fn plans_have_as_many_arguments_as_their_entries() {
        for op in OPS {
            let entry = ENTRIES.iter().find(|e| e.name == op.entry).unwrap();
            let Some((args, gives)) = op.plan else {
                continue;
            };
            let wide = |a: &&Arg| matches!(a, Text | Image | Path);
            let count = args.len() + args.iter().filter(wide).count();
            assert_eq!(count, entry.signature.params.len(), "{}", op.entry);
            assert_eq!(gives != Nothing, entry.signature.result.is_some());
        }
    }
}
