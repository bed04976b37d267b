;; There are two manifests.
;; stopped: install
;; with: the module has more than one manifest
(module
  (@custom "singularity.manifest" "{\"name\": \"other\", \"abi\": 1, \"privileges\": [\"control\"]}")
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"manifest_twice\", \"abi\": 1}"))
