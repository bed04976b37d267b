;; Calls a null reference.
;; stopped: run
;; with: call of a null function reference
(module
  (type $f (func (result i32)))
  (func (export "sip_main") (result i32) (call_ref $f (ref.null $f)))
  (@custom "singularity.manifest" "{\"name\": \"null_call_ref\", \"abi\": 1}"))
