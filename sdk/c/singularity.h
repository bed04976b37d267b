// Everything that a C program needs beside its contracts: its manifest, the kernel's entries, the exchange heap.
//
// Freestanding C11: no C library is there, nor needed. A program is one module that exports `sip_main`; all that it
// may do is what it imports, and its manifest has to allow that.
//
// An owner in Rust (an endpoint, a block) is a plain value here: C does not keep a program from copying it,
// using it twice or losing it. The kernel holds the program to its contracts all the same, and ends it when it breaks
// them; what it loses comes back when it ends.
#ifndef SING_SINGULARITY_H
#define SING_SINGULARITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Makes a function one that the module imports.
#define SING_IMPORT(module, name) __attribute__((import_module(module), import_name(name)))

// The start of the program; its result is the exit code.
__attribute__((export_name("sip_main"))) int32_t sip_main(void);

// Declares of a function that it allocates nothing, nor lets anything allocate that it calls: no page of memory, no
// block, no object of the kernel. The installer refuses a program that can, and names the way; calls that do not
// return are not followed. The name is of your choice:
//   SING_NO_ALLOC(step) static uint32_t step(uint32_t n) { return n + 1; }
#define SING_NO_ALLOC(name) __attribute__((export_name("no_alloc:" #name)))
// Declares of a function that it allocates, from memory that the program has: a region without allocation may not
// call it.
#define SING_ALLOCATES(name) __attribute__((export_name("alloc:" #name)))

// The program's manifest, once in a program, as JSON:
//   SING_MANIFEST({"name": "hello", "abi": 1, "endpoints": [
//     {"name": "stdout", "contract": "PipeContract", "side": "imp", "state": "Start", "optional": true}]})
#define SING_MANIFEST(...) SING_MANIFEST_TEXT(#__VA_ARGS__)
#define SING_MANIFEST_TEXT(text) \
  __asm__(".section .custom_section.singularity.manifest,\"\",@\n.ascii " SING_QUOTED(text) "\n.text\n")
#define SING_QUOTED(text) #text

// The name of a kernel object. 0 names none.
typedef uint32_t sing_handle;

// Zero or more is success, negative is a reason.
typedef int32_t sing_status;
#define SING_OK 0
#define SING_CLOSED (-1)        // the other side has closed, and no message is left
#define SING_TIMEOUT (-2)       // the time-out passed first
#define SING_NO_RESOURCES (-3)  // memory, handles or another budget is spent
#define SING_NOT_FOUND (-4)     // no such name, image or object
#define SING_TOO_SMALL (-5)     // the buffer is too small; nothing was lost
#define SING_BAD_STATE (-6)     // the object is not in a state that allows the call
#define SING_BAD_ARGUMENT (-7)  // an argument is out of its range
#define SING_WOULD_BLOCK (-8)   // nothing there now
#define SING_NOT_PERMITTED (-9) // the program has no privilege for this
#define SING_TOO_DEEP (-10)     // as many processes are above this one as may be
#define SING_HELD (-11)         // somebody else holds what only one can have

// Exit codes that mean the same for all programs; a program's own are 0 to 123.
#define SING_USAGE 2            // arguments that the program does not understand
#define SING_NOBODY_READS 123   // nobody reads what it prints

// A wait without end. Times are nanoseconds; a time-out of 0 does not wait.
#define SING_FOREVER ((int64_t)-1)

#define SING_KERNEL(entry) SING_IMPORT("sing_v1", entry)

// --- The program itself.

SING_KERNEL("process_exit") void sing_process_exit(int32_t exit_code);
SING_KERNEL("self_id") uint32_t sing_self_id(void);
SING_KERNEL("startup_arg_count") int32_t sing_startup_arg_count(void);
// Copies an argument, without a zero behind it; its length. The first is the program's name by custom.
SING_KERNEL("startup_arg") sing_status sing_startup_arg(uint32_t index, char *out, size_t max);
// Takes a start-up endpoint; its handle. Contracts have a typed form, `..._startup`.
SING_KERNEL("startup_endpoint") sing_status sing_startup_endpoint(uint32_t index);
// Prints to the system's debug log, marked with the program's name; at most 1,024 bytes.
SING_KERNEL("debug_print") sing_status sing_debug_print(const char *text, size_t len);
// Ends the program that breaks what a message requires, with a message in the debug log.
_Noreturn void sing_violated(const char *requires);

