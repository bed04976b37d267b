;; Stores a vector of which all bytes but the last lie in memory.
;; stopped: run
;; with: out-of-bounds memory access
(module
  (memory 1)
  (func (export "sip_main") (result i32)
    (v128.store align=1 (i32.const 65521) (v128.const i64x2 -1 -1))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"vector_across_the_end\", \"abi\": 1}"))
