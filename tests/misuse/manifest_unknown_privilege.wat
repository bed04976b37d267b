;; The manifest asks for an unknown privilege.
;; stopped: install
;; with: there is no privilege "everything"
(module
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"manifest_unknown_privilege\", \"abi\": 1, \"privileges\": [\"everything\"]}"))
