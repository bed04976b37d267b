;; A program that was compiled without checks, as is done to measure what these cost: it would write
;; into the memory of others. A system that was not started for measuring does not load it.
;; compiled: --checks none
;; stopped: start
;; with: compiled without checks
(module
  (@custom "singularity.manifest" "{\"name\": \"without_checks\", \"abi\": 1}")
  (memory 1 1)
  (func (export "sip_main") (result i32)
    (i32.store (i32.const 0x40000000) (i32.const 1))
    (i32.const 0)))
