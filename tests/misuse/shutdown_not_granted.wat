;; Imports the shutdown without the privilege.
;; stopped: install
;; with: needs privilege "control"
(module
  (import "sing_v1" "sys_shutdown" (func (param i32)))
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"shutdown_not_granted\", \"abi\": 1}"))
