;; Fills one element more than a table has: nothing is written, though the fill is done in pieces.
;; stopped: run
;; with: table
(module
  (table $t 65536 funcref)
  (func $f)
  (elem declare func $f)
  (func (export "sip_main") (result i32)
    (table.fill $t (i32.const 1) (ref.func $f) (i32.const 65536))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"table_filled_beyond_its_end\", \"abi\": 1}"))
