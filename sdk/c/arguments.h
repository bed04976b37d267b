// The arguments of a program, declared once, as whole numbers in their order, one behind the other:
//
//   #define ARGUMENTS(number) number(rounds, "ROUNDS", 3, "How often it asks.") number(size, "SIZE", 64, "How much.")
//   SING_ARGUMENTS(ARGUMENTS)
//
// makes a variable `rounds`, which holds 3 until SING_READ_ARGUMENTS has read another number, the table that the program checks
// its words by, and the same declarations in its manifest, by which the shell checks them before it starts the program. A word that
// fits no declaration is refused with the usage and SING_USAGE before the program does anything; `--help` prints the usage, to
// standard output, which has to be connected.
#ifndef SING_ARGUMENTS_H
#define SING_ARGUMENTS_H

#include "singularity.h"

// A whole number that the program can be called with. Declared numbers are taken in their order.
typedef struct {
  const char *name;  // as the usage shows it: "ROUNDS"
  const char *help;  // a sentence
  uint32_t *value;   // holds the default before, and the number after
} sing_number_argument;

// Declares the arguments of the program, once in it, outside of functions.
#define SING_ARGUMENTS(LIST) \
  LIST(SING_ARGUMENT_VALUE) \
  static const sing_number_argument sing_declared_arguments[] = {LIST(SING_ARGUMENT_ROW)}; \
  __asm__(".section .custom_section.singularity.parameters,\"\",@\n" LIST(SING_ARGUMENT_TEXT) ".text\n");
#define SING_ARGUMENT_VALUE(variable, name, number, help) static uint32_t variable = number;
#define SING_ARGUMENT_ROW(variable, name, number, help) {name, help, &variable},
// A list of one for each: those behind each other are read as one.
#define SING_ARGUMENT_TEXT(variable, name, number, help) \
  SING_ARGUMENT_JSON([{"name": name, "count": "optional", "default": #number, "help": help, \
                       "kind": {"whole": {"least": 0, "most": 4294967295}}}])
#define SING_ARGUMENT_JSON(...) SING_ARGUMENT_LINE(#__VA_ARGS__)
#define SING_ARGUMENT_LINE(text) ".ascii " SING_QUOTED(text) "\n"

// Reads the arguments that SING_ARGUMENTS declares: SING_GO_ON, or the exit code with which the program is to end.
#define SING_READ_ARGUMENTS(program) \
  sing_arguments(program, sing_declared_arguments, sizeof sing_declared_arguments / sizeof sing_declared_arguments[0])

// The answer of sing_arguments if the program goes on.
#define SING_GO_ON (-1)

// Reads the program's arguments, of which all may be left out. SING_GO_ON, or the exit code with which it is to end.
int32_t sing_arguments(const char *program, const sing_number_argument *arguments, size_t count);

#endif // SING_ARGUMENTS_H
