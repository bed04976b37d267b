;; Imports the making of processes without the privilege.
;; stopped: install
;; with: needs privilege "create"
(module
  (import "sing_v1" "process_create" (func (param i32 i32 i32 i32 i32 i32) (result i32)))
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"children_not_granted\", \"abi\": 1}"))
