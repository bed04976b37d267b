/* Calls of an ordinary program with arguments and an environment: `words IMAGE`. */
#include "singularity.h"
#include <stdio.h>

static void call(sing_system *system, const char *const *arguments, const char *const *environment) {
    sing_bytes text = {0};
    int status = (int)sing_call_with(system, "call", NULL, arguments, environment, "words", 5, &text);
    printf("%d %s\n", status, (char *)text.at);
    sing_free(&text);
}

int main(int count, char **words) {
    sing_bytes text = {0};
    sing_system *system = sing_start(count > 1 ? words[1] : "", &text);
    if (!system) {
        fprintf(stderr, "words: %s\n", (char *)text.at);
        sing_free(&text);
        return 1;
    }
    call(system, NULL, NULL);
    call(system, (const char *const[]){"a b", "--env=x", NULL}, (const char *const[]){"HOME=/", "A=b=c", NULL});
    call(system, (const char *const[]){NULL}, (const char *const[]){NULL});
    call(system, (const char *const[]){"\xff", NULL}, NULL);
    call(system, NULL, (const char *const[]){"HOME", NULL});
    call(system, NULL, (const char *const[]){"=x", NULL});
    sing_end(system);
    return 0;
}
