;; Adds an endpoint to a set that was never given.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "set_create" (func $set_create (result i32)))
  (import "sing_v1" "set_add" (func $set_add (param i32 i32 i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $set i32)
    (local.set $set (call $set_create))
    (drop (call $set_add (local.get $set) (i32.const 131074) (i32.const 0)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"set_with_a_forged_endpoint\", \"abi\": 1}"))
