/* The system inside a C program: a sealed process for each call of a program of a system image.
 *
 * Functions may be called by any thread. One system may be in a process at a time.
 *
 * Link with libsingembed.so, or with libsingembed.a and -lpthread -lm -ldl. */
#ifndef SINGULARITY_H
#define SINGULARITY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What has become of a call. */
enum sing_status {
    /* The program has answered: the bytes are its answer. After all others, they are a text that
     * says what has gone wrong. */
    SING_OK = 0,
    /* The program has answered that it cannot, for this reason. */
    SING_REFUSED = 1,
    /* The program has crashed. */
    SING_CRASHED = 2,
    /* The program has ended without an answer. */
    SING_GONE = 3,
    /* The deadline has passed, and the process has been ended. */
    SING_TIMED_OUT = 4,
    /* The time of the processor is used up, and the process has been ended. */
    SING_OUT_OF_TIME = 5,
    /* The program has ended without an answer after it was refused memory. */
    SING_OUT_OF_MEMORY = 6,
    /* No process was asked: none could be made, the kept one has ended, the call has no room in its
     * memory, or as many calls as there may be are under way. */
    SING_NOT_MADE = 7,
    /* The call has no bytes or too many, the name is too long, a word cannot be given, a pointer is
     * null, or another operation of the same process or conversation is under way. */
    SING_BAD_CALL = 8,
    /* There is no system: the image is none, Linux refuses something, or it has ended. */
    SING_NO_SYSTEM = 9,
    /* The message breaks the contract: it is out of turn, its words are not those of the contract, or they do not keep
     * what it requires. Nothing of it was sent, and the conversation is as before. */
    SING_BROKEN = 10
};

/* A system, and a process that is kept. */
typedef struct sing_system sing_system;
typedef struct sing_process sing_process;

/* What a call may use; 0: as much as the program's manifest grants, or as long as it likes. */
typedef struct sing_limits {
    /* Bytes of memory of its process. */
    uint64_t memory;
    /* Nanoseconds of the processor. */
    uint64_t time;
    /* Nanoseconds until it is to be over. */
    uint64_t deadline;
} sing_limits;

/* Bytes that a function has given: an answer, or a text in UTF-8. There is a zero behind them, which
 * does not count. Free them with sing_free. */
typedef struct sing_bytes {
    uint8_t *at;
    size_t len;
} sing_bytes;

/* Starts the system in an image, whose path this is. Null, and a text in `error`, if there is none;
 * otherwise `error` stays as it is. */
sing_system *sing_start(const char *image, sing_bytes *error);

/* Ends the system: all its processes, wherever they are. Processes that are kept still have to be
 * closed, before this or after it; the system ends with the last of them. */
void sing_end(sing_system *system);

/* Makes a process of the program, hands it the bytes, waits for its answer, and ends it. `limits` may
 * be null. Gives an answer or a text in any case. */
enum sing_status sing_call(sing_system *system, const char *program, const sing_limits *limits,
                           const void *bytes, size_t len, sing_bytes *answer);

/* The same for a program that has arguments and an environment, as an ordinary one does: strings, each as
 * NAME=VALUE in the environment, with a null pointer behind the last. Both may be null. The program's name is
 * in front of the arguments, and nothing of the host's environment is in this one. */
enum sing_status sing_call_with(sing_system *system, const char *program, const sing_limits *limits,
                                const char *const *arguments, const char *const *environment,
                                const void *bytes, size_t len, sing_bytes *answer);

/* Makes a process that is kept, with limits for each of its calls. Null, and a text in `error`, if
 * there is none; otherwise `error` stays as it is. */
sing_process *sing_open(sing_system *system, const char *program, const sing_limits *limits,
                        sing_bytes *error);

/* Hands a kept process the bytes, and waits for its answer. One call at a time: another one meanwhile, of another thread,
 * is SING_BAD_CALL, and changes nothing. */
enum sing_status sing_ask(sing_process *process, const void *bytes, size_t len, sing_bytes *answer);

