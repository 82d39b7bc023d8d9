/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls that read events and those that wait for them, with each allocation failing in turn. */
#include "source/event/event_source.h"

#include "support/fake_source.h"
#include "support/json_fixture.h"
#include "support/oom.h"

typedef struct waiter {
    cw_sink sink;
    cw_source_call call;
    cw_arena arena;
    unsigned n_done;
    cw_outcome_kind kind;
    cw_fault fault;
    char text[512];
} waiter;

static void on_done(cw_sink *sink, const cw_outcome *o)
{
    waiter *w = CW_CONTAINER(sink, waiter, sink);
    w->n_done++;
    w->kind = o->kind;
    w->fault = o->fault;
    cw_str text = o->kind == CW_OUTCOME_RESULT ? cw_json_span(o->result) : o->message;
    snprintf(w->text, sizeof w->text, "%.*s", CW_STR_ARG(text));
    cw_arena_done(&w->arena);
}

static const cw_sink_ops sink_ops = {.done = on_done};

typedef struct scene {
    cw_loop loop;
    bool has_loop;
    cw_event_hub *hub;
    cw_event_type *type;
    cw_source *source;
    cw_caller *caller;
} scene;

static cw_code open_scene(scene *s)
{
    static const cw_str p = CW_STR_INIT("p");
    static const cw_event_filter filter = {CW_STR_INIT("no"), CW_STR_INIT("/no")};
    const cw_event_rules rules = {.keep = 10, .max_age = 60000, .per_minute = 60000};
    cw_err err = {0};
    memset(s, 0, sizeof *s);
    if (cw_loop_init(&s->loop, 64, &err))
        return CW_NOMEM;
    s->has_loop = true;
    cw_code rc =
        cw_event_hub_new(&(cw_event_hub_opts){.main = &s->loop, .n_loops = 1}, &s->hub, &err);
    if (!rc)
        rc = cw_event_open(s->hub, CW_STR("s"), CW_STR("n"), &rules, &s->type, &err);
    if (!rc)
        rc = fake_caller(true, true, &s->caller, &err);
    if (rc)
        return rc;
    const cw_event_offer offers[] = {
        {.event = {.type = s->type,
                   .description = CW_STR("A number"),
                   .schema = CW_STR("{}"),
                   .filters = &filter,
                   .n_filters = 1}},
        {.event = {.type = s->type}, .needs = {.permissions = &p, .n_permissions = 1}},
    };
    return cw_event_source_new(
        &(cw_event_source_opts){
            .source = CW_STR("s"), .n_loops = 1, .offers = offers, .n = CW_COUNT(offers)},
        &s->source, &err);
}

static void close_scene(scene *s)
{
    if (s->source) {
        cw_source_retire(s->source);
        s->source->ops->sweep(s->source, &s->loop, /* now= */ false);
    }
    cw_source_unref(s->source);
    cw_event_type_unref(s->type);
    cw_event_hub_close(s->hub);
    if (s->has_loop) {
        cw_loop_end(&s->loop);
        cw_loop_run(&s->loop);
    }
    cw_event_hub_free(s->hub);
    if (s->has_loop)
        cw_loop_done(&s->loop);
    cw_caller_unref(s->caller);
}

static bool begin(scene *s, waiter *w, size_t method, const cw_json *const *arguments)
{
    cw_fault fault = CW_FAULT_NONE;
    cw_err err = {0};
    *w = (waiter){.sink.ops = &sink_ops};
    cw_arena_init(&w->arena, 1 << 20);
    w->call = (cw_source_call){.method = &s->source->methods[method],
                               .arguments = arguments,
                               .caller = s->caller,
                               .arena = &w->arena,
                               .sink = &w->sink,
                               .loop = &s->loop};
    if (!s->source->ops->start(s->source, &w->call, &fault, &err))
        return true;
    assert_int_equal(fault, CW_FAULT_NOMEM);
    cw_arena_done(&w->arena);
    return false;
}

/* A call ends within a few turns, or waits: then it is cancelled. */
static void end(scene *s, waiter *w)
{
    for (int i = 0; i < 5 && !w->n_done; i++)
        uv_run(&s->loop.uv, UV_RUN_NOWAIT);
    if (!w->n_done) {
        s->source->ops->cancel(s->source, &w->call);
        cw_arena_done(&w->arena);
    } else if (w->kind == CW_OUTCOME_FAILED) {
        assert_true(oom_was_hit() && w->fault == CW_FAULT_NOMEM);
    }
}

static cw_code publish(const scene *s)
{
    const cw_event_news news = {.data = CW_STR("{\"no\":1}")};
    cw_code rc = cw_event_admit(s->type, &news);
    return rc ? rc : cw_event_publish(s->type, &news);
}

static void run_once(void *ctx)
{
    const cw_json *const *waits = ctx;
    scene s;
    waiter w;
    cw_code rc = open_scene(&s);
    assert_true(!rc || (rc == CW_NOMEM && oom_was_hit()));
    if (s.source && begin(&s, &w, 0, waits)) {
        uv_run(&s.loop.uv, UV_RUN_NOWAIT);
        rc = publish(&s);
        assert_true(!rc || oom_was_hit());
        end(&s, &w);
        assert_true(oom_was_hit() || (w.n_done && strstr(w.text, "\"data\":{\"no\":1}")));
    }
    if (s.source && begin(&s, &w, 1, NULL)) {
        end(&s, &w);
        assert_true(oom_was_hit() || (w.n_done && strstr(w.text, "\"data\":{\"no\":1}")));
    }
    close_scene(&s);
}

TEST(every_failed_allocation_is_survived)
{
    cw_arena arena;
    cw_arena_init(&arena, 1 << 20);
    const cw_json *waits[] = {NULL, NULL, json_of(&arena, "20")};
    assert_true(oom_each(run_once, waits) > 20);
    cw_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests_name("event_source", tests, NULL, NULL);
}