// --- Time and waiting.

SING_KERNEL("uptime") int64_t sing_uptime(void);
SING_KERNEL("utc") int64_t sing_utc(void);
SING_KERNEL("sleep") sing_status sing_sleep(int64_t duration);
SING_KERNEL("yield") void sing_yield(void);
// Waits for an event, a message or the end of a channel, a child's end; does not take it.
SING_KERNEL("wait_one") sing_status sing_wait_one(sing_handle handle, int64_t timeout);
// Waits for the first of up to 64; its index. Handles that are 0 are passed over.
SING_KERNEL("wait_any") sing_status sing_wait_any(const sing_handle *handles, size_t count, int64_t timeout);
// Gives up a handle of any kind but a block's. An endpoint's closes it.
SING_KERNEL("handle_dispose") sing_status sing_handle_dispose(sing_handle handle);

// Closes an endpoint of any contract, side and state.
#define SING_CLOSE(endpoint) ((void)sing_handle_dispose((endpoint).handle))

// --- Children. These need the privilege "create".

SING_KERNEL("process_create")
sing_status sing_process_create(
  const char *image, size_t image_len, const void *args, size_t args_len, const sing_handle *endpoints, size_t count
);
SING_KERNEL("process_start") sing_status sing_process_start(sing_handle process);
SING_KERNEL("process_join") sing_status sing_process_join(sing_handle process, int64_t timeout);
SING_KERNEL("process_stop") sing_status sing_process_stop(sing_handle process, int32_t exit_code);
// Writes how a child ended.
typedef struct sing_exit {
  uint32_t how; // 0 an exit, 1 a stop, 2 a trap
  int32_t code;
} sing_exit;
SING_KERNEL("process_exit_status") sing_status sing_process_exit_status(sing_handle process, sing_exit *out);
// Makes and starts a child of an installed image; a process handle, or a status. `args` ends with NULL; the endpoints
// are those of the child's manifest, in order, 0 for one left out. If no child is made, they stay the caller's.
sing_status sing_spawn(const char *image, const char *const *args, const sing_handle *endpoints, size_t count);

// --- The exchange heap.

// A zeroed block; its handle. `type` is a number that travels with it.
SING_KERNEL("xh_alloc") sing_status sing_xh_alloc(uint32_t size, uint32_t type);
SING_KERNEL("xh_free") sing_status sing_xh_free(sing_handle block);
SING_KERNEL("xh_size") uint32_t sing_xh_size(sing_handle block);
SING_KERNEL("xh_type") sing_status sing_xh_type(sing_handle block);
// A second, read-only view of a part; the first becomes read-only too.
SING_KERNEL("xh_share") sing_status sing_xh_share(sing_handle block, uint32_t start, uint32_t end);
// Cuts a block in two; the handle of what lies from `offset` on.
SING_KERNEL("xh_split") sing_status sing_xh_split(sing_handle block, uint32_t offset);
// Copies out of a block, and into one. Outside the block, the program ends.
SING_KERNEL("xh_read") void sing_xh_read(sing_handle block, uint32_t offset, void *to, size_t len);
SING_KERNEL("xh_write") void sing_xh_write(sing_handle block, uint32_t offset, const void *from, size_t len);
SING_KERNEL("xh_load8") uint32_t sing_xh_load8(sing_handle block, uint32_t offset);
SING_KERNEL("xh_load16") uint32_t sing_xh_load16(sing_handle block, uint32_t offset);
SING_KERNEL("xh_load32") uint32_t sing_xh_load32(sing_handle block, uint32_t offset);
SING_KERNEL("xh_load64") uint64_t sing_xh_load64(sing_handle block, uint32_t offset);
SING_KERNEL("xh_store8") void sing_xh_store8(sing_handle block, uint32_t offset, uint32_t value);
SING_KERNEL("xh_store16") void sing_xh_store16(sing_handle block, uint32_t offset, uint32_t value);
SING_KERNEL("xh_store32") void sing_xh_store32(sing_handle block, uint32_t offset, uint32_t value);
SING_KERNEL("xh_store64") void sing_xh_store64(sing_handle block, uint32_t offset, uint64_t value);
// Makes a block a part of another, at the offset of the field that says so; the child's handle is gone.
SING_KERNEL("xh_attach") sing_status sing_xh_attach(sing_handle block, uint32_t offset, sing_handle child);
// Takes a part out again; its handle.
SING_KERNEL("xh_detach") sing_status sing_xh_detach(sing_handle block, uint32_t offset);

