;; Brings a struct that contains itself.
;; stopped: install
;; with: rep struct Endless contains itself
(module
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"struct_without_end\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "rep struct Endless { int n; Endless next; }\n"
    "contract C {\n"
    "  in message Put(Endless* in ExHeap e);\n"
    "  state Start: Put? -> closed;\n"
    "}"))
