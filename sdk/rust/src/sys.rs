//! The kernel's entry points as the module imports them: the only place that names `sing_v1`.
//!
//! One line an entry of `sing_abi::entry`; a test holds the two together. Entries that take only
//! numbers and handles are safe to call with any of them (the kernel checks); entries that take
//! offsets into linear memory are `unsafe`, because the kernel reads or writes there what the
//! caller says.
//!
//! On a host target the same functions type-check, so that programs and their compile-fail tests can
//! be checked without a Singularity system. Those that conversations need work there (`host`); the
//! others panic when called.

macro_rules! imports {
    (
        safe { $( $sname:ident $(= $slink:literal)? ( $($sa:ident : $st:ty),* ) $(-> $sr:ty)?; )* }
        unsafe { $( $uname:ident ( $($ua:ident : $ut:ty),* ) $(-> $ur:ty)?; )* }
    ) => {
        #[cfg(target_arch = "wasm32")]
        mod raw {
            #[link(wasm_import_module = "sing_v1")]
            unsafe extern "C" {
                $( $(#[link_name = $slink])? pub safe fn $sname($($sa: $st),*) $(-> $sr)?; )*
                $( pub unsafe fn $uname($($ua: $ut),*) $(-> $ur)?; )*
            }
        }
        #[cfg(not(target_arch = "wasm32"))]
        mod absent {
            $( pub fn $sname($(_: $st),*) $(-> $sr)? { super::host() } )*
            $(
                // The safety conditions are those of the entry of the same name.
                pub unsafe fn $uname($(_: $ut),*) $(-> $ur)? { super::host() }
            )*
        }
        #[cfg(not(target_arch = "wasm32"))]
        mod raw {
            pub use super::absent::*;
            // In front of those of the same names that are absent.
            pub(crate) use crate::host::{
                auto_event_create, debug_print, endpoint_peek, event_reset, event_set,
                handle_dispose, manual_event_create, select, set_add, set_create, set_remove,
                set_wait, sleep, thread_id, uptime, utc, wait_one, xh_alloc, xh_free, xh_load16,
                xh_load32, xh_load64, xh_load8, xh_read, xh_size, xh_store16, xh_store32,
                xh_store64, xh_store8, xh_type, xh_write, yield_now,
            };
        }
        pub(crate) use raw::*;

        #[cfg(test)]
        pub const NAMES: &[&str] = &[
            $( imports!(@name $sname $($slink)?), )* $( stringify!($uname), )*
        ];
    };
    (@name $name:ident $link:literal) => { $link };
    (@name $name:ident) => { stringify!($name) };
}

#[cfg(not(target_arch = "wasm32"))]
fn host() -> ! {
    unimplemented!("this call of the kernel works only in a program that runs on Singularity")
}

imports! {
    safe {
        process_start(process: u32) -> i32;
        process_join(process: u32, timeout: i64) -> i32;
        process_stop(process: u32, exit_code: i32) -> i32;
        process_suspend(process: u32, recursive: u32) -> i32;
        process_resume(process: u32, recursive: u32) -> i32;
        process_id(process: u32) -> i32;
        process_exit(exit_code: i32);
        self_id() -> u32;
        startup_arg_count() -> i32;
        startup_endpoint(index: u32) -> i32;
        uptime() -> i64;
        utc() -> i64;
        cycle_count() -> i64;
        cycles_per_second() -> i64;
        cycles_per_second_inline() -> i64;
        thread_start(thread: u32) -> i32;
        thread_join(thread: u32, timeout: i64) -> i32;
        thread_state(thread: u32) -> i32;
        thread_time(thread: u32) -> i64;
        thread_id() -> u32;
        tls_get() -> u64;
        tls_set(value: u64);
        sleep(duration: i64) -> i32;
        yield_now = "yield" ();
        spin(iterations: u32);
        auto_event_create(initial: u32) -> i32;
        manual_event_create(initial: u32) -> i32;
        event_set(event: u32) -> i32;
        event_reset(event: u32) -> i32;
        mutex_create(owned: u32) -> i32;
        mutex_release(mutex: u32) -> i32;
        wait_one(handle: u32, timeout: i64) -> i32;
        handle_dispose(handle: u32) -> i32;
        interrupt_create(line: u32) -> i32;
        interrupt_ack(interrupt: u32) -> i32;
        xh_alloc(size: u32, ty: u32) -> i32;
        xh_free(allocation: u32) -> i32;
        xh_size(allocation: u32) -> u32;
        xh_type(allocation: u32) -> i32;
        xh_share(allocation: u32, start: u32, end: u32) -> i32;
        xh_split(allocation: u32, offset: u32) -> i32;
        xh_unshare(allocation: u32) -> i32;
        xh_load8(allocation: u32, offset: u32) -> u32;
        xh_load16(allocation: u32, offset: u32) -> u32;
        xh_load32(allocation: u32, offset: u32) -> u32;
        xh_load64(allocation: u32, offset: u32) -> u64;
        xh_store8(allocation: u32, offset: u32, value: u32);
        xh_store16(allocation: u32, offset: u32, value: u32);
        xh_store32(allocation: u32, offset: u32, value: u32);
        xh_store64(allocation: u32, offset: u32, value: u64);
        xh_attach(allocation: u32, offset: u32, child: u32) -> i32;
        xh_detach(allocation: u32, offset: u32) -> i32;
        xh_park(allocation: u32) -> i32;
        xh_unpark(parked: u32) -> i32;
        endpoint_peek(endpoint: u32) -> i32;
        set_create() -> i32;
        set_add(set: u32, endpoint: u32, key: u32) -> i32;
        set_remove(set: u32, endpoint: u32) -> i32;
        set_wait(set: u32, timeout: i64) -> i32;
        trace_control(kinds: u32) -> i32;
        sys_stop(id: u32, exit_code: i32) -> i32;
        sys_shutdown(status: i32);
        sys_stop_by(id: u32, exit_code: i32, how: u32) -> i32;
        process_detach(process: u32) -> i32;
        process_supervise(process: u32) -> i32;
        process_renew(process: u32) -> i32;
        startup_process(index: u32) -> i32;
        endpoint_keep(endpoint: u32, tag: u32) -> i32;
        device_give(process: u32, usage: u32, device: u32) -> i32;
        startup_device(usage: u32) -> i32;
        device_registers(device: u32, index: u32) -> i32;
        device_irq(device: u32) -> i32;
        io_len(io: u32) -> u32;
        io_read(io: u32, offset: u32, width: u32) -> u64;
        io_write(io: u32, offset: u32, width: u32, value: u64);
        io_load8(io: u32, offset: u32) -> u32;
        io_load16(io: u32, offset: u32) -> u32;
        io_load32(io: u32, offset: u32) -> u32;
        io_load64(io: u32, offset: u32) -> u64;
        io_store8(io: u32, offset: u32, value: u32);
        io_store16(io: u32, offset: u32, value: u32);
        io_store32(io: u32, offset: u32, value: u32);
        io_store64(io: u32, offset: u32, value: u64);
        device_reset(device: u32) -> i64;
        device_accept(device: u32, features: u64) -> i32;
        device_ready(device: u32) -> i32;
        queue_create(device: u32, index: u32, size: u32) -> i32;
        queue_notify(queue: u32) -> i32;
        console_unwritten() -> i32;
        dma_map(device: u32, allocation: u32, offset: u32, len: u32, kind: u32) -> i64;
        dma_unmap(device: u32, address: i64) -> i32;
        dma_load(device: u32, address: i64, width: u32) -> u64;
        dma_store(device: u32, address: i64, width: u32, value: u64);
        dma_fault(device: u32) -> i64;
    }
    unsafe {
        process_create(
            image: *const u8, image_len: usize, args: *const u8, args_len: usize,
            endpoints: *const u32, endpoint_count: usize
        ) -> i32;
        process_exit_status(process: u32, out: *mut u32) -> i32;
        image_manifest(image: *const u8, image_len: usize, out: *mut u8, max: usize) -> i32;
        device_info(index: u32, out: *mut u8, max: usize) -> i32;
        queue_add(queue: u32, parts: *const u32, count: u32) -> i32;
        queue_take(queue: u32, out: *mut u32) -> i32;
        dma_copy_out(device: u32, address: i64, destination: *mut u8, len: usize);
        dma_copy_in(device: u32, address: i64, source: *const u8, len: usize);
        startup_kept(tag: *mut u32) -> i32;
        startup_arg(index: u32, out: *mut u8, max: usize) -> i32;
        debug_print(text: *const u8, len: usize) -> i32;
        thread_create(argument: usize, stack_pointer: usize) -> i32;
        wait_any(handles: *const u32, count: usize, timeout: i64) -> i32;
        select(handles: *const u32, tags: *mut i32, count: usize, timeout: i64) -> i32;
        xh_read(allocation: u32, offset: u32, destination: *mut u8, len: usize);
        xh_write(allocation: u32, offset: u32, source: *const u8, len: usize);
        console_write(text: *const u8, len: usize) -> i32;
        console_read(out: *mut u8, max: usize) -> i32;
        console_size(out: *mut u32) -> i32;
        boot_name(index: u32, out: *mut u8, max: usize) -> i32;
        boot_size(path: *const u8, path_len: usize) -> i32;
        boot_read(path: *const u8, path_len: usize, offset: u32, allocation: u32) -> i32;
        sys_query(what: u32, out: *mut u8, max: usize) -> i32;
        trace_read(out: *mut u8, max: usize, timeout: i64) -> i32;
    }
}

#[cfg(test)]
mod tests {
    use sing_abi::entry::{Access, ENTRIES};

    #[test]
    fn every_importable_entry_is_here_and_nothing_else() {
        for name in super::NAMES {
            assert!(sing_abi::entry::find(name).is_some(), "{name} is no entry");
        }
        for entry in ENTRIES
            .iter()
            .filter(|e| !matches!(e.access, Access::Compiler))
        {
            assert!(
                super::NAMES.contains(&entry.name),
                "{} is missing",
                entry.name
            );
        }
    }
}