// Vectors and records of a type T that has T_size, T_load (false if the bytes are no T) and T_store:
//   T_vector_new(len, &v), T_vector_len(v), T_vector_get(v, i, &t), T_vector_set(v, i, t)
//   T_record_new(t, &r), T_record_get(r, &t), T_record_set(r, t)
// A get answers whether there is such a value; a set beyond the end ends the program.
// SING_BLOCKS_OF declares the two types, SING_IN_BLOCKS what can be done with them.
#define SING_BLOCKS_OF(T) \
  typedef struct T##_vector { sing_handle handle; } T##_vector; \
  typedef struct T##_record { sing_handle handle; } T##_record;
#define SING_IN_BLOCKS(T, type) \
  static inline sing_status T##_vector_new(uint32_t len, T##_vector *out) { \
    sing_status block = len > UINT32_MAX / T##_size ? SING_BAD_ARGUMENT : sing_xh_alloc(len * T##_size, 0); \
    out->handle = block > 0 ? (sing_handle)block : 0; \
    return block > 0 ? SING_OK : block; \
  } \
  static inline uint32_t T##_vector_len(T##_vector v) { return sing_xh_size(v.handle) / T##_size; } \
  static inline bool T##_vector_get(T##_vector v, uint32_t i, type *out) { \
    unsigned char bytes[T##_size]; \
    if (i >= T##_vector_len(v)) { return false; } \
    sing_xh_read(v.handle, i * T##_size, bytes, T##_size); \
    return T##_load(bytes, out); \
  } \
  static inline void T##_vector_set(T##_vector v, uint32_t i, type value) { \
    unsigned char bytes[T##_size] = {0}; \
    if (i >= T##_vector_len(v)) { sing_violated(#T "_vector_set: beyond the end"); } \
    T##_store(bytes, value); \
    sing_xh_write(v.handle, i * T##_size, bytes, T##_size); \
  } \
  static inline void T##_record_set(T##_record r, type value) { \
    unsigned char bytes[T##_size] = {0}; \
    T##_store(bytes, value); \
    sing_xh_write(r.handle, 0, bytes, T##_size); \
  } \
  static inline sing_status T##_record_new(type value, T##_record *out) { \
    sing_status block = sing_xh_alloc(T##_size, 0); \
    out->handle = block > 0 ? (sing_handle)block : 0; \
    if (block > 0) { T##_record_set(*out, value); } \
    return block > 0 ? SING_OK : block; \
  } \
  static inline bool T##_record_get(T##_record r, type *out) { \
    unsigned char bytes[T##_size]; \
    if (sing_xh_size(r.handle) < T##_size) { return false; } \
    sing_xh_read(r.handle, 0, bytes, T##_size); \
    return T##_load(bytes, out); \
  }

// A value of a type T that may be absent, `T?`: `T_optional_of(value)`, or `(T_optional){0}` for none. In a block
// `align` bytes stand before the value, the first of which says whether it is there; the bytes of none are all zeros.
#define SING_OPTIONAL(T, type, align) \
  typedef struct T##_optional { bool has_value; type value; } T##_optional; \
  enum { T##_optional_size = (align) + T##_size }; \
  static inline T##_optional T##_optional_of(type value) { return (T##_optional){true, value}; } \
  static inline bool T##_optional_load(const unsigned char *bytes, T##_optional *out) { \
    bool zeros = true; \
    for (uint32_t i = 1; i < T##_optional_size; i++) { zeros = zeros && bytes[i] == 0; } \
    *out = (T##_optional){0}; \
    if (bytes[0] != 1) { return bytes[0] == 0 && zeros; } \
    out->has_value = true; \
    return T##_load(bytes + (align), &out->value); \
  } \
  static inline void T##_optional_store(unsigned char *bytes, T##_optional value) { \
    for (uint32_t i = 0; i < T##_optional_size; i++) { bytes[i] = 0; } \
    bytes[0] = value.has_value; \
    if (value.has_value) { T##_store(bytes + (align), value.value); } \
  }

#define SING_SCALAR(T, type) \
  SING_BLOCKS_OF(T) \
  enum { T##_size = sizeof(type) }; \
  static inline bool T##_load(const unsigned char *bytes, type *out) { \
    __builtin_memcpy(out, bytes, T##_size); \
    return true; \
  } \
  static inline void T##_store(unsigned char *bytes, type value) { __builtin_memcpy(bytes, &value, T##_size); } \
  SING_IN_BLOCKS(T, type) \
  SING_OPTIONAL(T, type, sizeof(type))

SING_SCALAR(sing_byte, uint8_t)
SING_SCALAR(sing_sbyte, int8_t)
SING_SCALAR(sing_ushort, uint16_t)
SING_SCALAR(sing_short, int16_t)
SING_SCALAR(sing_uint, uint32_t)
SING_SCALAR(sing_int, int32_t)
SING_SCALAR(sing_ulong, uint64_t)
SING_SCALAR(sing_long, int64_t)
SING_SCALAR(sing_float, float)
SING_SCALAR(sing_double, double)

// A truth value; not every byte is one.
enum { sing_bool_size = 1 };
static inline bool sing_bool_load(const unsigned char *bytes, bool *out) {
  *out = bytes[0] == 1;
  return bytes[0] <= 1;
}
static inline void sing_bool_store(unsigned char *bytes, bool value) { bytes[0] = value; }
SING_BLOCKS_OF(sing_bool)
SING_IN_BLOCKS(sing_bool, bool)
SING_OPTIONAL(sing_bool, bool, 1)

// A character: a Unicode scalar value.
typedef uint32_t sing_char;
static inline bool sing_is_char(uint64_t word) { return word < 0xd800 || (word > 0xdfff && word <= 0x10ffff); }
enum { sing_char_size = 4 };
static inline bool sing_char_load(const unsigned char *bytes, sing_char *out) {
  __builtin_memcpy(out, bytes, sing_char_size);
  return sing_is_char(*out);
}
static inline void sing_char_store(unsigned char *bytes, sing_char value) {
  __builtin_memcpy(bytes, &value, sing_char_size);
}
SING_BLOCKS_OF(sing_char)
SING_IN_BLOCKS(sing_char, sing_char)
SING_OPTIONAL(sing_char, sing_char, 4)

// Text, `char[] in ExHeap`: UTF-8. No block is empty; a text without characters is the byte 0xff.
typedef struct sing_text { sing_handle handle; } sing_text;
sing_status sing_text_new(const char *text, size_t len, sing_text *out);
// How many bytes a text has; none, if it is empty.
static inline uint32_t sing_text_len(sing_text text) {
  uint32_t size = sing_xh_size(text.handle);
  return size == 1 && sing_xh_load8(text.handle, 0) == 0xff ? 0 : size;
}
// Copies as much of a text as fits; the length that it has.
size_t sing_text_read(sing_text text, char *out, size_t max);

// A vector of bytes with a copy of these, at least one.
sing_status sing_bytes_new(const void *bytes, size_t len, sing_byte_vector *out);

// --- For generated code.

// Whole numbers in conditions: 128 bits, and a note where even those do not hold the result.
typedef __int128 sing_wide;
// What is absent has no value.
static inline int sing_absent(bool *sound) { return *sound = false; }
static inline sing_wide sing_add(sing_wide a, sing_wide b, bool *sound) {
  sing_wide sum;
  *sound = !__builtin_add_overflow(a, b, &sum) && *sound;
  return sum;
}
static inline sing_wide sing_sub(sing_wide a, sing_wide b, bool *sound) {
  sing_wide difference;
  *sound = !__builtin_sub_overflow(a, b, &difference) && *sound;
  return difference;
}
sing_wide sing_mul(sing_wide a, sing_wide b, bool *sound);
sing_wide sing_div(sing_wide a, sing_wide b, bool *sound);
sing_wide sing_rem(sing_wide a, sing_wide b, bool *sound);
double sing_fmod(double a, double b);

// Floating-point numbers travel as their bits.
static inline uint32_t sing_float_bits(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}
static inline float sing_float_of(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
static inline uint64_t sing_double_bits(double value) {
  uint64_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}
static inline double sing_double_of(uint64_t bits) {
  double value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

#endif // SING_SINGULARITY_H
