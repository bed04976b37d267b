/* A program with a plug-in, in C: `c-host IMAGE`. Each call has a process of its own, with budgets. */
#include "singularity.h"
#include <stdio.h>
#include <string.h>

int main(int count, char **words) {
    sing_bytes text = {0};
    sing_system *system = sing_start(count > 1 ? words[1] : "", &text);
    if (!system) {
        fprintf(stderr, "c-host: %s\n", (char *)text.at);
        sing_free(&text);
        return 1;
    }
    sing_limits limits = {.memory = 1 << 20, .time = 50000000, .deadline = 1000000000};
    const char *calls[] = {"hello", "crash", "loop", "bye"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        enum sing_status status =
            sing_call(system, "shout", &limits, calls[i], strlen(calls[i]), &text);
        printf("%d %s\n", (int)status, (char *)text.at);
        sing_free(&text);
    }
    sing_process *kept = sing_open(system, "shout", NULL, &text);
    if (kept) {
        int status = (int)sing_ask(kept, "again", 5, &text);
        printf("%d %s\n", status, (char *)text.at);
        sing_free(&text);
        status = (int)sing_ask(kept, NULL, 0, &text);
        printf("%d %s\n", status, (char *)text.at);
        sing_close(kept);
    }
    sing_free(&text);
    printf("%d\n", (int)sing_call(system, NULL, NULL, "x", 1, NULL));
    sing_end(system);
    return 0;
}
