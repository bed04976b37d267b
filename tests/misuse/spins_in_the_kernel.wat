;; Spins as long as one call allows, again and again: the kernel acts on interrupts in between.
;; stopped: no
(module
  (import "sing_v1" "spin" (func $spin (param i32)))
  (func (export "sip_main") (result i32)
    (local $i i32)
    (loop $more
      (call $spin (i32.const -1))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $i) (i32.const 2))))
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"spins_in_the_kernel\", \"abi\": 1}"))
