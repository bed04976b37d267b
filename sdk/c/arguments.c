// Arguments: read by the table that the usage is printed from.

#include "arguments.h"
#include "print.h"

// The longest word that is looked at. A longer one is no number.
#define LONGEST 64

// Lines for the debug log, where refusals go.
typedef struct {
  char bytes[256];
  size_t used;
} line;

static void add(line *to, const char *text) {
  for (; *text != 0 && to->used < sizeof to->bytes; text++) {
    to->bytes[to->used] = *text;
    to->used++;
  }
}

static void log_line(const line *said) { sing_debug_print(said->bytes, said->used); }

static void add_usage(line *to, const char *program, const sing_number_argument *arguments, size_t count) {
  add(to, "usage: ");
  add(to, program);
  for (size_t i = 0; i < count; i++) {
    add(to, " [");
    add(to, arguments[i].name);
    add(to, "]");
  }
}

static bool same(const char *a, const char *b) {
  for (; *a != 0 && *a == *b; a++, b++) {
  }
  return *a == *b;
}

// Reads a whole number of 32 bits: digits, at least one. Returns why the text is none, or NULL.
static const char *number(const char *text, uint32_t *value) {
  uint64_t sum = 0;
  bool below = *text == '-';
  const char *digits = below ? text + 1 : text;
  const char *at = digits;
  for (; *at >= '0' && *at <= '9'; at++) {
    if (sum <= UINT32_MAX) {
      sum = sum * 10 + (uint64_t)(*at - '0');
    }
  }
  if (at == digits || *at != 0) {
    return " is not a whole number";
  }
  if (below) {
    return " is too small";
  }
  if (sum > UINT32_MAX) {
    return " is too large";
  }
  *value = (uint32_t)sum;
  return NULL;
}

static int32_t help(const char *program, const sing_number_argument *arguments, size_t count) {
  sing_printf("usage: %s", program);
  for (size_t i = 0; i < count; i++) {
    sing_printf(" [%s]", arguments[i].name);
  }
  sing_printf("\n");
  for (size_t i = 0; i < count; i++) {
    const sing_number_argument *a = &arguments[i];
    sing_printf("  %s  %s (a whole number; %u if left out)\n", a->name, a->help, *a->value);
  }
  return 0;
}

static int32_t refuse(const char *program, const line *reason, const sing_number_argument *arguments, size_t count) {
  line usage = {.used = 0};
  add_usage(&usage, program, arguments, count);
  log_line(reason);
  log_line(&usage);
  return SING_USAGE;
}

int32_t sing_arguments(const char *program, const sing_number_argument *arguments, size_t count) {
  int32_t given = sing_startup_arg_count();
  for (int32_t i = 1; i < given; i++) {
    char word[LONGEST + 1] = "a long word";
    sing_status len = sing_startup_arg((uint32_t)i, word, LONGEST);
    if (len >= 0) {
      word[len] = 0;
    }
    if (same(word, "--help") || same(word, "-h")) {
      return help(program, arguments, count);
    }
    line reason = {.used = 0};
    add(&reason, program);
    uint32_t value = 0;
    const char *wrong = number(word, &value);
    if ((size_t)i > count) {
      add(&reason, ": one argument too many: ");
      add(&reason, word);
    } else if (wrong != NULL) {
      add(&reason, ": ");
      add(&reason, arguments[i - 1].name);
      add(&reason, ": ");
      add(&reason, word);
      add(&reason, wrong);
    } else {
      *arguments[i - 1].value = value;
      continue;
    }
    return refuse(program, &reason, arguments, count);
  }
  return SING_GO_ON;
}
