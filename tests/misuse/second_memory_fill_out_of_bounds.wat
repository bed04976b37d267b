;; Accesses a memory behind the first beyond its end, where the first one goes on.
;; stopped: run
;; with: out-of-bounds memory access
(module
  (memory $first 4)
  (memory $second 1)
  (func (export "sip_main") (result i32)
    (memory.fill $second (i32.const -1) (i32.const 0) (i32.const 2))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"second_memory_fill_out_of_bounds\", \"abi\": 1}"))
