/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/fetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "net/fetch_curl.h"

/* A socket that libcurl wants watched. */
typedef struct watch {
    uv_poll_t poll;
    cw_fetcher *fetcher;
    curl_socket_t fd;
} watch;

typedef struct running {
    struct running *prev, *next; /* ring */
    cw_fetcher *fetcher;
    cw_fetch *fetch;
    CURL *easy;
    struct curl_slist *headers;
    cw_buf body;
    const char *refused; /* why there is no socket */
    cw_fetch_answer answer;
    bool is_clear, is_too_large;
    char problem[CURL_ERROR_SIZE];
} running;

struct cw_fetcher {
    cw_loop *loop;
    const cw_curl *curl;
    CURLM *multi;
    uv_timer_t timer;
    running all; /* ring: only its prev and next are used */
    unsigned n;
    bool is_closed, is_telling;
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

static void take_cache_control(cw_str value, cw_fetch_answer *answer)
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

static void free_running(running *r)
{
    const cw_curl *curl = r->fetcher->curl;
    r->prev->next = r->next;
    r->next->prev = r->prev;
    r->fetcher->n--;
    if (r->fetch)
        r->fetch->internal = NULL;
    if (r->easy) {
        curl->multi_remove_handle(r->fetcher->multi, r->easy);
        curl->easy_cleanup(r->easy);
    }
    curl->slist_free_all(r->headers);
    cw_buf_done(&r->body);
    free(r);
}

static const char *why_failed(const running *r, CURLcode code)
{
    if (r->is_too_large)
        return "the answer is too large";
    if (r->refused)
        return r->refused;
    return r->problem[0] ? r->problem : r->fetcher->curl->easy_strerror(code);
}

static void finish(running *r, CURLcode code)
{
    cw_fetch *f = r->fetch;
    long status = 0;
    r->fetcher->curl->easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &status);
    r->answer.status = (unsigned)status;
    r->answer.body = cw_buf_str(&r->body);
    f->internal = NULL;
    r->fetch = NULL; /* on_done may free it */
    if (code == CURLE_OK)
        f->on_done(f, &r->answer, NULL);
    else
        f->on_done(f, NULL, why_failed(r, code));
    free_running(r);
}

static void free_fetcher(uv_handle_t *handle)
{
    free(handle->data);
}

/* What is over is taken out of libcurl's list before anybody is told: that may start others. */
static void tell(cw_fetcher *fr)
{
    CURLMsg *message;
    int left;
    fr->is_telling = true;
    while (!fr->is_closed && (message = fr->curl->multi_info_read(fr->multi, &left))) {
        void *self = NULL;
        CURLcode code = message->data.result;
        if (message->msg != CURLMSG_DONE)
            continue;
        fr->curl->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &self);
        finish(self, code);
    }
    fr->is_telling = false;
    if (fr->is_closed) {
        fr->is_closed = false;
        cw_fetcher_close(fr);
    }
}

/* ---- the loop ---- */

static void on_timer(uv_timer_t *timer)
{
    cw_fetcher *fr = timer->data;
    int n;
    fr->curl->multi_socket_action(fr->multi, CURL_SOCKET_TIMEOUT, 0, &n);
    tell(fr);
}

static int set_timer(CURLM *multi, long ms, void *ctx)
{
    cw_fetcher *fr = ctx;
    (void)multi;
    if (ms < 0)
        uv_timer_stop(&fr->timer);
    else
        uv_timer_start(&fr->timer, on_timer, (uint64_t)ms, 0);
    return 0;
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    watch *w = poll->data;
    cw_fetcher *fr = w->fetcher;
    int n, flags = status < 0 ? CURL_CSELECT_ERR : 0;
    if (events & UV_READABLE)
        flags |= CURL_CSELECT_IN;
    if (events & UV_WRITABLE)
        flags |= CURL_CSELECT_OUT;
    fr->curl->multi_socket_action(fr->multi, w->fd, flags, &n);
    tell(fr);
}

