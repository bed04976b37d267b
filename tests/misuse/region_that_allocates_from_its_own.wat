;; A region without allocation that calls an allocator which serves from memory that is there: its
;; author has declared it as one.
;; stopped: install
;; with: step calls arena
(module
  (@custom "singularity.manifest" "{\"name\": \"region_that_allocates_from_its_own\", \"abi\": 1}")
  (memory 1)
  (global $next (mut i32) (i32.const 1024))
  (func $arena (export "alloc:arena") (param $size i32) (result i32)
    (global.get $next)
    (global.set $next (i32.add (global.get $next) (local.get $size))))
  (func $step (export "no_alloc:step") (result i32) (call $arena (i32.const 16)))
  (func (export "sip_main") (result i32) (drop (call $step)) (i32.const 0)))
