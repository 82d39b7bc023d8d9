/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tool.c - the modes for people: --check and --call. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/call.h"
#include "host/serve.h"

/* What a plugin prints goes to standard error, so that standard output holds our answer alone. */
static FILE *take_stdout(void)
{
    int fd = dup(STDOUT_FILENO);
    if (fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return NULL;
    return fdopen(fd, "w");
}

static int fail(const char *text)
{
    fprintf(stderr, "causeway-plugin-host: %s\n", text);
    return 1;
}

static int print(FILE *to, const cw_buf *text)
{
    fwrite(text->p, 1, text->n, to);
    fputc('\n', to);
    return fflush(to) ? fail("cannot write to standard output") : 0;
}

static int load(cw_hosted *h, const cw_host_opts *opts)
{
    cw_code rc = cw_hosted_load(h, opts->file, opts->name);
    if (rc == CW_PARAMS)
        fprintf(stderr, "%.*s", CW_STR_ARG(cw_buf_str(&h->problems)));
    else if (rc)
        fail(cw_code_text(rc));
    return rc ? 1 : 0;
}

/* A part of the command line as an object; NULL with a message. */
static const cw_json *read_part(const char *text, const char *what, cw_arena *arena)
{
    const cw_json *root;
    cw_err err;
    if (cw_json_read(cw_str_from(text), NULL, arena, &root, NULL, &err))
        fprintf(stderr, "causeway-plugin-host: %s: %s\n", what, err.msg);
    else if (!cw_json_is(root, CW_JSON_OBJECT))
        fprintf(stderr, "causeway-plugin-host: %s: must be an object\n", what);
    else
        return root;
    return NULL;
}

/* The request much as the parent would send it; NULL with a message. */
static const cw_json *make_request(const cw_host_opts *opts, cw_arena *arena)
{
    static const char client[] = "\"client\":[\"elicitation\",\"sampling\",\"roots\"]";
    const cw_json *params = read_part(opts->params ? opts->params : "{}", "params", arena);
    const cw_json *caller = read_part(
        opts->caller ? opts->caller : "{\"id\":\"0\",\"name\":\"anonymous\",\"permissions\":[]}",
        "caller", arena);
    const cw_json *with = read_part(opts->with ? opts->with : "{}", "with", arena);
    const cw_json *root = NULL;
    cw_err err;
    if (!params || !caller || !with)
        return NULL;
    /* A client that can do everything, unless something else is said. */
    bool has_client = cw_json_get(with, CW_STR("client")) != NULL;
    cw_str rest = cw_json_span(with);
    const char *text =
        cw_arena_printf(arena, "{\"params\":%.*s,\"caller\":%.*s,\"with\":{%s%s%.*s}",
                        CW_STR_ARG(cw_json_span(params)), CW_STR_ARG(cw_json_span(caller)),
                        has_client ? "" : client, has_client || cw_json_count(with) == 0 ? "" : ",",
                        (int)rest.n - 1, rest.p + 1);
    cw_code rc = text ? cw_json_read(cw_str_from(text), NULL, arena, &root, NULL, &err)
                      : cw_arena_fail(arena, &err);
    if (!rc)
        return root;
    /* Each part alone could be read; together they are one level deeper. */
    fail(err.msg);
    return NULL;
}

/* What people want to see of an answer: the error, the result, or, where there is more than a
 * result, everything but the frame. */
static void write_answer(cw_json_writer *w, const cw_json *root)
{
    const cw_json *error = cw_json_get(root, CW_STR("error"));
    bool has_more = cw_json_get(root, CW_STR("content")) || cw_json_get(root, CW_STR("asks"));
    if (error || !has_more) {
        cw_json_add_value(w, error ? error : cw_json_get(root, CW_STR("result")));
        return;
    }
    cw_json_open_object(w);
    for (const cw_json *k = cw_json_first(root); k; k = cw_json_next_key(k)) {
        cw_str name = cw_json_text(k);
        if (cw_str_is(name, "jsonrpc") || cw_str_is(name, "id"))
            continue;
        cw_json_add_key(w, name);
        cw_json_add_value(w, cw_json_value(k));
    }
    cw_json_close(w);
}

/* Print the answer in `wire`. */
static int print_answer(const cw_wire *wire, cw_arena *arena, FILE *to)
{
    const cw_json *root;
    cw_err err;
    const cw_json_opts opts = {.max_bytes = wire->max_body};
    cw_str body = cw_str_make(wire->out.p + CW_WIRE_HEAD, wire->out.n - CW_WIRE_HEAD);
    if (cw_json_read(body, &opts, arena, &root, NULL, &err))
        return fail(err.msg);
    cw_buf text;
    cw_buf_init(&text, 16 * wire->max_body);
    cw_json_writer w;
    cw_json_writer_init(&w, &text, CW_JSON_INDENT);
    write_answer(&w, root);
    int status = cw_json_writer_end(&w, &err) ? fail(err.msg) : print(to, &text);
    cw_buf_done(&text);
    return cw_json_get(root, CW_STR("error")) ? 1 : status;
}

static int run_method(const cw_hosted *plugin, const cw_host_opts *opts, cw_arena *arena, FILE *to)
{
    cw_err err;
    const cw_hosted_method *method = cw_hosted_find(plugin, cw_str_from(opts->method));
    if (!method)
        method = cw_hosted_find_mark(plugin, cw_str_from(opts->method));
    if (!method) {
        fprintf(stderr, "causeway-plugin-host: %s: there is no method '%s'\n", opts->name,
                opts->method);
        return 1;
    }
    const cw_json *request = make_request(opts, arena);
    if (!request)
        return 1;
    const cw_json *with = cw_json_get(request, CW_STR("with"));
    cw_wire wire;
    if (cw_wire_init(&wire, /* fd= */ -1, opts->frame, &err))
        return fail(err.msg);
    cw_call call = {
        .wire = &wire,
        .arena = arena,
        .method = method,
        .params = cw_json_get(request, CW_STR("params")),
        .caller = cw_json_get(request, CW_STR("caller")),
        .root = with,
        .complete = cw_json_get(with, CW_STR("complete")),
        .id = 1,
        .wants_progress = true,
    };
    cw_call_run(&call);
    int status = print_answer(&wire, arena, to);
    cw_wire_done(&wire);
    return status;
}

int cw_host_check(const cw_host_opts *opts)
{
    FILE *to = take_stdout();
    if (!to)
        return fail("cannot use standard output");
    cw_hosted plugin;
    cw_hosted_init(&plugin);
    int status = load(&plugin, opts);
    if (!status) {
        cw_buf text;
        cw_buf_init(&text, CW_HOST_FRAME_MAX);
        cw_code rc = cw_hosted_describe(&plugin, CW_JSON_INDENT, &text);
        status = rc ? fail(cw_code_text(rc)) : print(to, &text);
        cw_buf_done(&text);
    }
    cw_hosted_done(&plugin);
    (void)fclose(to);
    return status;
}

int cw_host_call(const cw_host_opts *opts)
{
    FILE *to = take_stdout();
    if (!to)
        return fail("cannot use standard output");
    cw_hosted plugin;
    cw_arena arena;
    cw_hosted_init(&plugin);
    cw_arena_init(&arena, CW_HOST_FRAME_MAX);
    int status = load(&plugin, opts);
    if (!status)
        status = run_method(&plugin, opts, &arena, to);
    cw_arena_done(&arena);
    cw_hosted_done(&plugin);
    (void)fclose(to);
    return status;
}
