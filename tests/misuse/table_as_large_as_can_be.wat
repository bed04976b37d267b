;; Starts with the most table elements allowed: the kernel loads what the verifier accepts.
;; stopped: no
(module
  (table $t 786432 funcref)
  (func (export "sip_main") (result i32)
    (i32.ne (table.size $t) (i32.const 786432)))
  (@custom "singularity.manifest" "{\"name\": \"table_as_large_as_can_be\", \"abi\": 1, \"memory\": 16777216}"))
