/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fetch.c - HTTP requests of the server itself, with libcurl. */
#include "net/curl/fetch.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/curl/curl_loop.h"
#include "net/http/hostcheck.h"

typedef struct running {
    cw_list node; /* of the fetcher's */
    cw_fetcher *fetcher;
    cw_fetch *fetch;
    CURL *easy;
    struct curl_slist *headers;
    cw_buf body;
    const char *refused; /* why there is no socket */
    cw_fetch_response answer;
    bool is_clear, is_too_large;
    char problem[CURL_ERROR_SIZE];
} running;

struct cw_fetcher {
    cw_curl_loop cl;
    cw_list all;
    unsigned n;
    bool is_closed;
};

/* ---- addresses ----
 *
 * The URLs and addresses that a request may reach. The default is to deny: only the global part of
 * IPv6 is public. So the server cannot be used to reach hosts that only it can reach.
 */

#define NAME_MAX_LEN 253u
#define FIRST_FREE_PORT 1024u

typedef enum kind {
    PUBLIC,
    PRIVATE, /* this machine, or a private network */
    NEVER,
} kind;

typedef struct v4_range {
    uint32_t address;
    unsigned bits;
    kind kind;
} v4_range;

#define V4(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (d))

static const v4_range v4_ranges[] = {
    {V4(0, 0, 0, 0), 8, NEVER},        /* this network */
    {V4(10, 0, 0, 0), 8, PRIVATE},     /* RFC 1918 */
    {V4(100, 64, 0, 0), 10, PRIVATE},  /* carriers, RFC 6598 */
    {V4(127, 0, 0, 0), 8, PRIVATE},    /* loopback */
    {V4(169, 254, 0, 0), 16, NEVER},   /* link-local: clouds keep credentials there */
    {V4(172, 16, 0, 0), 12, PRIVATE},  /* RFC 1918 */
    {V4(192, 0, 0, 0), 24, NEVER},     /* protocol assignments */
    {V4(192, 0, 2, 0), 24, NEVER},     /* documentation */
    {V4(192, 88, 99, 0), 24, NEVER},   /* 6to4 relays */
    {V4(192, 168, 0, 0), 16, PRIVATE}, /* RFC 1918 */
    {V4(198, 18, 0, 0), 15, NEVER},    /* benchmarks */
    {V4(198, 51, 100, 0), 24, NEVER},  /* documentation */
    {V4(203, 0, 113, 0), 24, NEVER},   /* documentation */
    {V4(224, 0, 0, 0), 4, NEVER},      /* multicast */
    {V4(240, 0, 0, 0), 4, NEVER},      /* reserved, broadcast */
};

static kind kind_of_v4(uint32_t address)
{
    for (size_t i = 0; i < CW_COUNT(v4_ranges); i++) {
        if ((address ^ v4_ranges[i].address) >> (32 - v4_ranges[i].bits) == 0)
            return v4_ranges[i].kind;
    }
    return PUBLIC;
}

static uint32_t v4_at(const unsigned char *b)
{
    return V4(b[0], b[1], b[2], b[3]);
}

static bool begins(const unsigned char b[16], const unsigned char *prefix, size_t n)
{
    return memcmp(b, prefix, n) == 0;
}

/* Addresses that stand for one of IPv4 are judged as that one. */
static kind kind_of_v6(const unsigned char b[16])
{
    static const unsigned char loopback[16] = {[15] = 1};
    static const unsigned char mapped[12] = {[10] = 0xFF, [11] = 0xFF};
    static const unsigned char nat64[12] = {0x00, 0x64, 0xFF, 0x9B};
    static const unsigned char teredo[4] = {0x20, 0x01, 0x00, 0x00};
    static const unsigned char documentation[4] = {0x20, 0x01, 0x0D, 0xB8};
    if (begins(b, loopback, 16))
        return PRIVATE;
    if (begins(b, mapped, sizeof mapped) || begins(b, nat64, sizeof nat64))
        return kind_of_v4(v4_at(b + 12));
    if (b[0] == 0x20 && b[1] == 0x02) /* 6to4 */
        return kind_of_v4(v4_at(b + 2));
    if ((b[0] & 0xFE) == 0xFC) /* unique local */
        return PRIVATE;
    bool is_global = (b[0] & 0xE0) == 0x20;
    bool is_special = begins(b, teredo, 4) || begins(b, documentation, 4);
    return is_global && !is_special ? PUBLIC : NEVER;
}

