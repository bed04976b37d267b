;; Sends an endpoint of another contract than the message declares.
;; stopped: run
;; with: wrong use of a handle
(module
  (import "contract:Store" "new" (func $Store.new (param i32) (result i32)))
  (import "contract:Carry" "new" (func $Carry.new (param i32) (result i32)))
  (import "contract:Carry" "imp.send.Take" (func $Carry.imp.send.Take (param i32 i64) (result i32)))
  (memory 1)
  (func (export "sip_main") (result i32)
    (local $imp i32) (local $exp i32) (local $carry i32) (local $carried i32)
    (drop (call $Store.new (i32.const 0)))
    (local.set $imp (i32.load (i32.const 0)))
    (local.set $exp (i32.load (i32.const 4)))
    (drop (call $Carry.new (i32.const 0)))
    (local.set $carry (i32.load (i32.const 0)))
    (local.set $carried (i32.load (i32.const 4)))
    (drop (call $Carry.imp.send.Take (local.get $carry) (i64.extend_i32_u (local.get $imp))))
    (i32.const 1))
  (@custom "singularity.manifest" "{\"name\": \"endpoint_of_the_wrong_contract\", \"abi\": 1}")
  (@custom "singularity.contracts"
    "contract Store {\n"
    "  in message Put(byte[] in ExHeap data);\n"
    "  in message Two(byte[] in ExHeap a, byte[] in ExHeap b);\n"
    "  out message Ok();\n"
    "  state Start: one { Put? -> Ok! -> Start; Two? -> Ok! -> Start; }\n"
    "}\n"
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
