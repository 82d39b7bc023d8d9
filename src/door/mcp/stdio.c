/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stdio.c - responders for lines of standard input.
 *
 * A responder lasts from its message until its answer is written: the answer lives in the responder's
 * arena and is sent from there. Finished responders wait in a pool for the next message.
 */
#include "door/mcp/stdio.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/random.h"
#include "door/mcp/mcp_int.h"
#include "json/id_scan.h"
#include "net/stream/lines.h"

/* Responders that are kept for later messages. */
#define POOL_MAX 64u
/* Memory of one message beside its bytes. */
#define ARENA_FACTOR 32u
#define ARENA_BYTES ((size_t)96 << 20)

typedef struct line_responder {
    cw_responder base;
    cw_stdio *all;
    cw_list node; /* in `open` or in the pool */
    cw_arena arena;
    cw_line answer;
    char *newest; /* progress that waits for a slow reader; on the heap */
    size_t n_newest;
    bool is_over;    /* its answer is on its way */
    bool has_output; /* something that the client must not miss: it may wait for an answer */
} line_responder;

struct cw_stdio {
    cw_stdio_opts opts;
    cw_lines lines;
    cw_mcp_session session;
    cw_list open; /* responders */
    cw_list pool;
    unsigned n_pool;
    line_responder *change; /* unasked-for messages go through this one; NULL: none */
    uint32_t n_open;
    uint32_t n_busy;      /* of those, without the ones that wait for the client */
    uint64_t n_lost;      /* log lines */
    cw_json_id_scan scan; /* of a line that is too long */
    bool is_scanning;
    uv_timer_t timer;   /* to the end */
    uint64_t opened_at; /* monotonic, ms */
    uint64_t end_ms;    /* from the last line to the end */
    unsigned n_closing; /* handles and lines that are not closed yet */
    bool is_going, is_stopping, is_closed;
    bool has_looked;  /* the loop has polled since the time was up */
    bool has_no_more; /* every line was taken */
    bool is_notified; /* opts.on_end */
};

static line_responder *port_of(const cw_responder *p)
{
    return CW_CONTAINER((cw_responder *)(uintptr_t)p, line_responder, base);
}

static line_responder *responder_of(cw_list *node)
{
    return CW_CONTAINER(node, line_responder, node);
}

static bool is_full(const cw_stdio *s)
{
    return cw_lines_is_full(&s->lines);
}

/* ---- the end ---- */

static void on_time_over(uv_timer_t *timer)
{
    cw_stdio *s = timer->data;
    if (s->is_notified)
        return;
    s->is_notified = true;
    s->opts.on_end(s->opts.ctx);
}

/* Deferred: the callers iterate over responders, which end with this. */
static void end_soon(cw_stdio *s)
{
    if (!s->is_closed)
        uv_timer_start(&s->timer, on_time_over, 0, 0);
}

/* Over when all lines are taken, answered and written. */
static void check_end(cw_stdio *s)
{
    uint32_t n_idle = s->change ? 1 : 0;
    if (s->has_no_more && s->n_open == n_idle && !cw_lines_has_queue(&s->lines))
        end_soon(s);
}

/* A client that does not read, or sends too much, has to wait. */
static void set_pace(cw_stdio *s)
{
    cw_lines_pause(&s->lines, !s->is_going || is_full(s) || s->n_busy >= s->opts.calls);
}

/* ---- responders ---- */

static void stop_waiting(line_responder *p)
{
    if (!p->has_output)
        p->all->n_busy--;
    p->has_output = true;
}

/* Free the responder and its memory. */
static void put_port(line_responder *p)
{
    cw_stdio *s = p->all;
    stop_waiting(p);
    cw_list_remove(&p->node);
    s->n_open--;
    free(p->newest);
    p->newest = NULL;
    if (s->change == p)
        s->change = NULL;
    if (s->n_pool >= POOL_MAX || s->is_closed) {
        cw_arena_done(&p->arena);
        free(p);
        return;
    }
    cw_arena_reset(&p->arena);
    cw_list_add_first(&s->pool, &p->node);
    s->n_pool++;
}

static void on_answer_left(cw_line *line)
{
    line_responder *p = CW_CONTAINER(line, line_responder, answer);
    cw_stdio *s = p->all;
    put_port(p);
    if (s->is_closed)
        return;
    set_pace(s);
    check_end(s);
}

