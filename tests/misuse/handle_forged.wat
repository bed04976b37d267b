;; Frees a block that it was never given, under any number.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "xh_free" (func $xh_free (param i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (drop (call $xh_free (i32.const 65537)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"handle_forged\", \"abi\": 1}"))
