;; The start function is missing.
;; stopped: install
;; with: the module has no such export; a SIP starts there
(module
  (@custom "singularity.manifest" "{\"name\": \"main_missing\", \"abi\": 1}"))
