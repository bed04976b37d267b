;; Sends a value of which the message says neither that it is there nor that it is absent.
;; stopped: run
;; with: message that breaks what its contract requires
;; with: Lamp.Set requires: x is a value of int?
(module
  (import "contract:Lamp" "new" (func $Lamp.new (param i32) (result i32)))
  (import "contract:Lamp" "imp.send.Set" (func $Lamp.imp.send.Set (param i32 i64 i64 i64 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (drop (call $Lamp.new (i32.const 0)))
    (drop (call $Lamp.imp.send.Set (i32.load (i32.const 0)) (i64.const 2) (i64.const 0) (i64.const 0) (i64.const 0)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"absent_flag_wrong\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "enum Colour : byte { Red = 3, Green = 200 }\n"
    "contract Lamp {\n"
    "  in message Set(int? x, Colour? colour);\n"
    "  out message Ok();\n"
    "  state Start: Set? -> Ok! -> Start;\n"
    "}"))
