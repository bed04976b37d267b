// One half of the smallest conversation, in C: starts `pong`, hands it one side of a channel, and counts.

#include "PingContract.h"
#include "arguments.h"
#include "print.h"

SING_MANIFEST({
  "name": "c-ping",
  "version": "0.1.0",
  "description": "talks with a child over PingContract, in C: c-ping [ROUNDS]",
  "abi": 1,
  "privileges": ["create"],
  "endpoints": [
    {"name": "stdout", "contract": "PipeContract", "side": "imp", "state": "Start", "optional": true}
  ]
});

#define ARGUMENTS(number) number(rounds, "ROUNDS", 3, "How often it asks.")
SING_ARGUMENTS(ARGUMENTS)

// Reports that a step failed; returns the exit code for that.
static int32_t failed(const char *what, sing_status status) {
  sing_printf("c-ping: cannot %s: status %d\n", what, status);
  return 1;
}

int32_t sip_main(void) {
  sing_stdout_connect(0);
  int32_t code = SING_READ_ARGUMENTS("c-ping");
  if (code != SING_GO_ON) {
    return code;
  }
  PingContract_channel ends;
  sing_status status = PingContract_new_channel(&ends);
  if (status != SING_OK) {
    return failed("make a channel", status);
  }
  const char *const args[] = {"pong", NULL};
  // The exporting side is the child's from here on.
  sing_status pong = sing_spawn("pong", args, &ends.exp.handle, 1);
  if (pong < 0) {
    return failed("start pong", pong);
  }
  PingContract_Imp_Start imp = ends.imp;
  for (uint32_t number = 0; number < rounds; number++) {
    // The type of the endpoint is the state of the conversation: sending from another one would not compile.
    PingContract_Imp_Start_Ping waiting = PingContract_send_Ping(imp, number);
    PingContract_Imp_Start_Ping_received answer = PingContract_recv(waiting);
    switch (answer.tag) {
    case PingContract_Imp_Start_Ping_got_Pong:
      sing_printf("ping %u, pong %u\n", number, answer.Pong.number);
      imp = answer.Pong.next;
      break;
    case PingContract_Imp_Start_Ping_got_Closed:
      return failed("hear from pong", SING_CLOSED);
    }
  }
  SING_CLOSE(imp);
  sing_exit exit;
  sing_process_join((sing_handle)pong, SING_FOREVER);
  status = sing_process_exit_status((sing_handle)pong, &exit);
  if (status != SING_OK) {
    return failed("learn how pong ended", status);
  }
  sing_printf("pong: %s %d\n", exit.how == 0 ? "exit" : exit.how == 1 ? "stopped" : "trap", exit.code);
  return 0;
}