static const char *check_port(unsigned port, bool is_clear)
{
    return port == (is_clear ? 80 : 443) || port >= FIRST_FREE_PORT
               ? NULL
               : "its port belongs to another service";
}

/* NULL, or the reason why the address is rejected; `is_clear`: without TLS. */
static const char *check_address(const struct sockaddr *address, bool allow_private, bool is_clear)
{
    kind k = NEVER;
    unsigned port = 0;
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
        k = kind_of_v4(ntohl(v4->sin_addr.s_addr));
        port = ntohs(v4->sin_port);
    } else if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
        k = kind_of_v6(v6->sin6_addr.s6_addr);
        port = ntohs(v6->sin6_port);
    }
    if (k == NEVER)
        return "its address is none that may be asked";
    if (k == PRIVATE && !allow_private)
        return "its address is private, and allow_private is not set";
    if (k == PUBLIC && is_clear)
        return "http:// is for private addresses only";
    return check_port(port, is_clear);
}

static cw_str authority_of(cw_str rest)
{
    size_t n = 0;
    while (n < rest.n && rest.p[n] != '/' && rest.p[n] != '?' && rest.p[n] != '#')
        n++;
    return cw_str_make(rest.p, n);
}

/* NULL, or the reason why a URL is rejected, as far as it is known before its name is looked up. */
static const char *check_url(cw_str url, bool allow_private)
{
    static const cw_str https = CW_STR_INIT("https://"), http = CW_STR_INIT("http://");
    bool is_clear = cw_str_starts(url, http);
    if (!is_clear && !cw_str_starts(url, https))
        return "it is no https:// URL";
    if (is_clear && !allow_private)
        return "it is no https:// URL, and allow_private is not set";
    if (url.n > CW_FETCH_MAX_URL)
        return "the URL is too long";
    for (size_t i = 0; i < url.n; i++) {
        if (url.p[i] <= ' ' || url.p[i] > '~' || url.p[i] == '\\')
            return "the URL has characters that must be percent-encoded";
    }
    if (memchr(url.p, '#', url.n))
        return "the URL has a fragment";
    size_t n = is_clear ? http.n : https.n;
    cw_str authority = authority_of(cw_str_make(url.p + n, url.n - n));
    if (authority.n == 0 || authority.n > NAME_MAX_LEN || memchr(authority.p, '@', authority.n) ||
        !cw_host_is_valid(authority))
        return "the URL has no host, or more than that";
    return NULL;
}

/* ---- what libcurl calls ---- */

static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *a)
{
    running *r = ctx;
    r->refused = purpose == CURLSOCKTYPE_IPCXN
                     ? check_address(&a->addr, r->fetch->allow_private, r->is_clear)
                     : "not a connection";
    if (r->refused)
        return CURL_SOCKET_BAD;
    return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

static size_t on_body(char *bytes, size_t size, size_t n, void *ctx)
{
    running *r = ctx;
    cw_buf_add(&r->body, cw_str_make(bytes, size * n));
    if (!r->body.code)
        return size * n;
    r->is_too_large = r->body.code == CW_LIMIT;
    return 0;
}

static void take_cache_control(cw_str value, cw_fetch_response *answer)
{
    const cw_str name = CW_STR("max-age=");
    cw_str rest = value;
    while (rest.p) {
        cw_str part = cw_str_trim(cw_str_cut(rest, ',', &rest));
        if (cw_str_is(part, "no-store") || cw_str_is(part, "no-cache")) {
            answer->has_max_age = true;
            answer->max_age_s = 0;
            return;
        }
        if (cw_str_starts(part, name))
            answer->has_max_age =
                cw_str_to_u64(cw_str_make(part.p + name.n, part.n - name.n), &answer->max_age_s);
    }
}

static size_t on_header(char *bytes, size_t size, size_t n, void *ctx)
{
    running *r = ctx;
    cw_str value;
    cw_str name = cw_str_cut(cw_str_make(bytes, size * n), ':', &value);
    while (value.p && value.n && (value.p[value.n - 1] == '\n' || value.p[value.n - 1] == '\r'))
        value.n--;
    if (value.p && cw_str_ieq(name, CW_STR("cache-control")))
        take_cache_control(cw_str_trim(value), &r->answer);
    if (value.p && cw_str_ieq(name, CW_STR("date")))
        (void)cw_clock_parse_http(cw_str_trim(value), &r->answer.date_ms);
    return size * n;
}

/* ---- requests ---- */

static void take_out(running *r)
{
    cw_list_remove(&r->node);
    r->fetcher->n--;
}

static void drop(running *r)
{
    const cw_curl *curl = r->fetcher->cl.curl;
    if (r->fetch)
        r->fetch->internal = NULL;
    if (r->easy) {
        curl->multi_remove_handle(r->fetcher->cl.multi, r->easy);
        curl->easy_cleanup(r->easy);
    }
    curl->slist_free_all(r->headers);
    cw_buf_done(&r->body);
    free(r);
}

static void free_running(running *r)
{
    take_out(r);
    drop(r);
}

static const char *why_failed(const running *r, CURLcode code)
{
    if (r->is_too_large)
        return "the answer is too large";
    if (r->refused)
        return r->refused;
    return r->problem[0] ? r->problem : r->fetcher->cl.curl->easy_strerror(code);
}

static cw_fetch_failure failure_of(CURLcode code)
{
    switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
        return CW_FETCH_TIMEOUT;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CIPHER:
        return CW_FETCH_TLS;
    default:
        return CW_FETCH_UNREACHABLE;
    }
}

