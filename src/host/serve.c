/* SPDX-License-Identifier: GPL-2.0-or-later */
/* serve.c - frames from the parent, one after another.
 *
 *     read a frame -> parse into the arena -> "started" -> run -> answer -> next
 *
 * System calls are few: an answer is sent at once if no other call waits, otherwise together
 * with the "started" of the next call.
 */
#include "host/serve.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/call.h"

#define ARENA_FRAMES 32u /* the arena may hold so many times the largest frame */

typedef struct server {
    const char *name;
    cw_hosted plugin;
    cw_wire wire;
    cw_arena arena;
} server;

static cw_code complain(const server *s, const char *text)
{
    fprintf(stderr, "causeway-plugin-host: %s: %s\n", s->name, text);
    return CW_INVALID;
}

/* Answer a frame without running anything. */
static void refuse(server *s, uint64_t id, int code, cw_str message, cw_str data)
{
    cw_wire_flush(&s->wire);
    cw_call_refuse(&s->wire, id, code, message, data);
}

static void send_started(server *s, uint64_t id)
{
    cw_buf *out = &s->wire.out;
    bool held = out->n > s->wire.sent;
    size_t start = cw_wire_open_frame(out, id);
    cw_buf_add(out, CW_STR("{\"jsonrpc\":\"2.0\",\"method\":\"$/started\"}"));
    cw_wire_close_frame(out, start);
    if (held || cw_wire_has_more(&s->wire))
        cw_wire_flush(&s->wire);
}

/* The document is written anew each time: it is asked for once in a process's life. */
static void describe(server *s, uint64_t id)
{
    cw_wire_flush(&s->wire);
    cw_buf *out = &s->wire.out;
    size_t start = cw_wire_open_frame(out, id);
    cw_buf_add(out, CW_STR("{\"jsonrpc\":\"2.0\",\"id\":"));
    cw_buf_add_u64(out, id);
    cw_buf_add(out, CW_STR(",\"result\":"));
    cw_code rc = cw_hosted_describe(&s->plugin, CW_JSON_COMPACT, out);
    cw_buf_add_char(out, '}');
    cw_wire_close_frame(out, start);
    if (!rc && !out->code && out->n - start - CW_WIRE_HEAD <= s->wire.max_body)
        return;
    cw_buf_clear(out);
    refuse(s, id, CW_ERROR_INTERNAL,
           rc == CW_NOMEM ? CW_STR("out of memory") : CW_STR("the description is too large"),
           (cw_str){0});
}

static void run_method(server *s, uint64_t id, const cw_json *root, const cw_json *params,
                       const cw_hosted_method *method)
{
    if (cw_wire_has_more(&s->wire)) {
        cw_wire_look(&s->wire, CW_WIRE_READ / 2);
        if (cw_wire_has_cancel(&s->wire, id)) {
            refuse(s, id, CW_ERROR_CANCELLED, CW_STR("cancelled"), (cw_str){0});
            return;
        }
    }
    send_started(s, id);
    cw_call call = {
        .wire = &s->wire,
        .arena = &s->arena,
        .method = method,
        .params = cw_json_is(params, CW_JSON_OBJECT) ? params : NULL,
        .caller = cw_json_get(root, CW_STR("caller")),
        .root = root,
        .complete = cw_json_get(root, CW_STR("complete")),
        .id = id,
        .wants_progress = cw_json_is(cw_json_get(root, CW_STR("progress")), CW_JSON_TRUE),
    };
    cw_call_run(&call);
}

static cw_code handle_request(server *s, uint64_t id, const cw_json *root)
{
    const cw_json *method = cw_json_get(root, CW_STR("method"));
    const cw_json *params = cw_json_get(root, CW_STR("params"));
    if (!cw_json_is(method, CW_JSON_STRING))
        return complain(s, "a frame that is no request");
    cw_str name = cw_json_text(method);
    /* The call has ended already; those that have not are found by cw_wire_has_cancel. */
    if (cw_str_is(name, "$/cancel")) {
        cw_wire_drop_cancel(&s->wire, id);
        return CW_OK;
    }
    if (cw_str_is(name, "rpc.discover")) {
        describe(s, id);
        return CW_OK;
    }
    const cw_hosted_method *found = cw_hosted_find(&s->plugin, name);
    bool is_list = cw_json_is(params, CW_JSON_ARRAY) && cw_json_count(params) > 0;
    if (!found)
        refuse(s, id, -32601, CW_STR("Method not found"), (cw_str){0});
    else if (is_list)
        refuse(s, id, CW_ERROR_PARAMS, CW_STR("Invalid params"), CW_STR("params: by name only"));
    else
        run_method(s, id, root, params, found);
    return CW_OK;
}

