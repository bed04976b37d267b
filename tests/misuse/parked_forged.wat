;; Unparks a block that was never parked.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "xh_unpark" (func $xh_unpark (param i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (drop (call $xh_unpark (i32.const 65537)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"parked_forged\", \"abi\": 1}"))
