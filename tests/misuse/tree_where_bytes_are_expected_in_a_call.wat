;; Calls with a block with parts in place of one without: the receiver waits, and gets none.
;; stopped: run
;; with: message that breaks what its contract requires
;; with: VictimContract.Name requires: blocks without parts
(module
  (import "sing_v1" "startup_endpoint" (func $startup_endpoint (param i32) (result i32)))
  (import "sing_v1" "xh_alloc" (func $xh_alloc (param i32 i32) (result i32)))
  (import "sing_v1" "xh_attach" (func $xh_attach (param i32 i32 i32) (result i32)))
  (import "contract:VictimContract" "imp.call.Name" (func $VictimContract.imp.call.Name (param i32 i64 i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $victim i32) (local $block i32) (local $b i32)
    (local.set $victim (call $startup_endpoint (i32.const 0)))
    (local.set $block (call $xh_alloc (i32.const 64) (i32.const 0)))
    (local.set $b (call $xh_alloc (i32.const 64) (i32.const 0)))
    (drop (call $xh_attach (local.get $block) (i32.const 8) (local.get $b)))
    (drop (call $VictimContract.imp.call.Name (local.get $victim) (i64.extend_i32_u (local.get $block)) (i32.const 64)))
    (i32.const 1))
  (@custom "singularity.manifest"
    "{\"name\": \"tree_where_bytes_are_expected_in_a_call\", \"abi\": 1, \"endpoints\": [\n"
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
