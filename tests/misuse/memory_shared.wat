;; Declares its memory shared.
;; stopped: install
;; with: the memory is declared shared
(module
  (memory 1 1 shared)
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"memory_shared\", \"abi\": 1}"))
