// Breaks the rules in the ways that C's types do not stop: `c-wrong WAY`. Each way but the last ends the program.

#include "Held.h"
#include "Lamp.h"
#include "PingContract.h"
#include "Quiet.h"
#include "print.h"

SING_MANIFEST({
  "name": "c-wrong",
  "version": "0.1.0",
  "description": "breaks contracts as C allows it: c-wrong WAY",
  "abi": 1,
  "endpoints": [
    {"name": "stdout", "contract": "PipeContract", "side": "imp", "state": "Start", "optional": true}
  ]
});

static Held_channel held;
static sing_byte_vector block;

// Uses an endpoint twice: the second time from a copy that was kept.
static void twice(void) {
  Held_send_Say(held.imp, 1);
  Held_send_Say(held.imp, 2);
}

// Sends when the other side has the turn, by an endpoint that it made of a handle.
static void turn(void) { Held_send_Said((Held_Exp_Start_Say){held.exp.handle}, 1); }

// Uses an endpoint that it has closed.
static void closed(void) {
  SING_CLOSE(held.imp);
  Held_send_Say(held.imp, 1);
}

// Makes up a handle.
static void forged(void) { Held_send_Say((Held_Imp_Start){123456}, 1); }

// Uses an endpoint of another contract as its own.
static void alien(void) {
  PingContract_channel ping;
  PingContract_new_channel(&ping);
  Held_send_Say((Held_Imp_Start){ping.imp.handle}, 1);
}

// Reads a block that it has freed: there is no allocation in that.
SING_NO_ALLOC(freed) static void freed(void) {
  sing_xh_free(block.handle);
  sing_xh_load8(block.handle, 0);
}

// Writes to a block that it has sent.
static void sent(void) {
  Held_send_Shout(held.imp, block);
  sing_xh_store8(block.handle, 0, 1);
}

// Sends a block twice.
static void again(void) {
  Held_channel other;
  Held_new_channel(&other);
  Held_send_Shout(held.imp, block);
  Held_send_Shout(other.imp, block);
}

// Reads beyond the end of a block.
static void beyond(void) { sing_xh_load8(block.handle, sing_xh_size(block.handle)); }

// Sends arguments that the contract does not allow: ended by the check that `sing bind` generates.
static void requires(void) { Held_send_Say(held.imp, 1000); }

// Shouts over an endpoint that it has narrowed, from the copy that it had before.
static void narrowed(void) {
  Quiet_Imp_Start quiet;
  if (Quiet_Imp_Start_cast(held.imp.handle, &quiet)) {
    Held_send_Shout(held.imp, block);
  }
}

// Correct: a narrowed endpoint sends, and the message arrives.
static void proper(void) {
  Quiet_Imp_Start quiet;
  if (!Quiet_Imp_Start_cast(held.imp.handle, &quiet)) {
    sing_printf("not narrowed\n");
    return;
  }
  Quiet_Imp_Start_Say waiting = Quiet_send_Say(quiet, 7);
  Held_Exp_Start_received heard = Held_recv(held.exp);
  switch (heard.tag) {
  case Held_Exp_Start_got_Say:
    sing_printf("said %d\n", heard.Say.x);
    Held_send_Said(heard.Say.next, -1);
    break;
  case Held_Exp_Start_got_Shout:
  case Held_Exp_Start_got_Closed:
    sing_printf("not heard\n");
    return;
  }
  Quiet_Imp_Start_Say_received answer = Quiet_recv(waiting);
  if (answer.tag == Quiet_Imp_Start_Say_got_Said) {
    sing_printf("answered %d\n", answer.Said.x);
  }
}

// Breaks a condition on a value that is there; without one it would hold.
static void dazzled(void) {
  Lamp_channel lamp;
  Lamp_new_channel(&lamp);
  Lamp_Imp_Start_Set waiting = Lamp_send_Set(lamp.imp, (sing_int_optional){0}, (Lit_optional){0});
  Lamp_Exp_Start_received heard = Lamp_recv(lamp.exp);
  Lamp_send_Was(heard.Set.next, (Hue_optional){0});
  Lamp_send_Set(Lamp_recv(waiting).Was.next, sing_int_optional_of(101), (Lit_optional){0});
}