static void on_reply(cw_responder *base, const cw_response *answer)
{
    line_responder *p = port_of(base);
    cw_stdio *s = p->all;
    base->on_event = NULL;
    if (!answer->body.n) {
        put_port(p);
        set_pace(s);
        check_end(s);
        return;
    }
    p->is_over = true;
    cw_responder_join_lines(answer->body);
    p->answer = (cw_line){.text = answer->body, .on_left = on_answer_left};
    cw_lines_send(&s->lines, &p->answer);
    set_pace(s);
}

static void on_port_end(cw_responder *base)
{
    on_reply(base, &(cw_response){.status = 202});
}

static cw_str on_header(const cw_responder *base, cw_str name, bool *ret_repeats)
{
    (void)base;
    (void)name;
    if (ret_repeats)
        *ret_repeats = false;
    return (cw_str){NULL, 0};
}

/* ---- saying ---- */

typedef struct output {
    cw_line line;
    char text[];
} output;

static void on_sent_left(cw_line *line)
{
    free(CW_CONTAINER(line, output, line));
}

static cw_code send_copy(cw_stdio *s, cw_str message)
{
    output *copy = malloc(sizeof *copy + message.n);
    if (!copy)
        return CW_NOMEM;
    memcpy(copy->text, message.p, message.n);
    copy->line = (cw_line){.text = cw_str_make(copy->text, message.n), .on_left = on_sent_left};
    cw_responder_join_lines(copy->line.text);
    cw_lines_send(&s->lines, &copy->line);
    set_pace(s);
    return is_full(s) ? CW_AGAIN : CW_OK;
}

/* Only the newest progress is kept for a slow reader. */
static cw_code keep_newest(line_responder *p, cw_str message)
{
    char *copy = malloc(message.n + 1);
    if (!copy)
        return CW_NOMEM;
    memcpy(copy, message.p, message.n);
    free(p->newest);
    p->newest = copy;
    p->n_newest = message.n;
    return CW_AGAIN;
}

/* How many log lines a slow reader has lost, once it reads again. */
static void notify_lost(cw_stdio *s)
{
    cw_buf b;
    if (!s->n_lost || is_full(s))
        return;
    cw_buf_init(&b, 256);
    cw_responder_add_lost(&b, s->n_lost);
    cw_code rc = b.code ? b.code : send_copy(s, cw_buf_str(&b));
    if (rc == CW_OK || rc == CW_AGAIN)
        s->n_lost = 0;
    cw_buf_done(&b);
}

static cw_code on_send(cw_responder *base, cw_send_class kind, cw_str message)
{
    line_responder *p = port_of(base);
    cw_stdio *s = p->all;
    cw_code rc;
    switch (kind) {
    case CW_SEND_PROGRESS:
        return is_full(s) ? keep_newest(p, message) : send_copy(s, message);
    case CW_SEND_LOG:
        notify_lost(s);
        rc = is_full(s) ? CW_LIMIT : send_copy(s, message);
        if (rc != CW_OK && rc != CW_AGAIN)
            s->n_lost++;
        return rc;
    case CW_SEND_MESSAGE:
        stop_waiting(p);
        return send_copy(s, message);
    }
    return CW_INVALID;
}

/* The reader has caught up. */
static void on_drained(cw_lines *l)
{
    cw_stdio *s = CW_CONTAINER(l, cw_stdio, lines);
    notify_lost(s);
    CW_LIST_EACH_SAFE (node, &s->open) {
        line_responder *p = responder_of(node);
        if (is_full(s))
            break;
        if (p->newest && !p->is_over)
            (void)send_copy(s, cw_str_make(p->newest, p->n_newest));
        free(p->newest);
        p->newest = NULL;
        if (p->base.on_event)
            p->base.on_event(&p->base, CW_RESPONDER_DRAINED, p->base.ctx);
    }
    set_pace(s);
}

/* ---- a message ---- */

static line_responder *take_port(cw_stdio *s)
{
    static const cw_responder_ops ops = {on_reply, on_send, on_port_end, on_header, NULL, NULL};
    cw_list *node = cw_list_take_first(&s->pool);
    line_responder *p = node ? responder_of(node) : NULL;
    if (p) {
        s->n_pool--;
    } else {
        p = calloc(1, sizeof *p);
        if (!p)
            return NULL;
        cw_arena_init(&p->arena, ARENA_FACTOR * s->opts.line_size + ARENA_BYTES);
    }
    p->base = (cw_responder){.ops = &ops,
                             .arena = &p->arena,
                             .loop = s->opts.loop,
                             .can_stream = true,
                             .session = &s->session};
    p->all = s;
    p->is_over = p->has_output = false;
    s->n_open++;
    s->n_busy++;
    cw_list_add(&s->open, &p->node);
    return p;
}

