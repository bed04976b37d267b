;; Uses a set as an endpoint.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "set_create" (func $set_create (result i32)))
  (import "sing_v1" "endpoint_peek" (func $endpoint_peek (param i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $h i32)
    (local.set $h (call $set_create))
    (drop (call $endpoint_peek (local.get $h)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"set_as_endpoint\", \"abi\": 1}"))
