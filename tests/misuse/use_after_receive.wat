;; Answers a question twice.
;; stopped: run
;; with: message out of turn
(module
  (import "contract:Ask" "new" (func $Ask.new (param i32) (result i32)))
  (import "contract:Ask" "imp.send.Say" (func $Ask.imp.send.Say (param i32 i64) (result i32)))
  (import "contract:Ask" "exp.recv" (func $Ask.exp.recv (param i32 i32) (result i32)))
  (import "contract:Ask" "exp.send.Said" (func $Ask.exp.send.Said (param i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $exp i32)
    (drop (call $Ask.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (drop (call $Ask.imp.send.Say (local.get $imp) (i64.const 1)))
    (drop (call $Ask.exp.recv (local.get $exp) (i32.const 64)))
    (drop (call $Ask.exp.send.Said (local.get $exp) (i64.const 1)))
    (drop (call $Ask.exp.send.Said (local.get $exp) (i64.const 2)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"use_after_receive\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
