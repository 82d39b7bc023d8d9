/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Definitions of services that are read for a review: one after the other, cancelled, and with every
 * allocation failing in turn. */
#include "admin/definitions.h"

#include "support/config_fixture.h"
#include "support/json_fixture.h"
#include "support/remote_fixture.h"

#define PARAMS_MAX 512

/* A server with two services: "shop", described by a file, and "lost", whose file does not exist. */
typedef struct fixture {
    client_fixture client;
    cw_admin_server server;
    cw_config *config;
    cw_arena params;
} fixture;

static fixture f;

SETUP(set_up)
{
    char text[1024];
    if (remote_fixture_setup(state))
        return -1;
    write_openrpc(REMOTE_OPENRPC);
    snprintf(text, sizeof text,
             "state:\n  lock: %s/lock\nsources:\n"
             "  - {name: shop, url: \"http://127.0.0.1:9/\", openrpc: %s, methods: [echo, add]}\n"
             "  - {name: lost, url: \"http://127.0.0.1:9/\", openrpc: %s/none, methods: [wipe]}\n",
             temp_dir, openrpc_path, temp_dir);
    memset(&f, 0, sizeof f);
    client_fixture_init(&f.client);
    f.config = config_of(text);
    cw_admin_server_init(&f.server, &f.client.loop);
    f.server.config = f.config;
    cw_arena_init(&f.params, TEST_ARENA_MAX);
    return 0;
}

TEARDOWN(tear_down)
{
    client_fixture_done(&f.client);
    cw_config_unref(f.config);
    cw_arena_done(&f.params);
    return remote_fixture_teardown(state);
}

/* A call of a method, and its outcome. */
typedef struct asked {
    cw_admin_call c;
    cw_arena arena;
    cw_buf text;
    cw_json_writer w;
    const cw_json *result;
    unsigned ends;
    cw_code rc;
    cw_err err;
} asked;

static void end(asked *q, cw_code rc)
{
    static const cw_admin_identity identity = {.started = 1};
    q->ends++;
    q->rc = cw_admin_close_result(&q->c, &identity, rc, &q->result, &q->err);
}

static void on_finish(cw_admin_call *c, cw_code rc, const cw_err *err)
{
    asked *q = CW_CONTAINER(c, asked, c);
    if (err)
        q->err = *err;
    end(q, rc);
}

static void start(asked *q, const char *method, const cw_json *params)
{
    *q = (asked){.c = {.method = cw_admin_find(cw_str_from(method)),
                       .params = params,
                       .config = f.config,
                       .server = &f.server,
                       .arena = &q->arena,
                       .finish = on_finish}};
    cw_arena_init(&q->arena, 4 * CW_ADMIN_RESULT_MAX);
    cw_buf_init(&q->text, CW_ADMIN_RESULT_MAX);
    cw_admin_open_result(&q->c, &q->w, &q->text);
    cw_code rc = q->c.method->run(&q->c, &q->err);
    if (rc != CW_AGAIN)
        end(q, rc);
}

/* Connections and timers of a load close on the loop. */
static void done(asked *q)
{
    client_run_for(&f.client, 5);
    cw_buf_done(&q->text);
    cw_arena_done(&q->arena);
}

static void ask(asked *q, const char *method, const cw_json *params)
{
    start(q, method, params);
    client_run_until(&f.client, q->ends);
    assert_int_equal(q->ends, 1);
    assert_true(cw_list_is_empty(&f.server.loads));
}

static uint32_t count(const asked *q, const char *name)
{
    return cw_json_count(cw_json_get(q->result, cw_str_from(name)));
}

