/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tool.c - the modes for the command line: --check and --call. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/call.h"
#include "host/serve.h"
#include "host/validator.h"

/* Output of the plugin goes to standard error, so that standard output holds only the answer. */
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

/* A part of the command line as JSON; NULL with a message. */
static const cw_json *read_json(const char *text, const char *what, cw_arena *arena)
{
    const cw_json *root;
    cw_err err;
    if (cw_json_read(cw_str_from(text), NULL, arena, &root, NULL, &err) == CW_OK)
        return root;
    fprintf(stderr, "causeway-plugin-host: %s: %s\n", what, err.msg);
    return NULL;
}

/* The same for an object. */
static const cw_json *read_part(const char *text, const char *what, cw_arena *arena)
{
    const cw_json *root = read_json(text, what, arena);
    if (!root || cw_json_is(root, CW_JSON_OBJECT))
        return root;
    fprintf(stderr, "causeway-plugin-host: %s: must be an object\n", what);
    return NULL;
}

/* By name or by position. */
static const cw_json *read_params(const char *text, cw_arena *arena)
{
    const cw_json *root = read_json(text ? text : "{}", "params", arena);
    if (!root || cw_json_is(root, CW_JSON_OBJECT) || cw_json_is(root, CW_JSON_ARRAY))
        return root;
    fail("params: must be an object or an array");
    return NULL;
}

