// Standard output: a pipe that the program's manifest declares.
#ifndef SING_PRINT_H
#define SING_PRINT_H

#include "PipeContract.h"

// Connects standard output to the start-up endpoint with this place in the manifest, an optional
// `PipeContract.Imp:Start`. Without it, what is printed goes nowhere.
void sing_stdout_connect(uint32_t index);

// Prints; %s %c %d %u %x %%, and with `ll` the 64-bit forms of the numbers. A line goes out when it is complete. Where
// nobody reads any more, the program ends with exit code SING_NOBODY_READS, as in a pipe whose later stage has seen enough.
__attribute__((format(printf, 1, 2))) void sing_printf(const char *format, ...);

// Sends what is left. The last thing that a program does which prints parts of lines.
void sing_stdout_flush(void);

#endif // SING_PRINT_H
