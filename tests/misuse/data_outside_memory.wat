;; Has initial data beyond the end of its initial memory.
;; stopped: install
;; with: data segment 1 ends at byte 65537
(module
  (memory 1)
  (data (i32.const 0) "fits")
  (data (i32.const 65535) "no")
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"data_outside_memory\", \"abi\": 1}"))