TEST(services_are_compared_and_those_out_of_reach_are_named)
{
    asked q;
    ask(&q, "causeway.sources.diff", must_read(&f.params, "{}"));
    assert_int_equal(q.rc, CW_OK);
    assert_int_equal(count(&q, "differences"), 2);
    const cw_json *problems = cw_json_get(q.result, CW_STR("problems"));
    assert_int_equal(cw_json_count(problems), 1);
    assert_str(text_of(cw_json_get(cw_json_first(problems), CW_STR("source"))), "lost");
    done(&q);
    ask(&q, "causeway.sources.diff", must_read(&f.params, "{\"names\":[\"lost\"]}"));
    assert_int_equal(count(&q, "differences"), 0);
    done(&q);
    ask(&q, "causeway.sources.diff", must_read(&f.params, "{\"names\":[\"nix\"]}"));
    assert_int_equal(q.rc, CW_NOTFOUND);
    done(&q);
}

typedef struct review {
    const cw_json *params;
    cw_code rc;
} review;

static void diff_once(void *ctx)
{
    const review *r = ctx;
    asked q;
    ask(&q, "causeway.sources.diff", r->params);
    /* A load without memory is a problem of its service; the others are compared. */
    bool is_whole = q.rc == CW_OK && count(&q, "differences") == 2;
    assert_true(q.rc == CW_OK || q.rc == CW_NOMEM);
    assert_true(is_whole || oom_was_hit());
    assert_true(q.rc || is_whole || count(&q, "problems") == 2);
    done(&q);
}

TEST(a_review_survives_every_failed_allocation)
{
    review all = {.params = must_read(&f.params, "{}")};
    assert_true(oom_each(diff_once, &all) >= 20);
}

/* The etag of the differences of "shop". */
static void read_etag(char ret[CW_LOCK_HASH + 1])
{
    asked q;
    ask(&q, "causeway.sources.diff", must_read(&f.params, "{\"names\":[\"shop\"]}"));
    snprintf(ret, CW_LOCK_HASH + 1, "%.*s",
             CW_STR_ARG(text_of(cw_json_get(q.result, CW_STR("etag")))));
    done(&q);
}

static void approve_once(void *ctx)
{
    const review *a = ctx;
    asked q;
    ask(&q, "causeway.sources.approve", a->params);
    /* Without memory a service may have no definitions, and then the etag is another one. */
    if (q.rc != a->rc)
        assert_true(oom_was_hit() && (q.rc == CW_NOMEM || q.rc == CW_INVALID));
    assert_int_not_equal(access(temp_dir_path("lock"), F_OK), 0);
    done(&q);
}

TEST(an_approval_that_is_refused_writes_nothing_also_without_memory)
{
    char etag[CW_LOCK_HASH + 1], text[PARAMS_MAX];
    read_etag(etag);
    const struct {
        const char *more;
        cw_code rc;
    } cases[] = {
        {"\"names\":[\"shop\",\"lost\"]", CW_INVALID /* by its etag below */},
        {"\"names\":[\"shop\"],\"methods\":[\"wipe\"]", CW_NOTFOUND},
        {"\"names\":[\"shop\",\"lost\"],\"methods\":[\"add\"]", CW_PARAMS},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        snprintf(text, sizeof text, "{\"etag\":\"%s\",%s}", i ? etag : "0", cases[i].more);
        review a = {.params = must_read(&f.params, text), .rc = cases[i].rc};
        assert_true(oom_each(approve_once, &a) >= 20);
    }
}

TEST(a_review_ends_with_the_server)
{
    asked q;
    const cw_json *params = must_read(&f.params, "{}");
    size_t live = oom_live();
    start(&q, "causeway.sources.diff", params);
    assert_false(cw_list_is_empty(&f.server.loads));
    cw_admin_definitions_close(&f.server);
    assert_true(cw_list_is_empty(&f.server.loads));
    client_run_for(&f.client, 20);
    assert_int_equal(q.ends, 0);
    done(&q);
    assert_int_equal(oom_live(), live);
}

#define definitions_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        definitions_test(services_are_compared_and_those_out_of_reach_are_named),
        definitions_test(a_review_survives_every_failed_allocation),
        definitions_test(an_approval_that_is_refused_writes_nothing_also_without_memory),
        definitions_test(a_review_ends_with_the_server),
    };
    return cmocka_run_group_tests_name("definitions", tests, NULL, NULL);
}
