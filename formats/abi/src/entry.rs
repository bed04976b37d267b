//! The kernel's entry points, version 1: one table that the verifier, the compiler and the kernel
//! share.
//!
//! An entry is an `extern "C"` function whose first argument is the caller's context record; the
//! further arguments are those of its [`Signature`]. Compiled code loads the function from the
//! table at `ctx::KERNEL_TABLE`, so that one image runs in every configuration.
//!
//! Pointers are offsets into the caller's linear memory. Times are nanoseconds; a time-out of
//! `status::FOREVER` never ends, one of 0 does not wait. Unless stated otherwise, a result is a
//! `status`.

#[macro_use]
mod description;
#[cfg(test)]
mod tests;

pub use description::{Access, Entry, Int, Privilege, Signature};

use Int::{I32, I64};

const IMPORT: Access = Access::Import;
const INLINE: Access = Access::Inline;
const COMPILER: Access = Access::Compiler;
const CREATE: Access = Access::Privileged(Privilege::Create);
const CONSOLE: Access = Access::Privileged(Privilege::Console);
const INSPECT: Access = Access::Privileged(Privilege::Inspect);
const CONTROL: Access = Access::Privileged(Privilege::Control);
const BOOT: Access = Access::Privileged(Privilege::Boot);
const DEVICES: Access = Access::Privileged(Privilege::Devices);

