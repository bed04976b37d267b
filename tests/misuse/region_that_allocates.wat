;; A region without allocation, as it is declared, that takes a block of the exchange heap by way of a
;; function that a table holds.
;; stopped: install
;; with: declared to allocate nothing
;; with: step calls any function () -> () that a table or a reference holds calls helper calls xh_alloc
(module
  (@custom "singularity.manifest" "{\"name\": \"region_that_allocates\", \"abi\": 1}")
  (import "sing_v1" "xh_alloc" (func $xh_alloc (param i32 i32) (result i32)))
  (memory 1)
  (table 1 funcref)
  (elem (i32.const 0) func $helper)
  (func $helper (drop (call $xh_alloc (i32.const 64) (i32.const 0))))
  (func $step (export "no_alloc:step") (call_indirect (i32.const 0)))
  (func (export "sip_main") (result i32) (call $step) (i32.const 0)))
