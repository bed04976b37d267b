;; Makes a process with a name outside its memory.
;; stopped: run
;; with: out-of-bounds memory access
(module
  (import "sing_v1" "process_create" (func $process_create (param i32 i32 i32 i32 i32 i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (drop (call $process_create (i32.const 65530) (i32.const 100) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"name_out_of_memory\", \"abi\": 1, \"privileges\": [\"create\"]}"))
