//! Tests of modules that cannot be joined: the refusal has all reasons at once, each with the way out.

use super::*;

#[test]
fn what_the_adapter_lacks_is_named_all_at_once() {
    let text = refusal(
        r#"(module
            (import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "fd_open" (func (param i32)))
            (import "wasi_snapshot_preview1" "proc_exit" (func (param i64)))
            (import "wasi_snapshot_preview1" "sip_main" (func (result i32)))
            (import "env" "emscripten_run" (func))
            (import "env" "memory" (memory 1))
            (func (export "_start")))"#,
        ADAPTER,
    );
    assert_eq!(
        text,
        "imports 5 things that this system does not have:\n  \
        wasi_snapshot_preview1.fd_open: there is no such function here\n  \
        wasi_snapshot_preview1.proc_exit: is imported as (func (param i64)), where the function here is (func (param i32))\n  \
        wasi_snapshot_preview1.sip_main: there is no such function here\n  \
        env.memory: a program brings its own memory (link without --import-memory)\n  \
        env: a function (emscripten_run); the program was made for JavaScript, by emscripten: link it with \
        -sSTANDALONE_WASM, or use the WASI SDK"
    );
}

/// A program for threads brings no memory, as its threads share one: it is told of threads, not of its memory.
#[test]
fn threads_are_named() {
    let text = refusal(
        r#"(module
            (import "env" "memory" (memory 1 16 shared))
            (import "wasi" "thread-spawn" (func (param i32) (result i32)))
            (func (export "_start")))"#,
        ADAPTER,
    );
    assert_eq!(
        text,
        "imports 2 things that this system does not have:\n  \
        env.memory: a memory that threads share (wasi-threads); build the program without threads (wasm32-wasip1)\n  \
        wasi: a function (thread-spawn); a program of WASI preview 1 starts no threads (wasi-threads): build it \
        without them (wasm32-wasip1)"
    );
}

/// A module that was made for JavaScript is recognised: its refusal has the tool and the way out.
#[test]
fn tools_for_javascript_are_named() {
    let text = refusal(
        r#"(module
            (import "a" "a" (func))
            (import "a" "$" (func))
            (import "a" "b0" (func))
            (import "gojs" "runtime.ticks" (func))
            (import "env" "napi_typeof" (func))
            (import "napi" "napi_wrap" (func))
            (func (export "_start")))"#,
        ADAPTER,
    );
    assert_eq!(
        text,
        "imports 6 things that this system does not have:\n  \
        a: functions (a, $, b0); the program was made for JavaScript, by emscripten: link it with -sSTANDALONE_WASM, \
        or use the WASI SDK\n  \
        env: a function (napi_typeof); an add-on of Node.js (Node-API), which runs in Node.js only\n  \
        gojs: a function (runtime.ticks); the program was made for JavaScript, by Go: build it with GOOS=wasip1\n  \
        napi: a function (napi_wrap); an add-on of Node.js (Node-API), which runs in Node.js only"
    );
}

/// A function of one letter in a module of another name is nobody's in particular.
#[test]
fn short_names_alone_are_not_emscriptens() {
    let text = refusal(
        r#"(module (import "env" "f" (func)) (import "a" "run" (func)) (func (export "_start")))"#,
        ADAPTER,
    );
    assert_eq!(
        text,
        "imports 2 things that this system does not have:\n  \
        a: a function (run); an ordinary program imports functions of WASI preview 1 and nothing else\n  \
        env: a function (f); an ordinary program imports functions of WASI preview 1 and nothing else"
    );
}

/// A refusal names the functions that only other engines have once for each kind, with the engine and the way out.
#[test]
fn extensions_of_other_engines_are_named() {
    let text = refusal(
        r#"(module
            (import "wasi_snapshot_preview1" "sock_open" (func (param i32)))
            (import "wasi_snapshot_preview1" "sock_bind" (func (param i32)))
            (import "wasi_snapshot_preview1" "sock_connect" (func (param i32)))
            (import "wasi_snapshot_preview1" "sock_getaddrinfo" (func (param i32)))
            (import "wasmedge_httpsreq" "wasmedge_httpsreq_send_data" (func))
            (import "wasi_ephemeral_nn" "load" (func))
            (import "wasix_32v1" "proc_fork" (func))
            (func (export "_start")))"#,
        ADAPTER,
    );
    assert_eq!(
        text,
        "imports 7 things that this system does not have:\n  \
        wasi_snapshot_preview1: functions (sock_open, sock_bind, sock_connect and 1 more); only WasmEdge has such: a \
        program of WASI preview 1 opens no sockets; one that serves is given the socket that listens (`sing run \
        --tcplisten`), and takes connections by sock_accept\n  \
        wasi_ephemeral_nn: a function (load); an extension of WasmEdge and others, which is no part of WASI preview 1: \
        build the program without it\n  \
        wasix_32v1: a function (proc_fork); the program was made for Wasmer (WASIX): build it for WASI preview 1 \
        (wasm32-wasip1)\n  \
        wasmedge_httpsreq: a function (wasmedge_httpsreq_send_data); an extension of WasmEdge and others, which is no \
        part of WASI preview 1: build the program without it"
    );
}

