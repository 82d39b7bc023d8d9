/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fake_source.c - the methods of the fake source, their schemas and their outcomes. */
#include "support/fake_source.h"

#include <math.h>
#include <stdlib.h>

#include "json/json.h"

static const cw_str guard_scopes[] = {CW_STR_INIT("a:read"), CW_STR_INIT("b:write")};
static const cw_str nobodys[] = {CW_STR_INIT("be nobody")};
static const cw_mark mark;

/* The tape of a number: what cw_json_read would make of "5". */
static const cw_json five = {.p = "5", .n = 1, .meta = CW_JSON_NUMBER};
static const cw_param strict_params[] = {
    {.name = CW_STR_INIT("a"), .description = CW_STR_INIT("first"), .is_required = true},
    {.name = CW_STR_INIT("b"), .default_value = &five},
};
static const cw_param any_params[] = {{.name = CW_STR_INIT("x")}, {.name = CW_STR_INIT("y")}};

static const cw_param typed_params[] = {
    {.name = CW_STR_INIT("id"), .is_required = true},
    {.name = CW_STR_INIT("when")},
    {.name = CW_STR_INIT("a/b~c")},
    {.name = CW_STR_INIT("more"), .default_value = &five},
};
static const cw_param bomb_params[] = {{.name = CW_STR_INIT("x")}};

/* Schemas of the params above, then of the result. */
static const char *const typed_schemas[] = {
    "{\"type\":\"integer\",\"minimum\":1}",
    "{\"type\":\"string\",\"format\":\"date\"}",
    "{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"uniqueItems\":true}",
    NULL,
    "{\"type\":\"object\",\"properties\":{\"id\":{\"maximum\":100}},\"required\":[\"more\"]}",
};
static const char *const listed_schemas[] = {
    "{\"type\":\"integer\"}", NULL, NULL, NULL, "{\"type\":\"array\",\"maxItems\":3}",
};
/* 2^25 evaluations. */
#define TWICE(a, b)                                                                                \
    "\"" a "\":{\"allOf\":[{\"$ref\":\"#/$defs/" b "\"},{\"$ref\":\"#/$defs/" b "\"}]},"
static const char *const bomb_schemas[] = {
    "{\"$ref\":\"#/$defs/a\",\"$defs\":{" TWICE("a", "b") TWICE("b", "c") TWICE("c", "d")
        TWICE("d", "e") TWICE("e", "f") TWICE("f", "g") TWICE("g", "h") TWICE("h", "i")
            TWICE("i", "j") TWICE("j", "k") TWICE("k", "l") TWICE("l", "m") TWICE("m", "n")
                TWICE("n", "o") TWICE("o", "p") TWICE("p", "q") TWICE("q", "r") TWICE("r", "s")
                    TWICE("s", "t") TWICE("t", "u") TWICE("u", "v") TWICE("v", "w") TWICE("w", "x")
                        TWICE("x", "y")
                            TWICE("y", "z") "\"z\":{\"minProperties\":0,\"maxProperties\":5}}}",
    NULL,
};

static const cw_param item_params[] = {
    {.name = CW_STR_INIT("id"),
     .schema = CW_STR_INIT("{\"type\":\"integer\"}"),
     .is_required = true},
    {.name = CW_STR_INIT("kind"),
     .schema = CW_STR_INIT("{\"enum\":[\"apple\",\"apricot\",\"pear\"]}"),
     .is_required = true},
};
static const cw_param ask_params[] = {
    {.name = CW_STR_INIT("what"), .description = CW_STR_INIT("What"), .is_required = true},
    {.name = CW_STR_INIT("loud"), .schema = CW_STR_INIT("{\"type\":\"boolean\"}")},
};

#define SHOWN(name) .id = CW_STR_INIT(name), .usage = CW_STR_INIT("Shows " name)
#define METHOD(name)                                                                               \
    .id = CW_STR_INIT(name), .usage = CW_STR_INIT("Does " name), .is_callable = true
#define TOOL(name) METHOD(name), .mark = &mark, .params = any_params, .n_params = 2

