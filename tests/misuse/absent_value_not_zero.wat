;; Sends a value that is absent, and not all zeros.
;; stopped: run
;; with: message that breaks what its contract requires
;; with: Torch.Set requires: x is a value of int?
(module
  (import "contract:Torch" "new" (func $Torch.new (param i32) (result i32)))
  (import "contract:Torch" "imp.send.Set" (func $Torch.imp.send.Set (param i32 i64 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (drop (call $Torch.new (i32.const 0)))
    (drop (call $Torch.imp.send.Set (i32.load (i32.const 0)) (i64.const 0) (i64.const 5)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"absent_value_not_zero\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "enum Colour : byte { Red = 3, Green = 200 }\n"
    "contract Torch {\n"
    "  in message Set(int? x);\n"
    "  in message Paint(Colour? colour);\n"
    "  out message Ok();\n"
    "  state Start: one { Set? -> Ok! -> Start; Paint? -> Ok! -> Start; }\n"
    "}"))
