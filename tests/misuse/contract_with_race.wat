;; Brings a contract in which both sides may send and would misunderstand each other.
;; stopped: install
;; with: both sides may send in state Start
(module
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"contract_with_race\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract C {\n"
    "  in message Stop(); out message Done(); out message Again();\n"
    "  state Start: one { Stop? -> Stopped; Done! -> Finished; }\n"
    "  state Stopped: Again! -> closed;\n"
    "  state Finished: Stop? -> closed;\n"
    "}"))
