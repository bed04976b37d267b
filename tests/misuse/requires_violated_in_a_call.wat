;; Sends an argument that breaks the message's condition, in a call.
;; stopped: run
;; with: message that breaks what its contract requires
;; with: VictimContract.Say requires: x > 0 && x < 10
;; with: victim: closed after 0 messages
(module
  (import "sing_v1" "startup_endpoint" (func $startup_endpoint (param i32) (result i32)))
  (import "contract:VictimContract" "imp.call.Say" (func $VictimContract.imp.call.Say (param i32 i64 i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (drop (call $VictimContract.imp.call.Say (call $startup_endpoint (i32.const 0)) (i64.const 10) (i32.const 64)))
    (i32.const 0))
  (@custom "singularity.manifest"
    "{\"name\": \"requires_violated_in_a_call\", \"abi\": 1, \"endpoints\": [\n"
    "  {\"name\": \"victim\", \"contract\": \"VictimContract\", \"side\": \"imp\"}]}")
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
