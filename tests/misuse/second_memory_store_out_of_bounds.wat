;; Accesses a memory behind the first beyond its end, where the first one goes on.
;; stopped: run
;; with: out-of-bounds memory access
(module
  (memory $first 4)
  (memory $second 1)
  (func (export "sip_main") (result i32)
    (i64.store $second offset=0xffffffff (i32.const 1) (i64.const 1))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"second_memory_store_out_of_bounds\", \"abi\": 1}"))
