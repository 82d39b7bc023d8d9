/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fetch.c - HTTP requests of the server itself, with libcurl. */
#include "net/curl/fetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "net/curl/curl_loop.h"

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

/* ---- what libcurl calls ---- */

static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *a)
{
    running *r = ctx;
    r->refused = purpose == CURLSOCKTYPE_IPCXN
                     ? cw_fetch_check_address(&a->addr, r->fetch->allow_private, r->is_clear)
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

static void finish(void *self, CURLcode code)
{
    running *r = self;
    cw_fetch *f = r->fetch;
    long status = 0;
    r->fetcher->cl.curl->easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &status);
    r->answer.status = (unsigned)status;
    r->answer.body = cw_buf_str(&r->body);
    f->internal = NULL;
    r->fetch = NULL; /* on_done may free it */
    take_out(r);     /* and may close the fetcher, with all that run */
    if (code == CURLE_OK)
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
    if (!code && f->authorization.n)
        code = add_header(r, "Authorization: ", f->authorization);
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
    const char *wrong = cw_fetch_check_url(f->url, f->allow_private);
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
