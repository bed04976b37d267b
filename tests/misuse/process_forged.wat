;; Stops a process that is not its child.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "process_stop" (func $process_stop (param i32 i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (drop (call $process_stop (i32.const 65537) (i32.const 0)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"process_forged\", \"abi\": 1, \"privileges\": [\"create\"]}"))
