/* SPDX-License-Identifier: GPL-2.0-or-later */
/* replay_main.c - a fuzz target without a fuzzer: feed it files.
 *
 *     fuzz-replay-x FILE-OR-FOLDER...
 *
 * Folders are read one level deep. Every input is given in memory of exactly its size, so that a
 * sanitizer sees a step too far. A target aborts when one of its properties does not hold.
 */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fuzz.h"

static unsigned long replayed;

static int give_up(const char *path)
{
    perror(path);
    return 1;
}

static int replay_file(const char *path, size_t size)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return give_up(path);
    uint8_t *data = malloc(size ? size : 1);
    if (!data || fread(data, 1, size, f) != size) {
        free(data);
        fclose(f);
        return give_up(path);
    }
    fclose(f);
    fprintf(stderr, "%s\n", path); /* the last line names the input that aborts */
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    replayed++;
    return 0;
}

/* `deeper`: whether folders are opened. */
static int replay(const char *path, int deeper)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return give_up(path);
    if (S_ISREG(st.st_mode))
        return replay_file(path, (size_t)st.st_size);
    if (!S_ISDIR(st.st_mode) || !deeper)
        return 0;
    DIR *dir = opendir(path);
    if (!dir)
        return give_up(path);
    int failed = 0;
    for (struct dirent *e = readdir(dir); e && !failed; e = readdir(dir)) {
        char child[4096];
        int n = snprintf(child, sizeof child, "%s/%s", path, e->d_name);
        if (e->d_name[0] != '.' && n > 0 && (size_t)n < sizeof child)
            failed = replay(child, 0);
    }
    closedir(dir);
    return failed;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (replay(argv[i], 1))
            return 1;
    }
    printf("%lu inputs replayed\n", replayed);
    return replayed == 0;
}
