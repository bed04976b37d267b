;; Selects handles, with an address for the answers outside its memory.
;; stopped: run
;; with: out-of-bounds memory access
(module
  (import "sing_v1" "select" (func $select (param i32 i32 i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (drop (call $select (i32.const 0) (i32.const -4) (i32.const 2) (i64.const 0)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"select_tags_out_of_memory\", \"abi\": 1}"))
