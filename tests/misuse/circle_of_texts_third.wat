;; Sends an end of A over its own C, in whose text B is another contract. No other process has these
;; contracts.
;; stopped: start
;; with: not started
(module
  (import "sing_v1" "startup_endpoint" (func $startup (param i32) (result i32)))
  (import "sing_v1" "handle_dispose" (func $dispose (param i32) (result i32)))
  (import "contract:C" "new" (func $Cnew (param i32) (result i32)))
  (import "contract:C" "exp.send.MC" (func $MC (param i32 i64) (result i32)))
  (import "contract:H" "imp.send.Give" (func $give (param i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32) (local $a i32) (local $h i32)
    (local.set $a (call $startup (i32.const 0))) (local.set $h (call $startup (i32.const 1)))
    (if (call $Cnew (i32.const 0)) (then (return (i32.const 1))))
    (if (call $give (local.get $h) (i64.extend_i32_u (i32.load (i32.const 0)))) (then (return (i32.const 2))))
    (if (call $MC (i32.load (i32.const 4)) (i64.extend_i32_u (local.get $a))) (then (return (i32.const 3))))
    (i32.const 0))
  (@custom "singularity.manifest"
    "{\"name\": \"circle_of_texts_third\", \"abi\": 1, \"endpoints\": [{\"name\": \"a\", \"contract\": \"A\", \"side\": \"imp\", \"state\": \"S\"}, {\"name\": \"h\", \"contract\": \"H\", \"side\": \"imp\", \"state\": \"S\"}]}")
  (@custom "singularity.contracts"
    "contract A {\n"
    " out message MA(B.Imp:S e, byte[] in ExHeap d);\n"
    " in message GA();\n"
    " state S: MA! -> GA? -> S;\n"
    "}\n"
    "contract B {\n"
    " in message Fake();\n"
    " out message Ok();\n"
    " state S: Fake? -> Ok! -> S;\n"
    "}\n"
    "contract C {\n"
    " out message MC(A.Imp:S e);\n"
    " in message GC();\n"
    " state S: MC! -> GC? -> S;\n"
    "}\n"
    "contract H {\n"
    " in message Give(C.Imp:S e);\n"
    " out message Ok();\n"
    " state S: Give? -> Ok! -> S;\n"
    "}\n"))