/* The answer to a line that could not be taken. */
static void answer_failure(cw_stdio *s, cw_str text)
{
    line_responder *p = take_port(s);
    if (p)
        on_reply(&p->base, &(cw_response){.status = 500, .body = text});
}

/* The view of the one client; NULL: its toolset is gone, or out of memory. */
static cw_view *view_of(const cw_stdio *s, cw_runtime_loop *rl)
{
    const cw_toolset toolset = {.name = s->opts.toolset,
                                .is_read_only_address = s->opts.is_read_only_toolset};
    return cw_runtime_view_in(rl, NULL, toolset.name.n ? &toolset : NULL);
}

static void on_line(cw_lines *l, cw_str text)
{
    cw_stdio *s = CW_CONTAINER(l, cw_stdio, lines);
    cw_runtime_loop *rl = cw_runtime_at(s->opts.runtime, s->opts.loop);
    line_responder *p = take_port(s);
    char *body = p ? cw_arena_dup(&p->arena, text.p, text.n) : NULL;
    if (!p)
        return; /* not even room for saying so */
    cw_ids ids = {.request = cw_ids_new_request()};
    cw_ids *outer = cw_ids_enter(&ids);
    cw_loop_set_recent(s->opts.loop, cw_clock_ns());
    cw_view *view = view_of(s, rl);
    if (body && view)
        cw_mcp_receive(s->opts.door, &p->base, rl, view, cw_str_make(body, text.n));
    else
        on_reply(&p->base, &(cw_response){.status = 500, .body = cw_door_mcp.failure});
    cw_ids_leave(outer);
    set_pace(s);
}

static void on_skipped(cw_lines *l, cw_str piece)
{
    cw_stdio *s = CW_CONTAINER(l, cw_stdio, lines);
    if (!s->is_scanning)
        cw_json_id_scan_init(&s->scan);
    s->is_scanning = true;
    cw_json_id_scan_add(&s->scan, piece);
}

/* The answer to a line that is too long, with the id that was found in it. */
static void answer_too_long(cw_stdio *s)
{
    line_responder *p = take_port(s);
    if (!p)
        return;
    cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_rpc_error(&b, CW_RPC_INVALID, CW_STR(CW_MCP_TOO_LARGE), CW_STR(""),
                 cw_json_id_scan_end(&s->scan));
    cw_str body = cw_rpc_batch_keep(&p->arena, &b);
    on_reply(&p->base, &(cw_response){.status = 413, .body = body.p ? body : cw_door_mcp.failure});
}

static void on_dropped(cw_lines *l, cw_code why)
{
    cw_stdio *s = CW_CONTAINER(l, cw_stdio, lines);
    s->is_scanning = false;
    if (why == CW_LIMIT)
        answer_too_long(s);
    else
        answer_failure(s, cw_door_mcp.failure);
}

/* ---- stopping ---- */

static void notify_responders(cw_stdio *s, cw_responder_event event)
{
    CW_LIST_EACH_SAFE (node, &s->open) {
        line_responder *p = responder_of(node);
        if (p->base.on_event)
            p->base.on_event(&p->base, event, p->base.ctx);
    }
}

/* Requests that are still open get no answer. */
static void leave_ports(cw_stdio *s)
{
    CW_LIST_EACH_SAFE (node, &s->open) {
        line_responder *p = responder_of(node);
        if (p->is_over)
            continue;
        if (p->base.on_event)
            p->base.on_event(&p->base, CW_RESPONDER_GONE, p->base.ctx);
        p->base.on_event = NULL;
        put_port(p);
    }
}

static void on_time_up(uv_timer_t *timer);

/* Nothing is begun any more; what runs may end within `ms`. */
static void wind_down(cw_stdio *s, uint64_t ms)
{
    s->has_looked = false;
    uv_update_time(&s->opts.loop->uv);
    uv_timer_start(&s->timer, on_time_up, ms, 0);
}

/* A loop runs its timers before it polls. If the process has not run for a while, lines and results
 * may be there that came in time: they are taken first. */
static bool looks_once_more(cw_stdio *s)
{
    bool has_lines = !s->has_no_more && !cw_lines_is_paused(&s->lines);
    bool is_first = !s->has_looked;
    s->has_looked = true;
    if (has_lines || is_first)
        uv_timer_start(&s->timer, on_time_up, 1, 0);
    return has_lines || is_first;
}

