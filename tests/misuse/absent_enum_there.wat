;; Sends a value of an enum that is there, with the number of none.
;; stopped: run
;; with: message that breaks what its contract requires
;; with: Torch.Paint requires: colour is a value of Colour?
(module
  (import "contract:Torch" "new" (func $Torch.new (param i32) (result i32)))
  (import "contract:Torch" "imp.send.Paint" (func $Torch.imp.send.Paint (param i32 i64 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (drop (call $Torch.new (i32.const 0)))
    (drop (call $Torch.imp.send.Paint (i32.load (i32.const 0)) (i64.const 1) (i64.const 0)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"absent_enum_there\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "enum Colour : byte { Red = 3, Green = 200 }\n"
    "contract Torch {\n"
    "  in message Set(int? x);\n"
    "  in message Paint(Colour? colour);\n"
    "  out message Ok();\n"
    "  state Start: one { Set? -> Ok! -> Start; Paint? -> Ok! -> Start; }\n"
    "}"))
