// The functions that singularity.h declares, and the memory functions that a compiler expects of every machine.

#include "singularity.h"

// Compilers make calls of these out of plain code, so they must not be made of themselves.
#pragma clang diagnostic ignored "-Wmissing-prototypes"
__attribute__((no_builtin("memcpy"))) void *memcpy(void *to, const void *from, size_t len) {
  unsigned char *t = to;
  const unsigned char *f = from;
  for (size_t i = 0; i < len; i++) {
    t[i] = f[i];
  }
  return to;
}

__attribute__((no_builtin("memmove"))) void *memmove(void *to, const void *from, size_t len) {
  unsigned char *t = to;
  const unsigned char *f = from;
  if ((uintptr_t)t < (uintptr_t)f) {
    for (size_t i = 0; i < len; i++) {
      t[i] = f[i];
    }
  } else {
    for (size_t i = len; i > 0; i--) {
      t[i - 1] = f[i - 1];
    }
  }
  return to;
}

__attribute__((no_builtin("memset"))) void *memset(void *to, int value, size_t len) {
  unsigned char *t = to;
  for (size_t i = 0; i < len; i++) {
    t[i] = (unsigned char)value;
  }
  return to;
}

__attribute__((no_builtin("memcmp"))) int memcmp(const void *a, const void *b, size_t len) {
  const unsigned char *x = a, *y = b;
  for (size_t i = 0; i < len; i++) {
    if (x[i] != y[i]) {
      return x[i] < y[i] ? -1 : 1;
    }
  }
  return 0;
}

static size_t length(const char *text) {
  size_t len = 0;
  while (text[len] != 0) {
    len++;
  }
  return len;
}

void sing_violated(const char *requires) {
  sing_debug_print(requires, length(requires));
  __builtin_trap();
}

// The most bytes that the arguments of a child take here.
enum { MAX_ARGS = 4096 };

sing_status sing_spawn(const char *image, const char *const *args, const sing_handle *endpoints, size_t count) {
  unsigned char packed[MAX_ARGS];
  size_t used = 0;
  for (; *args != NULL; args++) {
    // Each is its length in 32 bits and its bytes.
    uint32_t len = (uint32_t)length(*args);
    if (len > MAX_ARGS || used + sizeof len + len > MAX_ARGS) {
      return SING_BAD_ARGUMENT;
    }
    memcpy(packed + used, &len, sizeof len);
    memcpy(packed + used + sizeof len, *args, len);
    used += sizeof len + len;
  }
  sing_status process = sing_process_create(image, length(image), packed, used, endpoints, count);
  if (process < 0) {
    return process;
  }
  sing_status started = sing_process_start((sing_handle)process);
  if (started < 0) {
    sing_handle_dispose((sing_handle)process);
    return started;
  }
  return process;
}

sing_status sing_bytes_new(const void *bytes, size_t len, sing_byte_vector *out) {
  sing_status status = sing_byte_vector_new(len, out);
  if (status == SING_OK) {
    sing_xh_write(out->handle, 0, bytes, len);
  }
  return status;
}

sing_status sing_text_new(const char *text, size_t len, sing_text *out) {
  sing_byte_vector bytes;
  sing_status status = len == 0 ? sing_bytes_new("\xff", 1, &bytes) : sing_bytes_new(text, len, &bytes);
  out->handle = bytes.handle;
  return status;
}

size_t sing_text_read(sing_text text, char *out, size_t max) {
  size_t len = sing_xh_size(text.handle);
  if (len == 1 && sing_xh_load8(text.handle, 0) == 0xff) {
    return 0;
  }
  sing_xh_read(text.handle, 0, out, len < max ? len : max);
  return len;
}

// --- Arithmetic of conditions. Wide products and quotients are calls into a library elsewhere; here they are rare, and
// --- made bit by bit.

typedef unsigned __int128 wide;

static wide magnitude(sing_wide value) { return value < 0 ? -(wide)value : (wide)value; }

// The number with this magnitude and sign.
static sing_wide of(wide size, bool negative, bool *sound) {
  wide most = ((wide)1 << 127) - !negative;
  *sound = *sound && size <= most;
  return (sing_wide)(negative ? -size : size);
}

sing_wide sing_mul(sing_wide a, sing_wide b, bool *sound) {
  wide x = magnitude(a), y = magnitude(b), product = 0;
  bool fits = true;
  for (int bit = 0; bit < 128; bit++) {
    fits = fits && (product >> 127) == 0;
    product <<= 1;
    if (y >> 127 != 0) {
      fits = !__builtin_add_overflow(product, x, &product) && fits;
    }
    y <<= 1;
  }
  *sound = *sound && fits;
  return of(product, (a < 0) != (b < 0), sound);
}

static wide divide(wide x, wide y, wide *rest) {
  wide quotient = 0, r = 0;
  for (int bit = 0; bit < 128; bit++) {
    bool high = r >> 127 != 0;
    r = r << 1 | x >> 127;
    x <<= 1;
    quotient <<= 1;
    if (high || r >= y) {
      r -= y;
      quotient |= 1;
    }
  }
  *rest = r;
  return quotient;
}

sing_wide sing_div(sing_wide a, sing_wide b, bool *sound) {
  wide rest;
  *sound = *sound && b != 0;
  return b == 0 ? 0 : of(divide(magnitude(a), magnitude(b), &rest), (a < 0) != (b < 0), sound);
}

sing_wide sing_rem(sing_wide a, sing_wide b, bool *sound) {
  wide rest = 0;
  // Even if only the quotient would not fit.
  *sound = *sound && b != 0 && !(b == -1 && magnitude(a) >> 127 != 0);
  if (b != 0) {
    divide(magnitude(a), magnitude(b), &rest);
  }
  return of(rest, a < 0, sound);
}

double sing_fmod(double a, double b) {
  double x = __builtin_fabs(a), y = __builtin_fabs(b);
  if (!(y > 0) || !(x < __builtin_inf())) {
    return __builtin_nan("");
  }
  while (x >= y) {
    // The largest multiple of y by a power of two that is not above x; all of this is exact.
    double part = y;
    while (part <= x - part) {
      part += part;
    }
    x -= part;
  }
  return a < 0 ? -x : x;
}
