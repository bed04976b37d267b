;; Initial data at both ends of a large memory: more than a process is given at once is copied by
;; its first thread, in steps.
;; stopped: no
(module
  (memory 1600)
  (data (i32.const 0) "first")
  (data (i32.const 52428800) "middle")
  (data (i32.const 104857596) "last")
  (func (export "sip_main") (result i32)
    (if (i32.ne (i32.load (i32.const 0)) (i32.const 0x73726966)) (then (return (i32.const 1))))
    (if (i32.ne (i32.load (i32.const 52428800)) (i32.const 0x6464696d)) (then (return (i32.const 2))))
    (if (i32.load (i32.const 52428808)) (then (return (i32.const 3))))
    (i32.ne (i32.load (i32.const 104857596)) (i32.const 0x7473616c)))
  (@custom "singularity.manifest" "{\"name\": \"data_all_over\", \"abi\": 1, \"memory\": 134217728}"))