static void on_time_up(uv_timer_t *timer)
{
    cw_stdio *s = timer->data;
    bool is_early = !s->is_going && !s->has_no_more;
    if (is_early && s->opts.on_overdue) {
        uv_timer_start(&s->timer, on_time_up, CW_STDIO_OVERDUE_MS, 0);
        s->opts.on_overdue(s->opts.ctx);
        return;
    }
    if (looks_once_more(s))
        return;
    leave_ports(s);
    s->has_no_more = true;
    if (cw_lines_has_queue(&s->lines))
        uv_timer_start(&s->timer, on_time_over, CW_STDIO_FLUSH_MS, 0);
    else
        end_soon(s);
}

static void on_last(cw_lines *l)
{
    cw_stdio *s = CW_CONTAINER(l, cw_stdio, lines);
    if (s->is_stopping)
        return;
    s->is_stopping = true;
    s->end_ms = cw_lines_is_file(l) ? s->opts.file_ms : CW_STDIO_END_MS;
    wind_down(s, s->end_ms);
}

static void on_lines_end(cw_lines *l, cw_code why)
{
    cw_stdio *s = CW_CONTAINER(l, cw_stdio, lines);
    s->has_no_more = true;
    if (why == CW_IO) {
        leave_ports(s); /* their answers would not be read */
        end_soon(s);
        return;
    }
    wind_down(s, s->end_ms); /* the last call has as long as the others */
    notify_responders(s, CW_RESPONDER_STOPPING);
    check_end(s);
}

void cw_stdio_stop(cw_stdio *s)
{
    if (s->has_no_more && s->is_stopping) {
        end_soon(s);
        return;
    }
    s->is_stopping = s->has_no_more = true;
    s->is_going = false;
    set_pace(s);
    notify_responders(s, CW_RESPONDER_STOPPING);
    wind_down(s, CW_STDIO_END_MS);
    check_end(s);
}

/* ---- begin and end ---- */

static void close_one(cw_stdio *s)
{
    if (--s->n_closing > 0)
        return;
    for (cw_list *node; (node = cw_list_take_first(&s->pool));) {
        line_responder *p = responder_of(node);
        cw_arena_done(&p->arena);
        free(p);
    }
    free(s);
}

static void on_lines_closed(cw_lines *l)
{
    close_one(CW_CONTAINER(l, cw_stdio, lines));
}

static void on_timer_closed(uv_handle_t *handle)
{
    close_one(handle->data);
}

void cw_stdio_close(cw_stdio *s)
{
    if (!s || s->is_closed)
        return;
    leave_ports(s);
    s->is_closed = true;
    cw_lines_close(&s->lines); /* queued lines are dropped, with their responders */
    uv_close((uv_handle_t *)&s->timer, on_timer_closed);
}

void cw_stdio_go(cw_stdio *s)
{
    cw_runtime_loop *rl = cw_runtime_at(s->opts.runtime, s->opts.loop);
    if (s->is_stopping && s->has_no_more)
        return;
    s->is_going = true;
    if (s->is_stopping) {
        s->end_ms += 2 * (cw_clock_ms() - s->opened_at);
        wind_down(s, s->end_ms);
    }
    /* Without it the client has to ask, as it would without this server's word for it. */
    cw_view *view = view_of(s, rl);
    s->change = view ? take_port(s) : NULL;
    if (s->change) {
        stop_waiting(s->change);
        if (cw_mcp_subscribe_responder(s->opts.door, &s->change->base, rl, view))
            put_port(s->change);
    }
    set_pace(s);
}

cw_code cw_stdio_new(const cw_stdio_opts *opts, cw_stdio **ret, cw_err *err)
{
    static const cw_lines_ops ops = {on_line,      on_skipped, on_dropped,     on_last,
                                     on_lines_end, on_drained, on_lines_closed};
    cw_stdio *s = calloc(1, sizeof *s);
    if (!s)
        return cw_fail_nomem(err);
    s->opts = *opts;
    s->opened_at = cw_clock_ms();
    cw_list_init(&s->open);
    cw_list_init(&s->pool);
    s->session = (cw_mcp_session){.is_named = true, .level = CW_LOG_OFF, .version = CW_STR("")};
    uv_timer_init(&opts->loop->uv, &s->timer);
    s->timer.data = s;
    s->n_closing = 2;
    cw_lines_opts lines = {.in = opts->in,
                           .out = opts->out,
                           .max_line = opts->line_size,
                           .max_queue = opts->queue_size};
    cw_code rc = cw_lines_open(&s->lines, opts->loop, &lines, &ops, err);
    if (!rc)
        rc = cw_random_bytes(s->session.number, CW_MCP_NUMBER, err);
    if (rc) {
        cw_stdio_close(s);
        return rc;
    }
    cw_lines_pause(&s->lines, true);
    *ret = s;
    return CW_OK;
}
