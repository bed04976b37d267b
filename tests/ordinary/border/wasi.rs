//! The functions of WASI preview 1, as numbers: any of them may be wrong.

#[link(wasm_import_module = "wasi_snapshot_preview1")]
unsafe extern "C" {
    pub fn args_get(list: u32, bytes: u32) -> u32;
    pub fn args_sizes_get(count: u32, bytes: u32) -> u32;
    pub fn clock_res_get(clock: u32, to: u32) -> u32;
    pub fn clock_time_get(clock: u32, precision: u64, to: u32) -> u32;
    pub fn environ_get(list: u32, bytes: u32) -> u32;
    pub fn environ_sizes_get(count: u32, bytes: u32) -> u32;
    pub fn fd_advise(fd: u32, offset: u64, len: u64, advice: u32) -> u32;
    pub fn fd_allocate(fd: u32, offset: u64, len: u64) -> u32;
    pub fn fd_close(fd: u32) -> u32;
    pub fn fd_datasync(fd: u32) -> u32;
    pub fn fd_fdstat_get(fd: u32, to: u32) -> u32;
    pub fn fd_fdstat_set_flags(fd: u32, flags: u32) -> u32;
    pub fn fd_filestat_get(fd: u32, to: u32) -> u32;
    pub fn fd_filestat_set_size(fd: u32, size: u64) -> u32;
    pub fn fd_filestat_set_times(fd: u32, access: u64, modified: u64, flags: u32) -> u32;
    pub fn fd_pread(fd: u32, list: u32, count: u32, offset: u64, to: u32) -> u32;
    pub fn fd_prestat_dir_name(fd: u32, at: u32, len: u32) -> u32;
    pub fn fd_prestat_get(fd: u32, to: u32) -> u32;
    pub fn fd_pwrite(fd: u32, list: u32, count: u32, offset: u64, to: u32) -> u32;
    pub fn fd_read(fd: u32, list: u32, count: u32, to: u32) -> u32;
    pub fn fd_readdir(fd: u32, at: u32, len: u32, cookie: u64, to: u32) -> u32;
    pub fn fd_renumber(from: u32, to: u32) -> u32;
    pub fn fd_seek(fd: u32, offset: i64, whence: u32, to: u32) -> u32;
    pub fn fd_sync(fd: u32) -> u32;
    pub fn fd_tell(fd: u32, to: u32) -> u32;
    pub fn fd_write(fd: u32, list: u32, count: u32, to: u32) -> u32;
    pub fn path_create_directory(fd: u32, at: u32, len: u32) -> u32;
    pub fn path_filestat_get(fd: u32, flags: u32, at: u32, len: u32, to: u32) -> u32;
    pub fn path_filestat_set_times(
        fd: u32,
        flags: u32,
        at: u32,
        len: u32,
        access: u64,
        modified: u64,
        which: u32,
    ) -> u32;
    pub fn path_link(
        fd: u32,
        flags: u32,
        at: u32,
        len: u32,
        new_fd: u32,
        new_at: u32,
        new_len: u32,
    ) -> u32;
    pub fn path_open(
        fd: u32,
        flags: u32,
        at: u32,
        len: u32,
        how: u32,
        base: u64,
        inheriting: u64,
        fd_flags: u32,
        to: u32,
    ) -> u32;
    pub fn path_readlink(fd: u32, at: u32, len: u32, buffer: u32, room: u32, to: u32) -> u32;
    pub fn path_remove_directory(fd: u32, at: u32, len: u32) -> u32;
    pub fn path_rename(fd: u32, at: u32, len: u32, new_fd: u32, new_at: u32, new_len: u32) -> u32;
    pub fn path_symlink(target: u32, target_len: u32, fd: u32, at: u32, len: u32) -> u32;
    pub fn path_unlink_file(fd: u32, at: u32, len: u32) -> u32;
    pub fn poll_oneoff(subscriptions: u32, events: u32, count: u32, to: u32) -> u32;
    pub fn random_get(at: u32, len: u32) -> u32;
    pub fn sched_yield() -> u32;
    pub fn sock_accept(fd: u32, flags: u32, to: u32) -> u32;
    pub fn sock_recv(fd: u32, list: u32, count: u32, flags: u32, to: u32, flags_to: u32) -> u32;
    pub fn sock_send(fd: u32, list: u32, count: u32, flags: u32, to: u32) -> u32;
    pub fn sock_shutdown(fd: u32, how: u32) -> u32;
}
