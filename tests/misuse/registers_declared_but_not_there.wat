;; Writes registers that its manifest declares, of a device that it was not given.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "io_load8" (func $load8 (param i32 i32) (result i32)))
  (import "sing_v1" "io_load64" (func $load64 (param i32 i32) (result i64)))
  (import "sing_v1" "io_store32" (func $store32 (param i32 i32 i32)))
  (import "sing_v1" "auto_event_create" (func $event (param i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (call $store32 (i32.const 0x10001) (i32.const 0) (i32.const 1))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"registers_declared_but_not_there\", \"abi\": 1, \"devices\": [{\"name\": \"disk\", \"signatures\": [\"/virtio/2\"], \"registers\": [0], \"optional\": true}]}"))
