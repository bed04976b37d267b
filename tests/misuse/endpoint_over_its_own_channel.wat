;; Sends an endpoint over the channel that it is an end of.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "contract:Loop" "new" (func $Loop.new (param i32) (result i32)))
  (import "contract:Loop" "imp.send.Pass" (func $Loop.imp.send.Pass (param i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $exp i32)
    (drop (call $Loop.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (drop (call $Loop.imp.send.Pass (local.get $imp) (i64.extend_i32_u (local.get $imp))))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"endpoint_over_its_own_channel\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Loop {\n"
    "  in message Pass(Loop.Imp:Start e);\n"
    "  out message Ok();\n"
    "  state Start: Pass? -> Ok! -> Start;\n"
    "}"))
