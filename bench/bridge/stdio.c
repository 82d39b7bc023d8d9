/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stdio.c - how long a program that talks on standard input and output takes to its first answer.
 *
 *     stdio RUNS FILE EXPECTED PROGRAM ARGUMENT...
 *
 * Each run starts the program, sends it the bytes of FILE, stops the clock at the end of the first
 * line that holds the text EXPECTED, closes the program's input and waits for its end. Prints
 * {"ms":[...]}; one run before the first does not count.
 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"

#define MAX_BYTES 65536u

extern char **environ;

typedef struct child {
    pid_t pid;
    int in, out;
} child;

static child spawn_program(char **argv)
{
    int in[2];
    int out[2];
    child c;
    posix_spawn_file_actions_t actions;
    if (pipe(in) != 0 || pipe(out) != 0)
        bench_give_up("stdio: pipe: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    const int ends[] = {in[0], in[1], out[0], out[1]};
    for (size_t i = 0; i < 4; i++)
        posix_spawn_file_actions_addclose(&actions, ends[i]);
    int rc = posix_spawn(&c.pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (rc)
        bench_give_up("stdio: %s: %s", argv[0], strerror(rc));
    close(in[0]);
    close(out[1]);
    c.in = in[1];
    c.out = out[0];
    return c;
}

/* Until a line with the text has ended. */
static void read_answer(int out, const char *expected)
{
    static char text[MAX_BYTES];
    size_t n = 0;
    for (;;) {
        ssize_t got = read(out, text + n, sizeof text - 1 - n);
        if (got <= 0)
            bench_give_up("stdio: no answer with '%s': %s", expected, text);
        n += (size_t)got;
        text[n] = '\0';
        const char *found = strstr(text, expected);
        if (found && strchr(found, '\n'))
            return;
    }
}

static double run(char **argv, const char *bytes, size_t n, const char *expected)
{
    uint64_t begin = bench_now_ns();
    child c = spawn_program(argv);
    int status;
    if (write(c.in, bytes, n) != (ssize_t)n)
        bench_give_up("stdio: %s takes nothing", argv[0]);
    read_answer(c.out, expected);
    uint64_t end = bench_now_ns();
    close(c.in);
    if (waitpid(c.pid, &status, 0) != c.pid || status != 0)
        bench_give_up("stdio: %s ended with %d", argv[0], status);
    close(c.out);
    return (double)(end - begin) / 1e6;
}

int main(int argc, char **argv)
{
    static char bytes[MAX_BYTES];
    if (argc < 5)
        bench_give_up("usage: stdio RUNS FILE EXPECTED PROGRAM ARGUMENT...");
    unsigned runs = bench_parse_count(argv[1]);
    FILE *file = fopen(argv[2], "r");
    size_t n = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (n == 0)
        bench_give_up("stdio: %s: cannot be read", argv[2]);
    fclose(file);
    (void)run(argv + 4, bytes, n, argv[3]);
    printf("{\"ms\":[");
    for (unsigned i = 0; i < runs; i++)
        printf("%s%.3f", i ? "," : "", run(argv + 4, bytes, n, argv[3]));
    printf("]}\n");
    return 0;
}
