/* SPDX-License-Identifier: GPL-2.0-or-later */
/* client.h - what the load programs of this folder share: addresses, connections, answers, time.
 *
 *     struct sockaddr_in to = bench_parse_address("127.0.0.1:8080");
 *     int fd = bench_connect(&to, BENCH_ANY_SOURCE);
 *     bench_send(fd, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
 *     int status = bench_read_answer(bench_read_socket, &fd);
 *
 * Not here: anything that a real client needs. A set-up that does not work ends the program.
 *
 * Ownership: descriptors belong to the caller.
 * Threads:   one.
 * Limits:    a response head of BENCH_MAX_HEAD bytes; a body needs a Content-Length.
 */
#ifndef CW_BENCH_CLIENT_H
#define CW_BENCH_CLIENT_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define BENCH_MAX_HEAD 4096u
#define BENCH_ANY_SOURCE 0u

/* Like read(2): bytes, 0 at the end, below 0 when it failed. */
typedef ssize_t (*bench_read_fn)(void *from, char *p, size_t n);

/* Print to standard error and exit with 1. */
__attribute__((format(printf, 1, 2), noreturn)) void bench_give_up(const char *format, ...);

/* Monotonic. */
uint64_t bench_now_ns(void);
void bench_sleep_until(uint64_t ns);

/* A count from the command line; gives up on anything else. */
unsigned bench_parse_count(const char *text);
/* "127.0.0.1:8080"; gives up on anything else. */
struct sockaddr_in bench_parse_address(const char *text);

/* Raise the soft limit of open files to the hard one, and return it. */
unsigned bench_raise_file_limit(void);

/* A socket that may be bound to 127.0.0.SOURCE, so that a program can open more connections than
 * one address has ports. Gives up when there is none. */
int bench_socket(unsigned source);
/* A connected, blocking socket; -1 when refused. */
int bench_connect(const struct sockaddr_in *to, unsigned source);

/* Send a short request; false when the connection is gone. */
bool bench_send(int fd, const char *text);
/* `from` points to a descriptor. */
ssize_t bench_read_socket(void *from, char *p, size_t n);
/* Read one whole answer. Its status, or -1 when the connection ended first. */
int bench_read_answer(bench_read_fn read, void *from);

#endif