// Correct: values that may be absent travel as words and in a block, each as it was.
static void lit(void) {
  const Lit all = {{true, -5}, {true, Hue_Cold}}, some = {{0}, {true, Hue_Warm}}, none = {{0}, {0}};
  Lamp_channel lamp;
  Lit_vector row;
  if (Lamp_new_channel(&lamp) != SING_OK || Lit_vector_new(3, &row) != SING_OK) {
    return;
  }
  Lit_vector_set(row, 0, all);
  Lit_vector_set(row, 1, some);
  Lit_vector_set(row, 2, none);
  Lamp_Imp_Start_Set setting = Lamp_send_Set(lamp.imp, sing_int_optional_of(-7), Lit_optional_of(some));
  Lamp_Exp_Start_received heard = Lamp_recv(lamp.exp);
  if (heard.tag != Lamp_Exp_Start_got_Set || !heard.Set.level.has_value || !heard.Set.lit.has_value) {
    sing_printf("not heard\n");
    return;
  }
  Lit came = heard.Set.lit.value;
  sing_printf("level %d, %d %d %d\n", heard.Set.level.value, came.level.has_value, came.hue.has_value, came.hue.value);
  Lamp_Exp_Start exporting = Lamp_send_Was(heard.Set.next, Hue_optional_of(Hue_Cold));
  Lamp_Imp_Start_Set_received answer = Lamp_recv(setting);
  if (answer.tag != Lamp_Imp_Start_Set_got_Was || !answer.Was.hue.has_value) {
    sing_printf("not answered\n");
    return;
  }
  sing_printf("was %d\n", answer.Was.hue.value);
  Lamp_send_Row(answer.Was.next, row);
  heard = Lamp_recv(exporting);
  if (heard.tag != Lamp_Exp_Start_got_Row) {
    return;
  }
  for (uint32_t i = 0; i < Lit_vector_len(heard.Row.row); i++) {
    Lit one;
    bool good = Lit_vector_get(heard.Row.row, i, &one);
    sing_printf("%d: %d %d, %d %d\n", good, one.level.has_value, one.level.value, one.hue.has_value, one.hue.value);
  }
  Lamp_channel other;
  if (Lamp_new_channel(&other) != SING_OK) {
    return;
  }
  // What is absent has no elements, and no block.
  Lamp_Imp_Start_Pour pouring = Lamp_send_Pour(other.imp, (sing_byte_vector){0}, (sing_text){0}, 0);
  Lamp_Exp_Start_received poured = Lamp_recv(other.exp);
  if (poured.tag != Lamp_Exp_Start_got_Pour) {
    sing_printf("not poured\n");
    return;
  }
  sing_printf("oil %d, name %d\n", poured.Pour.oil.handle != 0, poured.Pour.name.handle != 0);
  Lamp_send_Was(poured.Pour.next, (Hue_optional){0});
  Lamp_send_Pour(Lamp_recv(pouring).Was.next, block, (sing_text){0}, 64);
  poured = Lamp_recv((Lamp_Exp_Start){other.exp.handle});
  if (poured.tag != Lamp_Exp_Start_got_Pour) {
    sing_printf("not poured again\n");
    return;
  }
  sing_printf("oil %u, name %d\n", sing_byte_vector_len(poured.Pour.oil), poured.Pour.name.handle != 0);
  // An absent value with bytes behind it is none.
  Lit one;
  sing_xh_store8(heard.Row.row.handle, 2 * Lit_size + 5, 1);
  sing_printf("%d\n", Lit_vector_get(heard.Row.row, 2, &one));
}

static const struct {
  const char *name;
  void (*run)(void);
} ways[] = {
  {"twice", twice}, {"turn", turn}, {"closed", closed}, {"forged", forged}, {"alien", alien},
  {"freed", freed}, {"sent", sent}, {"again", again}, {"beyond", beyond}, {"requires", requires},
  {"narrowed", narrowed}, {"proper", proper}, {"dazzled", dazzled}, {"lit", lit},
};

int32_t sip_main(void) {
  sing_stdout_connect(0);
  char way[16] = {0};
  if (sing_startup_arg(1, way, sizeof way - 1) < 0) {
    sing_printf("usage: c-wrong WAY\n");
    return 2;
  }
  if (Held_new_channel(&held) != SING_OK || sing_byte_vector_new(64, &block) != SING_OK) {
    sing_printf("c-wrong: no memory for trying\n");
    return 1;
  }
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    const char *a = ways[i].name, *b = way;
    while (*a != 0 && *a == *b) {
      a++;
      b++;
    }
    if (*a == *b) {
      ways[i].run();
      sing_printf("%s: still there\n", way);
      return 0;
    }
  }
  sing_printf("c-wrong: no such way: %s\n", way);
  return 2;
}
