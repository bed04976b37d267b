;; Would send an endpoint of a contract of which it has another text under the name that the message
;; gives: then the contract of the message is another one, too, and the program gets no endpoint of
;; the receiver's contract.
;; stopped: start
;; with: not started
(module
  (import "sing_v1" "startup_endpoint" (func $startup_endpoint (param i32) (result i32)))
  (import "contract:NoteContract" "new" (func $NoteContract.new (param i32) (result i32)))
  (import "sing_v1" "xh_alloc" (func $xh_alloc (param i32 i32) (result i32)))
  (import "contract:VictimContract" "imp.send.Take" (func $VictimContract.imp.send.Take (param i32 i64 i64) (result i32)))
  (import "contract:VictimContract" "imp.recv" (func $VictimContract.imp.recv (param i32 i32) (result i32)))
  (import "contract:NoteContract" "exp.recv" (func $NoteContract.exp.recv (param i32 i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $victim i32) (local $imp i32) (local $exp i32) (local $block i32)
    (local.set $victim (call $startup_endpoint (i32.const 0)))
    (drop (call $NoteContract.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (local.set $block (call $xh_alloc (i32.const 64) (i32.const 0)))
    (if (i32.ne (call $VictimContract.imp.send.Take (local.get $victim) (i64.extend_i32_u (local.get $block)) (i64.extend_i32_u (local.get $imp))) (i32.const 0))
      (then (return (i32.const 1))))
    (if (i32.ne (call $VictimContract.imp.recv (local.get $victim) (i32.const 64)) (i32.const -1))
      (then (return (i32.const 2))))
    (if (i32.ne (call $NoteContract.exp.recv (local.get $exp) (i32.const 64)) (i32.const -1))
      (then (return (i32.const 3))))
    (i32.const 0))
  (@custom "singularity.manifest"
    "{\"name\": \"contract_lies_about_an_argument\", \"abi\": 1, \"endpoints\": [\n"
    "  {\"name\": \"victim\", \"contract\": \"VictimContract\", \"side\": \"imp\"}]}")
  (@custom "singularity.contracts"
    "contract NoteContract {\n"
    "  in message Other(int n);\n"
    "  out message Noted();\n"
    "  state Start: Other? -> Noted! -> Start;\n"
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