static void finish(void *self, CURLcode code)
{
    running *r = self;
    cw_fetch *f = r->fetch;
    long status = 0;
    r->fetcher->cl.curl->easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &status);
    r->answer.status = (unsigned)status;
    bool is_cut = r->is_too_large && f->may_cut;
    r->answer.body = is_cut ? CW_STR("") : cw_buf_str(&r->body);
    f->internal = NULL;
    f->failure = failure_of(code);
    r->fetch = NULL; /* on_done may free it */
    take_out(r);     /* and may close the fetcher, with all that run */
    if (code == CURLE_OK || is_cut)
        f->on_done(f, &r->answer, NULL);
    else
        f->on_done(f, NULL, why_failed(r, code));
    drop(r);
}

/* ---- begin and end ---- */

static CURLcode set_text(running *r, CURLoption option, cw_str text)
{
    char *copy = malloc(text.n + 1);
    if (!copy)
        return CURLE_OUT_OF_MEMORY;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    CURLcode code = r->fetcher->cl.curl->easy_setopt(r->easy, option, copy);
    free(copy);
    return code;
}

static CURLcode add_header(running *r, const char *name, cw_str value)
{
    size_t n = strlen(name) + value.n + 1;
    char *line = malloc(n);
    if (!line)
        return CURLE_OUT_OF_MEMORY;
    snprintf(line, n, "%s%.*s", name, CW_STR_ARG(value));
    struct curl_slist *all = r->fetcher->cl.curl->slist_append(r->headers, line);
    memset(line, 0, n);
    free(line);
    if (!all)
        return CURLE_OUT_OF_MEMORY;
    r->headers = all;
    return CURLE_OK;
}

/* These options can fail only without memory. */
static CURLcode set_request(running *r, const cw_fetch *f)
{
    const cw_curl *curl = r->fetcher->cl.curl;
    CURLcode code = set_text(r, CURLOPT_URL, f->url);
    if (!code)
        code = add_header(r, "Accept: ", CW_STR("application/json"));
    /* Some publishers reject requests without one. */
    if (!code)
        code = add_header(r, "User-Agent: ", CW_STR("Causeway/" CW_VERSION));
    if (!code && f->authorization.n)
        code = add_header(r, "Authorization: ", f->authorization);
    for (size_t i = 0; i < f->n_headers && !code; i++)
        code = add_header(r, "", f->headers[i]);
    if (!code && f->form.p) {
        curl->easy_setopt(r->easy, CURLOPT_POSTFIELDSIZE, (long)f->form.n);
        code = set_text(r, CURLOPT_COPYPOSTFIELDS, f->form);
    }
    if (!code && f->ca_file) {
        curl->easy_setopt(r->easy, CURLOPT_CAPATH, NULL);
        code = curl->easy_setopt(r->easy, CURLOPT_CAINFO, f->ca_file);
    }
    curl->easy_setopt(r->easy, CURLOPT_HTTPHEADER, r->headers);
    return code;
}

