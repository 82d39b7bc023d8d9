/* SPDX-License-Identifier: GPL-2.0-or-later */
/* channel_fixture.h - a channel on a loop of the test's thread that records its events, and its
 * peer: the other end of a socket.
 *
 *     static channel_record s;
 *     int listening = peer_listen(&port);
 *     assert_int_equal(open_channel(&s, opts), CW_OK);
 *     int peer = peer_accept(listening);
 *     peer_send_text(peer, "{}\n");
 *     channel_run_until(s.messages);
 *     close_channel(&s);
 *
 * channel_fixture_setup and channel_fixture_teardown are the setup and teardown of each test, or
 * of the group. A record asserts the order of events: opened, messages, then one end or close.
 *
 * Threads: all in the thread of the test; one loop and, with TLS, one peer at a time.
 */
#ifndef CW_TESTS_CHANNEL_FIXTURE_H
#define CW_TESTS_CHANNEL_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/stream/channel.h"
#include "support/fake_tls.h"
#include "support/oom.h"
#include "support/patience.h"

#define CHANNEL_WAIT_MS 10000u
#define CHANNEL_TEXT_MAX 4096u

typedef struct channel_record {
    unsigned opens, messages, ends, closes;
    cw_code code;
    char why[256];
    char text[CHANNEL_TEXT_MAX]; /* each message and '|'; the length of a long message */
    cw_channel *channel;
    bool is_awaiting; /* a response is awaited */
    /* Called within the callback of the same name; may be NULL. */
    void (*on_open)(struct channel_record *s);
    void (*on_message)(struct channel_record *s);
    void (*on_end)(struct channel_record *s);
} channel_record;

/* ---- the channel's end ---- */

extern cw_loop channel_loop;
extern uv_timer_t channel_tick;     /* so that a turn of the loop always ends */
extern cw_spawner *channel_spawner; /* for open_channel; NULL unless the test sets it */

int channel_fixture_setup(void **state);
int channel_fixture_teardown(void **state);

/* One turn of the loop, a millisecond at most. */
void channel_turn(void);
/* Run the loop until the condition holds; fails the test after CHANNEL_WAIT_MS. */
#define channel_run_until(cond)                                                                    \
    do {                                                                                           \
        uint64_t until_ = cw_clock_ms() + patience(CHANNEL_WAIT_MS);                               \
        while (!(cond)) {                                                                          \
            if (cw_clock_ms() > until_)                                                            \
                fail_msg("waited in vain for %s", #cond);                                          \
            channel_turn();                                                                        \
        }                                                                                          \
    } while (0)

/* Open a channel that records into `s`; ceilings that are 0 get a default. Fails as
 * cw_channel_open does. */
cw_code open_channel(channel_record *s, cw_channel_opts opts);
/* Close twice, at once, and wait until it is closed; asserts that no other event follows. */
void close_channel(channel_record *s);
cw_code channel_send_text(channel_record *s, const char *text);
/* The channel ended with this code and a reason that contains `part`. */
void assert_channel_ended(const channel_record *s, cw_code code, const char *part);

/* ---- the peer: sockets that never block ---- */

extern bool peer_uses_tls; /* set by a program before its first test */
extern SSL *peer_tls;      /* with TLS: of the peer that was accepted last */

/* Listen on a free port of 127.0.0.1. */
int peer_listen(uint16_t *ret_port);
/* -1: there is no connection yet. The first read or write does the TLS handshake. */
int peer_try_accept(int listening);
/* Wait for a connection. */
int peer_accept(int listening);
/* As send and recv do. */
ssize_t peer_write(int fd, const void *p, size_t n);
ssize_t peer_recv(int fd, void *p, size_t n);
/* All of it. */
void peer_send(int fd, const void *p, size_t n);
void peer_send_text(int fd, const char *text);
/* Read exactly `n` bytes. */
void peer_read(int fd, char *out, size_t n);
void assert_peer_reads(int fd, const char *text);
/* Whether the channel closed the connection; asserts that it sent nothing else. */
bool peer_is_closed(int fd);
void peer_close(int fd);

#endif
