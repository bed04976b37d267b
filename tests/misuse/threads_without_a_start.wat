;; Makes threads, and has no function at which they start.
;; stopped: install
;; with: imports thread_create but has no such export
(module
  (import "sing_v1" "thread_create" (func (param i32 i32) (result i32)))
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"threads_without_a_start\", \"abi\": 1}"))
