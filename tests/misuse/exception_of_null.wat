;; Throws a null reference.
;; stopped: run
;; with: null reference
(module
  (tag $t)
  (global $e (mut exnref) (ref.null exn))
  (func (export "sip_main") (result i32)
    (block $h (try_table (catch_all $h) (throw_ref (global.get $e))))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"exception_of_null\", \"abi\": 1}"))
