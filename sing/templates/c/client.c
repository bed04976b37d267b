// The client: has the service add the numbers from 1 to the one in its argument.

#include "{{Name}}Contract.h"
#include "arguments.h"
#include "print.h"

SING_MANIFEST({
  "name": "{{name}}-client",
  "version": "0.1.0",
  "description": "adds the numbers up to one: {{name}}-client [LAST]",
  "abi": 1,
  "endpoints": [
    {"name": "service", "contract": "{{Name}}Contract", "side": "imp", "state": "Start"},
    {"name": "stdout", "contract": "PipeContract", "side": "imp", "state": "Start", "optional": true}
  ]
});

#define ARGUMENTS(number) number(last, "LAST", 3, "The last number that it adds.")
SING_ARGUMENTS(ARGUMENTS)

int32_t sip_main(void) {
  sing_stdout_connect(1);
  int32_t code = SING_READ_ARGUMENTS("{{name}}-client");
  if (code != SING_GO_ON) {
    return code;
  }
  {{Name}}Contract_Imp_Start service;
  if (!{{Name}}Contract_Imp_Start_startup(0, &service)) {
    return 1;
  }
  for (uint32_t number = 1; number <= last && number <= INT32_MAX; number++) {
    {{Name}}Contract_Imp_Start_Add_received answer = {{Name}}Contract_Imp_Start_call_Add(service, (int32_t)number);
    if (answer.tag == {{Name}}Contract_Imp_Start_Add_got_Closed) {
      sing_printf("{{name}}-client: the service has gone\n");
      return 1;
    }
    sing_printf("%lld\n", answer.Sum.total);
    service = answer.Sum.next;
  }
  return 0;
}
