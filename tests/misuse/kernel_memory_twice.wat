;; Says twice which memory kernel calls mean.
;; stopped: install
;; with: more than once which memory
(module
  (memory 1)
  (memory 1)
  (func (export "sip_main") (result i32) (i32.const 1))
  (@custom "singularity.memory" "\00")
  (@custom "singularity.memory" "\01")
  (@custom "singularity.manifest" "{\"name\": \"kernel_memory_twice\", \"abi\": 1}"))
