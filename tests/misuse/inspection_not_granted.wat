;; Imports an entry that inspects the system without the privilege.
;; stopped: install
;; with: needs privilege "inspect"
(module
  (import "sing_v1" "sys_query" (func (param i32 i32 i32) (result i32)))
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"inspection_not_granted\", \"abi\": 1}"))
