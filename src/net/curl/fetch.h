/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fetch.h - documents from elsewhere that we ask for ourselves: metadata and keys of issuers.
 *
 * A party that chooses such a URL, or the DNS behind it, could make us connect to machines
 * that only we can reach. So the address is checked at the last moment, when its socket
 * is made: the checked address is the one that is connected to.
 *
 *     https only; port 443 or from 1024 on           TLS 1.2, the certificate is checked
 *     public addresses only; with allow_private also those of this machine and of private
 *     networks, and for these http://, port 80
 *     never: link-local (169.254.169.254 is one), multicast, reserved, "this network"
 *     no redirects, no proxies, no cookies, no netrc, no compression, no kept connections
 *
 * Why libcurl: TLS clients are easy to get wrong. It is loaded when the first fetcher is made: it
 * costs 9 ms and 6 MB, and most servers have no issuer.
 *
 *     cw_fetch f = {.url = …, .on_done = …};
 *     rc = cw_fetcher_start(fetcher, &f, err);
 *
 * Ownership: a cw_fetch is its user's and must live until on_done or cancel; what it points to is
 *            copied by start. The answer lives until on_done returns.
 * Threads:   one loop.
 * Limits:    max_bytes and timeout_ms of each; CW_FETCH_MAX_RUNNING at once.
 */
#ifndef CW_NET_CURL_FETCH_H
#define CW_NET_CURL_FETCH_H

#include <sys/socket.h>

#include "base/buf.h"
#include "net/loop/loop.h"

#define CW_FETCH_MAX_BYTES 65536u
#define CW_FETCH_MAX_URL 2048u
#define CW_FETCH_TIMEOUT_MS 5000u
#define CW_FETCH_MAX_RUNNING 64u

typedef struct cw_fetcher cw_fetcher;
typedef struct cw_fetch cw_fetch;

typedef struct cw_fetch_response {
    unsigned status;
    cw_str body;
    bool has_max_age;
    uint64_t max_age_s; /* of Cache-Control */
    int64_t date_ms;    /* of Date, ms since 1970; 0: none */
} cw_fetch_response;

/* Why there is no answer. */
typedef enum cw_fetch_failure {
    CW_FETCH_UNREACHABLE, /* also: the address is refused, or the answer is too large */
    CW_FETCH_TIMEOUT,
    CW_FETCH_TLS,
} cw_fetch_failure;

struct cw_fetch {
    cw_str url;
    bool allow_private;
    const char *ca_file; /* PEM with the authorities to trust; NULL: those of the system */
    cw_str form; /* .p is NULL: GET; else POST of this body, a form unless a header differs */
    cw_str authorization;  /* value of the header, or empty */
    const cw_str *headers; /* more of them: whole lines, "Name: value" */
    size_t n_headers;
    size_t max_bytes;    /* 0: CW_FETCH_MAX_BYTES */
    bool may_cut;        /* an answer that is too large counts, without its body */
    uint32_t timeout_ms; /* for everything; 0: CW_FETCH_TIMEOUT_MS */
    /* Once. `answer` is NULL when there is none; then `why` is a text for logs. May start others,
     * and may close the fetcher. */
    void (*on_done)(cw_fetch *f, const cw_fetch_response *answer, const char *why);
    cw_fetch_failure failure; /* set before on_done without an answer */
    void *internal;           /* the fetcher's; NULL: does not run */
};

/* CW_IO when libcurl is not there. */
CW_MUST_USE cw_code cw_fetcher_new(cw_loop *loop, cw_fetcher **ret, cw_err *err);
/* Drop what runs without calling on_done; frees itself on the loop. NULL is fine. */
void cw_fetcher_close(cw_fetcher *fetcher);

/* Begin; on_done is not called before this returns. CW_PARAMS with a reason: a URL that may not be
 * asked for; CW_LIMIT: too many run; CW_NOMEM. */
CW_MUST_USE cw_code cw_fetcher_start(cw_fetcher *fetcher, cw_fetch *f, cw_err *err);
/* on_done will not be called. Fine for one that does not run. */
void cw_fetch_cancel(cw_fetch *f);

#endif
