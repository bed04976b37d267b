;; Imports an entry for compiled code only: a send by number, on any contract.
;; stopped: install
;; with: version 1 of the ABI has no entry "channel_send"
(module
  (import "sing_v1" "channel_send" (func (param i32 i32 i64 i64 i64) (result i32)))
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"entry_of_the_compiler\", \"abi\": 1}"))
