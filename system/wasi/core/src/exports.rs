//! Preview 1's functions, as a program imports them.

/// Exports all of them, for the adapter that uses this. Each but `proc_exit` is a call of the world of
/// [`running`](crate::running), or of another one that `$call` reaches; `$end` gets the status with which
/// the program ends, and does not return.
#[macro_export]
macro_rules! exports {
    ($end:path) => {
        $crate::exports!($end, $crate::running::call);
    };
    ($end:path, $call:path) => {
        ::sing_sdk::exports! {
            fn args_get(pointers: u32, text: u32) -> i32 {
                $call(|wasi| wasi.args_get(pointers, text))
            }
            fn args_sizes_get(count: u32, bytes: u32) -> i32 {
                $call(|wasi| wasi.args_sizes_get(count, bytes))
            }
            fn environ_get(pointers: u32, text: u32) -> i32 {
                $call(|wasi| wasi.environ_get(pointers, text))
            }
            fn environ_sizes_get(count: u32, bytes: u32) -> i32 {
                $call(|wasi| wasi.environ_sizes_get(count, bytes))
            }
            fn clock_res_get(clock: u32, out: u32) -> i32 {
                $call(|wasi| wasi.clock_res_get(clock, out))
            }
            fn clock_time_get(clock: u32, precision: u64, out: u32) -> i32 {
                $call(|wasi| wasi.clock_time_get(clock, precision, out))
            }
            fn fd_advise(fd: u32, offset: u64, len: u64, advice: u32) -> i32 {
                $call(|wasi| wasi.fd_advise(fd, offset, len, advice))
            }
            fn fd_allocate(fd: u32, offset: u64, len: u64) -> i32 {
                $call(|wasi| wasi.fd_allocate(fd, offset, len))
            }
            fn fd_close(fd: u32) -> i32 {
                $call(|wasi| wasi.fd_close(fd))
            }
            fn fd_datasync(fd: u32) -> i32 {
                $call(|wasi| wasi.fd_datasync(fd))
            }
            fn fd_fdstat_get(fd: u32, out: u32) -> i32 {
                $call(|wasi| wasi.fd_fdstat_get(fd, out))
            }
            fn fd_fdstat_set_flags(fd: u32, flags: u32) -> i32 {
                $call(|wasi| wasi.fd_fdstat_set_flags(fd, flags))
            }
            fn fd_fdstat_set_rights(fd: u32, base: u64, inheriting: u64) -> i32 {
                $call(|wasi| wasi.fd_fdstat_set_rights(fd, base, inheriting))
            }
            fn fd_filestat_get(fd: u32, out: u32) -> i32 {
                $call(|wasi| wasi.fd_filestat_get(fd, out))
            }
            fn fd_filestat_set_size(fd: u32, bytes: u64) -> i32 {
                $call(|wasi| wasi.fd_filestat_set_size(fd, bytes))
            }
            fn fd_filestat_set_times(fd: u32, accessed: u64, modified: u64, flags: u32) -> i32 {
                $call(|wasi| wasi.fd_filestat_set_times(fd, accessed, modified, flags))
            }
            fn fd_pread(fd: u32, list: u32, count: u32, offset: u64, out: u32) -> i32 {
                $call(|wasi| wasi.fd_pread(fd, list, count, offset, out))
            }
            fn fd_prestat_get(fd: u32, out: u32) -> i32 {
                $call(|wasi| wasi.fd_prestat_get(fd, out))
            }
            fn fd_prestat_dir_name(fd: u32, out: u32, len: u32) -> i32 {
                $call(|wasi| wasi.fd_prestat_dir_name(fd, out, len))
            }
            fn fd_pwrite(fd: u32, list: u32, count: u32, offset: u64, out: u32) -> i32 {
                $call(|wasi| wasi.fd_pwrite(fd, list, count, offset, out))
            }
            fn fd_read(fd: u32, list: u32, count: u32, out: u32) -> i32 {
                $call(|wasi| wasi.fd_read(fd, list, count, out))
            }
            fn fd_readdir(fd: u32, at: u32, len: u32, cookie: u64, out: u32) -> i32 {
                $call(|wasi| wasi.fd_readdir(fd, at, len, cookie, out))
            }
            fn fd_renumber(from: u32, to: u32) -> i32 {
                $call(|wasi| wasi.fd_renumber(from, to))
            }
            fn fd_seek(fd: u32, delta: i64, whence: u32, out: u32) -> i32 {
                $call(|wasi| wasi.fd_seek(fd, delta, whence, out))
            }
            fn fd_sync(fd: u32) -> i32 {
                $call(|wasi| wasi.fd_sync(fd))
            }
            fn fd_tell(fd: u32, out: u32) -> i32 {
                $call(|wasi| wasi.fd_tell(fd, out))
            }
            fn fd_write(fd: u32, list: u32, count: u32, out: u32) -> i32 {
                $call(|wasi| wasi.fd_write(fd, list, count, out))
            }
            fn path_create_directory(fd: u32, path: u32, len: u32) -> i32 {
                $call(|wasi| wasi.path_create_directory(fd, path, len))
            }
            fn path_filestat_get(fd: u32, flags: u32, path: u32, len: u32, out: u32) -> i32 {
                $call(|wasi| wasi.path_filestat_get(fd, flags, path, len, out))
            }
            fn path_filestat_set_times(fd: u32, lookup: u32, path: u32, len: u32, accessed: u64, modified: u64, flags: u32) -> i32 {
                $call(|wasi| wasi.path_filestat_set_times(fd, lookup, path, len, accessed, modified, flags))
            }
            fn path_link(from_fd: u32, lookup: u32, from: u32, from_len: u32, to_fd: u32, to: u32, to_len: u32) -> i32 {
                $call(|wasi| wasi.path_link(from_fd, lookup, from, from_len, to_fd, to, to_len))
            }
            fn path_open(fd: u32, lookup: u32, path: u32, len: u32, how: u32, base: u64, inheriting: u64, flags: u32, out: u32) -> i32 {
                $call(|wasi| wasi.path_open(fd, lookup, path, len, how, base, inheriting, flags, out))
            }
            fn path_readlink(fd: u32, path: u32, len: u32, to: u32, room: u32, out: u32) -> i32 {
                $call(|wasi| wasi.path_readlink(fd, path, len, to, room, out))
            }
            fn path_remove_directory(fd: u32, path: u32, len: u32) -> i32 {
                $call(|wasi| wasi.path_remove_directory(fd, path, len))
            }
            fn path_rename(from_fd: u32, from: u32, from_len: u32, to_fd: u32, to: u32, to_len: u32) -> i32 {
                $call(|wasi| wasi.path_rename(from_fd, from, from_len, to_fd, to, to_len))
            }
            fn path_symlink(target: u32, target_len: u32, fd: u32, path: u32, len: u32) -> i32 {
                $call(|wasi| wasi.path_symlink(target, target_len, fd, path, len))
            }
            fn path_unlink_file(fd: u32, path: u32, len: u32) -> i32 {
                $call(|wasi| wasi.path_unlink_file(fd, path, len))
            }
            fn poll_oneoff(list: u32, events: u32, count: u32, out: u32) -> i32 {
                $call(|wasi| wasi.poll_oneoff(list, events, count, out))
            }
            fn proc_raise(signal: u32) -> i32 {
                $call(|wasi| wasi.proc_raise(signal))
            }
            fn random_get(at: u32, len: u32) -> i32 {
                $call(|wasi| wasi.random_get(at, len))
            }
            fn sched_yield() -> i32 {
                $call(|wasi| wasi.sched_yield())
            }
            fn sock_accept(fd: u32, flags: u32, out: u32) -> i32 {
                $call(|wasi| wasi.sock_accept(fd, flags, out))
            }
            fn sock_recv(fd: u32, list: u32, count: u32, flags: u32, out: u32, out_flags: u32) -> i32 {
                $call(|wasi| wasi.sock_recv(fd, list, count, flags, out, out_flags))
            }
            fn sock_send(fd: u32, list: u32, count: u32, flags: u32, out: u32) -> i32 {
                $call(|wasi| wasi.sock_send(fd, list, count, flags, out))
            }
            fn sock_shutdown(fd: u32, how: u32) -> i32 {
                $call(|wasi| wasi.sock_shutdown(fd, how))
            }
            fn proc_exit(status: u32) {
                $end(status.cast_signed())
            }
        }
        ::sing_sdk::exports! {
            "wasi_unstable#fd_seek" fn p0_fd_seek(fd: u32, delta: i64, whence: u32, out: u32) -> i32 {
                $call(|wasi| wasi.unstable_fd_seek(fd, delta, whence, out))
            }
            "wasi_unstable#fd_filestat_get" fn p0_fd_filestat_get(fd: u32, out: u32) -> i32 {
                $call(|wasi| wasi.unstable_fd_filestat_get(fd, out))
            }
            "wasi_unstable#path_filestat_get" fn p0_path_filestat_get(fd: u32, flags: u32, path: u32, len: u32, out: u32) -> i32 {
                $call(|wasi| wasi.unstable_path_filestat_get(fd, flags, path, len, out))
            }
            "wasi_unstable#poll_oneoff" fn p0_poll_oneoff(list: u32, events: u32, count: u32, out: u32) -> i32 {
                $call(|wasi| wasi.unstable_poll_oneoff(list, events, count, out))
            }
        }
    };
}
