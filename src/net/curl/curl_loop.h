/* SPDX-License-Identifier: GPL-2.0-or-later */
/* curl_loop.h - transfers of libcurl, driven by one of our loops.
 *
 * libcurl says which sockets it waits for and when it wants to be called; both become handles of
 * libuv. The user defines a transfer and handles its end: fetch.c requests documents,
 * net/client/client.c opens connections.
 *
 *     cw_curl_loop_init(&cl, loop, on_done, err);
 *     cl.curl->multi_add_handle(cl.multi, easy);      (CURLOPT_PRIVATE: what on_done gets)
 *     ... on_done(private, code)
 *     cw_curl_loop_close(&cl, on_closed);
 *
 * Ownership: embedded in its user, which takes all its transfers out before it closes this, and
 *            lives until on_closed. Easy handles are the user's.
 * Threads:   one loop.
 */
#ifndef CW_NET_CURL_CURL_LOOP_H
#define CW_NET_CURL_CURL_LOOP_H

#include "net/curl/libcurl.h"
#include "net/loop/loop.h"

typedef struct cw_curl_loop {
    const cw_curl *curl;
    CURLM *multi;
    cw_loop *loop;
    uv_timer_t timer;
    bool is_telling, is_closed;
    /* The transfer is over, but still a part of `multi`. May begin others, take any out, and close
     * this. */
    void (*on_done)(void *self, CURLcode code);
    void (*on_closed)(struct cw_curl_loop *cl);
} cw_curl_loop;

/* CW_IO when libcurl is not there; CW_NOMEM. */
CW_MUST_USE cw_code cw_curl_loop_init(cw_curl_loop *cl, cw_loop *loop,
                                      void (*on_done)(void *self, CURLcode code), cw_err *err);
/* on_closed is called from the loop, never before this returns. */
void cw_curl_loop_close(cw_curl_loop *cl, void (*on_closed)(cw_curl_loop *cl));

#endif
