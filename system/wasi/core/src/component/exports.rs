//! Interfaces' functions, as a component imports them: the name of each is that of its interface without
//! a version, `#`, and its own.

mod network;
mod web;

/// Exports all that a component can call but HTTP, for the adapter that uses this. `$end` gets the status
/// with which the component ends, and does not return.
#[macro_export]
macro_rules! component_exports {
    ($end:path) => {
        $crate::exports!($end, $crate::component::running::call_preview1);
        $crate::network_exports!();
        ::sing_sdk::exports! {
            "program#go-on" fn p2_go_on() {
                $crate::component::running::go_on()
            }
            "resource-drop" fn p2_resource_drop(a: u32) {
                $crate::component::running::call("[resource-drop]", |component| component.resource_drop(a))
            }
            "wasi:cli/exit#exit" fn p2_exit(status: u32) {
                $end(i32::from(status != 0))
            }
            "wasi:cli/exit#exit-with-code" fn p2_exit_with_code(status: u32) {
                $end((status & 0xff).cast_signed())
            }
            "wasi:io/error#[method]error.to-debug-string" fn p2_io_error_error_to_debug_string(a: u32, b: u32) {
                $crate::component::running::call("wasi:io/error#[method]error.to-debug-string", |component| component.error_text(a, b))
            }
            "wasi:io/poll#[method]pollable.ready" fn p2_io_poll_pollable_ready(a: u32) -> u32 {
                $crate::component::running::call("wasi:io/poll#[method]pollable.ready", |component| component.ready(a))
            }
            "wasi:io/poll#[method]pollable.block" fn p2_io_poll_pollable_block(a: u32) {
                $crate::component::running::call("wasi:io/poll#[method]pollable.block", |component| component.block(a))
            }
            "wasi:io/poll#poll" fn p2_io_poll_poll(a: u32, b: u32, c: u32) {
                $crate::component::running::call("wasi:io/poll#poll", |component| component.poll(a, b, c))
            }
            "wasi:io/streams#[method]input-stream.read" fn p2_io_streams_input_stream_read(a: u32, b: u64, c: u32) {
                $crate::component::running::call("wasi:io/streams#[method]input-stream.read", |component| component.read(a, b, false, c))
            }
            "wasi:io/streams#[method]input-stream.blocking-read" fn p2_io_streams_input_stream_blocking_read(a: u32, b: u64, c: u32) {
                $crate::component::running::call("wasi:io/streams#[method]input-stream.blocking-read", |component| component.read(a, b, true, c))
            }
            "wasi:io/streams#[method]input-stream.skip" fn p2_io_streams_input_stream_skip(a: u32, b: u64, c: u32) {
                $crate::component::running::call("wasi:io/streams#[method]input-stream.skip", |component| component.skip(a, b, false, c))
            }
            "wasi:io/streams#[method]input-stream.blocking-skip" fn p2_io_streams_input_stream_blocking_skip(a: u32, b: u64, c: u32) {
                $crate::component::running::call("wasi:io/streams#[method]input-stream.blocking-skip", |component| component.skip(a, b, true, c))
            }
            "wasi:io/streams#[method]input-stream.subscribe" fn p2_io_streams_input_stream_subscribe(a: u32) -> u32 {
                $crate::component::running::call("wasi:io/streams#[method]input-stream.subscribe", |component| component.subscribe_input(a))
            }
            "wasi:io/streams#[method]output-stream.check-write" fn p2_io_streams_output_stream_check_write(a: u32, b: u32) {
                $crate::component::running::call("wasi:io/streams#[method]output-stream.check-write", |component| component.check_write(a, b))
            }
            "wasi:io/streams#[method]output-stream.write" fn p2_io_streams_output_stream_write(a: u32, b: u32, c: u32, d: u32) {
                $crate::component::running::call("wasi:io/streams#[method]output-stream.write", |component| component.write(a, b, c, false, d))
            }
            "wasi:io/streams#[method]output-stream.blocking-write-and-flush" fn p2_io_streams_output_stream_blocking_write_and_flush(a: u32, b: u32, c: u32, d: u32) {
                $crate::component::running::call("wasi:io/streams#[method]output-stream.blocking-write-and-flush", |component| component.write(a, b, c, true, d))
            }
            "wasi:io/streams#[method]output-stream.flush" fn p2_io_streams_output_stream_flush(a: u32, b: u32) {
                $crate::component::running::call("wasi:io/streams#[method]output-stream.flush", |component| component.flush(a, false, b))
            }
            "wasi:io/streams#[method]output-stream.blocking-flush" fn p2_io_streams_output_stream_blocking_flush(a: u32, b: u32) {
                $crate::component::running::call("wasi:io/streams#[method]output-stream.blocking-flush", |component| component.flush(a, true, b))
            }
            "wasi:io/streams#[method]output-stream.subscribe" fn p2_io_streams_output_stream_subscribe(a: u32) -> u32 {
                $crate::component::running::call("wasi:io/streams#[method]output-stream.subscribe", |component| component.subscribe_output(a))
            }
            "wasi:io/streams#[method]output-stream.write-zeroes" fn p2_io_streams_output_stream_write_zeroes(a: u32, b: u64, c: u32) {
                $crate::component::running::call("wasi:io/streams#[method]output-stream.write-zeroes", |component| component.write_zeroes(a, b, false, c))
            }
            "wasi:io/streams#[method]output-stream.blocking-write-zeroes-and-flush" fn p2_io_streams_output_stream_blocking_write_zeroes_and_flush(a: u32, b: u64, c: u32) {
                $crate::component::running::call("wasi:io/streams#[method]output-stream.blocking-write-zeroes-and-flush", |component| component.write_zeroes(a, b, true, c))
            }
            "wasi:io/streams#[method]output-stream.splice" fn p2_io_streams_output_stream_splice(a: u32, b: u32, c: u64, d: u32) {
                $crate::component::running::call("wasi:io/streams#[method]output-stream.splice", |component| component.splice(a, b, c, false, d))
            }
            "wasi:io/streams#[method]output-stream.blocking-splice" fn p2_io_streams_output_stream_blocking_splice(a: u32, b: u32, c: u64, d: u32) {
                $crate::component::running::call("wasi:io/streams#[method]output-stream.blocking-splice", |component| component.splice(a, b, c, true, d))
            }
            "wasi:clocks/monotonic-clock#now" fn p2_clocks_monotonic_clock_now() -> u64 {
                $crate::component::running::call("wasi:clocks/monotonic-clock#now", |component| component.monotonic())
            }
            "wasi:clocks/monotonic-clock#resolution" fn p2_clocks_monotonic_clock_resolution() -> u64 {
                $crate::component::running::call("wasi:clocks/monotonic-clock#resolution", |component| component.monotonic_resolution())
            }
            "wasi:clocks/monotonic-clock#subscribe-instant" fn p2_clocks_monotonic_clock_subscribe_instant(a: u64) -> u32 {
                $crate::component::running::call("wasi:clocks/monotonic-clock#subscribe-instant", |component| component.at(a))
            }
            "wasi:clocks/monotonic-clock#subscribe-duration" fn p2_clocks_monotonic_clock_subscribe_duration(a: u64) -> u32 {
                $crate::component::running::call("wasi:clocks/monotonic-clock#subscribe-duration", |component| component.after(a))
            }
            "wasi:clocks/wall-clock#now" fn p2_clocks_wall_clock_now(a: u32) {
                $crate::component::running::call("wasi:clocks/wall-clock#now", |component| component.wall(a))
            }
            "wasi:clocks/wall-clock#resolution" fn p2_clocks_wall_clock_resolution(a: u32) {
                $crate::component::running::call("wasi:clocks/wall-clock#resolution", |component| component.wall_resolution(a))
            }
            "wasi:random/insecure-seed#insecure-seed" fn p2_random_insecure_seed_insecure_seed(a: u32) {
                $crate::component::running::call("wasi:random/insecure-seed#insecure-seed", |component| component.seed(a))
            }
            "wasi:random/insecure#get-insecure-random-bytes" fn p2_random_insecure_get_insecure_random_bytes(a: u64, b: u32) {
                $crate::component::running::call("wasi:random/insecure#get-insecure-random-bytes", |component| component.insecure_bytes(a, b))
            }
            "wasi:random/insecure#get-insecure-random-u64" fn p2_random_insecure_get_insecure_random_u64() -> u64 {
                $crate::component::running::call("wasi:random/insecure#get-insecure-random-u64", |component| component.insecure())
            }
            "wasi:random/random#get-random-bytes" fn p2_random_random_get_random_bytes(a: u64, b: u32) {
                $crate::component::running::call("wasi:random/random#get-random-bytes", |component| component.random_bytes(a, b))
            }
            "wasi:random/random#get-random-u64" fn p2_random_random_get_random_u64() -> u64 {
                $crate::component::running::call("wasi:random/random#get-random-u64", |component| component.random())
            }
            "wasi:filesystem/types#[method]descriptor.read-via-stream" fn p2_filesystem_types_descriptor_read_via_stream(a: u32, b: u64, c: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.read-via-stream", |component| component.read_via_stream(a, b, c))
            }
            "wasi:filesystem/types#[method]descriptor.write-via-stream" fn p2_filesystem_types_descriptor_write_via_stream(a: u32, b: u64, c: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.write-via-stream", |component| component.write_via_stream(a, Some(b), c))
            }
            "wasi:filesystem/types#[method]descriptor.append-via-stream" fn p2_filesystem_types_descriptor_append_via_stream(a: u32, b: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.append-via-stream", |component| component.write_via_stream(a, None, b))
            }
            "wasi:filesystem/types#[method]descriptor.advise" fn p2_filesystem_types_descriptor_advise(a: u32, b: u64, c: u64, d: u32, e: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.advise", |component| component.advise(a, b, c, d, e))
            }
            "wasi:filesystem/types#[method]descriptor.sync-data" fn p2_filesystem_types_descriptor_sync_data(a: u32, b: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.sync-data", |component| component.sync(a, b))
            }
            "wasi:filesystem/types#[method]descriptor.get-flags" fn p2_filesystem_types_descriptor_get_flags(a: u32, b: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.get-flags", |component| component.flags(a, b))
            }
            "wasi:filesystem/types#[method]descriptor.get-type" fn p2_filesystem_types_descriptor_get_type(a: u32, b: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.get-type", |component| component.file_type(a, b))
            }
            "wasi:filesystem/types#[method]descriptor.set-size" fn p2_filesystem_types_descriptor_set_size(a: u32, b: u64, c: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.set-size", |component| component.set_size(a, b, c))
            }
            "wasi:filesystem/types#[method]descriptor.set-times" fn p2_filesystem_types_descriptor_set_times(a: u32, b: u32, c: u64, d: u32, e: u32, f: u64, g: u32, h: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.set-times", |component| component.set_times(a, (b, c, d), (e, f, g), h))
            }
            "wasi:filesystem/types#[method]descriptor.read" fn p2_filesystem_types_descriptor_read(a: u32, b: u64, c: u64, d: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.read", |component| component.read_at(a, b, c, d))
            }
            "wasi:filesystem/types#[method]descriptor.write" fn p2_filesystem_types_descriptor_write(a: u32, b: u32, c: u32, d: u64, e: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.write", |component| component.write_at(a, (b, c), d, e))
            }
            "wasi:filesystem/types#[method]descriptor.read-directory" fn p2_filesystem_types_descriptor_read_directory(a: u32, b: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.read-directory", |component| component.read_directory(a, b))
            }
            "wasi:filesystem/types#[method]descriptor.sync" fn p2_filesystem_types_descriptor_sync(a: u32, b: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.sync", |component| component.sync(a, b))
            }
            "wasi:filesystem/types#[method]descriptor.create-directory-at" fn p2_filesystem_types_descriptor_create_directory_at(a: u32, b: u32, c: u32, d: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.create-directory-at", |component| component.create_directory_at(a, b, c, d))
            }
            "wasi:filesystem/types#[method]descriptor.stat" fn p2_filesystem_types_descriptor_stat(a: u32, b: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.stat", |component| component.stat(a, b))
            }
            "wasi:filesystem/types#[method]descriptor.stat-at" fn p2_filesystem_types_descriptor_stat_at(a: u32, b: u32, c: u32, d: u32, e: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.stat-at", |component| component.stat_at(a, b, c, d, e))
            }
            "wasi:filesystem/types#[method]descriptor.set-times-at" fn p2_filesystem_types_descriptor_set_times_at(a: u32, b: u32, c: u32, d: u32, e: u32, f: u64, g: u32, h: u32, i: u64, j: u32, k: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.set-times-at", |component| component.set_times_at(a, b, (c, d), (e, f, g), (h, i, j), k))
            }
            "wasi:filesystem/types#[method]descriptor.link-at" fn p2_filesystem_types_descriptor_link_at(a: u32, b: u32, c: u32, d: u32, e: u32, f: u32, g: u32, h: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.link-at", |component| component.to_another(a, Some(b), (c, d), e, (f, g), h))
            }
            "wasi:filesystem/types#[method]descriptor.open-at" fn p2_filesystem_types_descriptor_open_at(a: u32, b: u32, c: u32, d: u32, e: u32, f: u32, g: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.open-at", |component| component.open_at(a, b, (c, d), e, f, g))
            }
            "wasi:filesystem/types#[method]descriptor.readlink-at" fn p2_filesystem_types_descriptor_readlink_at(a: u32, b: u32, c: u32, d: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.readlink-at", |component| component.readlink_at(a, b, c, d))
            }
            "wasi:filesystem/types#[method]descriptor.remove-directory-at" fn p2_filesystem_types_descriptor_remove_directory_at(a: u32, b: u32, c: u32, d: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.remove-directory-at", |component| component.remove_directory_at(a, b, c, d))
            }
            "wasi:filesystem/types#[method]descriptor.rename-at" fn p2_filesystem_types_descriptor_rename_at(a: u32, b: u32, c: u32, d: u32, e: u32, f: u32, g: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.rename-at", |component| component.to_another(a, None, (b, c), d, (e, f), g))
            }
            "wasi:filesystem/types#[method]descriptor.symlink-at" fn p2_filesystem_types_descriptor_symlink_at(a: u32, b: u32, c: u32, d: u32, e: u32, f: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.symlink-at", |component| component.symlink_at(a, (b, c), (d, e), f))
            }
            "wasi:filesystem/types#[method]descriptor.unlink-file-at" fn p2_filesystem_types_descriptor_unlink_file_at(a: u32, b: u32, c: u32, d: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.unlink-file-at", |component| component.unlink_file_at(a, b, c, d))
            }
            "wasi:filesystem/types#[method]descriptor.is-same-object" fn p2_filesystem_types_descriptor_is_same_object(a: u32, b: u32) -> u32 {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.is-same-object", |component| component.is_same(a, b))
            }
            "wasi:filesystem/types#[method]descriptor.metadata-hash" fn p2_filesystem_types_descriptor_metadata_hash(a: u32, b: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.metadata-hash", |component| component.metadata_hash(a, b))
            }
            "wasi:filesystem/types#[method]descriptor.metadata-hash-at" fn p2_filesystem_types_descriptor_metadata_hash_at(a: u32, b: u32, c: u32, d: u32, e: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]descriptor.metadata-hash-at", |component| component.metadata_hash_at(a, b, c, d, e))
            }
            "wasi:filesystem/types#[method]directory-entry-stream.read-directory-entry" fn p2_filesystem_types_directory_entry_stream_read_directory_entry(a: u32, b: u32) {
                $crate::component::running::call("wasi:filesystem/types#[method]directory-entry-stream.read-directory-entry", |component| component.read_entry(a, b))
            }
            "wasi:filesystem/types#filesystem-error-code" fn p2_filesystem_types_filesystem_error_code(a: u32, b: u32) {
                $crate::component::running::call("wasi:filesystem/types#filesystem-error-code", |component| component.error_code(a, b))
            }
            "wasi:filesystem/preopens#get-directories" fn p2_filesystem_preopens_get_directories(a: u32) {
                $crate::component::running::call("wasi:filesystem/preopens#get-directories", |component| component.directories(a))
            }
            "wasi:cli/environment#get-environment" fn p2_cli_environment_get_environment(a: u32) {
                $crate::component::running::call("wasi:cli/environment#get-environment", |component| component.environment(a))
            }
            "wasi:cli/environment#get-arguments" fn p2_cli_environment_get_arguments(a: u32) {
                $crate::component::running::call("wasi:cli/environment#get-arguments", |component| component.arguments(a))
            }
            "wasi:cli/environment#initial-cwd" fn p2_cli_environment_initial_cwd(a: u32) {
                $crate::component::running::call("wasi:cli/environment#initial-cwd", |component| component.directory(a))
            }
            "wasi:cli/stdin#get-stdin" fn p2_cli_stdin_get_stdin() -> u32 {
                $crate::component::running::call("wasi:cli/stdin#get-stdin", |component| component.stdin())
            }
            "wasi:cli/stdout#get-stdout" fn p2_cli_stdout_get_stdout() -> u32 {
                $crate::component::running::call("wasi:cli/stdout#get-stdout", |component| component.stdout(1))
            }
            "wasi:cli/stderr#get-stderr" fn p2_cli_stderr_get_stderr() -> u32 {
                $crate::component::running::call("wasi:cli/stderr#get-stderr", |component| component.stdout(2))
            }
            "wasi:cli/terminal-stdin#get-terminal-stdin" fn p2_cli_terminal_stdin_get_terminal_stdin(a: u32) {
                $crate::component::running::call("wasi:cli/terminal-stdin#get-terminal-stdin", |component| component.terminal(0, a))
            }
            "wasi:cli/terminal-stdout#get-terminal-stdout" fn p2_cli_terminal_stdout_get_terminal_stdout(a: u32) {
                $crate::component::running::call("wasi:cli/terminal-stdout#get-terminal-stdout", |component| component.terminal(1, a))
            }
            "wasi:cli/terminal-stderr#get-terminal-stderr" fn p2_cli_terminal_stderr_get_terminal_stderr(a: u32) {
                $crate::component::running::call("wasi:cli/terminal-stderr#get-terminal-stderr", |component| component.terminal(2, a))
            }
        }
    };
}
