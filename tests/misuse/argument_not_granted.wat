;; Can send an endpoint of a contract, and imports sends of that endpoint's receiver.
;; stopped: install
;; with: the program can never hold an endpoint Ask.Exp
(module
  (import "contract:Ask" "exp.send.Said" (func (param i32 i64) (result i32)))
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest"
    "{\"name\": \"argument_not_granted\", \"abi\": 1, \"endpoints\": [\n"
    "  {\"name\": \"carry\", \"contract\": \"Carry\", \"side\": \"imp\"}]}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}\n"
    "contract Carry {\n"
    "  in message Take(Ask.Imp:Start e);\n"
    "  in message Both(Ask.Imp:Start a, Ask.Imp:Start b);\n"
    "  out message Ok();\n"
    "  state Start: one { Take? -> Ok! -> Start; Both? -> Ok! -> Start; }\n"
    "}"))
