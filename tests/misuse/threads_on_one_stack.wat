;; Makes threads, and does not tell the kernel which global is their stack pointer: they would share
;; one stack.
;; stopped: install
;; with: would share one stack
;; with: --export=__stack_pointer
(module
  (import "sing_v1" "thread_create" (func (param i32 i32) (result i32)))
  (memory 1)
  (global $stack (mut i32) (i32.const 65536))
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (func (export "sip_thread") (param i32))
  (@custom "singularity.manifest" "{\"name\": \"threads_on_one_stack\", \"abi\": 1}"))
