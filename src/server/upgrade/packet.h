/* SPDX-License-Identifier: GPL-2.0-or-later */
/* packet.h - messages between a server and its successor (server/upgrade/takeover.h): JSON objects on a
 * SOCK_SEQPACKET socket, which may carry descriptors.
 *
 *     {"type":"hello","protocol":1,"version":"0.1.0"}
 *
 * Ownership: a packet owns the descriptors that it has received until they are taken from it.
 * Threads:   no state.
 * Limits:    CW_PACKET_MAX bytes and CW_PACKET_FDS descriptors; more than that is an error.
 */
#ifndef CW_SERVER_UPGRADE_PACKET_H
#define CW_SERVER_UPGRADE_PACKET_H

#include "json/json.h"
#include "json/write.h"

#define CW_PACKET_MAX 8192u
#define CW_PACKET_FDS 64u
#define CW_PACKET_PROTOCOL 1

typedef struct cw_packet {
    char bytes[CW_PACKET_MAX];
    int fds[CW_PACKET_FDS]; /* close-on-exec */
    size_t n_fds;
    cw_arena arena;
    const cw_json *root; /* an object */
    cw_str type;
} cw_packet;

/* Begin a message: an open object with its type. `buf` is initialized. */
void cw_packet_open(cw_json_writer *w, cw_buf *buf, const char *type);
/* End the object and send it, with descriptors that stay open here. CW_IO: the other side has gone,
 * or does not read; CW_NOMEM. */
CW_MUST_USE cw_code cw_packet_send(int fd, cw_json_writer *w, cw_buf *buf, const int *fds,
                                   size_t n_fds, cw_err *err);
/* Send a message that has only a type. */
CW_MUST_USE cw_code cw_packet_send_type(int fd, const char *type, cw_err *err);
/* Receive one message without waiting. CW_AGAIN: none is there; CW_GONE: none will come; CW_PARAMS:
 * it is too large or no such message; CW_IO, CW_NOMEM. After CW_OK cw_packet_done must be called. */
CW_MUST_USE cw_code cw_packet_receive(int fd, cw_packet *ret, cw_err *err);
/* The same, for at most so many ms. CW_TIMEOUT. */
CW_MUST_USE cw_code cw_packet_wait(int fd, uint64_t ms, cw_packet *ret, cw_err *err);
/* Members of the message: "" or 0 or false without one. */
cw_str cw_packet_text(const cw_packet *p, const char *name);
int64_t cw_packet_number(const cw_packet *p, const char *name);
bool cw_packet_flag(const cw_packet *p, const char *name);
/* Close the descriptors that were not taken, and free the rest. */
void cw_packet_done(cw_packet *p);

#endif
