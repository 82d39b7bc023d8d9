/* SPDX-License-Identifier: GPL-2.0-or-later */
/* start.c - how long a server takes from being started to its first answer.
 *
 *     start RUNS PATH EXPECTED PROGRAM ARGUMENT...
 *     start RUNS @FILE EXPECTED PROGRAM ARGUMENT...
 *
 * The program must print a line with http://ADDRESS:PORT on it once it listens. Each run starts it,
 * reads that line, connects, asks for PATH (or sends the bytes of FILE), stops the clock at the end
 * of the answer, and ends the program with SIGTERM. An answer without the text EXPECTED is no
 * answer: a server that is up before it can do its work has not started. Prints {"ms":[...]}; one
 * run before the first does not count.
 */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"

extern char **environ;

static pid_t spawn_program(char **argv, int *ret_out)
{
    int ends[2];
    pid_t pid;
    posix_spawn_file_actions_t actions;
    if (pipe(ends) != 0)
        bench_give_up("start: pipe: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    int rc = posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (rc)
        bench_give_up("start: %s: %s", argv[0], strerror(rc));
    *ret_out = ends[0];
    return pid;
}

static struct sockaddr_in read_address(int out)
{
    char line[512];
    size_t n = 0;
    while (n + 1 < sizeof line && !memchr(line, '\n', n)) {
        ssize_t got = read(out, line + n, sizeof line - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    line[n] = '\0';
    char *address = strstr(line, "http://");
    if (!address)
        bench_give_up("start: no address in '%s'", line);
    address += strlen("http://");
    address[strspn(address, "0123456789.:")] = '\0';
    return bench_parse_address(address);
}

/* What was read, for a look at it afterwards; the end of a long answer is not kept. */
typedef struct answer {
    int fd;
    size_t n;
    char text[65536];
} answer;

static ssize_t read_and_keep(void *from, char *p, size_t n)
{
    answer *a = from;
    ssize_t got = recv(a->fd, p, n, 0);
    for (ssize_t i = 0; i < got && a->n + 1 < sizeof a->text; i++)
        a->text[a->n++] = p[i];
    a->text[a->n] = '\0';
    return got;
}

static double run_once(const char *request, const char *expected, char **argv)
{
    static answer a;
    int out;
    uint64_t begin = bench_now_ns();
    pid_t pid = spawn_program(argv, &out);
    struct sockaddr_in to = read_address(out);
    int fd = bench_connect(&to, BENCH_ANY_SOURCE);
    a.fd = fd;
    a.n = 0;
    bool ok = fd >= 0 && bench_send(fd, request) && bench_read_answer(read_and_keep, &a) == 200;
    uint64_t end = bench_now_ns();
    kill(pid, SIGTERM);
    if (fd >= 0)
        close(fd);
    close(out);
    int status;
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        bench_give_up("start: %s did not end with 0", argv[0]);
    if (!ok)
        bench_give_up("start: no answer");
    if (!strstr(a.text, expected))
        bench_give_up("start: no '%s' in the answer: %.900s", expected, a.text);
    return (double)(end - begin) / 1e6;
}

static void make_request(char *out, size_t size, const char *what)
{
    if (*what != '@') {
        snprintf(out, size, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", what);
        return;
    }
    FILE *file = fopen(what + 1, "rb");
    size_t n = file ? fread(out, 1, size, file) : 0;
    if (n == 0 || n == size)
        bench_give_up("start: cannot use '%s'", what + 1);
    out[n] = '\0';
    fclose(file);
}

int main(int argc, char **argv)
{
    if (argc < 5)
        bench_give_up("usage: start RUNS PATH|@FILE EXPECTED PROGRAM ARGUMENT...");
    char request[4096];
    unsigned runs = bench_parse_count(argv[1]);
    make_request(request, sizeof request, argv[2]);
    run_once(request, argv[3], argv + 4);
    printf("{\"ms\":[");
    for (unsigned i = 0; i < runs; i++)
        printf("%s%.3f", i ? "," : "", run_once(request, argv[3], argv + 4));
    printf("]}\n");
    return 0;
}