#[test]
fn a_foreign_interface_is_named_once() {
    let import = |module: &str, name: &str| format!("(import \"{module}\" \"{name}\" (func))");
    let imports: String = (0..5)
        .map(|n| import("canvas", &format!("draw{n}")))
        .collect();
    let text = refusal(
        &format!(
            "(module {imports} {} (func (export \"_start\")))",
            import("wasi:cli/run@0.2.0", "run")
        ),
        ADAPTER,
    );
    assert_eq!(
        text,
        "imports 6 things that this system does not have:\n  \
        canvas: functions (draw0, draw1, draw2 and 2 more); an ordinary program imports functions of WASI \
        preview 1 and nothing else\n  \
        wasi:cli/run@0.2.0: a function (run); a module imports them by the names of WASI 0.2: make a component of it (wasm32-wasip2)"
    );
}

#[test]
fn places_of_dynamic_linking_are_counted_and_names_stay_readable() {
    let text = refusal(
        r#"(module
            (import "GOT.mem" "a" (global (mut i32)))
            (import "GOT.mem" "b" (global (mut i32)))
            (import "GOT.func" "c" (global (mut i32)))
            (import "o'clock" "new\nline" (func))
            (func (export "_start")))"#,
        ADAPTER,
    );
    assert_eq!(
        text,
        "imports 4 things that this system does not have:\n  \
        o'clock: a function (new\\nline); an ordinary program imports functions of WASI preview 1 and nothing else\n  \
        GOT.mem and GOT.func: 3 globals; the program is made to be linked with others when it starts: link it statically"
    );
}

#[test]
fn no_name_in_a_refusal_is_obeyed_by_a_terminal() {
    let hostile = "evil\\1b[2J\\nsing: all is well\\c2\\9b1m";
    let import = format!("(import \"{hostile}\" \"{hostile}\" (func))");
    let export = format!("(export \"{hostile}\" (func 0))");
    let start = "(func (export \"_start\"))";
    for text in [
        format!("(module {import} {start})"),
        format!(
            "(module {} {start})",
            import.replace("(func)", "(global i32)")
        ),
        // Not valid, and the validator quotes the name.
        format!("(module (func) {export} {export} {start})"),
    ] {
        let text = refusal(&text, ADAPTER);
        let obeyed = text
            .lines()
            .find(|l| l.contains(char::is_control) || l.starts_with("sing:"));
        assert_eq!(obeyed, None, "{text:?}");
    }
}

#[test]
fn what_cannot_be_joined_is_refused_with_the_way_out() {
    let refused = [
        (
            "(module (memory 1) (memory 1) (func (export \"_start\")))",
            "has 2 memories",
        ),
        (
            "(module (memory i64 1) (func (export \"_start\")))",
            "build it for wasm32",
        ),
        (
            "(module (memory 1 2 shared) (func (export \"_start\")))",
            "--shared-memory",
        ),
        (
            "(module (memory 1) (func (export \"run\")))",
            "it is a library",
        ),
        (
            "(module (func (export \"_start\") (result i32) (i32.const 0)))",
            "has parameters or results",
        ),
        ("(module (memory (export \"_start\") 1))", "it is a library"),
    ];
    for (program, why) in refused {
        let text = refusal(program, ADAPTER);
        assert!(text.contains(why), "{program}: {text}");
    }
    let adapters = [
        ("(module)", "must define one memory"),
        (
            "(module (import \"program\" \"steal\" (func)) (memory 1))",
            "program.steal",
        ),
        (
            "(module (import \"program\" \"size\" (func (result i32))) (memory 1))",
            "(result i64)",
        ),
        (
            "(module (import \"sing_v1\" \"memory\" (memory 1)))",
            "must define one memory",
        ),
        (
            "(module (memory 1) (@custom \"singularity.memory\" \"\\00\"))",
            "which is made here",
        ),
    ];
    for (adapter, why) in adapters {
        let text = refusal("(module (func (export \"_start\")))", adapter);
        assert!(
            text.starts_with("the adapter: ") && text.contains(why),
            "{adapter}: {text}"
        );
    }
    let broken = merge(b"\0asm\x01\0\0\0\x05\x01", &wasm(ADAPTER), &options());
    let text = broken.unwrap_err().to_string();
    assert!(text.starts_with("not a valid module"), "{text}");
}
