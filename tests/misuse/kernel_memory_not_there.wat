;; Says that kernel calls mean a memory that it does not have.
;; stopped: install
;; with: kernel calls are to refer to memory 2, and the module has 2
(module
  (memory 1)
  (memory 1)
  (func (export "sip_main") (result i32) (i32.const 1))
  (@custom "singularity.memory" "\02")
  (@custom "singularity.manifest" "{\"name\": \"kernel_memory_not_there\", \"abi\": 1}"))
