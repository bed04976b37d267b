;; Takes null for something.
;; stopped: run
;; with: null reference
(module
  (table 1 (ref null func))
  (func (export "sip_main") (result i32)
    (drop (ref.as_non_null (table.get 0 (i32.const 0))))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"null_as_non_null\", \"abi\": 1}"))
