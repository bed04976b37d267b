// The arguments of a program, declared once. A word that fits no declaration is refused with the usage and SING_USAGE before
// the program does anything; `--help` prints the usage, to standard output, which has to be connected.
#ifndef SING_ARGUMENTS_H
#define SING_ARGUMENTS_H

#include "singularity.h"

// A whole number that the program can be called with. Declared numbers are taken in their order.
typedef struct {
  const char *name;  // as the usage shows it: "ROUNDS"
  const char *help;  // a sentence
  uint32_t *value;   // holds the default before, and the number after
} sing_number_argument;

// The answer of sing_arguments if the program goes on.
#define SING_GO_ON (-1)

// Reads the program's arguments, of which all may be left out. SING_GO_ON, or the exit code with which it is to end.
int32_t sing_arguments(const char *program, const sing_number_argument *arguments, size_t count);

#endif // SING_ARGUMENTS_H
