;; Sets an event that was never given.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "event_set" (func $event_set (param i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (drop (call $event_set (i32.const 65537)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"event_forged\", \"abi\": 1}"))