static const cw_method methods[] = {
    {TOOL("hold")},
    {TOOL("echo")},
    {TOOL("text")},
    {TOOL("list")},
    {TOOL("number")},
    {TOOL("fail")},
    {TOOL("broken")},
    {TOOL("refuse")},
    {TOOL("steps")},
    {TOOL("flood")},
    {TOOL("guarded"), .needs = {.level = CW_AUTH_REQUIRED, .scopes = guard_scopes, .n_scopes = 2}},
    {TOOL("hidden"), .needs = {.permissions = nobodys, .n_permissions = 1}},
    {METHOD("strict"), .mark = &mark, .params = strict_params, .n_params = 2},
    {METHOD("typed"), .mark = &mark, .params = typed_params, .n_params = 4},
    {METHOD("listed"), .params = typed_params, .n_params = 4, .by_position = true},
    {METHOD("bomb"), .params = bomb_params, .n_params = 1},
    {METHOD("plain"), .params = any_params, .n_params = 2},
    {.id = CW_STR_INIT("secret"), .usage = CW_STR_INIT("Secret")},
    {SHOWN("fake.text")},
    {SHOWN("fake.items"), .params = item_params, .n_params = 2},
    {SHOWN("fake.ask"), .params = ask_params, .n_params = 2},
    {SHOWN("fake.hidden"), .needs = {.permissions = nobodys, .n_permissions = 1}},
};

/* What makes the last ones what they are, in the same order. */
static const struct {
    cw_exposed_kind kind;
    cw_str address;
    const char *json;
    const char *completes;
} marks[] = {
    {CW_EXPOSED_RESOURCE, CW_STR_INIT("fake://text"),
     "{\"uri\":\"fake://text\",\"name\":\"text\",\"mimeType\":\"text/plain\"}", NULL},
    {CW_EXPOSED_TEMPLATE, CW_STR_INIT("fake://item/{id}/of/{kind}"),
     "{\"uriTemplate\":\"fake://item/{id}/of/{kind}\",\"name\":\"items\"}", "[\"kind\"]"},
    {CW_EXPOSED_PROMPT, CW_STR_INIT("ask"), "{\"name\":\"ask\"}", "[\"what\"]"},
    {CW_EXPOSED_RESOURCE, CW_STR_INIT("fake://hidden"),
     "{\"uri\":\"fake://hidden\",\"name\":\"hidden\"}", NULL},
};

static void unlink_op(fake_op *op)
{
    fake_source *f = op->source;
    pthread_mutex_lock(&f->lock);
    fake_op **at = &f->ops;
    while (*at != op)
        at = &(*at)->next;
    *at = op->next;
    pthread_mutex_unlock(&f->lock);
    cw_loop_cancel_deferred(&op->later);
}

void fake_op_finish(fake_op *op, const cw_outcome *outcome)
{
    cw_source_call *call = op->call;
    atomic_fetch_add(&op->source->done, 1);
    unlink_op(op);
    free(op);
    call->sink->ops->done(call->sink, outcome);
}

void fake_op_result(fake_op *op, const char *json)
{
    cw_outcome outcome = {
        .kind = CW_OUTCOME_FAILED, .fault = CW_FAULT_NOMEM, .message = CW_STR("Out of memory.")};
    const cw_json *result;
    if (!cw_json_read(cw_str_from(json), NULL, op->call->arena, &result, NULL, NULL))
        outcome = (cw_outcome){.kind = CW_OUTCOME_RESULT, .result = result};
    fake_op_finish(op, &outcome);
}

void fake_op_progress(fake_op *op, double progress)
{
    cw_progress p = {.progress = progress, .total = (double)NAN, .message = CW_STR("on the way")};
    op->call->sink->ops->progress(op->call->sink, &p);
}

fake_op *fake_source_newest(fake_source *f)
{
    pthread_mutex_lock(&f->lock);
    fake_op *op = f->ops;
    pthread_mutex_unlock(&f->lock);
    return op;
}

/* ---- what happens by itself ---- */

static void fail_rpc(fake_op *op)
{
    static const char text[] = "\"x is\\n wrong\"";
    const cw_json *data = NULL;
    (void)!cw_json_read(cw_str_from(text), NULL, op->call->arena, &data, NULL, NULL);
    fake_op_finish(op, &(cw_outcome){.kind = CW_OUTCOME_ERROR,
                                     .code = -32602,
                                     .message = CW_STR("Invalid params"),
                                     .data = data});
}

static void steps(fake_op *op)
{
    cw_sink *sink = op->call->sink;
    const double values[] = {1, 1, 0.5, (double)NAN, 3};
    for (size_t i = 0; i < CW_COUNT(values); i++)
        sink->ops->progress(
            sink, &(cw_progress){.progress = values[i], .total = 3, .message = CW_STR("st\nep")});
    sink->ops->log(sink, CW_LOG_DEBUG, CW_STR("stepped"));
    fake_op_result(op, "{\n\"steps\":\r\n3}");
}

