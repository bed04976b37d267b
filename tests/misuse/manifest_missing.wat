;; The manifest is missing.
;; stopped: install
;; with: the module has no manifest
(module
  (func (export "sip_main") (result i32)
    (i32.const 0)))