/* The request much as the parent would send it; NULL with a message. */
static const cw_json *make_request(const cw_host_opts *opts, cw_arena *arena)
{
    static const char client[] = "\"client\":[\"elicitation\",\"sampling\",\"roots\"]";
    const cw_json *params = read_params(opts->params, arena);
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

/* The printed part of an answer: the error, the result, or, if it has further members, everything
 * but the frame. */
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

/* ---- checks of the server ---- */

typedef struct checker {
    const cw_validator_api *api;
    void *validator;
    char problem[CW_VALIDATOR_PROBLEM];
} checker;

/* What --call runs, and what it needs for it. */
typedef struct session {
    const cw_hosted *plugin;
    const cw_hosted_method *method;
    const cw_host_opts *opts;
    cw_arena *arena;
    FILE *to;
    checker check;
} session;

static int print_error(session *s, int code, const char *message, const char *before)
{
    cw_buf text;
    cw_json_writer w;
    cw_buf_init(&text, 16 * CW_VALIDATOR_PROBLEM);
    cw_json_writer_init(&w, &text, CW_JSON_INDENT);
    cw_json_open_object(&w);
    cw_json_add_i64_member(&w, CW_STR("code"), code);
    cw_json_add_string_member(&w, CW_STR("message"), cw_str_from(message));
    const char *data = cw_arena_printf(s->arena, "%s%s", before, s->check.problem);
    cw_json_add_string_member(&w, CW_STR("data"), cw_str_from(data ? data : ""));
    cw_json_close(&w);
    if (cw_json_writer_end(&w, NULL) == CW_OK)
        (void)print(s->to, &text);
    cw_buf_done(&text);
    return 1;
}

/* Schemas that a server would refuse are mistakes of the plugin. */
static int open_checker(session *s)
{
    checker *c = &s->check;
    cw_buf text;
    cw_buf_init(&text, CW_HOST_FRAME_MAX);
    c->api = cw_validator_load(c->problem, sizeof(c->problem));
    cw_code rc = c->api ? cw_hosted_describe(s->plugin, CW_JSON_COMPACT, &text) : CW_OK;
    cw_buf_add_char(&text, '\0');
    rc = rc ? rc : text.code;
    if (rc)
        snprintf(c->problem, sizeof(c->problem), "%s", cw_code_text(rc));
    else if (c->api)
        c->validator = c->api->open(text.p, s->method->decl->id, c->problem, sizeof(c->problem));
    cw_buf_done(&text);
    if (c->validator)
        return 0;
    fprintf(stderr, "%s: %s\n", c->api ? s->opts->name : "causeway-plugin-host", c->problem);
    return 1;
}

/* The arguments as the server hands them on; NULL with the error that it answers. */
static const cw_json *bind_params(session *s, const cw_json *params)
{
    checker *c = &s->check;
    const cw_json *bound = NULL;
    cw_str span = cw_json_span(params);
    const char *given = cw_arena_dup(s->arena, span.p, span.n);
    const char *text =
        given ? c->api->bind(c->validator, given, c->problem, sizeof(c->problem)) : NULL;
    if (!text)
        (void)print_error(s, CW_ERROR_PARAMS, "Invalid params", "");
    else if (cw_json_read(cw_str_from(text), NULL, s->arena, &bound, NULL, NULL))
        fail("the arguments cannot be read");
    return bound;
}

/* Content alone is no result. */
static bool is_good(session *s, const cw_json *root)
{
    checker *c = &s->check;
    const cw_json *result = cw_json_get(root, CW_STR("result"));
    bool is_content = cw_json_get(root, CW_STR("content")) && cw_json_is(result, CW_JSON_NULL);
    if (!c->validator || !result || is_content)
        return true;
    cw_str span = cw_json_span(result);
    const char *text = cw_arena_dup(s->arena, span.p, span.n);
    return text && c->api->check_result(c->validator, text, c->problem, sizeof(c->problem));
}

/* ---- one call ---- */

/* Print the answer in `wire`. */
static int print_answer(session *s, const cw_wire *wire)
{
    const cw_json *root;
    cw_err err;
    const cw_json_opts opts = {.max_bytes = wire->max_body};
    cw_str body = cw_str_make(wire->out.p + CW_WIRE_HEAD, wire->out.n - CW_WIRE_HEAD);
    if (cw_json_read(body, &opts, s->arena, &root, NULL, &err))
        return fail(err.msg);
    if (!is_good(s, root))
        return print_error(s, CW_ERROR_INTERNAL, "Internal error",
                           "the result does not match .output: ");
    cw_buf text;
    cw_buf_init(&text, 16 * wire->max_body);
    cw_json_writer w;
    cw_json_writer_init(&w, &text, CW_JSON_INDENT);
    write_answer(&w, root);
    int status = cw_json_writer_end(&w, &err) ? fail(err.msg) : print(s->to, &text);
    cw_buf_done(&text);
    return cw_json_get(root, CW_STR("error")) ? 1 : status;
}

/* A completion looks at no params. */
static int run_request(session *s, const cw_json *request)
{
    cw_err err;
    const cw_json *with = cw_json_get(request, CW_STR("with"));
    const cw_json *complete = cw_json_get(with, CW_STR("complete"));
    const cw_json *params = cw_json_get(request, CW_STR("params"));
    if (complete && cw_json_is(params, CW_JSON_ARRAY))
        return fail("params: must be an object for a completion");
    if (!complete && open_checker(s))
        return 1;
    if (!complete)
        params = bind_params(s, params);
    if (!params)
        return 1;
    cw_wire wire;
    if (cw_wire_init(&wire, /* fd= */ -1, s->opts->frame, &err))
        return fail(err.msg);
    cw_call call = {
        .wire = &wire,
        .arena = s->arena,
        .method = s->method,
        .params = params,
        .caller = cw_json_get(request, CW_STR("caller")),
        .root = with,
        .complete = complete,
        .id = 1,
        .wants_progress = true,
    };
    cw_call_run(&call);
    int status = print_answer(s, &wire);
    cw_wire_done(&wire);
    return status;
}

static int run_method(session *s)
{
    cw_str name = cw_str_from(s->opts->method);
    s->method = cw_hosted_find(s->plugin, name);
    if (!s->method)
        s->method = cw_hosted_find_mark(s->plugin, name);
    if (!s->method) {
        fprintf(stderr, "causeway-plugin-host: %s: there is no method '%s'\n", s->opts->name,
                s->opts->method);
        return 1;
    }
    const cw_json *request = make_request(s->opts, s->arena);
    int status = request ? run_request(s, request) : 1;
    if (s->check.validator)
        s->check.api->close(s->check.validator);
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
    if (!status || (opts->partial && plugin.problems.n > 0)) {
        cw_buf text;
        cw_buf_init(&text, CW_HOST_FRAME_MAX);
        cw_code rc = cw_hosted_describe(&plugin, CW_JSON_INDENT, &text);
        int printed = rc ? fail(cw_code_text(rc)) : print(to, &text);
        status = status ? status : printed;
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
    session s = {.plugin = &plugin, .opts = opts, .arena = &arena, .to = to};
    if (!status)
        status = run_method(&s);
    cw_arena_done(&arena);
    cw_hosted_done(&plugin);
    (void)fclose(to);
    return status;
}
