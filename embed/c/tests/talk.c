/* Conversations in C, and all that can be wrong with them: `c-talk IMAGE CONTRACTS`, where the contracts are those of the tests. */
#include "singularity.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void say(const char *what, enum sing_status status, sing_bytes *text) {
    printf("%s %d %s\n", what, (int)status, text->at ? (char *)text->at : "");
    sing_free(text);
}

static void show(const char *what, enum sing_status status, sing_message *message, sing_bytes *text) {
    if (status) {
        say(what, status, text);
        return;
    }
    printf("%s %s", what, message->name);
    for (size_t i = 0; i < message->count; i++) {
        const sing_word *word = &message->words[i];
        if (word->block) {
            printf(" block of %d ending %d", (int)word->number,
                   (int)((const unsigned char *)word->block)[word->number - 1]);
        } else {
            printf(" %lld", (long long)word->number);
        }
    }
    printf("\n");
}

/* Waits for a message that does not come. */
static void *wait_long(void *peer) {
    sing_bytes text = {0};
    sing_message none;
    enum sing_status status;
    do {
        /* The other thread may be there first. */
        status = sing_receive(peer, 2000000000, &none, &text);
        sing_free(&text);
        sing_release(&none);
    } while (status == SING_BAD_CALL);
    return (void *)(intptr_t)status;
}

/* Two threads use one conversation: the second operation is refused. */
static void two_at_once(sing_system *system, const sing_channel *channel) {
    sing_bytes text = {0};
    sing_peer *peer = sing_connect(system, "talker", NULL, channel, &text);
    pthread_t thread;
    if (!peer || pthread_create(&thread, NULL, wait_long, peer)) {
        say("no thread", SING_NOT_MADE, &text);
        return;
    }
    /* Refused for its name as long as the other thread does not wait. */
    enum sing_status status;
    do {
        sing_free(&text);
        status = sing_send(peer, "Nothing like it", NULL, 0, &text);
    } while (status == SING_BROKEN);
    say("at once", status, &text);
    void *ended;
    pthread_join(thread, &ended);
    printf("the other %d\n", (int)(intptr_t)ended);
    sing_hang_up(peer);
}

int main(int count, char **words) {
    sing_bytes text = {0};
    sing_message came = {0};
    sing_system *system = sing_start(count > 2 ? words[1] : "", &text);
    if (!system) {
        say("no system", SING_NO_SYSTEM, &text);
        return 1;
    }
    sing_channel channel = {.endpoint = "speak", .file = words[2], .contract = "SpeakContract"};
    sing_limits limits = {.memory = 4 << 20, .deadline = 5000000000};
    sing_peer *peer = sing_connect(system, "talker", &limits, &channel, &text);
    if (!peer) {
        say("no peer", SING_NOT_MADE, &text);
        return 1;
    }
    sing_word number[2] = {{.number = 5}, {.number = 1}};
    show("add", sing_exchange(peer, "Add", number, 2, 0, &came, &text), &came, &text);
    sing_release(&came);
    /* What breaks the contract is refused, and changes nothing. */
    say("out of turn", sing_send(peer, "Sum", number, 1, &text), &text);
    say("unknown", sing_send(peer, "Nothing like it", number, 1, &text), &text);
    say("words", sing_send(peer, "Add", number, 1, &text), &text);
    say("many words", sing_send(peer, "Add", number, SIZE_MAX, &text), &text);
    number[0].number = 1000;
    say("condition", sing_send(peer, "Add", number, 2, &text), &text);
    number[0].number = 6;
    number[1].block = "x";
    say("a block", sing_send(peer, "Add", number, 2, &text), &text);
    number[1].block = NULL;
    say("a number", sing_send(peer, "Say", number, 1, &text), &text);
    sing_word none = {.number = 0, .block = "x"};
    say("no bytes", sing_send(peer, "Say", &none, 1, &text), &text);
    none.number = UINT64_MAX;
    say("too many bytes", sing_send(peer, "Say", &none, 1, &text), &text);
    say("null", sing_send(peer, NULL, number, 1, &text), &text);
    say("null words", sing_send(peer, "Add", NULL, 2, &text), &text);
    say("no peer", sing_receive(NULL, 0, &came, &text), &text);
    show("still there", sing_exchange(peer, "Add", number, 2, 0, &came, &text), &came, &text);
    sing_release(&came);
    sing_release(&came);
    sing_word said = {.number = 5, .block = "hello"};
    show("say", sing_exchange(peer, "Say", &said, 1, 0, &came, &text), &came, &text);
    sing_message other;
    /* An absent block, and one that the host has no place for. */
    sing_word note[1] = {{0}};
    show("note", sing_exchange(peer, "Note", note, 1, 0, &other, &text), &other, &text);
    sing_release(&other);
    note[0] = (sing_word){.number = 3, .block = "abc"};
    say("no place", sing_exchange(peer, "Note", note, 1, 0, NULL, &text), &text);
    /* A process that goes: what was received stays. */
    sing_word how = {.number = 0};
    show("crash", sing_exchange(peer, "Misbehave", &how, 1, 0, &other, &text), &other, &text);
    show("then", sing_receive(peer, 0, &other, &text), &other, &text);
    sing_hang_up(peer);
    printf("kept %.5s\n", (const char *)came.words[0].block);
    for (how.number = 1; how.number < 4; how.number++) {
        peer = sing_connect(system, "talker", NULL, &channel, &text);
        say("sent", sing_send(peer, "Misbehave", &how, 1, &text), &text);
        show("gone", sing_receive(peer, 50000000, &other, &text), &other, &text);
        sing_hang_up(peer);
    }
    /* The other side: the process asks. */
    channel.endpoint = "wonders";
    channel.side = SING_EXP;
    peer = sing_connect(system, "talker", &limits, &channel, &text);
    for (int i = 0; peer && i < 3; i++) {
        show("asked", sing_receive(peer, 0, &other, &text), &other, &text);
        sing_word sum = {.number = other.words[0].number + 1};
        sing_release(&other);
        say("answered", sing_send(peer, "Sum", &sum, 1, &text), &text);
    }
    sing_hang_up(peer);
    channel.side = SING_IMP;
    channel.endpoint = "speak";
    two_at_once(system, &channel);
    /* What cannot be connected. */
    channel.endpoint = "wonders";
    if (!sing_connect(system, "talker", &limits, &channel, &text)) {
        say("endpoint", SING_NOT_MADE, &text);
    }
    channel.endpoint = "speak";
    channel.state = "Nowhere";
    if (!sing_connect(system, "talker", &limits, &channel, &text)) {
        say("state", SING_NOT_MADE, &text);
    }
    channel.state = NULL;
    channel.contract = "LengthsContract";
    if (!sing_connect(system, "talker", &limits, &channel, &text)) {
        say("lengths", SING_NOT_MADE, &text);
    }
    channel.contract = "NoContract";
    if (!sing_connect(system, "talker", &limits, &channel, &text)) {
        say("contract", SING_NOT_MADE, &text);
    }
    channel.file = "/dev/null";
    if (!sing_connect(system, "talker", &limits, &channel, &text)) {
        say("file", SING_NOT_MADE, &text);
    }
    channel.contract = NULL;
    if (!sing_connect(system, "talker", &limits, &channel, &text)) {
        say("null", SING_NOT_MADE, &text);
    }
    sing_hang_up(NULL);
    sing_release(NULL);
    sing_end(system);
    /* The system ends with this. */
    sing_release(&came);
    return 0;
}
