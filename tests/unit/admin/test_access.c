/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions about access and tools, answered from a catalogue and a database; with every allocation
 * failing in turn. */
#include "admin/access.h"

#include "access/credentials.h"
#include "support/config_fixture.h"
#include "support/fake_source.h"
#include "support/json_fixture.h"
#include "support/oom.h"
#include "support/temp_db.h"

#define ROLES                                                                                      \
    "roles:\n  anonymous: [access mcp tool discovery, use jsonrpc services]\n"                     \
    "  editor: [write]\n"

typedef struct fixture {
    cw_config *config;
    cw_snapshot *snapshot;
    fake_source *source;
    cw_db *db;
} fixture;

static fixture f;

static void add_accounts(void)
{
    cw_err err = {0};
    cw_str editor = CW_STR("editor"), scope = CW_STR("a:read");
    cw_account alice = {.name = CW_STR("alice"), .created = 1};
    cw_account carol = {.name = CW_STR("carol"), .created = 1};
    cw_token token = {.name = CW_STR("t"), .created = 1};
    int64_t id = 0;
    assert_int_equal(cw_db_add_role(f.db, CW_STR("judge"), &err), CW_OK);
    assert_int_equal(cw_db_allow(f.db, CW_STR("judge"), CW_STR("judge all"), true, &err), CW_OK);
    assert_int_equal(cw_db_add_account(f.db, &carol, NULL, 0, &id, &err), CW_OK);
    assert_int_equal(cw_db_block_account(f.db, carol.name, true, &err), CW_OK);
    assert_int_equal(cw_db_add_account(f.db, &alice, &editor, 1, &token.account, &err), CW_OK);
    assert_int_equal(cw_db_add_token(f.db, &token, &scope, 1, &id, &err), CW_OK);
    assert_int_equal(id, 1);
}

SETUP(set_up)
{
    cw_err err = {0};
    if (temp_db_setup(state))
        return -1;
    f.config = config_of(ROLES);
    f.source = fake_source_new(1000);
    assert_int_equal(fake_source_snapshot(f.source, &f.snapshot, &err), CW_OK);
    cw_db_opts opts = {.where = temp_db_path, .may_create = true};
    assert_int_equal(cw_db_open(&opts, &f.db, &err), CW_OK);
    add_accounts();
    return 0;
}

TEARDOWN(tear_down)
{
    cw_db_close(f.db);
    cw_snapshot_unref(f.snapshot);
    cw_source_unref(&f.source->base);
    cw_config_unref(f.config);
    return temp_db_teardown(state);
}

/* A call of a method, and its outcome. */
typedef struct asked {
    const char *method;
    const cw_json *params;
    bool sees_access, has_no_db;
    cw_arena arena;
    const cw_json *result;
    cw_code rc;
    cw_err err;
} asked;

static void ask(asked *q)
{
    static const cw_admin_identity identity = {.started = 1};
    cw_buf text;
    cw_json_writer w;
    cw_arena_init(&q->arena, 4 * CW_ADMIN_RESULT_MAX);
    cw_buf_init(&text, CW_ADMIN_RESULT_MAX);
    cw_admin_call c = {.method = cw_admin_find(cw_str_from(q->method)),
                       .params = q->params,
                       .config = f.config,
                       .snapshot = f.snapshot,
                       .db = q->has_no_db ? NULL : f.db,
                       .sees_access = q->sees_access,
                       .arena = &q->arena};
    assert_non_null(c.method);
    cw_admin_open_result(&c, &w, &text);
    cw_code rc = c.method->run(&c, &q->err);
    q->rc = cw_admin_close_result(&c, &identity, rc, &q->result, &q->err);
    cw_buf_done(&text);
}

static void ask_once(void *ctx)
{
    asked q = *(asked *)ctx;
    cw_code expected = q.rc;
    ask(&q);
    /* A result that is not returned may lack memory. */
    if (q.rc != expected || (oom_was_hit() && !expected))
        assert_int_equal(q.rc, oom_was_hit() ? CW_NOMEM : expected);
    cw_arena_done(&q.arena);
}

