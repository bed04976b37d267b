/* A program in C that talks with a process: it has an index made of its standard input, and asks it for words,
 * `c-search IMAGE CONTRACT WORD ... < TEXT`. Whatever is in the text, it can harm that process alone. */
#include "singularity.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int failed(const char *what, sing_bytes *text) {
    fprintf(stderr, "c-search: %s: %s\n", what, text->at ? (char *)text->at : "no reason");
    sing_free(text);
    return 1;
}

/* Has the process note each line. */
static int read_lines(sing_peer *index) {
    char line[1000];
    while (fgets(line, sizeof line, stdin)) {
        sing_word word = {.number = strcspn(line, "\n"), .block = line};
        sing_message added;
        sing_bytes text = {0};
        if (word.number == 0) {
            /* A block has a byte at least. */
            word = (sing_word){.number = 1, .block = " "};
        }
        if (sing_exchange(index, "Add", &word, 1, 0, &added, &text)) {
            return failed(line, &text);
        }
        sing_release(&added);
    }
    return 0;
}

/* Asks it in which lines a word is. */
static int find(sing_peer *index, const char *what) {
    sing_word word = {.number = strlen(what), .block = what};
    sing_message answer;
    sing_bytes text = {0};
    if (sing_send(index, "Find", &word, 1, &text)) {
        return failed(what, &text);
    }
    /* Not its own deadline, but a shorter one for this answer. */
    if (sing_receive(index, 200000000, &answer, &text)) {
        return failed(what, &text);
    }
    if (!strcmp(answer.name, "Found")) {
        printf("%s:", what);
        const uint32_t *lines = answer.words[0].block;
        for (size_t i = 0; i < answer.words[0].number / sizeof *lines; i++) {
            printf("%s %" PRIu32, i ? "," : "", lines[i]);
        }
        printf("\n");
    } else {
        printf("%s is in no line\n", what);
    }
    sing_release(&answer);
    return 0;
}

int main(int count, char **words) {
    if (count < 3) {
        fprintf(stderr, "usage: c-search IMAGE CONTRACT WORD ... < TEXT\n");
        return 2;
    }
    sing_bytes text = {0};
    sing_system *system = sing_start(words[1], &text);
    if (!system) {
        return failed(words[1], &text);
    }
    sing_limits limits = {.memory = 4 << 20, .deadline = 500000000};
    sing_channel channel = {.endpoint = "index", .file = words[2], .contract = "SearchContract"};
    sing_peer *index = sing_connect(system, "search", &limits, &channel, &text);
    int status = index ? read_lines(index) : failed("search", &text);
    for (int i = 3; i < count && !status; i++) {
        status = find(index, words[i]);
    }
    sing_hang_up(index);
    sing_end(system);
    return status;
}
