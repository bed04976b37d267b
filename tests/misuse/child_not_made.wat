;; Gives an endpoint to a child that cannot be made: the endpoint has not moved, it is still in its
;; set, and a thread that waits there is not disturbed.
;; stopped: no
(module
  (import "contract:NoteContract" "new" (func $NoteContract.new (param i32) (result i32)))
  (import "contract:NoteContract" "imp.send.Note" (func $NoteContract.imp.send.Note (param i32 i64) (result i32)))
  (import "contract:NoteContract" "exp.recv" (func $NoteContract.exp.recv (param i32 i32) (result i32)))
  (import "contract:NoteContract" "exp.send.Noted" (func $NoteContract.exp.send.Noted (param i32) (result i32)))
  (import "sing_v1" "process_create" (func $process_create (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "sing_v1" "set_create" (func $set_create (result i32)))
  (import "sing_v1" "set_add" (func $set_add (param i32 i32 i32) (result i32)))
  (import "sing_v1" "set_wait" (func $set_wait (param i32 i64) (result i32)))
  (memory 1)
  (data (i32.const 1024) "child_not_made_for_want_of_memory")
  (func (export "sip_main") (result i32)
    (local $set i32)
    (drop (call $NoteContract.new (i32.const 0)))
    (i32.store (i32.const 8) (i32.load (i32.const 0)))
    (local.set $set (call $set_create))
    (drop (call $set_add (local.get $set) (i32.load (i32.const 0)) (i32.const 3)))
    (if (i32.ne
        (call $process_create (i32.const 1024) (i32.const 33) (i32.const 0) (i32.const 0) (i32.const 8) (i32.const 1))
        (i32.const -3))
      (then (return (i32.const 1))))
    (if (i32.ne (call $NoteContract.imp.send.Note (i32.load (i32.const 0)) (i64.const 1)) (i32.const 0))
      (then (return (i32.const 2))))
    (drop (call $NoteContract.exp.recv (i32.load (i32.const 4)) (i32.const 64)))
    (drop (call $NoteContract.exp.send.Noted (i32.load (i32.const 4))))
    (if (i32.ne (call $set_wait (local.get $set) (i64.const 0)) (i32.const 3))
      (then (return (i32.const 3))))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"child_not_made\", \"abi\": 1, \"privileges\": [\"create\"]}")
  (@custom "singularity.contracts"
    "contract NoteContract {\n"
    "  in message Note(int n);\n"
    "  out message Noted();\n"
    "  state Start: Note? -> Noted! -> Start;\n"
    "}"))