static cw_code handle_frame(server *s, uint64_t id, cw_str body)
{
    const cw_json *root;
    cw_err err;
    const cw_json_opts opts = {.max_bytes = s->wire.max_body};
    cw_arena_reset(&s->arena);
    cw_code rc = cw_json_read(body, &opts, &s->arena, &root, NULL, &err);
    if (rc == CW_NOMEM)
        refuse(s, id, CW_ERROR_INTERNAL, CW_STR("out of memory"), (cw_str){0});
    else if (rc == CW_LIMIT)
        refuse(s, id, CW_ERROR_INTERNAL, CW_STR("Internal error"), cw_str_from(err.msg));
    else if (rc) {
        complain(s, "a frame that is not JSON:");
        return complain(s, err.msg);
    } else
        return handle_request(s, id, root);
    return CW_OK;
}

static void add_problems(cw_json_writer *w, cw_str lines)
{
    cw_json_add_key(w, CW_STR("problems"));
    cw_json_open_array(w);
    while (lines.n > 0) {
        cw_str line = cw_str_cut(lines, '\n', &lines);
        cw_json_add_string(w, line);
    }
    cw_json_close(w);
}

/* The parts of a faulty plugin that can still be checked, up to the size of a frame. */
static void add_partial(const server *s, cw_json_writer *w)
{
    cw_buf text;
    cw_buf_init(&text, s->wire.max_body / 2);
    if (cw_hosted_describe(&s->plugin, CW_JSON_COMPACT, &text) == CW_OK) {
        cw_json_add_key(w, CW_STR("partial"));
        cw_json_add_span(w, cw_buf_str(&text));
    }
    cw_buf_done(&text);
}

/* $/ready or $/failed. */
static void announce(server *s, cw_code rc)
{
    cw_buf *out = &s->wire.out;
    size_t start = cw_wire_open_frame(out, 0);
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("jsonrpc"), CW_STR("2.0"));
    cw_json_add_string_member(&w, CW_STR("method"), rc ? CW_STR("$/failed") : CW_STR("$/ready"));
    cw_json_add_key(&w, CW_STR("params"));
    cw_json_open_object(&w);
    if (rc == CW_PARAMS) {
        add_problems(&w, cw_buf_str(&s->plugin.problems));
        add_partial(s, &w);
    } else if (rc) {
        add_problems(&w, CW_STR("out of memory"));
    } else {
        cw_json_add_string_member(&w, CW_STR("name"), cw_str_from(s->plugin.name));
        cw_json_add_string_member(&w, CW_STR("version"), cw_str_from(s->plugin.version));
        cw_json_add_i64_member(&w, CW_STR("abi"), CW_PLUGIN_ABI);
    }
    cw_json_close(&w);
    cw_json_close(&w);
    cw_wire_close_frame(out, start);
    cw_wire_flush(&s->wire);
}

static cw_code serve_frames(server *s)
{
    for (;;) {
        uint64_t id;
        cw_str body;
        cw_err err;
        if (!cw_wire_has_more(&s->wire))
            cw_wire_flush(&s->wire);
        cw_code rc = cw_wire_next(&s->wire, &id, &body, &err);
        if (rc == CW_DONE)
            return CW_OK;
        if (rc == CW_NOMEM)
            refuse(s, id, CW_ERROR_INTERNAL, CW_STR("out of memory"), (cw_str){0});
        else if (rc)
            return complain(s, err.msg);
        else if (handle_frame(s, id, body))
            return CW_INVALID;
    }
}

int cw_host_serve(const cw_host_opts *opts)
{
    cw_err err;
    server s = {.name = opts->name};
    if (cw_wire_init(&s.wire, CW_HOST_SOCKET, opts->frame, &err)) {
        complain(&s, err.msg);
        return 1;
    }
    cw_hosted_init(&s.plugin);
    cw_arena_init(&s.arena, ARENA_FRAMES * opts->frame);
    /* A reset keeps the first block only: a large one, so that a warm call asks for no memory. */
    s.arena.next_block = CW_ARENA_BLOCK_MAX;
    cw_report_use(&s.wire);
    /* A pipe to the log: what a plugin prints before it crashes is worth most. */
    (void)setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    cw_code rc = cw_hosted_load(&s.plugin, opts->file, opts->name);
    (void)close(CW_HOST_OBJECT);
    announce(&s, rc);
    if (!rc)
        rc = serve_frames(&s);
    cw_report_use(NULL);
    cw_arena_done(&s.arena);
    cw_hosted_done(&s.plugin);
    cw_wire_done(&s.wire);
    return rc ? 1 : 0;
}
