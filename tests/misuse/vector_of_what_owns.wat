;; Brings a contract with a vector of endpoints.
;; stopped: install
;; with: Held cannot lie in a block
(module
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"vector_of_what_owns\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}\n"
    "rep struct Held { Ask.Imp:Start e; }\n"
    "contract C {\n"
    "  in message All(Held[] in ExHeap all);\n"
    "  state Start: All? -> closed;\n"
    "}"))
