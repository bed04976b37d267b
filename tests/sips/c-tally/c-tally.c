// A program in C: counts down from the number that it is called with.

#include "arguments.h"
#include "print.h"

SING_MANIFEST({
  "name": "c-tally",
  "description": "counts down, in C: c-tally [FROM]",
  "abi": 1,
  "endpoints": [
    {"name": "stdout", "contract": "PipeContract", "side": "imp", "state": "Start", "optional": true}
  ]
});

int32_t sip_main(void) {
  // The place of `stdout` in the manifest.
  sing_stdout_connect(0);
  uint32_t from = 3;
  const sing_number_argument arguments[] = {{"FROM", "Where it begins.", &from}};
  int32_t code = sing_arguments("c-tally", arguments, 1);
  if (code != SING_GO_ON) {
    return code;
  }
  for (; from > 0; from--) {
    sing_printf("%u\n", from);
  }
  return 0;
}
