;; The program starts with more memory than its manifest allows.
;; stopped: install
;; with: its manifest allows 4096
(module
  (memory 1)
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"x\", \"abi\": 1, \"memory\": 4096}"))
