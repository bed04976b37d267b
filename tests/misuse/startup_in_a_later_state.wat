;; Gives a child an endpoint in a later state than the first of its contract, which the child does
;; not ask for: it is refused, and the endpoint stays.
;; stopped: no
(module
  (import "sing_v1" "startup_endpoint" (func $startup_endpoint (param i32) (result i32)))
  (import "contract:Ask" "new" (func $Ask.new (param i32) (result i32)))
  (import "contract:Ask" "imp.send.Say" (func $Ask.imp.send.Say (param i32 i64) (result i32)))
  (import "sing_v1" "process_create" (func $process_create (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "contract:Ask" "exp.recv" (func $Ask.exp.recv (param i32 i32) (result i32)))
  (import "contract:Ask" "exp.send.Said" (func $Ask.exp.send.Said (param i32 i64) (result i32)))
  (import "contract:Ask" "imp.recv" (func $Ask.imp.recv (param i32 i32) (result i32)))
  (memory 1)
  (data (i32.const 1024) "startup_in_a_later_state")
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $exp i32)
    (if (i32.gt_s (call $startup_endpoint (i32.const 0)) (i32.const 0))
      (then (return (i32.const 99))))
    (drop (call $Ask.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (drop (call $Ask.imp.send.Say (local.get $imp) (i64.const 1)))
    (i32.store (i32.const 8) (local.get $imp))
    (if (i32.ne (call $process_create (i32.const 1024) (i32.const 24) (i32.const 0) (i32.const 0) (i32.const 8) (i32.const 1)) (i32.const -7))
      (then (return (i32.const 1))))
    (drop (call $Ask.exp.recv (local.get $exp) (i32.const 64)))
    (drop (call $Ask.exp.send.Said (local.get $exp) (i64.const 2)))
    (if (i32.ne (call $Ask.imp.recv (local.get $imp) (i32.const 64)) (i32.const 1))
      (then (return (i32.const 2))))
    (i32.const 0))
  (@custom "singularity.manifest"
    "{\"name\": \"startup_in_a_later_state\", \"abi\": 1, \"privileges\": [\"create\"], \"endpoints\": [\n"
    "  {\"name\": \"to\", \"contract\": \"Ask\", \"side\": \"imp\", \"optional\": true}]}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}"))
