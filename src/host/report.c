/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report.c - what a method says while it runs: progress, log lines; and whether it should go on.
 *
 * Reports leave at once, ahead of the answer that is being written: whoever
 * debugs a crash wants the last line before it.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"
#include "host/call.h"

/* For log lines of no call. One process hosts one plugin. */
static cw_wire *home;

/* Send the frame in `side`, behind everything that waits but ahead of the call's answer. One for
 * which there is no memory is dropped. */
static void send_side(const cw_call *call, cw_wire *wire)
{
    if (!wire->side.code)
        cw_wire_send(wire, call ? call->start : wire->out.n, cw_buf_str(&wire->side));
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
    send_side(call, wire);
}

static void print_progress(double progress, double total, const char *message)
{
    fprintf(stderr, "progress: %g", progress);
    if (total > 0)
        fprintf(stderr, " of %g", total);
    fprintf(stderr, "%s%s\n", message ? ": " : "", message ? message : "");
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
    send_side(call, call->wire);
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
