;; Sends on an endpoint that it has given to a child.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "startup_endpoint" (func $startup_endpoint (param i32) (result i32)))
  (import "contract:NoteContract" "new" (func $NoteContract.new (param i32) (result i32)))
  (import "sing_v1" "process_create" (func $process_create (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "contract:NoteContract" "imp.send.Note" (func $NoteContract.imp.send.Note (param i32 i64) (result i32)))
  (memory 1)
  (data (i32.const 1024) "endpoint_given_to_a_child")
  (func (export "sip_main") (result i32)
    (local $none i32) (local $imp i32) (local $exp i32) (local $child i32)
    (local.set $none (call $startup_endpoint (i32.const 0)))
    (if (i32.gt_s (local.get $none) (i32.const 0))
      (then (return (i32.const 0))))
    (drop (call $NoteContract.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (i32.store (i32.const 8) (local.get $imp))
    (local.set $child (call $process_create (i32.const 1024) (i32.const 25) (i32.const 0) (i32.const 0) (i32.const 8) (i32.const 1)))
    (drop (call $NoteContract.imp.send.Note (local.get $imp) (i64.const 1)))
    (i32.const 1))
  (@custom "singularity.manifest"
    "{\"name\": \"endpoint_given_to_a_child\", \"abi\": 1, \"privileges\": [\"create\"], \"endpoints\": [\n"
    "  {\"name\": \"a\", \"contract\": \"NoteContract\", \"side\": \"imp\", \"optional\": true}]}")
  (@custom "singularity.contracts"
    "contract NoteContract {\n"
    "  in message Note(int n);\n"
    "  out message Noted();\n"
    "  state Start: Note? -> Noted! -> Start;\n"
    "}"))
