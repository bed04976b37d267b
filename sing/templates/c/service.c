// The service: adds up the numbers of its client.

#include "{{Name}}Contract.h"
#include "print.h"

SING_MANIFEST({
  "name": "{{name}}",
  "version": "0.1.0",
  "description": "adds up the numbers of its client",
  "abi": 1,
  "endpoints": [
    {"name": "client", "contract": "{{Name}}Contract", "side": "exp", "state": "Start"},
    {"name": "stdout", "contract": "PipeContract", "side": "imp", "state": "Start", "optional": true}
  ]
});

int32_t sip_main(void) {
  sing_stdout_connect(1);
  {{Name}}Contract_Exp_Start client;
  if (!{{Name}}Contract_Exp_Start_startup(0, &client)) {
    return 1;
  }
  int64_t total = 0;
  for (;;) {
    // The type of the endpoint is the state of the conversation; each step gives it back in the next one.
    {{Name}}Contract_Exp_Start_received asked = {{Name}}Contract_Exp_Start_recv(client);
    if (asked.tag == {{Name}}Contract_Exp_Start_got_Closed) {
      sing_printf("{{name}}: %lld in all\n", total);
      return 0;
    }
    // A client may send any number, as often as it likes.
    if (__builtin_add_overflow(total, asked.Add.number, &total)) {
      total = asked.Add.number > 0 ? INT64_MAX : INT64_MIN;
    }
    client = {{Name}}Contract_Exp_Start_Add_send_Sum(asked.Add.next, total);
  }
}