static void free_watch(uv_handle_t *handle)
{
    free(handle->data);
}

static watch *new_watch(cw_fetcher *fr, curl_socket_t fd)
{
    watch *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->fetcher = fr;
    w->fd = fd;
    if (uv_poll_init(&fr->loop->uv, &w->poll, fd)) {
        free(w);
        return NULL;
    }
    w->poll.data = w;
    fr->curl->multi_assign(fr->multi, fd, w);
    return w;
}

static int set_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *socket_ctx)
{
    cw_fetcher *fr = ctx;
    watch *w = socket_ctx;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (w)
            uv_close((uv_handle_t *)&w->poll, free_watch);
        fr->curl->multi_assign(fr->multi, fd, NULL);
        return 0;
    }
    if (!w)
        w = new_watch(fr, fd);
    if (!w)
        return 0; /* the request runs into its timeout */
    int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
    uv_poll_start(&w->poll, events, on_ready);
    return 0;
}

/* ---- begin and end ---- */

static CURLcode set_text(running *r, CURLoption option, cw_str text)
{
    char *copy = malloc(text.n + 1);
    if (!copy)
        return CURLE_OUT_OF_MEMORY;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    CURLcode code = r->fetcher->curl->easy_setopt(r->easy, option, copy);
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
    struct curl_slist *all = r->fetcher->curl->slist_append(r->headers, line);
    memset(line, 0, n);
    free(line);
    if (!all)
        return CURLE_OUT_OF_MEMORY;
    r->headers = all;
    return CURLE_OK;
}

/* What can fail only for want of memory. */
static CURLcode set_request(running *r, const cw_fetch *f)
{
    const cw_curl *curl = r->fetcher->curl;
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
    const cw_curl *curl = r->fetcher->curl;
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
    r->next = &fr->all;
    r->prev = fr->all.prev;
    r->prev->next = r->next->prev = r;
    fr->n++;
    cw_buf_init(&r->body, f->max_bytes ? f->max_bytes : CW_FETCH_MAX_BYTES);
    r->easy = fr->curl->easy_init();
    CURLcode code = r->easy ? set_rules(r, f) : CURLE_OUT_OF_MEMORY;
    if (!code)
        code = set_request(r, f);
    if (code || fr->curl->multi_add_handle(fr->multi, r->easy)) {
        free_running(r);
        return code && code != CURLE_OUT_OF_MEMORY
                   ? cw_fail(err, CW_IO, "%s", fr->curl->easy_strerror(code))
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

cw_code cw_fetcher_new(cw_loop *loop, cw_fetcher **ret, cw_err *err)
{
    const cw_curl *curl;
    cw_code rc = cw_curl_load(&curl, err);
    if (rc)
        return rc;
    cw_fetcher *fr = calloc(1, sizeof *fr);
    CURLM *multi = fr ? curl->multi_init() : NULL;
    if (!multi) {
        free(fr);
        return cw_fail_nomem(err);
    }
    *fr = (cw_fetcher){.loop = loop, .curl = curl, .multi = multi};
    fr->all.prev = fr->all.next = &fr->all;
    uv_timer_init(&loop->uv, &fr->timer);
    fr->timer.data = fr;
    curl->multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, set_socket);
    curl->multi_setopt(multi, CURLMOPT_SOCKETDATA, fr);
    curl->multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl->multi_setopt(multi, CURLMOPT_TIMERDATA, fr);
    *ret = fr;
    return CW_OK;
}

void cw_fetcher_close(cw_fetcher *fr)
{
    if (!fr || fr->is_closed)
        return;
    fr->is_closed = true;
    if (fr->is_telling)
        return; /* tell does it */
    for (running *r = fr->all.next, *next; r != &fr->all; r = next) {
        next = r->next;
        free_running(r);
    }
    fr->curl->multi_cleanup(fr->multi);
    uv_close((uv_handle_t *)&fr->timer, free_fetcher);
}
