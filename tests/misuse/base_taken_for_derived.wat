;; Casts an endpoint of a base contract to a derived one.
;; stopped: no
(module
  (import "contract:Base" "new" (func $Base.new (param i32) (result i32)))
  (import "contract:Derived" "new" (func $Derived.new (param i32) (result i32)))
  (import "contract:Derived" "exp.cast" (func $Derived.exp.cast (param i32 i32) (result i32)))
  (import "contract:Base" "exp.cast" (func $Base.exp.cast (param i32 i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $exp i32) (local $a i32) (local $b i32)
    (drop (call $Base.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (drop (call $Derived.new (i32.const 0)))
    (local.set $a (i32.load (i32.const 0)))
    (local.set $b (i32.load (i32.const 4)))
    (if (i32.ne (call $Derived.exp.cast (local.get $exp) (i32.const 0)) (i32.const -6))
      (then (return (i32.const 1))))
    (if (i32.ne (call $Base.exp.cast (local.get $b) (i32.const 0)) (i32.const 0))
      (then (return (i32.const 2))))
    (if (i32.ne (call $Derived.exp.cast (local.get $b) (i32.const 0)) (i32.const 0))
      (then (return (i32.const 3))))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"base_taken_for_derived\", \"abi\": 1}")
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
