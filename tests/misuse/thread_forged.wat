;; Starts a thread that was never made.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "thread_start" (func $thread_start (param i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (drop (call $thread_start (i32.const 65537)))
    (i32.const 1))
  (func (export "sip_thread") (param $argument i32)
    (nop))
  (@custom "singularity.manifest" "{\"name\": \"thread_forged\", \"abi\": 1}"))
