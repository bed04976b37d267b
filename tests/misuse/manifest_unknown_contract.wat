;; An endpoint is of a contract whose text is missing.
;; stopped: install
;; with: start-up endpoint "a" is of contract "Nothing"
(module
  (func (export "sip_main") (result i32)
    (i32.const 0))
  (@custom "singularity.manifest" "{\"name\": \"manifest_unknown_contract\", \"abi\": 1, \"endpoints\": [{\"name\": \"a\", \"contract\": \"Nothing\", \"side\": \"imp\"}]}"))
