;; Accesses a memory behind the first beyond its end, where the first one goes on.
;; stopped: run
;; with: out-of-bounds memory access
(module
  (memory $first 4)
  (memory $second 1)
  (func (export "sip_main") (result i32)
    (drop (i32.load $second (i32.const 65533)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"second_memory_load_out_of_bounds\", \"abi\": 1}"))