static void flood(fake_op *op)
{
    enum { SIZE = 1 << 20 };
    for (int i = 0; i < 40000; i++)
        fake_op_progress(op, i);
    char *big = cw_arena_alloc(op->call->arena, SIZE + 1);
    if (big) {
        memset(big, 'z', SIZE);
        big[0] = big[SIZE - 1] = '"';
        big[SIZE] = 0;
    }
    fake_op_result(op, big ? big : "null");
}

/* A result of blocks. */
static void fake_content(fake_op *op, const char *json)
{
    static const cw_json null = {.p = "null", .n = 4, .meta = CW_JSON_NULL};
    cw_outcome outcome = {
        .kind = CW_OUTCOME_FAILED, .fault = CW_FAULT_NOMEM, .message = CW_STR("Out of memory.")};
    const cw_json *content;
    if (!cw_json_read(cw_str_from(json), NULL, op->call->arena, &content, NULL, NULL))
        outcome = (cw_outcome){.kind = CW_OUTCOME_RESULT, .result = &null, .content = content};
    fake_op_finish(op, &outcome);
}

static void act(cw_deferred *later)
{
    fake_op *op = CW_CONTAINER(later, fake_op, later);
    cw_str id = op->call->method->id;
    if (op->source->on_act && op->source->on_act(op))
        return;
    if (cw_str_is(id, "text"))
        fake_op_result(op, "\"hel\\\"lo\"");
    else if (cw_str_is(id, "list"))
        fake_op_result(op, "[1, \"two\"]");
    else if (cw_str_is(id, "number"))
        fake_op_result(op, "42");
    else if (cw_str_is(id, "fail"))
        fail_rpc(op);
    else if (cw_str_is(id, "broken"))
        fake_op_finish(op, &(cw_outcome){.kind = CW_OUTCOME_FAILED,
                                         .fault = CW_FAULT_DIED,
                                         .message = CW_STR("The plugin ended."),
                                         .detail = CW_STR("signal 11")});
    else if (cw_str_is(id, "steps"))
        steps(op);
    else if (cw_str_is(id, "flood"))
        flood(op);
    else if (cw_str_is(id, "fake.text"))
        fake_content(op,
                     "[{\"type\":\"text\",\"text\":\"one\"},{\"type\":\"image\",\"data\":\"AA==\","
                     "\"mimeType\":\"image/png\"},{\"type\":\"resource\",\"resource\":{\"uri\":"
                     "\"fake://other\",\"text\":\"two\"}}]");
    else if (cw_str_is(id, "fake.ask") && op->call->extras.n &&
             strstr(op->call->extras.p, "complete"))
        fake_op_result(op, "{\"values\":[\"who\",\"why\",5],\"total\":9,\"hasMore\":true}");
    else if (cw_str_is(id, "fake.ask"))
        fake_content(op, "[{\"role\":\"assistant\",\"type\":\"text\",\"text\":\"Yes?\"},{\"type\":"
                         "\"text\",\"text\":\"No.\"}]");
    else {
        char *copy = cw_arena_dup(op->call->arena, op->call->params.p, op->call->params.n);
        fake_op_result(op, copy ? copy : "null");
    }
}

/* ---- the source ---- */

static cw_code start(cw_source *s, cw_source_call *call, cw_fault *fault, cw_err *err)
{
    fake_source *f = (fake_source *)s;
    if (cw_str_is(call->method->id, "refuse")) {
        *fault = CW_FAULT_UNAVAILABLE;
        return cw_fail(err, CW_IO, "Nobody is there.");
    }
    fake_op *op = calloc(1, sizeof *op);
    if (!op) {
        *fault = CW_FAULT_NOMEM;
        return cw_fail_nomem(err);
    }
    *op = (fake_op){.source = f, .call = call, .later = {.fn = act}};
    call->op = op;
    pthread_mutex_lock(&f->lock);
    op->next = f->ops;
    f->ops = op;
    pthread_mutex_unlock(&f->lock);
    atomic_fetch_add(&f->started, 1);
    if (f->on_start)
        f->on_start(call);
    if (!cw_str_is(call->method->id, "hold"))
        cw_loop_defer(call->loop, &op->later);
    return CW_OK;
}

static void cancel(cw_source *s, cw_source_call *call)
{
    fake_op *op = call->op;
    atomic_fetch_add(&((fake_source *)s)->cancelled, 1);
    unlink_op(op);
    free(op);
}

