;; Imports its memory.
;; stopped: install
;; with: the module imports a memory; a SIP shares nothing
(module
  (import "env" "memory" (memory 1))
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"memory_of_others\", \"abi\": 1}"))
