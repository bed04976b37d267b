;; Makes channels of A, B and H, and gives ends of them to two children. Contract A carries an end
;; of B, B one of C, and C one of A, which no single text may say. Here C is another contract; in
;; the first child's text A is another, in the second's B. If contracts were identified by name, an
;; end of each would come to lie in the queue of the next.
;; stopped: no
(module
  (import "contract:A" "new" (func $Anew (param i32) (result i32)))
  (import "contract:B" "new" (func $Bnew (param i32) (result i32)))
  (import "contract:H" "new" (func $Hnew (param i32) (result i32)))
  (import "contract:A" "exp.send.MA" (func $MA (param i32 i64 i64) (result i32)))
  (import "sing_v1" "xh_alloc" (func $alloc (param i32 i32) (result i32)))
  (import "sing_v1" "process_create" (func $create (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "sing_v1" "process_start" (func $start (param i32) (result i32)))
  (import "sing_v1" "process_join" (func $join (param i32 i64) (result i32)))
  (memory 1)
  (data (i32.const 1000) "circle_of_texts_second") (data (i32.const 1100) "circle_of_texts_third")
  (func (export "sip_main") (result i32) (local $y i32) (local $z i32) (local $refused i32)
    ;; A at 0: imp, 4: exp; B at 8, 12; H at 16, 20
    (drop (call $Anew (i32.const 0))) (drop (call $Bnew (i32.const 8))) (drop (call $Hnew (i32.const 16)))
    (i32.store (i32.const 100) (i32.load (i32.const 12))) (i32.store (i32.const 104) (i32.load (i32.const 20)))
    (i32.store (i32.const 200) (i32.load (i32.const 0))) (i32.store (i32.const 204) (i32.load (i32.const 16)))
    (local.set $y (call $create (i32.const 1000) (i32.const 22) (i32.const 0) (i32.const 0) (i32.const 100) (i32.const 2)))
    (if (i32.le_s (local.get $y) (i32.const 0)) (then (local.set $refused (i32.const 1))))
    (local.set $z (call $create (i32.const 1100) (i32.const 21) (i32.const 0) (i32.const 0) (i32.const 200) (i32.const 2)))
    (if (i32.le_s (local.get $z) (i32.const 0)) (then (return (i32.sub (i32.const 1) (local.get $refused)))))
    (drop (call $start (local.get $y))) (drop (call $start (local.get $z)))
    (if (call $MA (i32.load (i32.const 4)) (i64.extend_i32_u (i32.load (i32.const 8))) (i64.extend_i32_u (call $alloc (i32.const 1048576) (i32.const 0)))) (then (return (i32.const 12))))
    (drop (call $join (local.get $y) (i64.const -1))) (drop (call $join (local.get $z) (i64.const -1)))
    (i32.const 1))
  (@custom "singularity.manifest"
    "{\"name\": \"circle_of_texts\", \"abi\": 1, \"privileges\": [\"create\"], \"endpoints\": []}")
  (@custom "singularity.contracts"
    "contract A {\n"
    " out message MA(B.Imp:S e, byte[] in ExHeap d);\n"
    " in message GA();\n"
    " state S: MA! -> GA? -> S;\n"
    "}\n"
    "contract B {\n"
    " out message MB(C.Imp:S e);\n"
    " in message GB();\n"
    " state S: MB! -> GB? -> S;\n"
    "}\n"
    "contract C {\n"
    " in message Fake();\n"
    " out message Ok();\n"
    " state S: Fake? -> Ok! -> S;\n"
    "}\n"
    "contract H {\n"
    " in message Give(C.Imp:S e);\n"
    " out message Ok();\n"
    " state S: Give? -> Ok! -> S;\n"
    "}\n"))
