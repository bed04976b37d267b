;; Makes children of unknown images, and with endpoints that they do not ask for: nothing has moved.
;; stopped: no
(module
  (import "contract:NoteContract" "new" (func $NoteContract.new (param i32) (result i32)))
  (import "sing_v1" "process_create" (func $process_create (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "contract:NoteContract" "imp.send.Note" (func $NoteContract.imp.send.Note (param i32 i64) (result i32)))
  (memory 1)
  (data (i32.const 1024) "child_that_is_none")
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $exp i32)
    (drop (call $NoteContract.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (i32.store (i32.const 8) (local.get $imp))
    (if (i32.ne (call $process_create (i32.const 1024) (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 8) (i32.const 1)) (i32.const -4))
      (then (return (i32.const 1))))
    (if (i32.ne (call $process_create (i32.const 1024) (i32.const 18) (i32.const 0) (i32.const 0) (i32.const 8) (i32.const 1)) (i32.const -7))
      (then (return (i32.const 2))))
    (if (i32.ne (call $process_create (i32.const 1024) (i32.const 18) (i32.const 0) (i32.const 3) (i32.const 8) (i32.const 0)) (i32.const -7))
      (then (return (i32.const 3))))
    (if (i32.ne (call $process_create (i32.const 1024) (i32.const 18) (i32.const 0) (i32.const 0) (i32.const 8) (i32.const 5000)) (i32.const -7))
      (then (return (i32.const 4))))
    (if (i32.ne (call $process_create (i32.const 1024) (i32.const 300) (i32.const 0) (i32.const 0) (i32.const 8) (i32.const 0)) (i32.const -4))
      (then (return (i32.const 5))))
    (if (i32.ne (call $NoteContract.imp.send.Note (local.get $imp) (i64.const 1)) (i32.const 0))
      (then (return (i32.const 6))))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"child_that_is_none\", \"abi\": 1, \"privileges\": [\"create\"]}")
  (@custom "singularity.contracts"
    "contract NoteContract {\n"
    "  in message Note(int n);\n"
    "  out message Noted();\n"
    "  state Start: Note? -> Noted! -> Start;\n"
    "}"))
