;; Imports from a foreign module.
;; stopped: install
;; with: foreign import
(module
  (import "env" "memcpy" (func (param i32 i32 i32) (result i32)))
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"foreign_import\", \"abi\": 1}"))
