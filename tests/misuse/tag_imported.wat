;; Imports a tag, which nothing could throw.
;; stopped: install
;; with: imports a tag; a SIP shares nothing
(module
  (import "env" "__cpp_exception" (tag (param i32)))
  (func (export "sip_main") (result i32) (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"tag_imported\", \"abi\": 1}"))
