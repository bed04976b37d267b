;; Sends an end of D, used as one of its base B that is over, over E; and the end of E over D, which D allows from there
;; on and B does not know. Each would come to lie in the queue of the other, with a block, and be nobody's for ever.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "contract:D" "new" (func $Dnew (param i32) (result i32)))
  (import "contract:E" "new" (func $Enew (param i32) (result i32)))
  (import "contract:B" "exp.cast" (func $cast (param i32 i32) (result i32)))
  (import "contract:B" "exp.send.Ok" (func $Ok (param i32) (result i32)))
  (import "contract:D" "imp.recv" (func $recv (param i32 i32) (result i32)))
  (import "contract:E" "imp.send.Pass" (func $Pass (param i32 i64 i64) (result i32)))
  (import "contract:D" "imp.send.Bring" (func $Bring (param i32 i64) (result i32)))
  (import "sing_v1" "xh_alloc" (func $alloc (param i32 i32) (result i32)))
  (import "sing_v1" "handle_dispose" (func $dispose (param i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    ;; D at 0: imp, 4: exp; E at 8, 12.
    (drop (call $Dnew (i32.const 0))) (drop (call $Enew (i32.const 8)))
    (if (call $cast (i32.load (i32.const 4)) (i32.const 0)) (then (return (i32.const 1))))
    (if (call $Ok (i32.load (i32.const 4))) (then (return (i32.const 2))))
    (if (call $recv (i32.load (i32.const 0)) (i32.const 100)) (then (return (i32.const 3))))
    (if (call $Pass (i32.load (i32.const 8)) (i64.load32_u (i32.const 4))
        (i64.extend_i32_u (call $alloc (i32.const 1048576) (i32.const 0))))
      (then (return (i32.const 4))))
    (if (call $Bring (i32.load (i32.const 0)) (i64.load32_u (i32.const 12))) (then (return (i32.const 5))))
    (drop (call $dispose (i32.load (i32.const 0)))) (drop (call $dispose (i32.load (i32.const 8))))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"transfer_by_an_ended_base\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract B {\n"
    "  out message Ok();\n"
    "  state S: Ok! -> Done;\n"
    "  state Done;\n"
    "}\n"
    "contract E {\n"
    "  in message Pass(B.Exp:Done e, byte[] in ExHeap d);\n"
    "  state S: Pass? -> closed;\n"
    "}\n"
    "contract D : B {\n"
    "  in message Bring(E.Exp:S e);\n"
    "  override state Done: Bring? -> closed;\n"
    "}\n"))
