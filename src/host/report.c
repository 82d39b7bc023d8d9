/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report.c - reports of a running method: progress, log lines, announcements; and the check for
 * cancellation.
 *
 * Reports are sent at once, before the answer that is being written, so that the last line before
 * a crash is not lost.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/ascii.h"
#include "base/utf8.h"
#include "host/call.h"
#include "host/uri.h"

#define EVENT_NAME_MAX 48u
#define STATUS_MAX 512u

/* For log lines of no call. One process hosts one plugin. */
static cw_wire *home;

/* Send the frame in `side`, behind everything that waits but ahead of the answer that is being
 * written, whether the frame belongs to that call or to none. One for which there is no memory is
 * dropped. */
static void send_side(cw_wire *wire)
{
    size_t end = wire->is_answering ? wire->answer : wire->out.n;
    if (!wire->side.code)
        cw_wire_send(wire, end, cw_buf_str(&wire->side));
    cw_buf_clear(&wire->side);
}

static const char *level_name(cw_level level)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    return (unsigned)level < CW_COUNT(names) ? names[level] : "info";
}

static void log_line(cw_call *call, cw_level level, cw_str message)
{
    cw_wire *wire = call ? call->wire : home;
    if (!wire || wire->fd < 0) {
        fprintf(stderr, "%s: %.*s\n", level_name(level), CW_STR_ARG(message));
        return;
    }
    cw_buf *side = &wire->side;
    size_t start = cw_wire_open_frame(side, call ? call->id : 0);
    cw_buf_printf(side, "{\"jsonrpc\":\"2.0\",\"method\":\"$/log\",\"params\":{\"level\":\"%s\"",
                  level_name(level));
    cw_buf_add(side, CW_STR(",\"message\":"));
    cw_json_escape(side, message);
    cw_buf_add(side, CW_STR("}}"));
    cw_wire_close_frame(side, start);
    send_side(wire);
}

static void print_progress(double progress, double total, const char *message)
{
    fprintf(stderr, "progress: %g", progress);
    if (total > 0)
        fprintf(stderr, " of %g", total);
    fprintf(stderr, "%s%s\n", message ? ": " : "", message ? message : "");
}

/* A message of ours with a text in it: `before` "text" `after`. */
static void announce(cw_call *call, const char *before, const char *text, const char *after)
{
    cw_wire *wire = call ? call->wire : home;
    cw_buf *side = &wire->side;
    size_t start = cw_wire_open_frame(side, call ? call->id : 0);
    cw_buf_add(side, cw_str_from(before));
    cw_json_escape(side, cw_str_from(text));
    cw_buf_add(side, cw_str_from(after));
    cw_wire_close_frame(side, start);
    send_side(wire);
}

/* Whether announcements have a receiver: not on the command line. */
static bool is_heard(const cw_call *call, const char *what, const char *text)
{
    const cw_wire *wire = call ? call->wire : home;
    if (wire && wire->fd >= 0)
        return true;
    fprintf(stderr, "%s: %s\n", what, text);
    return false;
}

static void refuse(cw_call *call, const char *problem)
{
    if (call)
        cw_call_misuse(call, problem);
    else
        log_line(NULL, CW_LEVEL_ERROR, cw_str_from(problem));
}

void cw_report_use(cw_wire *wire)
{
    home = wire;
}

void cw_report_problem(cw_call *call, const char *problem)
{
    char text[512];
    cw_str id = call->method->id;
    int n = snprintf(text, sizeof(text), "method '%.*s': result: %s", CW_STR_ARG(id), problem);
    size_t len = n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1;
    log_line(call, CW_LEVEL_ERROR, cw_str_make(text, len));
}

