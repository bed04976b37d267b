;; Casts endpoints to types that they do not have: another contract, side or state, an unknown
;; state.
;; stopped: no
(module
  (import "contract:Ask" "new" (func $Ask.new (param i32) (result i32)))
  (import "contract:Store" "new" (func $Store.new (param i32) (result i32)))
  (import "contract:Store" "imp.cast" (func $Store.imp.cast (param i32 i32) (result i32)))
  (import "contract:Ask" "exp.cast" (func $Ask.exp.cast (param i32 i32) (result i32)))
  (import "contract:Ask" "imp.cast" (func $Ask.imp.cast (param i32 i32) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $exp i32) (local $a i32) (local $b i32)
    (drop (call $Ask.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (drop (call $Store.new (i32.const 0)))
    (local.set $a (i32.load (i32.const 0)))
    (local.set $b (i32.load (i32.const 4)))
    (if (i32.ne (call $Store.imp.cast (local.get $imp) (i32.const 0)) (i32.const -6))
      (then (return (i32.const 1))))
    (if (i32.ne (call $Ask.exp.cast (local.get $imp) (i32.const 0)) (i32.const -6))
      (then (return (i32.const 2))))
    (if (i32.ne (call $Ask.imp.cast (local.get $imp) (i32.const 1)) (i32.const -6))
      (then (return (i32.const 3))))
    (if (i32.ne (call $Ask.imp.cast (local.get $imp) (i32.const 1000)) (i32.const -6))
      (then (return (i32.const 4))))
    (if (i32.ne (call $Ask.imp.cast (local.get $imp) (i32.const -1)) (i32.const -6))
      (then (return (i32.const 5))))
    (if (i32.ne (call $Ask.imp.cast (local.get $imp) (i32.const 0)) (i32.const 0))
      (then (return (i32.const 6))))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"cast_to_what_it_is_not\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Ask {\n"
    "  in message Say(uint n);\n"
    "  out message Said(uint n);\n"
    "  state Start: Say? -> Said! -> Start;\n"
    "}\n"
    "contract Store {\n"
    "  in message Put(byte[] in ExHeap data);\n"
    "  in message Two(byte[] in ExHeap a, byte[] in ExHeap b);\n"
    "  out message Ok();\n"
    "  state Start: one { Put? -> Ok! -> Start; Two? -> Ok! -> Start; }\n"
    "}"))
