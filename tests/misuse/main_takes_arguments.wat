;; The start function takes an argument.
;; stopped: install
;; with: must be a function () -> i32
(module
  (func (export "sip_main") (param i32) (result i32) (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"main_takes_arguments\", \"abi\": 1}"))
