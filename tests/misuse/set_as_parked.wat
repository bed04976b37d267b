;; Uses a set as a parked block.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "set_create" (func $set_create (result i32)))
  (import "sing_v1" "xh_unpark" (func $xh_unpark (param i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $h i32)
    (local.set $h (call $set_create))
    (drop (call $xh_unpark (local.get $h)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"set_as_parked\", \"abi\": 1}"))
