;; Uses an endpoint of a derived contract as one of the base without a cast.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "contract:Base" "new" (func $Base.new (param i32) (result i32)))
  (import "contract:Derived" "new" (func $Derived.new (param i32) (result i32)))
  (import "contract:Base" "exp.send.Success" (func $Base.exp.send.Success (param i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $exp i32) (local $a i32) (local $b i32)
    (drop (call $Base.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (drop (call $Derived.new (i32.const 0)))
    (local.set $a (i32.load (i32.const 0)))
    (local.set $b (i32.load (i32.const 4)))
    (drop (call $Base.exp.send.Success (local.get $b)))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"derived_used_as_base\", \"abi\": 1}")
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
