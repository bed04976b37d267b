;; Was granted the base, and imports a send of a derived contract without a cast to it.
;; stopped: install
;; with: the program can never hold an endpoint Derived.Imp
(module
  (import "contract:Derived" "imp.send.Work" (func (param i32) (result i32)))
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest"
    "{\"name\": \"derived_not_granted\", \"abi\": 1, \"endpoints\": [\n"
    "  {\"name\": \"service\", \"contract\": \"Base\", \"side\": \"imp\"}]}")
  (@custom "singularity.contracts"
    "contract Base {\n"
    "  out message Success();\n"
    "  state Start: Success! -> Bound;\n"
    "  state Bound;\n"
    "}\n"
    "contract Derived : Base {\n"
    "  in message Work();\n"
    "  override state Start: Success! -> Ready;\n"
    "  state Ready: Work? -> Success! -> Ready;\n"
    "}"))
