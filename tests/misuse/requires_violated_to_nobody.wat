;; Sends an argument that breaks the message's condition to a side that has closed: the message
;; would not be received, and is wrong all the same.
;; stopped: run
;; with: message that breaks what its contract requires
;; with: VictimContract.Say requires: x > 0 && x < 10
(module
  (import "sing_v1" "handle_dispose" (func $handle_dispose (param i32) (result i32)))
  (import "contract:VictimContract" "new" (func $VictimContract.new (param i32) (result i32)))
  (import "contract:VictimContract" "imp.send.Say" (func $VictimContract.imp.send.Say (param i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (drop (call $VictimContract.new (i32.const 0)))
    (drop (call $handle_dispose (i32.load (i32.const 4))))
    (if (i32.ne (call $VictimContract.imp.send.Say (i32.load (i32.const 0)) (i64.const 10)) (i32.const -1))
      (then (return (i32.const 1))))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"requires_violated_to_nobody\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract NoteContract {\n"
    "  in message Note(int n);\n"
    "  out message Noted();\n"
    "  state Start: Note? -> Noted! -> Start;\n"
    "}\n"
    "enum Colour : byte { Red = 3, Green = 200 }\n"
    "rep struct Point { int x; Colour colour; }\n"
    "contract VictimContract {\n"
    "  in message Paint(Colour colour);\n"
    "  in message Say(int x) requires x > 0 && x < 10;\n"
    "  in message Flag(bool on);\n"
    "  in message Letter(char c);\n"
    "  in message Place(Point at);\n"
    "  in message Point(Point* in ExHeap one);\n"
    "  in message Row(Point[] in ExHeap all);\n"
    "  in message Name(char[] in ExHeap name);\n"
    "  in message Take(byte[] in ExHeap data, NoteContract.Imp:Start note);\n"
    "  out message Thanks();\n"
    "  state Start: one {\n"
    "    Paint? -> Taken; Say? -> Taken; Flag? -> Taken; Letter? -> Taken; Place? -> Taken;\n"
    "    Point? -> Taken; Row? -> Taken; Name? -> Taken; Take? -> Taken;\n"
    "  }\n"
    "  state Taken: Thanks! -> Start;\n"
    "}"))
