;; Asks how a child ended, with an address for the answer outside its memory.
;; stopped: run
;; with: out-of-bounds memory access
(module
  (import "sing_v1" "process_create" (func $process_create (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "sing_v1" "process_exit_status" (func $process_exit_status (param i32 i32) (result i32)))
  (memory 1)
  (data (i32.const 1024) "child_out_of_memory")
  (func (export "sip_main") (result i32)
    (local $child i32)
    (local.set $child (call $process_create (i32.const 1024) (i32.const 19) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
    (drop (call $process_exit_status (local.get $child) (i32.const 65532)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"child_out_of_memory\", \"abi\": 1, \"privileges\": [\"create\"]}"))
