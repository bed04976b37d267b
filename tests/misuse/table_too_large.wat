;; Starts with more table elements than the kernel has room for.
;; stopped: install
;; with: 786433 table elements at the start, in all tables together, where 786432 are allowed
(module
  (table 786433 funcref)
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"table_too_large\", \"abi\": 1}"))