/* Call it, and call it again with every allocation failing. The caller ends the arena. */
static asked answer(cw_arena *a, const char *method, const char *params)
{
    asked q = {.method = method, .params = must_read(a, params), .sees_access = true};
    ask(&q);
    asked again = {.method = method, .params = q.params, .sees_access = true, .rc = q.rc};
    assert_true(oom_each(ask_once, &again) >= 3);
    return q;
}

static void assert_call(cw_arena *a, const char *params, const char *caller, const char *call)
{
    asked q = answer(a, "causeway.access.why", params);
    assert_int_equal(q.rc, CW_OK);
    assert_str(text_of(cw_json_get(q.result, CW_STR("caller"))), caller);
    assert_str(text_of(cw_json_get(q.result, CW_STR("call"))), call);
    cw_arena_done(&q.arena);
}

TEST_WITH(why_survives_every_failed_allocation, cw_arena *a)
{
    assert_call(a, "{\"tool\":\"echo\"}", "anonymous", "allowed");
    assert_call(a, "{\"tool\":\"guarded\",\"role\":\"editor\"}", "editor", "login");
    assert_call(a, "{\"tool\":\"guarded\",\"account\":\"alice\"}", "alice", "login");
    assert_call(a, "{\"tool\":\"guarded\",\"token\":1}", "alice", "scopes");
    assert_call(a, "{\"tool\":\"secret\",\"role\":\"judge\"}", "judge", "hidden");
}

static void assert_refused(cw_arena *a, const char *method, const char *params, cw_code rc,
                           const char *message)
{
    asked q = answer(a, method, params);
    assert_int_equal(q.rc, rc);
    assert_string_equal(q.err.msg, message);
    cw_arena_done(&q.arena);
}

TEST_WITH(an_unknown_caller_is_an_error, cw_arena *a)
{
    static const char why[] = "causeway.access.why", list[] = "causeway.tools.list";
    assert_refused(a, why, "{\"tool\":\"echo\",\"account\":\"bob\"}", CW_NOTFOUND,
                   "there is no account 'bob', or it is blocked");
    assert_refused(a, why, "{\"tool\":\"echo\",\"account\":\"carol\"}", CW_NOTFOUND,
                   "there is no account 'carol', or it is blocked");
    assert_refused(a, why, "{\"tool\":\"echo\",\"token\":2}", CW_NOTFOUND,
                   "there is no token 2, or it is revoked");
    assert_refused(a, list, "{\"role\":\"nix\"}", CW_NOTFOUND, "there is no role 'nix'");
    assert_refused(a, list, "{\"role\":\"judge\",\"account\":\"alice\"}", CW_PARAMS,
                   "name one caller: an account, a role or a token");
}

TEST_WITH(a_matrix_survives_every_failed_allocation, cw_arena *a)
{
    asked roles = answer(a, "causeway.access.matrix", "{}");
    assert_int_equal(roles.rc, CW_OK);
    assert_int_equal(cw_json_count(cw_json_get(roles.result, CW_STR("rows"))), 4);
    cw_arena_done(&roles.arena);
    asked accounts = answer(a, "causeway.access.matrix", "{\"accounts\":true}");
    assert_int_equal(accounts.rc, CW_OK);
    const cw_json *rows = cw_json_get(accounts.result, CW_STR("rows"));
    assert_int_equal(cw_json_count(rows), 1);
    assert_str(text_of(cw_json_get(cw_json_first(rows), CW_STR("name"))), "alice");
    cw_arena_done(&accounts.arena);
    assert_refused(a, "causeway.access.matrix", "{\"names\":[\"editor\",\"nix\"]}", CW_NOTFOUND,
                   "there is no role 'nix'");
}

