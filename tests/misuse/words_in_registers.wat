;; Imports a send with more words in registers than allowed.
;; stopped: install
;; with: but must be (i32, i32) -> i32
(module
  (import "contract:Many" "imp.send.Four" (func (param i32 i64 i64 i64 i64) (result i32)))
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest"
    "{\"name\": \"words_in_registers\", \"abi\": 1, \"endpoints\": [\n"
    "  {\"name\": \"to\", \"contract\": \"Many\", \"side\": \"imp\"}]}")
  (@custom "singularity.contracts"
    "contract Many {\n"
    "  in message Four(ulong a, ulong b, ulong c, ulong d);\n"
    "  out message Done();\n"
    "  state Start: Four? -> Done! -> Start;\n"
    "}"))
