;; Sends an end of C over B, in whose text A is another contract. No other process has these
;; contracts.
;; stopped: start
;; with: not started
(module
  (import "sing_v1" "startup_endpoint" (func $startup (param i32) (result i32)))
  (import "sing_v1" "handle_dispose" (func $dispose (param i32) (result i32)))
  (import "contract:B" "exp.send.MB" (func $MB (param i32 i64) (result i32)))
  (import "contract:H" "exp.recv" (func $recv (param i32 i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32) (local $b i32) (local $h i32)
    (local.set $b (call $startup (i32.const 0))) (local.set $h (call $startup (i32.const 1)))
    (if (i32.ne (call $recv (local.get $h) (i32.const 0)) (i32.const 0)) (then (return (i32.const 1))))
    (if (call $MB (local.get $b) (i64.load (i32.const 0))) (then (return (i32.const 2))))
    (i32.const 0))
  (@custom "singularity.manifest"
    "{\"name\": \"circle_of_texts_second\", \"abi\": 1, \"endpoints\": [{\"name\": \"b\", \"contract\": \"B\", \"side\": \"exp\", \"state\": \"S\"}, {\"name\": \"h\", \"contract\": \"H\", \"side\": \"exp\", \"state\": \"S\"}]}")
  (@custom "singularity.contracts"
    "contract A {\n"
    " in message Fake();\n"
    " out message Ok();\n"
    " state S: Fake? -> Ok! -> S;\n"
    "}\n"
    "contract B {\n"
    " out message MB(C.Imp:S e);\n"
    " in message GB();\n"
    " state S: MB! -> GB? -> S;\n"
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