entries! {
    // --- Processes ([O] App. A, Processes.ProcessHandle and Services.ProcessService)

    /// `(image, image_len, args, args_len, endpoints, endpoint_count)`: makes a child from an
    /// installed image; a process handle, or a status. `args` holds each argument as `u32` length
    /// and bytes; `endpoints` holds endpoint handles (`u32`, 0 for none), in the order of the
    /// child's manifest, which move to the child. If the call fails, nothing has moved.
    /// `BAD_ARGUMENT` for more than [`MAX_ARGUMENTS`](crate::MAX_ARGUMENTS) arguments, or
    /// [`MAX_ARGUMENT_BYTES`](crate::MAX_ARGUMENT_BYTES).
    PROCESS_CREATE = "process_create" [CREATE] (I32, I32, I32, I32, I32, I32) -> I32;
    /// `(process)`: starts a created child.
    PROCESS_START = "process_start" [CREATE] (I32) -> I32;
    /// `(process, timeout)`: waits until the process has ended.
    PROCESS_JOIN = "process_join" [CREATE] (I32, I64) -> I32;
    /// `(process, exit_code)`: ends a child and its descendants, except detached ones. Its
    /// resources are free when this returns.
    PROCESS_STOP = "process_stop" [CREATE] (I32, I32) -> I32;
    /// `(process, recursive)`: suspends a child, and its children if `recursive` is not 0.
    PROCESS_SUSPEND = "process_suspend" [CREATE] (I32, I32) -> I32;
    /// `(process, recursive)`: undoes a suspend.
    PROCESS_RESUME = "process_resume" [CREATE] (I32, I32) -> I32;
    /// `(process)`: the process's id.
    PROCESS_ID = "process_id" [CREATE] (I32) -> I32;
    /// `(process, out)`: writes how the process ended at `out`: `u32` 0 for an exit, 1 for a stop,
    /// 2 for a trap; then `i32` the exit code or the trap's code. `BAD_STATE` while it runs.
    PROCESS_EXIT_STATUS = "process_exit_status" [CREATE] (I32, I32) -> I32;
    /// `(exit_code)`: ends the caller's SIP. Does not return.
    PROCESS_EXIT = "process_exit" [IMPORT] (I32);
    /// `()`: the caller's id.
    SELF_ID = "self_id" [INLINE] () -> I32;
    /// `()`: number of start-up arguments.
    STARTUP_ARG_COUNT = "startup_arg_count" [IMPORT] () -> I32;
    /// `(index, out, max)`: copies an argument; its length, or `TOO_SMALL`, or `NOT_FOUND`. `max`
    /// of 0 asks for the length alone.
    STARTUP_ARG = "startup_arg" [IMPORT] (I32, I32, I32) -> I32;
    /// `(index)`: takes a start-up endpoint; its handle, or `NOT_FOUND` if there is none or it has
    /// been taken.
    STARTUP_ENDPOINT = "startup_endpoint" [IMPORT] (I32) -> I32;

    // --- Time and print (Services.ProcessService, DebugService)

    /// `()`: nanoseconds since the system started.
    UPTIME = "uptime" [IMPORT] () -> I64;
    /// `()`: nanoseconds since 1970, UTC.
    UTC = "utc" [IMPORT] () -> I64;
    /// `()`: the time-stamp counter.
    CYCLE_COUNT = "cycle_count" [IMPORT] () -> I64;
    /// `()`: ticks a second of the time-stamp counter. A plain call: [O] Table 1 measures it.
    CYCLES_PER_SECOND = "cycles_per_second" [IMPORT] () -> I64;
    /// `()`: the same, from the context record.
    CYCLES_PER_SECOND_INLINE = "cycles_per_second_inline" [INLINE] () -> I64;
    /// `(text, len)`: prints to the system's debug log, at most 1,024 bytes a call. Each line is
    /// shown with the caller's name and its control characters escaped; it is lost if the log has
    /// no room.
    DEBUG_PRINT = "debug_print" [IMPORT] (I32, I32) -> I32;

    // --- Threads (Threads.ThreadHandle)

    /// `(argument, stack_pointer)`: makes a thread that will run the module's
    /// `sip_thread(argument)` with its shadow stack at `stack_pointer`; a handle.
    THREAD_CREATE = "thread_create" [IMPORT] (I32, I32) -> I32;
    /// `(thread)`: starts a created thread.
    THREAD_START = "thread_start" [IMPORT] (I32) -> I32;
    /// `(thread, timeout)`: waits until the thread has ended.
    THREAD_JOIN = "thread_join" [IMPORT] (I32, I64) -> I32;
    /// `(thread)`: 0 created, 1 ready, 2 running, 3 blocked, 4 ended, 5 suspended.
    THREAD_STATE = "thread_state" [IMPORT] (I32) -> I32;
    /// `(thread)`: its execution time in nanoseconds, or a status.
    THREAD_TIME = "thread_time" [IMPORT] (I32) -> I64;
    /// `()`: the caller's thread id.
    THREAD_ID = "thread_id" [INLINE] () -> I32;
    /// `()`: the thread-local value.
    TLS_GET = "tls_get" [INLINE] () -> I64;
    /// `(value)`: sets the thread-local value.
    TLS_SET = "tls_set" [INLINE] (I64);
    /// `(duration)`: sleeps that many nanoseconds.
    SLEEP = "sleep" [IMPORT] (I64) -> I32;
    /// `()`: gives way to other runnable threads.
    YIELD = "yield" [IMPORT] ();
    /// `(iterations)`: spins; at most 1,000,000 iterations a call.
    SPIN = "spin" [IMPORT] (I32);

    // --- Synchronisation (Threads.SyncHandle and its kinds)

    /// `(initial)`: an auto-reset event; a handle.
    AUTO_EVENT_CREATE = "auto_event_create" [IMPORT] (I32) -> I32;
    /// `(initial)`: a manual-reset event; a handle.
    MANUAL_EVENT_CREATE = "manual_event_create" [IMPORT] (I32) -> I32;
    /// `(event)`: sets the event, waking one waiter (auto) or all (manual).
    EVENT_SET = "event_set" [IMPORT] (I32) -> I32;
    /// `(event)`: resets the event.
    EVENT_RESET = "event_reset" [IMPORT] (I32) -> I32;
    /// `(owned)`: a mutex, owned by the caller if `owned` is not 0; a handle.
    MUTEX_CREATE = "mutex_create" [IMPORT] (I32) -> I32;
    /// `(mutex)`: releases the mutex; `BAD_STATE` if the caller does not own it.
    MUTEX_RELEASE = "mutex_release" [IMPORT] (I32) -> I32;
    /// `(handle, timeout)`: waits for an event, mutex, interrupt, thread (its end), process (its
    /// end) or endpoint (a message, or closed).
    WAIT_ONE = "wait_one" [IMPORT] (I32, I64) -> I32;
    /// `(handles, count, timeout)`: waits for the first of up to 64; its index. Handles that are 0
    /// are skipped.
    WAIT_ANY = "wait_any" [IMPORT] (I32, I32, I64) -> I32;
    /// `(handle)`: gives up a handle of any kind but an allocation's. Disposing of an endpoint
    /// closes it; disposing of a process that was never started ends it.
    HANDLE_DISPOSE = "handle_dispose" [IMPORT] (I32) -> I32;
    /// `(line)`: the handle of a device interrupt: 1 the console's input, 3 its output.
    INTERRUPT_CREATE = "interrupt_create" [CONSOLE] (I32) -> I32;
    /// `(interrupt)`: acknowledges the interrupt, so that the next one can come. A driver looks for
    /// what its device has done after this call: what comes later raises another interrupt.
    INTERRUPT_ACK = "interrupt_ack" [IMPORT] (I32) -> I32;

    // --- The exchange heap (Services.ExchangeHeapService)

    /// `(size, type)`: a zeroed allocation of 1 byte to 1 GiB; a handle of the calling thread.
    XH_ALLOC = "xh_alloc" [IMPORT] (I32, I32) -> I32;
    /// `(allocation)`: frees the allocation.
    XH_FREE = "xh_free" [IMPORT] (I32) -> I32;
    /// `(allocation)`: its size in bytes.
    XH_SIZE = "xh_size" [INLINE] (I32) -> I32;
    /// `(allocation)`: its type.
    XH_TYPE = "xh_type" [IMPORT] (I32) -> I32;
    /// `(allocation, start, end)`: a second, read-only view of `start..end`; the first becomes
    /// read-only.
    XH_SHARE = "xh_share" [IMPORT] (I32, I32, I32) -> I32;
    /// `(allocation, offset)`: splits an allocation in two; the handle of the part from `offset`
    /// on.
    XH_SPLIT = "xh_split" [IMPORT] (I32, I32) -> I32;
    /// `(allocation)`: makes an allocation writable again if it is the only one of its region; else
    /// `BAD_STATE`.
    XH_UNSHARE = "xh_unshare" [IMPORT] (I32) -> I32;
    /// `(allocation, offset, destination, len)`: copies into linear memory.
    XH_READ = "xh_read" [IMPORT] (I32, I32, I32, I32);
    /// `(allocation, offset, source, len)`: copies from linear memory.
    XH_WRITE = "xh_write" [IMPORT] (I32, I32, I32, I32);
    /// `(allocation, offset)`: loads a byte.
    XH_LOAD8 = "xh_load8" [INLINE] (I32, I32) -> I32;
    /// `(allocation, offset)`: loads 16 bits, zero-extended.
    XH_LOAD16 = "xh_load16" [INLINE] (I32, I32) -> I32;
    /// `(allocation, offset)`: loads 32 bits.
    XH_LOAD32 = "xh_load32" [INLINE] (I32, I32) -> I32;
    /// `(allocation, offset)`: loads 64 bits.
    XH_LOAD64 = "xh_load64" [INLINE] (I32, I32) -> I64;
    /// `(allocation, offset, value)`: stores a byte.
    XH_STORE8 = "xh_store8" [INLINE] (I32, I32, I32);
    /// `(allocation, offset, value)`: stores 16 bits.
    XH_STORE16 = "xh_store16" [INLINE] (I32, I32, I32);
    /// `(allocation, offset, value)`: stores 32 bits.
    XH_STORE32 = "xh_store32" [INLINE] (I32, I32, I32);
    /// `(allocation, offset, value)`: stores 64 bits.
    XH_STORE64 = "xh_store64" [INLINE] (I32, I32, I64);

    // --- Channels. Sends and receives are imported from `contract:NAME`; the compiler turns them
    // into
    // --- these. `operation` is `contract << 16 | side << 15 | message`: the contract's index in
    // the image,
    // --- 1 for the exporting side, the message's index in the contract.

    /// `(contract, out)`: makes a channel.
    CHANNEL_NEW = "channel_new" [COMPILER] (I32, I32) -> I32;
    /// `(endpoint, operation, w0, w1, w2)`: sends with the words in registers. Never waits. Fails
    /// only with `CLOSED`; the sender then keeps the endpoints and blocks in the message.
    CHANNEL_SEND = "channel_send" [COMPILER] (I32, I32, I64, I64, I64) -> I32;
    /// `(endpoint, operation, words)`: the same with the words in memory.
    CHANNEL_SEND_MEM = "channel_send_mem" [COMPILER] (I32, I32, I32) -> I32;
    /// `(endpoint, operation, out)`: waits for a message, writes its words at `out`; its index, or
    /// `CLOSED`. The message bits of `operation` are 0. An endpoint in the message is closed, and
    /// its handle is 0, if it is not of the contract that the receiver's image has under that name.
    CHANNEL_RECV = "channel_recv" [COMPILER] (I32, I32, I32) -> I32;
    /// `(endpoint, operation, w0, w1, out)`: a send and a receive in one. If it returns `CLOSED`,
    /// the caller keeps nothing of the message: its endpoints and blocks have moved, or are freed.
    CHANNEL_CALL = "channel_call" [COMPILER] (I32, I32, I64, I64, I32) -> I32;
    /// `(endpoint, operation, words, out)`: the same with the words in memory.
    CHANNEL_CALL_MEM = "channel_call_mem" [COMPILER] (I32, I32, I32, I32) -> I32;
    /// `(endpoint)`: the index of the first queued message, `WOULD_BLOCK` if there is none,
    /// `CLOSED` if none can come any more.
    ENDPOINT_PEEK = "endpoint_peek" [IMPORT] (I32) -> I32;

    // --- The console device, the system image, the state of the system

    /// `(text, len)`: writes to the console device; the number of bytes taken. Takes fewer than
    /// all, or none, if the reader is slower than the writer; the output interrupt then announces
    /// room.
    CONSOLE_WRITE = "console_write" [CONSOLE] (I32, I32) -> I32;
    /// `(out, max)`: reads typed input; its length, 0 if there is none, or `CLOSED` at its end.
    CONSOLE_READ = "console_read" [CONSOLE] (I32, I32) -> I32;
    /// `(out, max)`: writes `u32` columns and `u32` rows of the terminal; `NOT_FOUND` if the
    /// console is no terminal.
    CONSOLE_SIZE = "console_size" [CONSOLE] (I32) -> I32;
    /// `(index, out, max)`: the path of a file in the system image; its length, or `NOT_FOUND`.
    BOOT_NAME = "boot_name" [BOOT] (I32, I32, I32) -> I32;
    /// `(path, path_len)`: the size of a file in the system image.
    BOOT_SIZE = "boot_size" [BOOT] (I32, I32) -> I32;
    /// `(path, path_len, offset, allocation)`: fills an allocation from a file; bytes read.
    BOOT_READ = "boot_read" [BOOT] (I32, I32, I32, I32) -> I32;
    /// `(what, out, max)`: a snapshot of the system in the postcard form of `sing_image::snapshot`:
    /// 0 processes, 1 channels, 2 memory, 3 system, 4 contracts. Its length, or `TOO_SMALL`.
    SYS_QUERY = "sys_query" [INSPECT] (I32, I32, I32) -> I32;
    /// `(kinds)`: starts or, with 0, stops tracing for this program. A bit for each kind of events,
    /// or 1 for all (`sing_image::snapshot::TraceKind`). `HELD` if as many programs trace as may.
    TRACE_CONTROL = "trace_control" [INSPECT] (I32) -> I32;
    /// `(out, max, timeout)`: takes traced events, 32 bytes each
    /// (`sing_image::snapshot::TraceEvent`); bytes written.
    TRACE_READ = "trace_read" [INSPECT] (I32, I32, I64) -> I32;
    /// `(id, exit_code)`: stops any process and its descendants. `NOT_PERMITTED` for an essential
    /// process.
    SYS_STOP = "sys_stop" [CONTROL] (I32, I32) -> I32;
    /// `(status)`: shuts the system down. Does not return.
    SYS_SHUTDOWN = "sys_shutdown" [CONTROL] (I32);

    // --- Trusted run-time routines behind WebAssembly instructions

    /// `(memory, pages)`: `memory.grow`; the old size in pages or -1.
    MEMORY_GROW = "memory_grow" [COMPILER] (I32, I32) -> I32;
    /// `(destination, source, len)`: `memory.copy`.
    MEMORY_COPY = "memory_copy" [COMPILER] (I32, I32, I32);
    /// `(destination, value, len)`: `memory.fill`.
    MEMORY_FILL = "memory_fill" [COMPILER] (I32, I32, I32);
    /// `(segment, destination, source, len)`: `memory.init`.
    MEMORY_INIT = "memory_init" [COMPILER] (I32, I32, I32, I32);
    /// `(segment)`: `data.drop`.
    DATA_DROP = "data_drop" [COMPILER] (I32);
    /// `(table, init, delta)`: `table.grow`; the old size or -1.
    TABLE_GROW = "table_grow" [COMPILER] (I32, I64, I32) -> I32;
    /// `(table, start, value, len)`: `table.fill`.
    TABLE_FILL = "table_fill" [COMPILER] (I32, I32, I64, I32);
    /// `(destination_table, source_table, destination, source, len)`: `table.copy`.
    TABLE_COPY = "table_copy" [COMPILER] (I32, I32, I32, I32, I32);
    /// `(table, segment, destination, source, len)`: `table.init`.
    TABLE_INIT = "table_init" [COMPILER] (I32, I32, I32, I32, I32);
    /// `(segment)`: `elem.drop`.
    ELEM_DROP = "elem_drop" [COMPILER] (I32);
    /// `(function)`: `ref.func`; the address of the function's record.
    REF_FUNC = "ref_func" [COMPILER] (I32) -> I64;

    // --- Appended after the first draft

    /// `(image, image_len, out, max)`: the manifest of an installed image in the postcard form of
    /// `sing_image::manifest`, so that a parent knows which endpoints a child expects; its length,
    /// `TOO_SMALL` or `NOT_FOUND`. `max` of 0 asks for the length alone.
    IMAGE_MANIFEST = "image_manifest" [CREATE] (I32, I32, I32, I32) -> I32;
    /// `(endpoint, operation, state)`: uses an endpoint under another contract. `OK` if the
    /// endpoint, in its state, is a subtype of one of that contract, side and state (an index in
    /// the contract), and from then on it is used as one; else `BAD_STATE`, and nothing changes.
    /// The endpoint's channel must be of that contract, or of a derived one that keeps the side's
    /// expectations in this state, or of one that the contract narrows; narrowing is permanent. The
    /// message bits of `operation` are 0. Behind `contract:NAME` `imp.cast` and `exp.cast`.
    ENDPOINT_CAST = "endpoint_cast" [COMPILER] (I32, I32, I32) -> I32;

    // --- Switch receive ([O] 4.4), trees of blocks, blocks for any thread

    /// `()`: an empty set of endpoints; a handle.
    SET_CREATE = "set_create" [IMPORT] () -> I32;
    /// `(set, endpoint, key)`: adds an endpoint, or gives one that is in the set another key (0 to
    /// 2^31 - 1). `BAD_STATE` if the endpoint is in another set. An endpoint that is closed or sent
    /// leaves its set.
    SET_ADD = "set_add" [IMPORT] (I32, I32, I32) -> I32;
    /// `(set, endpoint)`: removes an endpoint; `NOT_FOUND` if it is not in the set.
    SET_REMOVE = "set_remove" [IMPORT] (I32, I32) -> I32;
    /// `(set, timeout)`: waits until an endpoint of the set has a message or is closed by the other
    /// side; its key. Serves ready endpoints in turn; idle endpoints add no cost.
    SET_WAIT = "set_wait" [IMPORT] (I32, I64) -> I32;
    /// `(handles, tags, count, timeout)`: waits for the first of those of up to 64 handles whose
    /// tag (`i32`) is `WOULD_BLOCK`, and replaces the tag by the result: for an endpoint the index
    /// of its first message, or `CLOSED`; for a set the key of a ready endpoint; for anything else
    /// 0 if a wait for it succeeds, which has the effect of such a wait (it takes a mutex, for
    /// example). Several tags may be replaced; a tag left at `WOULD_BLOCK` does not mean that
    /// nothing has come. Handles that are 0 are skipped; `BAD_ARGUMENT` if nothing is left to wait
    /// for. Selecting from the same endpoints again costs the least. If `tags` is
    /// [`NO_TAGS`](crate::NO_TAGS), returns the index of a ready handle, serving ready handles in
    /// turn, and writes nothing.
    SELECT = "select" [IMPORT] (I32, I32, I32, I64) -> I32;
    /// `(allocation, offset, child)`: makes a second allocation a part of the first, at an offset
    /// in it that is a multiple of 4: the child moves, and is freed, with its parent. The child's
    /// handle is gone. `BAD_ARGUMENT` for another offset, `BAD_STATE` if a child is there already,
    /// or the parent is shared.
    XH_ATTACH = "xh_attach" [IMPORT] (I32, I32, I32) -> I32;
    /// `(allocation, offset)`: detaches a child; its handle, or `NOT_FOUND`.
    XH_DETACH = "xh_detach" [IMPORT] (I32, I32) -> I32;
    /// `(allocation)`: makes an allocation shareable: every thread of the SIP can take it; a
    /// handle. Disposing of that handle frees the allocation.
    XH_PARK = "xh_park" [IMPORT] (I32) -> I32;
    /// `(parked)`: makes a parked allocation the calling thread's; its handle. `NO_RESOURCES` if
    /// there is no room: it stays parked.
    XH_UNPARK = "xh_unpark" [IMPORT] (I32) -> I32;

    // --- The console's output; processes that outlive others

    /// `()`: bytes that the console device has taken and not yet written out. If there are any, the
    /// output interrupt announces when all are written.
    CONSOLE_UNWRITTEN = "console_unwritten" [CONSOLE] () -> I32;
    /// `(process)`: detaches a child: it goes on when its parent ends, and is not stopped with it.
    PROCESS_DETACH = "process_detach" [CREATE] (I32) -> I32;
    /// `(id, exit_code, how)`: as `sys_stop`. With bit 0 of `how` the process's descendants go on,
    /// detached; with bit 1 an essential process is stopped too, and the system ends with it.
    SYS_STOP_BY = "sys_stop_by" [CONTROL] (I32, I32, I32) -> I32;

    // --- Memories behind the first

    /// `(memory, pages)`: `memory.grow` of any memory; the old size in pages or -1.
    ANY_MEMORY_GROW = "any_memory_grow" [COMPILER] (I32, I64) -> I64;
    /// `(destination_memory, source_memory, destination, source, len)`: `memory.copy`.
    ANY_MEMORY_COPY = "any_memory_copy" [COMPILER] (I32, I32, I64, I64, I64);
    /// `(memory, destination, value, len)`: `memory.fill`.
    ANY_MEMORY_FILL = "any_memory_fill" [COMPILER] (I32, I64, I32, I64);
    /// `(memory, segment, destination, source, len)`: `memory.init`.
    ANY_MEMORY_INIT = "any_memory_init" [COMPILER] (I32, I32, I64, I32, I32);

    // --- Devices ([O] 5.1). A program reaches a device that its manifest declares and that it was
    // --- given before its start, and of that what the manifest declares; no other way leads there.

    /// `(index, out, max)`: describes a device of the machine in the postcard form of
    /// `sing_image::snapshot::DeviceInfo`; its length, `TOO_SMALL`, or `NOT_FOUND` behind the last.
    DEVICE_INFO = "device_info" [DEVICES] (I32, I32, I32) -> I32;
    /// `(process, use, device)`: gives a device, by its index, to a child that has not been
    /// started, as number `use` of the devices that its manifest declares. `NOT_PERMITTED` if the
    /// manifest declares another signature there, `HELD` if the device has a holder, `BAD_STATE` if
    /// the child has been started or has a device there, `NOT_FOUND` if there is no such device or
    /// declaration.
    DEVICE_GIVE = "device_give" [DEVICES] (I32, I32, I32) -> I32;
    /// `(use)`: takes the device that the program was given as number `use` of those that its
    /// manifest declares; a handle, or `NOT_FOUND` if there is none or it has been taken. Disposing
    /// of the handle resets the device and gives it back.
    STARTUP_DEVICE = "startup_device" [IMPORT] (I32) -> I32;
    /// `(device, index)`: the handle of a range of a device's registers (`IoMemory` or `IoPort`).
    /// Of a virtio device, number 0 is the device's own configuration, and there is no other.
    /// `NOT_PERMITTED` if the manifest does not declare the range, `NOT_FOUND` if the device has
    /// none of this number.
    DEVICE_REGISTERS = "device_registers" [IMPORT] (I32, I32) -> I32;
    /// `(device)`: the handle of a device's interrupt, acknowledged by `interrupt_ack`.
    /// `NOT_PERMITTED` if the manifest does not declare it, `NOT_FOUND` if the device has none,
    /// `HELD` if there is a handle already.
    DEVICE_IRQ = "device_irq" [IMPORT] (I32) -> I32;
    /// `(io)`: bytes of a range of registers.
    IO_LEN = "io_len" [IMPORT] (I32) -> I32;
    /// `(io, offset, width)`: reads a register of 1, 2, 4 or 8 bytes. An access outside the range,
    /// or at an offset that is not a multiple of the width, ends the SIP. All bits set if the
    /// device has been given back meanwhile.
    IO_READ = "io_read" [IMPORT] (I32, I32, I32) -> I64;
    /// `(io, offset, width, value)`: writes a register, likewise.
    IO_WRITE = "io_write" [IMPORT] (I32, I32, I32, I64);
    /// `(device)`: resets a virtio device; the features that it offers. `BAD_STATE` if it is no
    /// virtio device that the kernel can speak to, or queues of it exist, or it is broken.
    DEVICE_RESET = "device_reset" [IMPORT] (I32) -> I64;
    /// `(device, features)`: accepts these features of a virtio device that has been reset, which
    /// must be among those offered. `NOT_PERMITTED` if the device does not agree.
    DEVICE_ACCEPT = "device_accept" [IMPORT] (I32, I64) -> I32;
    /// `(device)`: tells a virtio device that its driver is ready; after its queues have been made.
    DEVICE_READY = "device_ready" [IMPORT] (I32) -> I32;
    /// `(device, index, size)`: sets up a queue of a virtio device with room for `size` descriptors
    /// (a power of two up to [`MAX_QUEUE`](crate::MAX_QUEUE)), or as many as the device has; a
    /// handle. `NOT_PERMITTED` if the manifest declares fewer queues, `NOT_FOUND` if the device has
    /// fewer, `HELD` if the queue has been set up.
    QUEUE_CREATE = "queue_create" [IMPORT] (I32, I32, I32) -> I32;
    /// `(queue, parts, count)`: hands the device a request of up to
    /// [`MAX_PARTS`](crate::MAX_PARTS) parts, each four `u32`: allocation, offset, length, and 0 if
    /// the device reads the part, or 1 if it writes it; those that it writes come last. The
    /// allocations leave the thread's table and are the queue's until the request is taken back.
    /// Returns the request's number. Several parts may be in one allocation. `WOULD_BLOCK` if the
    /// queue has no room now, `CLOSED` if the device has been reset, `BAD_ARGUMENT` if a part is
    /// not inside its allocation, or to be written and read-only, or if the request has more than
    /// [`MAX_REQUEST`](crate::MAX_REQUEST) bytes or the queue could never hold it; the caller then
    /// keeps the allocations.
    QUEUE_ADD = "queue_add" [IMPORT] (I32, I32, I32) -> I32;
    /// `(queue)`: tells the device that requests have been added. Returns 1 if it is done with some
    /// already, which are to be taken: no interrupt may come for them; or 0, or `CLOSED`.
    QUEUE_NOTIFY = "queue_notify" [IMPORT] (I32) -> I32;
    /// `(queue, out)`: takes back a request that the device has done with. Writes at `out`: `u32`
    /// bytes that the device says it has written, or [`REQUEST_LOST`](crate::REQUEST_LOST) if the
    /// device has been reset before; and [`MAX_PARTS`](crate::MAX_PARTS) times `u32`, the
    /// allocation of each part in the caller's table, 0 behind the last. Returns the request's
    /// number, `WOULD_BLOCK` if none is done, `CLOSED` if none will be, `NO_RESOURCES` if the table
    /// has no room (the request stays).
    QUEUE_TAKE = "queue_take" [IMPORT] (I32, I32) -> I32;
    /// `(device, allocation, offset, len, kind)`: lets a device that an IOMMU confines reach bytes
    /// of an allocation: to read them ([`DMA_READ`](crate::DMA_READ)), to write them
    /// ([`DMA_WRITE`](crate::DMA_WRITE)), or both, while the caller reaches them too, by the
    /// entries below ([`DMA_SHARED`](crate::DMA_SHARED)). The allocation leaves the thread's table
    /// and is the device's until it is unmapped. The device reaches the whole pages on which the
    /// bytes lie, so these must be the allocation's alone. Returns the address for the device.
    /// `BAD_ARGUMENT` if the bytes are not inside the allocation, are to be written and read-only,
    /// or are more than [`MAX_DMA`](crate::MAX_DMA) or than the manifest declares; `HELD` if bytes
    /// of others lie on their pages, or the first is not at a multiple of 4; `NOT_PERMITTED` if the manifest declares none or no IOMMU confines the device,
    /// `WOULD_BLOCK` if as much is mapped as can be, `CLOSED` if the device was cut off; the caller
    /// then keeps the allocation.
    DMA_MAP = "dma_map" [IMPORT] (I32, I32, I32, I32, I32) -> I64;
    /// `(device, address)`: takes an allocation back from a device, by the address that `dma_map`
    /// returned: its handle in the caller's table. The device does not reach it any more.
    /// `NOT_FOUND` if nothing is mapped there, `NO_RESOURCES` if the table has no room (the
    /// allocation stays, out of the device's reach), `CLOSED` if the device could not be kept from
    /// it.
    DMA_UNMAP = "dma_unmap" [IMPORT] (I32, I64) -> I32;
    /// `(device, address, width)`: reads 1, 2, 4 or 8 bytes of what is mapped `DMA_SHARED`, with
    /// one access. An access outside, or at an address that is not a multiple of the width, ends
    /// the SIP.
    DMA_LOAD = "dma_load" [IMPORT] (I32, I64, I32) -> I64;
    /// `(device, address, width, value)`: writes them, likewise, after all that was written before.
    DMA_STORE = "dma_store" [IMPORT] (I32, I64, I32, I64);
    /// `(device, address, destination, len)`: copies up to [`MAX_DMA_COPY`](crate::MAX_DMA_COPY)
    /// bytes of what is mapped `DMA_SHARED` to the SIP's memory.
    DMA_COPY_OUT = "dma_copy_out" [IMPORT] (I32, I64, I32, I32);
    /// `(device, address, source, len)`: copies from the SIP's memory, likewise.
    DMA_COPY_IN = "dma_copy_in" [IMPORT] (I32, I64, I32, I32);
    /// `(device)`: the last access of the device that the IOMMU has refused since the last call:
    /// the address's page, its low bit set if the device meant to write; `NOT_FOUND` if there is
    /// none.
    DMA_FAULT = "dma_fault" [IMPORT] (I32) -> I64;

    // --- Succession: a process that ends goes on in another one of the same image

    /// `(process)`: a live child is to have a successor. When it ends, the endpoints that it keeps
    /// ([`ENDPOINT_KEEP`]) stay open, in the states that they are in, until [`PROCESS_RENEW`] passes
    /// them on or the handle is disposed of. `BAD_STATE` if it has ended.
    PROCESS_SUPERVISE = "process_supervise" [CREATE] (I32) -> I32;
    /// `(process)`: makes the successor of a supervised child that has ended: a child of the same
    /// image, with the same arguments, which is supervised, too; a process handle, or a status. It
    /// gets what its predecessor kept, and no start-up endpoints. `BAD_STATE` if the child has not
    /// ended, is not supervised, or has a successor already.
    PROCESS_RENEW = "process_renew" [CREATE] (I32) -> I32;
    /// `(index)`: the handle of a process that the system manifest puts under the caller's
    /// supervision, in the manifest's order; `NOT_FOUND` if there is none, or the handle has been
    /// disposed of.
    STARTUP_PROCESS = "startup_process" [CREATE] (I32) -> I32;
    /// `(endpoint, tag)`: if the caller is supervised, its successor gets this endpoint, with the
    /// tag. An endpoint that is sent away is no longer kept.
    ENDPOINT_KEEP = "endpoint_keep" [IMPORT] (I32, I32) -> I32;
    /// `(out)`: takes one of the endpoints that the caller's predecessor kept, and writes its tag
    /// (`u32`) at `out`; its handle, `NOT_FOUND` if there is none any more, or `NO_RESOURCES`. It is
    /// kept by the caller, too.
    STARTUP_KEPT = "startup_kept" [IMPORT] (I32) -> I32;

    // --- Registers of devices in line ([`crate::io`]). Each is `io_read` or `io_write` of the same
    // --- width; only where the check of the window fails does that call happen.

    /// `(io, offset)`: reads a register of 8 bits.
    IO_LOAD8 = "io_load8" [INLINE] (I32, I32) -> I32;
    /// `(io, offset)`: reads a register of 16 bits, zero-extended.
    IO_LOAD16 = "io_load16" [INLINE] (I32, I32) -> I32;
    /// `(io, offset)`: reads a register of 32 bits.
    IO_LOAD32 = "io_load32" [INLINE] (I32, I32) -> I32;
    /// `(io, offset)`: reads a register of 64 bits.
    IO_LOAD64 = "io_load64" [INLINE] (I32, I32) -> I64;
    /// `(io, offset, value)`: writes a register of 8 bits.
    IO_STORE8 = "io_store8" [INLINE] (I32, I32, I32);
    /// `(io, offset, value)`: writes a register of 16 bits.
    IO_STORE16 = "io_store16" [INLINE] (I32, I32, I32);
    /// `(io, offset, value)`: writes a register of 32 bits.
    IO_STORE32 = "io_store32" [INLINE] (I32, I32, I32);
    /// `(io, offset, value)`: writes a register of 64 bits.
    IO_STORE64 = "io_store64" [INLINE] (I32, I32, I64);
}

/// Returns the entry that a module imports by this name, if any.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    ENTRIES
        .iter()
        .find(|e| e.name == name && !matches!(e.access, Access::Compiler))
}
