;; Makes a channel, with an address for the handles outside its memory.
;; stopped: run
;; with: out-of-bounds memory access
(module
  (import "contract:Ask" "new" (func $Ask.new (param i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (drop (call $Ask.new (i32.const 65532)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"channel_made_out_of_memory\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
