;; Says which memory kernel calls mean by what is no number.
;; stopped: install
;; with: must hold one number
(module
  (memory 1)
  (func (export "sip_main") (result i32) (i32.const 1))
  (@custom "singularity.memory" "\00\00")
  (@custom "singularity.manifest" "{\"name\": \"kernel_memory_no_number\", \"abi\": 1}"))
