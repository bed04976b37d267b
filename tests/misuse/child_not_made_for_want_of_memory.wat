;; A program whose manifest allows its memory, its stack and the least of the records that the verifier counts, but not
;; all of the records, so that it cannot be started.
;; stopped: start
;; with: not started
(module
  (memory 1)
  (func (export "sip_main") (result i32)
    (i32.const 1))
  (@custom "singularity.manifest"
    "{\"name\": \"child_not_made_for_want_of_memory\", \"abi\": 1, \"memory\": 132096, \"endpoints\": [\n"
    "  {\"name\": \"a\", \"contract\": \"NoteContract\", \"side\": \"imp\", \"optional\": true}]}")
  (@custom "singularity.contracts"
    "contract NoteContract {\n"
    "  in message Note(int n);\n"
    "  out message Noted();\n"
    "  state Start: Note? -> Noted! -> Start;\n"
    "}"))