void cw_call_progress(cw_call *call, double progress, double total, const char *message)
{
    (void)cw_call_cancelled(call);
    if (!call->wants_progress || !isfinite(progress))
        return;
    if (call->wire->fd < 0) {
        print_progress(progress, total, message);
        return;
    }
    cw_buf *side = &call->wire->side;
    size_t start = cw_wire_open_frame(side, call->id);
    cw_buf_add(side, CW_STR("{\"jsonrpc\":\"2.0\",\"method\":\"$/progress\",\"params\":"));
    cw_json_writer w;
    cw_json_writer_init(&w, side, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_key(&w, CW_STR("progress"));
    cw_json_add_double(&w, progress);
    if (total > 0 && isfinite(total)) {
        cw_json_add_key(&w, CW_STR("total"));
        cw_json_add_double(&w, total);
    }
    if (message)
        cw_json_add_string_member(&w, CW_STR("message"), cw_str_from(message));
    cw_json_close(&w);
    cw_buf_add_char(side, '}');
    cw_wire_close_frame(side, start);
    send_side(call->wire);
}

void cw_task_begin(cw_call *call)
{
    (void)cw_call_cancelled(call);
    if (!cw_client_can(call, "tasks") || call->wire->fd < 0)
        return;
    cw_buf *side = &call->wire->side;
    size_t start = cw_wire_open_frame(side, call->id);
    cw_buf_add(side, CW_STR("{\"jsonrpc\":\"2.0\",\"method\":\"$/task\",\"params\":{}}"));
    cw_wire_close_frame(side, start);
    send_side(call->wire);
}

void cw_task_status(cw_call *call, const char *fmt, ...)
{
    char text[STATUS_MAX + 8]; /* to see whether the cut splits a character */
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    (void)cw_call_cancelled(call);
    if (n < 0 || !cw_client_can(call, "tasks"))
        return;
    text[cw_utf8_cut(cw_str_from(text), STATUS_MAX)] = '\0';
    if (is_heard(call, "status", text))
        announce(call, "{\"jsonrpc\":\"2.0\",\"method\":\"$/task\",\"params\":{\"message\":", text,
                 "}}");
}

bool cw_call_cancelled(cw_call *call)
{
    if (call->is_cancelled)
        return true;
    cw_wire_look(call->wire, CW_WIRE_AHEAD);
    call->is_cancelled = call->wire->has_ended || cw_wire_has_cancel(call->wire, call->id);
    return call->is_cancelled;
}

void cw_call_log(cw_call *call, cw_level level, const char *fmt, ...)
{
    /* A few bytes more, to see whether the cut splits a character. */
    char text[CW_CALL_LOG_MAX + 8];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (n < 0)
        return;
    cw_str line = cw_str_make(text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
    line.n = cw_utf8_cut(line, CW_CALL_LOG_MAX);
    log_line(call, level, line);
}

void cw_resource_updated(cw_call *call, const char *uri)
{
    if (cw_uri_problem(cw_str_from(uri)))
        refuse(call, "cw_resource_updated: the address is none");
    else if (strlen(uri) > CW_RESOURCE_MAX_URI)
        refuse(call, "cw_resource_updated: the address has more than 8192 bytes");
    else if (is_heard(call, "updated", uri))
        announce(call, "{\"jsonrpc\":\"2.0\",\"method\":\"$/updated\",\"params\":{\"uri\":", uri,
                 "}}");
}

void cw_lists_changed(cw_call *call, const char *list)
{
    cw_str name = cw_str_from(list);
    if (!cw_str_is(name, "tools") && !cw_str_is(name, "prompts") && !cw_str_is(name, "resources"))
        refuse(call, "cw_lists_changed: the lists are \"tools\", \"prompts\" and \"resources\"");
    else if (is_heard(call, "changed", list))
        announce(call, "{\"jsonrpc\":\"2.0\",\"method\":\"$/changed\",\"params\":{\"lists\":[",
                 list, "]}}");
}

static bool is_event_name(cw_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        if (!cw_is_alnum(name.p[i]) && !strchr("_-.", name.p[i]))
            return false;
    }
    return name.n > 0 && name.n <= EVENT_NAME_MAX;
}

static bool is_json(cw_str text)
{
    const cw_json *root;
    cw_arena arena;
    cw_arena_init(&arena, 16 * CW_EVENT_MAX_DATA + 65536);
    cw_code rc = cw_json_read(text, NULL, &arena, &root, NULL, NULL);
    cw_arena_done(&arena);
    return rc == CW_OK;
}

static void send_event(cw_call *call, cw_str name, cw_str data, const char *id)
{
    cw_wire *wire = call ? call->wire : home;
    cw_buf *side = &wire->side;
    size_t start = cw_wire_open_frame(side, call ? call->id : 0);
    cw_buf_add(side, CW_STR("{\"jsonrpc\":\"2.0\",\"method\":\"$/event\",\"params\":{\"name\":"));
    cw_json_escape(side, name);
    if (id) {
        cw_buf_add(side, CW_STR(",\"id\":"));
        cw_json_escape(side, cw_str_from(id));
    }
    cw_buf_add(side, CW_STR(",\"data\":"));
    cw_buf_add(side, data);
    cw_buf_add(side, CW_STR("}}"));
    cw_wire_close_frame(side, start);
    send_side(wire);
}

void cw_emit_event(cw_call *call, const char *name, const char *data, const char *id)
{
    cw_str text = cw_str_from(data ? data : "");
    if (!name || !is_event_name(cw_str_from(name)))
        refuse(call, "cw_emit_event: the name has 1 to 48 letters, digits, '_', '-' and '.'");
    else if (text.n > CW_EVENT_MAX_DATA)
        refuse(call, "cw_emit_event: the data has more than 65536 bytes");
    else if (!is_json(text))
        refuse(call, "cw_emit_event: the data is no JSON");
    else if (is_heard(call, "event", name))
        send_event(call, cw_str_from(name), text, id);
}
