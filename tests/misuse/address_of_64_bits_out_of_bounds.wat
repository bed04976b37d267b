;; Stores to an address of 64 bits whose lower half lies inside the memory.
;; stopped: run
;; with: out-of-bounds memory access
(module
  (memory i64 1)
  (func (export "sip_main") (result i32)
    (i32.store (i64.const 0x100000000) (i32.const 1))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"address_of_64_bits_out_of_bounds\", \"abi\": 1}"))
