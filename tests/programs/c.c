/* What an ordinary program does, with wasi-libc: see xtask/src/programs.rs. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char path[256], text[4096];

static const char *at(const char *folder, const char *name) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int listed(const char *folder, const char *name) {
    DIR *directory = opendir(folder);
    int found = 0;
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        found |= !strcmp(entry->d_name, name);
    if (directory) closedir(directory);
    return found;
}

static const char *word(int yes) { return yes ? "true" : "false"; }

int main(int count, char **words) {
    if (count < 2) return 1;
    const char *folder = words[1];
    printf("words:");
    for (int i = 2; i < count; i++) printf(" %s", words[i]);
    int lines = 0;
    for (int c; (c = getchar()) != EOF;) lines += c == '\n';
    printf("\ninput: %d lines\n", lines);
    FILE *file = fopen(at(folder, "in.txt"), "r");
    if (!file) return perror(path), 1;
    size_t bytes = fread(text, 1, sizeof text, file);
    fclose(file);
    printf("file: %zu bytes\n", bytes);
    for (size_t i = 0; i < bytes; i++) text[i] = (char)toupper((unsigned char)text[i]);
    file = fopen(at(folder, "c.out"), "w+");
    if (!file) return perror(path), 1;
    fwrite(text, 1, bytes, file);
    rewind(file);
    bytes = fread(text, 1, sizeof text, file);
    fclose(file);
    printf("made: %.*s", (int)bytes, text);
    printf("listed: %s\n", word(listed(folder, "c.out")));
    remove(at(folder, "c.out"));
    printf("removed: %s\n", word(!listed(folder, "c.out")));
    printf("missing: %s\n", word(!fopen(at(folder, "missing"), "r") && errno == ENOENT));
    struct timespec before, after, pause = {0, 5000000};
    clock_gettime(CLOCK_MONOTONIC, &before);
    nanosleep(&pause, NULL);
    clock_gettime(CLOCK_MONOTONIC, &after);
    long long took = (after.tv_sec - before.tv_sec) * 1000000000LL + after.tv_nsec - before.tv_nsec;
    printf("clocks: %s\n", word(took >= 5000000 && time(NULL) > 1600000000));
    unsigned char random[16], none[16] = {0};
    printf("random: %s\n", word(!getentropy(random, 16) && memcmp(random, none, 16)));
    fprintf(stderr, "to errors\n");
    return 7;
}