static CURLcode set_rules(running *r, const cw_fetch *f)
{
    long timeout = (long)(f->timeout_ms ? f->timeout_ms : CW_FETCH_TIMEOUT_MS);
    const struct {
        CURLoption option;
        long value;
    } numbers[] = {
        {CURLOPT_TIMEOUT_MS, timeout},
        {CURLOPT_CONNECTTIMEOUT_MS, timeout},
        {CURLOPT_FOLLOWLOCATION, 0},
        {CURLOPT_NOSIGNAL, 1},
        {CURLOPT_NETRC, CURL_NETRC_IGNORED},
        {CURLOPT_FORBID_REUSE, 1}, /* the next one may not be allowed to come here */
        {CURLOPT_FRESH_CONNECT, 1},
        {CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1},
        {CURLOPT_HTTP09_ALLOWED, 0},
        {CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2},
        {CURLOPT_SSL_VERIFYPEER, 1},
        {CURLOPT_SSL_VERIFYHOST, 2},
        {CURLOPT_QUICK_EXIT, 1}, /* do not wait for a slow name server */
    };
    const struct {
        CURLoption option;
        void *value;
    } pointers[] = {
        {CURLOPT_PROXY, (void *)(uintptr_t) ""},
        {CURLOPT_NOPROXY, (void *)(uintptr_t) "*"},
        {CURLOPT_PROTOCOLS_STR, (void *)(uintptr_t)(r->is_clear ? "http" : "https")},
        {CURLOPT_ERRORBUFFER, r->problem},
        {CURLOPT_PRIVATE, r},
        {CURLOPT_OPENSOCKETDATA, r},
        {CURLOPT_WRITEDATA, r},
        {CURLOPT_HEADERDATA, r},
    };
    const cw_curl *curl = r->fetcher->cl.curl;
    CURLcode code = CURLE_OK;
    for (size_t i = 0; i < CW_COUNT(numbers) && !code; i++)
        code = curl->easy_setopt(r->easy, numbers[i].option, numbers[i].value);
    for (size_t i = 0; i < CW_COUNT(pointers) && !code; i++)
        code = curl->easy_setopt(r->easy, pointers[i].option, pointers[i].value);
    if (!code)
        code = curl->easy_setopt(r->easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    if (!code)
        code = curl->easy_setopt(r->easy, CURLOPT_WRITEFUNCTION, on_body);
    return code ? code : curl->easy_setopt(r->easy, CURLOPT_HEADERFUNCTION, on_header);
}

cw_code cw_fetcher_start(cw_fetcher *fr, cw_fetch *f, cw_err *err)
{
    const char *wrong = check_url(f->url, f->allow_private);
    if (wrong)
        return cw_fail(err, CW_PARAMS, "%s", wrong);
    if (fr->n == CW_FETCH_MAX_RUNNING)
        return cw_fail(err, CW_LIMIT, "%u requests of ours run already", fr->n);
    running *r = calloc(1, sizeof *r);
    if (!r)
        return cw_fail_nomem(err);
    r->fetcher = fr;
    r->fetch = f;
    r->is_clear = cw_str_starts(f->url, CW_STR("http:"));
    cw_list_add(&fr->all, &r->node);
    fr->n++;
    cw_buf_init(&r->body, f->max_bytes ? f->max_bytes : CW_FETCH_MAX_BYTES);
    r->easy = fr->cl.curl->easy_init();
    CURLcode code = r->easy ? set_rules(r, f) : CURLE_OUT_OF_MEMORY;
    if (!code)
        code = set_request(r, f);
    if (code || fr->cl.curl->multi_add_handle(fr->cl.multi, r->easy)) {
        free_running(r);
        return code && code != CURLE_OUT_OF_MEMORY
                   ? cw_fail(err, CW_IO, "%s", fr->cl.curl->easy_strerror(code))
                   : cw_fail_nomem(err);
    }
    f->internal = r;
    return CW_OK;
}

void cw_fetch_cancel(cw_fetch *f)
{
    if (f->internal)
        free_running(f->internal);
}

static void free_fetcher(cw_curl_loop *cl)
{
    free(CW_CONTAINER(cl, cw_fetcher, cl));
}

cw_code cw_fetcher_new(cw_loop *loop, cw_fetcher **ret, cw_err *err)
{
    cw_fetcher *fr = calloc(1, sizeof *fr);
    if (!fr)
        return cw_fail_nomem(err);
    cw_code rc = cw_curl_loop_init(&fr->cl, loop, finish, err);
    if (rc) {
        free(fr);
        return rc;
    }
    cw_list_init(&fr->all);
    *ret = fr;
    return CW_OK;
}

void cw_fetcher_close(cw_fetcher *fr)
{
    if (!fr || fr->is_closed)
        return;
    fr->is_closed = true;
    CW_LIST_EACH_SAFE (node, &fr->all)
        free_running(CW_CONTAINER(node, running, node));
    cw_curl_loop_close(&fr->cl, free_fetcher);
}