static void sweep(cw_source *s, cw_loop *loop, bool now)
{
    fake_source *f = (fake_source *)s;
    atomic_fetch_add(&f->sweeps, 1);
    fake_op *next;
    for (fake_op *op = now ? f->ops : NULL; op; op = next) {
        next = op->next;
        if (op->call->loop != loop)
            continue;
        atomic_fetch_add(&f->dropped, 1);
        unlink_op(op);
        free(op);
    }
}

static void release(cw_source *s)
{
    fake_source *f = (fake_source *)s;
    if (f->freed)
        atomic_fetch_add(f->freed, 1);
    pthread_mutex_destroy(&f->lock);
    cw_source_unref(f->base.companion);
    cw_arena_done(&f->arena);
    free(f);
}

/* Give a method's params and its result their schemas. */
static bool add_schemas(fake_source *f, cw_method *method, const char *const *schemas)
{
    cw_param *params = cw_arena_calloc(&f->arena, method->n_params, sizeof *params);
    if (!params)
        return false;
    memcpy(params, method->params, method->n_params * sizeof *params);
    method->params = params;
    for (size_t i = 0; i <= method->n_params; i++) {
        if (schemas[i])
            *(i < method->n_params ? &params[i].schema : &method->output) = cw_str_from(schemas[i]);
    }
    return true;
}

static bool add_all_schemas(fake_source *f, cw_method *own)
{
    bool ok = true;
    for (size_t i = 0; i < CW_COUNT(methods) && ok; i++) {
        if (cw_str_is(own[i].id, "typed"))
            ok = add_schemas(f, &own[i], typed_schemas);
        else if (cw_str_is(own[i].id, "listed"))
            ok = add_schemas(f, &own[i], listed_schemas);
        else if (cw_str_is(own[i].id, "bomb"))
            ok = add_schemas(f, &own[i], bomb_schemas);
    }
    return ok;
}

static bool add_marks(fake_source *f, cw_method *own)
{
    size_t first = CW_COUNT(methods) - CW_COUNT(marks);
    for (size_t i = 0; i < CW_COUNT(marks); i++) {
        cw_exposed *exposed = cw_arena_calloc(&f->arena, 1, sizeof *exposed);
        if (!exposed)
            return false;
        exposed->kind = marks[i].kind;
        exposed->address = marks[i].address;
        if (cw_json_read(cw_str_from(marks[i].json), NULL, &f->arena, &exposed->json, NULL, NULL) ||
            (marks[i].completes && cw_json_read(cw_str_from(marks[i].completes), NULL, &f->arena,
                                                &exposed->completes, NULL, NULL)))
            return false;
        own[first + i].exposed = exposed;
    }
    return true;
}

fake_source *fake_source_new(uint32_t call_ms)
{
    static const cw_source_ops ops = {
        .name = "fake", .start = start, .cancel = cancel, .sweep = sweep, .free = release};
    fake_source *f = calloc(1, sizeof *f + sizeof methods);
    if (!f)
        return NULL;
    cw_method *own = (cw_method *)(void *)(f + 1);
    memcpy(own, methods, sizeof methods);
    for (size_t i = 0; i < CW_COUNT(methods); i++) {
        own[i].source = &f->base;
        own[i].index = (uint32_t)i;
    }
    f->base = (cw_source){.ops = &ops,
                          .name = CW_STR("fake"),
                          .call_ms = call_ms,
                          .methods = own,
                          .n_methods = CW_COUNT(methods)};
    atomic_init(&f->base.refs, 1);
    pthread_mutex_init(&f->lock, NULL);
    cw_arena_init(&f->arena, 1 << 20);
    if (add_all_schemas(f, own) && add_marks(f, own))
        return f;
    release(&f->base);
    return NULL;
}

static void ref(cw_source *s)
{
    cw_source_ref(s);
}

cw_code fake_source_snapshot(fake_source *f, cw_snapshot **ret, cw_err *err)
{
    static const cw_offer_ops ops = {ref, cw_source_unref};
    cw_offer offer = {f->base.name, f->base.methods, f->base.n_methods, &f->base};
    return cw_snapshot_build(&offer, 1, &ops, NULL, ret, err);
}

cw_code fake_caller(bool may_discover, bool may_call, cw_caller **ret, cw_err *err)
{
    cw_str permissions[2];
    size_t n = 0;
    if (may_discover)
        permissions[n++] = CW_PERMISSION_DISCOVER;
    if (may_call)
        permissions[n++] = CW_PERMISSION_CALL;
    return cw_caller_new_anonymous(permissions, n, ret, err);
}