TEST_WITH(tools_of_a_caller_survive_every_failed_allocation, cw_arena *a)
{
    asked all = answer(a, "causeway.tools.list", "{}");
    asked some = answer(a, "causeway.tools.list", "{\"account\":\"alice\"}");
    const cw_json *tools = cw_json_get(some.result, CW_STR("tools"));
    assert_int_equal(some.rc, CW_OK);
    assert_true(cw_json_count(tools) < cw_json_count(cw_json_get(all.result, CW_STR("tools"))));
    for (const cw_json *t = cw_json_first(tools); t; t = cw_json_next(t)) {
        bool is_guarded = cw_str_is(text_of(cw_json_get(t, CW_STR("name"))), "guarded");
        assert_str(text_of(cw_json_get(t, CW_STR("call"))), is_guarded ? "login" : "allowed");
    }
    cw_arena_done(&all.arena);
    cw_arena_done(&some.arena);
    asked one = answer(a, "causeway.tools.describe", "{\"name\":\"strict\",\"account\":\"alice\"}");
    assert_int_equal(one.rc, CW_OK);
    assert_int_equal(cw_json_count(cw_json_get(one.result, CW_STR("params"))), 2);
    cw_arena_done(&one.arena);
    assert_refused(a, "causeway.tools.describe", "{\"name\":\"strikt\",\"account\":\"alice\"}",
                   CW_NOTFOUND, "there is no tool \"strikt\" for alice; did you mean \"strict\"?");
    assert_refused(a, "causeway.tools.describe", "{\"name\":\"hidden\",\"account\":\"alice\"}",
                   CW_NOTFOUND, "there is no tool \"hidden\" for alice; see \"causeway list\"");
}

TEST_WITH(other_callers_than_the_anonymous_role_need_a_permission, cw_arena *a)
{
    static const struct {
        const char *params;
        cw_code rc;
    } cases[] = {
        {"{}", CW_OK},
        {"{\"role\":\"anonymous\"}", CW_OK},
        {"{\"role\":\"editor\"}", CW_PARAMS},
        {"{\"account\":\"alice\"}", CW_PARAMS},
        {"{\"token\":1}", CW_PARAMS},
        {"{\"role\":\"anonymous\",\"token\":1}", CW_PARAMS},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        asked q = {.method = "causeway.tools.list", .params = must_read(a, cases[i].params)};
        ask(&q);
        assert_int_equal(q.rc, cases[i].rc);
        cw_arena_done(&q.arena);
    }
}

TEST_WITH(the_database_is_used_only_for_a_caller, cw_arena *a)
{
    const cw_admin_method *list = cw_admin_find(CW_STR("causeway.tools.list"));
    const cw_admin_method *why = cw_admin_find(CW_STR("causeway.access.why"));
    const cw_json *none = must_read(a, "{\"source\":\"x\"}");
    const cw_json *role = must_read(a, "{\"role\":\"anonymous\"}");
    assert_false(cw_admin_uses_store(&(cw_admin_call){.method = list, .params = none}));
    assert_true(cw_admin_uses_store(&(cw_admin_call){.method = list, .params = role}));
    assert_true(cw_admin_uses_store(&(cw_admin_call){.method = why, .params = none}));
    asked q = {.method = "causeway.tools.list",
               .params = must_read(a, "{\"account\":\"alice\"}"),
               .sees_access = true,
               .has_no_db = true};
    ask(&q);
    assert_int_equal(q.rc, CW_CONFIG);
    cw_arena_done(&q.arena);
}

/* The arena of json_fixture, and the files of the fixture. */
static int set_up_both(void **state)
{
    return set_up(state) ? -1 : arena_setup(state);
}

static int tear_down_both(void **state)
{
    return arena_teardown(state) ? -1 : tear_down(state);
}

#define access_test(f) cmocka_unit_test_setup_teardown(f, set_up_both, tear_down_both)

int main(void)
{
    const struct CMUnitTest tests[] = {
        access_test(why_survives_every_failed_allocation),
        access_test(an_unknown_caller_is_an_error),
        access_test(a_matrix_survives_every_failed_allocation),
        access_test(tools_of_a_caller_survive_every_failed_allocation),
        access_test(other_callers_than_the_anonymous_role_need_a_permission),
        access_test(the_database_is_used_only_for_a_caller),
    };
    return cmocka_run_group_tests_name("access", tests, NULL, NULL);
}
