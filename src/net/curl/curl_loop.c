/* SPDX-License-Identifier: GPL-2.0-or-later */
/* curl_loop.c - drives a multi handle of libcurl on a loop. */
#include "net/curl/curl_loop.h"

#include <stdlib.h>

/* A socket that libcurl wants watched. */
typedef struct watch {
    uv_poll_t poll;
    cw_curl_loop *cl;
    curl_socket_t fd;
} watch;

static void on_timer_closed(uv_handle_t *handle)
{
    cw_curl_loop *cl = handle->data;
    cl->on_closed(cl);
}

static void close_now(cw_curl_loop *cl)
{
    cl->curl->multi_cleanup(cl->multi);
    uv_close((uv_handle_t *)&cl->timer, on_timer_closed);
}

static void report_done(cw_curl_loop *cl)
{
    CURLMsg *message;
    int left;
    cl->is_telling = true;
    while (!cl->is_closed && (message = cl->curl->multi_info_read(cl->multi, &left))) {
        void *self = NULL;
        CURLcode code = message->data.result;
        if (message->msg != CURLMSG_DONE)
            continue;
        cl->curl->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &self);
        cl->on_done(self, code);
    }
    cl->is_telling = false;
    if (cl->is_closed)
        close_now(cl);
}

static void on_timer(uv_timer_t *timer)
{
    cw_curl_loop *cl = timer->data;
    int n;
    cl->curl->multi_socket_action(cl->multi, CURL_SOCKET_TIMEOUT, 0, &n);
    report_done(cl);
}

static int set_timer(CURLM *multi, long ms, void *ctx)
{
    cw_curl_loop *cl = ctx;
    (void)multi;
    if (ms < 0)
        uv_timer_stop(&cl->timer);
    else
        uv_timer_start(&cl->timer, on_timer, (uint64_t)ms, 0);
    return 0;
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    watch *w = poll->data;
    cw_curl_loop *cl = w->cl;
    int n, flags = status < 0 ? CURL_CSELECT_ERR : 0;
    if (events & UV_READABLE)
        flags |= CURL_CSELECT_IN;
    if (events & UV_WRITABLE)
        flags |= CURL_CSELECT_OUT;
    cl->curl->multi_socket_action(cl->multi, w->fd, flags, &n);
    report_done(cl);
}

static void free_watch(uv_handle_t *handle)
{
    free(handle->data);
}

static watch *new_watch(cw_curl_loop *cl, curl_socket_t fd)
{
    watch *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->cl = cl;
    w->fd = fd;
    if (uv_poll_init(&cl->loop->uv, &w->poll, fd)) {
        free(w);
        return NULL;
    }
    w->poll.data = w;
    cl->curl->multi_assign(cl->multi, fd, w);
    return w;
}

static int set_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *socket_ctx)
{
    cw_curl_loop *cl = ctx;
    watch *w = socket_ctx;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (w)
            uv_close((uv_handle_t *)&w->poll, free_watch);
        cl->curl->multi_assign(cl->multi, fd, NULL);
        return 0;
    }
    if (!w)
        w = new_watch(cl, fd);
    if (!w)
        return 0; /* the transfer runs into its timeout; an error here would end all of them */
    int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
    uv_poll_start(&w->poll, events, on_ready);
    return 0;
}

cw_code cw_curl_loop_init(cw_curl_loop *cl, cw_loop *loop,
                          void (*on_done)(void *self, CURLcode code), cw_err *err)
{
    const cw_curl *curl;
    cw_code rc = cw_curl_load(&curl, err);
    if (rc)
        return rc;
    CURLM *multi = curl->multi_init();
    if (!multi)
        return cw_fail_nomem(err);
    *cl = (cw_curl_loop){.loop = loop, .curl = curl, .multi = multi, .on_done = on_done};
    uv_timer_init(&loop->uv, &cl->timer);
    cl->timer.data = cl;
    curl->multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, set_socket);
    curl->multi_setopt(multi, CURLMOPT_SOCKETDATA, cl);
    curl->multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl->multi_setopt(multi, CURLMOPT_TIMERDATA, cl);
    return CW_OK;
}

void cw_curl_loop_close(cw_curl_loop *cl, void (*on_closed)(cw_curl_loop *cl))
{
    cl->is_closed = true;
    cl->on_closed = on_closed;
    if (!cl->is_telling)
        close_now(cl);
}