/* Ends a kept process, of which no call is under way. */
void sing_close(sing_process *process);

/* Frees what a function has given. Harmless if that was done before. */
void sing_free(sing_bytes *bytes);

/* Conversations: messages by a contract of the program's own, whose numbers and blocks come and go one after the
 * other.
 *
 * An end of a channel to a process that is kept. One operation at a time: another one meanwhile, of another thread, is
 * SING_BAD_CALL, and changes nothing. sing_hang_up is for when none is under way. */
typedef struct sing_peer sing_peer;

/* Which end the host has; the process has the other one. */
enum sing_side { SING_IMP = 0, SING_EXP = 1 };

/* What is spoken, and where. */
typedef struct sing_channel {
    /* The name of the process's start-up endpoint. */
    const char *endpoint;
    /* The path of the text of the contract (a .contract file), and the contract's name in it. The program must have been built
     * with the same contract. */
    const char *file;
    const char *contract;
    /* The state in which the conversation begins, as the program's manifest says; null for the first one of the contract. */
    const char *state;
    enum sing_side side;
} sing_channel;

/* A word of a message: a number as its bits (a negative one as that of 64 bits), or a block. Each argument of a message is one,
 * but for structures by value, of which each field is, and for numbers that may be absent, which have a word before
 * them that is 0 or 1. */
typedef struct sing_word {
    /* The number; of a block, its length in bytes. */
    uint64_t number;
    /* The bytes of a block; null for a number, and for a block that is absent. */
    const void *block;
} sing_word;

/* The most words of a message. */
enum { SING_WORDS = 12 };

/* A message that has come. Its blocks are read where the process has put them, until sing_release. */
typedef struct sing_message {
    const char *name;
    size_t count;
    sing_word words[SING_WORDS];
    void *held;
} sing_message;

/* Makes a process, and holds the other end of one of its start-up endpoints. `limits` may be null; memory holds from now
 * on, the deadline anew for each receive, and the time of the processor from the last message that came. Null, and a text in
 * `error`, if there is none; otherwise `error` stays as it is. A contract is refused if the kernel cannot judge what a message of
 * the host's requires, as lengths of blocks. Its text is read once, and kept as long as the system if a process was made. */
sing_peer *sing_connect(sing_system *system, const char *program, const sing_limits *limits,
                        const sing_channel *channel, sing_bytes *error);

/* Sends a message, and does not wait for the process. Blocks are copied: one has a byte at least, and all of a message have
 * 1048512 together at the most. SING_OK leaves `error` as it is. What is in a block nobody checks: the program has to. */
enum sing_status sing_send(sing_peer *peer, const char *message, const sing_word *words, size_t count,
                           sing_bytes *error);

/* Waits for a message, so many nanoseconds at the most; 0: as the limits say. A process that has not sent one then is
 * ended: SING_TIMED_OUT. One that has crashed, ended or closed its end is SING_CRASHED, SING_GONE or
 * SING_OUT_OF_MEMORY, behind all that it had sent before. Release what comes; where nothing does, `message` is one without a name, which
 * may be released, too. SING_NOT_MADE says that the messages that are not released leave no room for it: release some, and
 * receive again. */
enum sing_status sing_receive(sing_peer *peer, uint64_t deadline, sing_message *message, sing_bytes *error);

/* Both in one, which is the fastest. After SING_NOT_MADE that tells of room for an answer the message has been sent: release
 * messages, and receive. */
enum sing_status sing_exchange(sing_peer *peer, const char *message, const sing_word *words, size_t count,
                               uint64_t deadline, sing_message *to, sing_bytes *error);

/* Gives back what a message has brought. Harmless if that was done before; messages may be kept beyond the conversation,
 * and the system ends with the last of them. */
void sing_release(sing_message *message);

/* Ends a conversation, and its process. */
void sing_hang_up(sing_peer *peer);

#ifdef __cplusplus
}
#endif

#endif
