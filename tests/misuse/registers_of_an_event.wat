;; Writes registers by the handle of an event.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "io_load8" (func $load8 (param i32 i32) (result i32)))
  (import "sing_v1" "io_load64" (func $load64 (param i32 i32) (result i64)))
  (import "sing_v1" "io_store32" (func $store32 (param i32 i32 i32)))
  (import "sing_v1" "auto_event_create" (func $event (param i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (call $store32 (call $event (i32.const 0)) (i32.const 0) (i32.const 1))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"registers_of_an_event\", \"abi\": 1}"))
