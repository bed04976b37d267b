;; Gives a child the same endpoint twice.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "contract:NoteContract" "new" (func $NoteContract.new (param i32) (result i32)))
  (import "sing_v1" "process_create" (func $process_create (param i32 i32 i32 i32 i32 i32) (result i32)))
  (memory 1)
  (data (i32.const 1024) "endpoint_given_to_two_children")
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $exp i32)
    (drop (call $NoteContract.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (i32.store (i32.const 8) (local.get $imp))
    (i32.store (i32.const 12) (local.get $imp))
    (drop (call $process_create (i32.const 1024) (i32.const 30) (i32.const 0) (i32.const 0) (i32.const 8) (i32.const 2)))
    (i32.const 1))
  (@custom "singularity.manifest"
    "{\"name\": \"endpoint_given_to_two_children\", \"abi\": 1, \"privileges\": [\"create\"], \"endpoints\": [\n"
    "  {\"name\": \"a\", \"contract\": \"NoteContract\", \"side\": \"imp\", \"optional\": true},\n"
    "  {\"name\": \"b\", \"contract\": \"NoteContract\", \"side\": \"imp\", \"optional\": true}]}")
  (@custom "singularity.contracts"
    "contract NoteContract {\n"
    "  in message Note(int n);\n"
    "  out message Noted();\n"
    "  state Start: Note? -> Noted! -> Start;\n"
    "}"))
