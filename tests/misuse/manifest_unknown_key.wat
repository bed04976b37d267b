;; The manifest has an unknown key.
;; stopped: install
;; with: unknown field `root`
(module
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"manifest_unknown_key\", \"abi\": 1, \"root\": true}"))
