;; An exception that nothing catches ends the process where it is thrown, past a block for others.
;; stopped: run
;; with: uncaught exception, in thrower
;; with: called from caller
(module
  (tag $t (param i32))
  (func $thrower (param i32)
    (if (local.get 0) (then (throw $t (local.get 0)))))
  (func $caller (param i32) (call $thrower (local.get 0)) (call $thrower (i32.const 0)))
  (func $main (export "sip_main") (result i32)
    (call $caller (i32.const 7)) (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"exception_uncaught\", \"abi\": 1}"))
