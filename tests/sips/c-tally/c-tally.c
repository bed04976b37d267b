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

#define ARGUMENTS(number) number(from, "FROM", 3, "Where it begins.")
SING_ARGUMENTS(ARGUMENTS)

int32_t sip_main(void) {
  // The place of `stdout` in the manifest.
  sing_stdout_connect(0);
  int32_t code = SING_READ_ARGUMENTS("c-tally");
  if (code != SING_GO_ON) {
    return code;
  }
  for (; from > 0; from--) {
    sing_printf("%u\n", from);
  }
  return 0;
}
