;; A table of references to exceptions, which would be shared between threads.
;; stopped: install
;; with: table 0 holds references to exceptions, which belong to one thread
(module
  (table 1 exnref)
  (func (export "sip_main") (result i32) (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"exceptions_in_a_table\", \"abi\": 1}"))
