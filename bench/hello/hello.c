// Says hello, and is there for as many seconds as its argument says.

#include "arguments.h"
#include "print.h"

SING_MANIFEST({
  "name": "hello-c",
  "version": "0.1.0",
  "description": "says hello, in C",
  "abi": 1,
  "endpoints": [
    {"name": "stdout", "contract": "PipeContract", "side": "imp", "state": "Start", "optional": true}
  ]
});

#define ARGUMENTS(number) number(seconds, "SECONDS", 0, "How long it stays.")
SING_ARGUMENTS(ARGUMENTS)

int32_t sip_main(void) {
  sing_stdout_connect(0);
  int32_t code = SING_READ_ARGUMENTS("hello-c");
  if (code != SING_GO_ON) {
    return code;
  }
  sing_printf("Hello.\n");
  sing_sleep((int64_t)seconds * 1000000000);
  return 0;
}
