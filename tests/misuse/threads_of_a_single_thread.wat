;; Makes threads, and was compiled as single-threaded: its atomic operations are plain ones.
;; stopped: install
;; with: no feature atomics
(module
  (import "sing_v1" "thread_create" (func (param i32 i32) (result i32)))
  (memory 1)
  (global (export "__stack_pointer") (mut i32) (i32.const 65536))
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (func (export "sip_thread") (param i32))
  (@custom "target_features" "\01+\08sign-ext")
  (@custom "singularity.manifest" "{\"name\": \"threads_of_a_single_thread\", \"abi\": 1}"))
