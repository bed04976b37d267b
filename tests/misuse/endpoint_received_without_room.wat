;; Receives an endpoint when it has no handle left: the message stays until there is room.
;; stopped: no
(module
  (import "contract:Ask" "new" (func $Ask.new (param i32) (result i32)))
  (import "contract:Carry" "new" (func $Carry.new (param i32) (result i32)))
  (import "contract:Carry" "imp.send.Take" (func $Carry.imp.send.Take (param i32 i64) (result i32)))
  (import "sing_v1" "auto_event_create" (func $auto_event_create (param i32) (result i32)))
  (import "sing_v1" "set_create" (func $set_create (result i32)))
  (import "contract:Carry" "exp.recv" (func $Carry.exp.recv (param i32 i32) (result i32)))
  (import "sing_v1" "handle_dispose" (func $handle_dispose (param i32) (result i32)))
  (import "contract:Ask" "exp.recv" (func $Ask.exp.recv (param i32 i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $exp i32) (local $carry i32) (local $carried i32) (local $last i32) (local $event i32)
    (drop (call $Ask.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (drop (call $Carry.new (i32.const 0)))
    (local.set $carry (i32.load (i32.const 0)))
    (local.set $carried (i32.load (i32.const 4)))
    (drop (call $Carry.imp.send.Take (local.get $carry) (i64.extend_i32_u (local.get $imp))))
    (loop $more
      (local.set $last (call $auto_event_create (i32.const 0)))
      (if (i32.gt_s (local.get $last) (i32.const 0))
        (then
          (local.set $event (local.get $last))
          (br $more))))
    (if (i32.ne (local.get $last) (i32.const -3))
      (then (return (i32.const 1))))
    (if (i32.ne (call $set_create) (i32.const -3))
      (then (return (i32.const 2))))
    (if (i32.ne (call $Ask.new (i32.const 0)) (i32.const -3))
      (then (return (i32.const 3))))
    (if (i32.ne (call $Carry.exp.recv (local.get $carried) (i32.const 64)) (i32.const -3))
      (then (return (i32.const 4))))
    (if (i32.ne (call $handle_dispose (local.get $event)) (i32.const 0))
      (then (return (i32.const 5))))
    (if (i32.ne (call $Ask.new (i32.const 0)) (i32.const -3))
      (then (return (i32.const 6))))
    (if (i32.ne (call $Carry.exp.recv (local.get $carried) (i32.const 64)) (i32.const 0))
      (then (return (i32.const 7))))
    (local.set $imp (i32.load (i32.const 64)))
    (if (i32.ne (call $handle_dispose (local.get $imp)) (i32.const 0))
      (then (return (i32.const 8))))
    (if (i32.ne (call $Ask.exp.recv (local.get $exp) (i32.const 64)) (i32.const -1))
      (then (return (i32.const 9))))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"endpoint_received_without_room\", \"abi\": 1, \"memory\": 67108864, \"privileges\": []}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}\n"
    "contract Carry {\n"
    "  in message Take(Ask.Imp:Start e);\n"
    "  in message Both(Ask.Imp:Start a, Ask.Imp:Start b);\n"
    "  out message Ok();\n"
    "  state Start: one { Take? -> Ok! -> Start; Both? -> Ok! -> Start; }\n"
    "}"))
