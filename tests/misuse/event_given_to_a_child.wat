;; Gives a child an event in place of an endpoint.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "sing_v1" "auto_event_create" (func $auto_event_create (param i32) (result i32)))
  (import "sing_v1" "process_create" (func $process_create (param i32 i32 i32 i32 i32 i32) (result i32)))
  (memory 1)
  (data (i32.const 1024) "event_given_to_a_child")
  (func (export "sip_main") (result i32)
    (i32.store (i32.const 8) (call $auto_event_create (i32.const 0)))
    (drop (call $process_create (i32.const 1024) (i32.const 22) (i32.const 0) (i32.const 0) (i32.const 8) (i32.const 1)))
    (i32.const 1))
  (@custom "singularity.manifest"
    "{\"name\": \"event_given_to_a_child\", \"abi\": 1, \"privileges\": [\"create\"], \"endpoints\": [\n"
    "  {\"name\": \"a\", \"contract\": \"NoteContract\", \"side\": \"imp\", \"optional\": true}]}")
  (@custom "singularity.contracts"
    "contract NoteContract {\n"
    "  in message Note(int n);\n"
    "  out message Noted();\n"
    "  state Start: Note? -> Noted! -> Start;\n"
    "}"))
