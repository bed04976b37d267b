;; Accesses a memory behind the first beyond its end, where the first one goes on.
;; stopped: run
;; with: out-of-bounds memory access
(module
  (memory $first 4)
  (memory $second 1)
  (func (export "sip_main") (result i32)
    (memory.copy $second $first (i32.const 65530) (i32.const 0) (i32.const 7))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"second_memory_copy_out_of_bounds\", \"abi\": 1}"))
