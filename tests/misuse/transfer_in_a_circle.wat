;; Brings a contract by which two endpoints could come to lie in each other's queues.
;; stopped: install
;; with: cannot be sent safely
(module
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"transfer_in_a_circle\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Ring {\n"
    "  in message Pass(Ring.Exp:Start e);\n"
    "  out message Ok();\n"
    "  state Start: Pass? -> Ok! -> Start;\n"
    "}"))
