;; One memory more than a process may have.
;; stopped: install
;; with: the module has 17 memories, where 16 are allowed: put several memories into one
(module
  (memory 0) (memory 0) (memory 0) (memory 0) (memory 0) (memory 0) (memory 0) (memory 0) (memory 0)
  (memory 0) (memory 0) (memory 0) (memory 0) (memory 0) (memory 0) (memory 0) (memory 0)
  (func (export "sip_main") (result i32) (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"too_many_memories\", \"abi\": 1}"))
