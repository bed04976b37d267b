// Printing to the pipe of standard output, line by line.

#include "print.h"
#include <stdarg.h>

static PipeContract_Imp_Start pipe;
static bool connected;
static char line[512];
static size_t used;

void sing_stdout_connect(uint32_t index) { connected = PipeContract_Imp_Start_startup(index, &pipe); }

void sing_stdout_flush(void) {
  sing_byte_vector block;
  size_t len = used;
  used = 0;
  if (!connected || len == 0 || sing_bytes_new(line, len, &block) != SING_OK) {
    return;
  }
  // The endpoint is given away with the call; the one that comes back takes its place.
  PipeContract_Imp_Written_received answer = PipeContract_call_Write(pipe, block);
  switch (answer.tag) {
  case PipeContract_Imp_Written_got_Ack:
    pipe = answer.Ack.next;
    break;
  case PipeContract_Imp_Written_got_Closed:
    sing_process_exit(SING_NOBODY_READS);
  }
}

static void put(char c) {
  line[used] = c;
  used++;
  if (c == '\n' || used == sizeof line) {
    sing_stdout_flush();
  }
}

static void number(uint64_t value, unsigned base) {
  char digits[20];
  size_t count = 0;
  do {
    digits[count] = "0123456789abcdef"[value % base];
    count++;
    value /= base;
  } while (value != 0);
  while (count > 0) {
    count--;
    put(digits[count]);
  }
}

void sing_printf(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  for (; *format != 0; format++) {
    if (*format != '%') {
      put(*format);
      continue;
    }
    format++;
    bool wide = format[0] == 'l' && format[1] == 'l';
    format += wide ? 2 : 0;
    switch (*format) {
    case 's':
      for (const char *s = va_arg(arguments, const char *); *s != 0; s++) {
        put(*s);
      }
      break;
    case 'c':
      put((char)va_arg(arguments, int));
      break;
    case 'd': {
      int64_t value = wide ? va_arg(arguments, long long) : va_arg(arguments, int);
      if (value < 0) {
        put('-');
      }
      number(value < 0 ? -(uint64_t)value : (uint64_t)value, 10);
      break;
    }
    case 'u':
    case 'x':
      number(wide ? va_arg(arguments, unsigned long long) : va_arg(arguments, unsigned), *format == 'x' ? 16 : 10);
      break;
    case 0:
      // A lone sign at the end.
      format--;
      break;
    default:
      put(*format);
    }
  }
  va_end(arguments);
}
