;; Narrows an endpoint, and casts it back.
;; stopped: no
(module
  (import "contract:Tcp" "new" (func $Tcp.new (param i32) (result i32)))
  (import "contract:Listener" "imp.cast" (func $Listener.imp.cast (param i32 i32) (result i32)))
  (import "contract:Tcp" "imp.cast" (func $Tcp.imp.cast (param i32 i32) (result i32)))
  (import "contract:Listener" "imp.send.Listen" (func $Listener.imp.send.Listen (param i32) (result i32)))
  (import "contract:Tcp" "exp.recv" (func $Tcp.exp.recv (param i32 i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $exp i32)
    (drop (call $Tcp.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (if (i32.ne (call $Listener.imp.cast (local.get $imp) (i32.const 0)) (i32.const 0))
      (then (return (i32.const 1))))
    (if (i32.ne (call $Tcp.imp.cast (local.get $imp) (i32.const 0)) (i32.const -6))
      (then (return (i32.const 2))))
    (if (i32.ne (call $Listener.imp.send.Listen (local.get $imp)) (i32.const 0))
      (then (return (i32.const 3))))
    (if (i32.ne (call $Tcp.exp.recv (local.get $exp) (i32.const 64)) (i32.const 0))
      (then (return (i32.const 4))))
    (if (i32.ne (call $Tcp.imp.cast (local.get $imp) (i32.const 0)) (i32.const -6))
      (then (return (i32.const 5))))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"narrowed_endpoint_cast_back\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Tcp {\n"
    "  in message Listen();\n"
    "  in message Connect();\n"
    "  in message Close();\n"
    "  out message Ok();\n"
    "  state Start: one { Listen? -> Ok! -> Start; Connect? -> Ok! -> Start; Close? -> closed; }\n"
    "}\n"
    "contract Listener narrows Tcp.Imp { Listen; Close; }"))
