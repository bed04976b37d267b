;; Reads registers by a handle that nobody has given it.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "io_load8" (func $load8 (param i32 i32) (result i32)))
  (import "sing_v1" "io_load64" (func $load64 (param i32 i32) (result i64)))
  (import "sing_v1" "io_store32" (func $store32 (param i32 i32 i32)))
  (import "sing_v1" "auto_event_create" (func $event (param i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (drop (call $load8 (i32.const 0x10005) (i32.const 0)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"registers_forged\", \"abi\": 1}"))
