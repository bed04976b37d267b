;; Brings a derived contract that keeps neither side's expectations.
;; stopped: install
;; with: keeps neither side's expectations of Ask
(module
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"override_that_keeps_nothing\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}\n"
    "contract Odd : Ask {\n"
    "  in message Shout();\n"
    "  out message Heard();\n"
    "  override state Start: Shout? -> Heard! -> Start;\n"
    "}"))
