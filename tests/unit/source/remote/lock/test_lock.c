/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/json_fixture.h"
#include "support/oom.h"
#include "support/temp_dir.h"

#include "source/remote/lock/lock.h"

static const char *path;

SETUP(set_up)
{
    int rc = temp_dir_setup(state);
    static char text[128];
    snprintf(text, sizeof text, "%s/lock", temp_dir);
    path = text;
    return rc;
}

TEARDOWN(tear_down)
{
    unlink(path);
    return temp_dir_teardown(state);
}

/* Definitions are made anew for each, so that nothing but texts is compared. */
static cw_str define(const cw_method *m, cw_buf *out)
{
    cw_buf_clear(out);
    cw_lock_define(m, NULL, out);
    assert_int_equal(out->code, CW_OK);
    return cw_buf_str(out);
}

static const cw_param two[] = {
    {.name = CW_STR_INIT("a"),
     .description = CW_STR_INIT("the first"),
     .schema = CW_STR_INIT("{\"type\":\"string\",\"enum\":[\"x\",\"y\"]}"),
     .is_required = true},
    {.name = CW_STR_INIT("b"), .description = CW_STR_INIT(""), .schema = CW_STR_INIT("")},
};

static cw_method example(void)
{
    return (cw_method){.id = CW_STR("m"),
                       .usage = CW_STR("Does it"),
                       .params = two,
                       .n_params = 2,
                       .input = CW_STR(""),
                       .output = CW_STR("{\"type\":\"object\"}")};
}

TEST(a_definition_has_one_spelling)
{
    CW_CLEANUP(cw_buf_done) cw_buf a;
    CW_CLEANUP(cw_buf_done) cw_buf b;
    cw_buf_init(&a, 10000);
    cw_buf_init(&b, 10000);
    cw_method m = example(), same = example();
    assert_str(define(&m, &a),
               "{\"id\":\"m\",\"output\":{\"type\":\"object\"},\"params\":[{\"description\":\"the "
               "first\",\"name\":\"a\",\"required\":true,\"schema\":{\"enum\":[\"x\",\"y\"],"
               "\"type\":\"string\"}},{\"name\":\"b\",\"required\":false}],\"usage\":\"Does it\"}");
    const cw_param other[] = {
        {.name = CW_STR_INIT("a"),
         .description = CW_STR_INIT("the first"),
         .schema = CW_STR_INIT("{ \"enum\" : [\"x\", \"y\"], \"type\" : \"string\" }"),
         .is_required = true},
        two[1],
    };
    same.params = other;
    assert_true(cw_str_eq(define(&same, &b), cw_buf_str(&a)));
}

TEST(whatever_a_model_sees_changes_it)
{
    CW_CLEANUP(cw_buf_done) cw_buf a;
    CW_CLEANUP(cw_buf_done) cw_buf b;
    cw_buf_init(&a, 10000);
    cw_buf_init(&b, 10000);
    cw_method m = example();
    cw_str was = define(&m, &a);
    cw_method changed[6];
    for (size_t i = 0; i < CW_COUNT(changed); i++)
        changed[i] = example();
    cw_param params[3][2] = {{two[0], two[1]}, {two[0], two[1]}, {two[1], two[0]}};
    params[0][0].description = CW_STR("another");
    params[1][1].is_required = true;
    changed[0].params = params[0];
    changed[1].params = params[1];
    changed[2].params = params[2];
    changed[3].usage = CW_STR("Does that");
    changed[4].output = CW_STR("");
    changed[5].input = CW_STR("{}");
    for (size_t i = 0; i < CW_COUNT(changed); i++)
        assert_false(cw_str_eq(define(&changed[i], &b), was));
}

/* What the service says of itself is shown, trusted or decides how it is called. */
TEST(threat_D3_what_a_service_says_of_itself_changes_it)
{
    static const char *const problem[] = {
        "{}",
        "{\"x-mcp-tool\":{\"title\":\"Delete\"}}",
        "{\"x-mcp-tool\":{\"title\":\"Read\"}}",
        "{\"x-mcp-tool\":{\"annotations\":{\"destructiveHint\":true}}}",
        "{\"x-mcp-tool\":{\"annotations\":{\"destructiveHint\":false}}}",
        "{\"x-mcp-tool\":{\"annotations\":{\"auth\":{\"scopes\":[\"admin\"]}}}}",
        "{\"x-mcp-tool\":{\"annotations\":{\"auth\":{\"scopes\":[]}}}}",
        "{\"x-notification\":true}",
    };
    cw_arena arena;
    cw_arena_init(&arena, 1 << 20);
    cw_buf texts[CW_COUNT(problem) + 1];
    cw_method m = example();
    for (size_t i = 0; i < CW_COUNT(texts); i++) {
        m.by_position = i == CW_COUNT(problem);
        cw_buf_init(&texts[i], 10000);
        cw_lock_define(&m, json_of(&arena, problem[m.by_position ? 0 : i]), &texts[i]);
        assert_int_equal(texts[i].code, CW_OK);
        for (size_t k = 0; k < i; k++)
            assert_false(cw_str_eq(cw_buf_str(&texts[i]), cw_buf_str(&texts[k])));
    }
    /* One spelling of it, too. */
    cw_buf again;
    cw_buf_init(&again, 10000);
    m = example();
    cw_lock_define(&m, json_of(&arena, "{ \"name\":1,\"x-mcp-tool\" : { \"title\":\"Read\" } }"),
                   &again);
    assert_true(cw_str_eq(cw_buf_str(&again), cw_buf_str(&texts[2])));
    assert_true(str_has(cw_buf_str(&again), "\"mark\":{\"title\":\"Read\"},\"output\""));
    /* Who says nothing of it has the definition that was written before it was part of one. */
    CW_CLEANUP(cw_buf_done) cw_buf before;
    cw_buf_init(&before, 10000);
    assert_true(cw_str_eq(define(&m, &before), cw_buf_str(&texts[0])));
    for (size_t i = 0; i < CW_COUNT(texts); i++)
        cw_buf_done(&texts[i]);
    cw_buf_done(&again);
    cw_arena_done(&arena);
}

TEST(what_is_too_deep_is_no_definition)
{
    static char deep[4000];
    size_t n = 0;
    for (unsigned i = 0; i < 300; i++)
        n += (size_t)snprintf(deep + n, sizeof deep - n, "{\"a\":");
    n += (size_t)snprintf(deep + n, sizeof deep - n, "1");
    for (unsigned i = 0; i < 300; i++)
        deep[n++] = '}';
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, 100000);
    cw_method m = example();
    m.output = cw_str_make(deep, n);
    cw_lock_define(&m, NULL, &out);
    assert_int_equal(out.code, CW_LIMIT);
    /* A text that is no JSON stands for itself. */
    cw_buf_clear(&out);
    m.output = CW_STR("{nonsense");
    assert_true(str_has(define(&m, &out), "\"output\":\"{nonsense\""));
}

TEST(hashes_are_those_of_sha256)
{
    char hash[CW_LOCK_HASH + 1];
    cw_lock_hash(CW_STR("abc"), hash);
    assert_string_equal(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

/* ---- the file ---- */

static cw_lock *read_lock(void)
{
    cw_lock *lock = NULL;
    cw_err err = {0};
    if (cw_lock_read(path, &lock, &err))
        fail_msg("%s", err.msg);
    return lock;
}

static cw_code note_name(cw_str method, void *ctx)
{
    cw_buf_printf(ctx, "%.*s,", CW_STR_ARG(method));
    return CW_OK;
}

static cw_str names_of(const cw_lock *lock, const char *source, cw_buf *out)
{
    cw_buf_clear(out);
    assert_int_equal(cw_lock_each(lock, cw_str_from(source), note_name, out), CW_OK);
    return cw_buf_str(out);
}

static const cw_str shop = CW_STR_INIT("shop"), site = CW_STR_INIT("site");

static cw_code write_lock(const cw_lock *old, const cw_str *replaced, size_t n_replaced,
                          const cw_lock_entry *entries, size_t n, cw_err *err)
{
    const cw_lock_change change = {.replaced = replaced,
                                   .n_replaced = n_replaced,
                                   .entries = entries,
                                   .n = n,
                                   .stamp = {.at = 1763399000000, .by = CW_STR("alice")}};
    return cw_lock_write(path, old, &change, err);
}

static void write_two_sources(void)
{
    const cw_str both[] = {shop, site};
    const cw_lock_entry entries[] = {
        {shop, CW_STR("buy"), CW_STR("{\"id\":\"buy\"}")},
        {site, CW_STR("read"), CW_STR("{\"id\":\"read\"}")},
        {shop, CW_STR("sell"), CW_STR("{\"id\":\"sell\"}")},
    };
    assert_int_equal(write_lock(NULL, both, 2, entries, 3, NULL), CW_OK);
}

TEST(tools_are_the_same_new_or_changed)
{
    cw_str old;
    struct stat st;
    write_two_sources();
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
    cw_lock *lock = read_lock();
    assert_int_equal(cw_lock_check(lock, shop, CW_STR("buy"), CW_STR("{\"id\":\"buy\"}"), &old),
                     CW_LOCK_SAME);
    assert_true(str_has(old, "buy"));
    assert_int_equal(cw_lock_check(lock, shop, CW_STR("buy"), CW_STR("{\"id\":\"BUY\"}"), NULL),
                     CW_LOCK_CHANGED);
    assert_int_equal(cw_lock_check(lock, shop, CW_STR("read"), CW_STR("{\"id\":\"read\"}"), &old),
                     CW_LOCK_NEW);
    assert_str(old, "");
    assert_int_equal(cw_lock_check(lock, CW_STR("x"), CW_STR("buy"), CW_STR("{}"), &old),
                     CW_LOCK_NEW);
    cw_lock_unref(lock);
}

TEST(one_source_is_replaced_and_others_stay)
{
    CW_CLEANUP(cw_buf_done) cw_buf names;
    cw_buf_init(&names, 1000);
    write_two_sources();
    cw_lock *old = read_lock();
    const cw_lock_entry entries[] = {
        {shop, CW_STR("sell"), CW_STR("")}, /* as it was */
        {shop, CW_STR("rent"), CW_STR("{\"id\":\"rent\"}")},
        {shop, CW_STR("lend"), CW_STR("")}, /* it never was */
    };
    assert_int_equal(write_lock(old, &shop, 1, entries, 3, NULL), CW_OK);
    cw_lock_unref(old);
    cw_lock *lock = read_lock();
    assert_str(names_of(lock, "shop", &names), "sell,rent,");
    assert_str(names_of(lock, "site", &names), "read,");
    assert_str(names_of(lock, "none", &names), "");
    assert_str(names_of(NULL, "shop", &names), "");
    assert_int_equal(cw_lock_check(lock, shop, CW_STR("sell"), CW_STR("{\"id\":\"sell\"}"), NULL),
                     CW_LOCK_SAME);
    assert_int_equal(cw_lock_check(lock, site, CW_STR("read"), CW_STR("{\"id\":\"read\"}"), NULL),
                     CW_LOCK_SAME);
    cw_lock_unref(lock);
}

TEST(an_approval_has_its_time_and_its_author)
{
    temp_dir_write("lock", "{\"version\":1,\"sources\":{\"shop\":{\"old\":{\"sha256\":\"x\"},"
                           "\"odd\":{\"sha256\":\"x\",\"approved_at\":-5,\"approved_by\":7}}}}");
    cw_lock *old = read_lock();
    assert_int_equal(cw_lock_stamp_of(old, shop, CW_STR("old")).at, 0);
    assert_int_equal(cw_lock_stamp_of(old, shop, CW_STR("odd")).at, 0);
    assert_str(cw_lock_stamp_of(old, shop, CW_STR("odd")).by, "");
    assert_str(cw_lock_latest(old, shop).by, "");
    assert_str(cw_lock_entries(old, site), "");
    const cw_lock_entry entries[] = {
        {shop, CW_STR("old"), CW_STR("")}, /* as it was */
        {shop, CW_STR("buy"), CW_STR("{\"id\":\"buy\"}")},
    };
    assert_int_equal(write_lock(old, &shop, 1, entries, 2, NULL), CW_OK);
    cw_lock_unref(old);
    cw_lock *lock = read_lock();
    assert_int_equal(cw_lock_stamp_of(lock, shop, CW_STR("old")).at, 0);
    assert_int_equal(cw_lock_stamp_of(lock, shop, CW_STR("buy")).at, 1763399000000);
    assert_str(cw_lock_stamp_of(lock, shop, CW_STR("buy")).by, "alice");
    assert_int_equal(cw_lock_latest(lock, shop).at, 1763399000000);
    assert_int_equal(cw_lock_latest(NULL, shop).at, 0);
    cw_lock_unref(lock);
}

static cw_code refuse(cw_str method, void *ctx)
{
    (void)method;
    ++*(unsigned *)ctx;
    return CW_DECLINED;
}

TEST(whoever_is_told_of_tools_can_stop)
{
    unsigned calls = 0;
    write_two_sources();
    cw_lock *lock = read_lock();
    assert_int_equal(cw_lock_each(lock, shop, refuse, &calls), CW_DECLINED);
    assert_int_equal(calls, 1);
    cw_lock_unref(lock);
}

TEST(no_file_is_no_lock_and_no_lock_file_is_told)
{
    cw_lock *lock = NULL;
    cw_err err;
    unlink(path);
    assert_int_equal(cw_lock_read(path, &lock, NULL), CW_OK);
    assert_null(lock);
    static const struct {
        const char *text;
        cw_code rc;
    } bad[] = {
        {"", CW_PARSE},
        {"nonsense", CW_PARSE},
        {"[]", CW_PARAMS},
        {"{\"version\":2,\"sources\":{}}", CW_PARAMS},
        {"{\"version\":1}", CW_PARAMS},
        {"{\"version\":1,\"sources\":[]}", CW_PARAMS},
        {"{\"sources\":{}}", CW_PARAMS},
    };
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        err = (cw_err){0};
        temp_dir_write("lock", bad[i].text);
        assert_int_equal(cw_lock_read(path, &lock, &err), bad[i].rc);
        assert_non_null(strstr(err.msg, "lock"));
        assert_null(lock);
    }
    /* Entries of other shapes are no approval. */
    temp_dir_write("lock", "{\"version\":1,\"sources\":{\"shop\":{\"a\":5,\"b\":{\"sha256\":5}},"
                           "\"site\":[]}}");
    lock = read_lock();
    assert_int_equal(cw_lock_check(lock, shop, CW_STR("a"), CW_STR("{}"), NULL), CW_LOCK_NEW);
    assert_int_equal(cw_lock_check(lock, shop, CW_STR("b"), CW_STR("{}"), NULL), CW_LOCK_NEW);
    assert_int_equal(cw_lock_check(lock, site, CW_STR("a"), CW_STR("{}"), NULL), CW_LOCK_NEW);
    cw_lock_unref(lock);
    assert_int_equal(cw_lock_read(temp_dir, &lock, &err), CW_IO);
    cw_lock_unref(NULL);
}

/* A description may be 64 levels deep, and is deeper in the file. */
TEST(a_deep_definition_is_read_again)
{
    char deep[2000];
    size_t n = 0;
    for (unsigned i = 0; i < 110; i++)
        n += (size_t)snprintf(deep + n, sizeof deep - n, "{\"a\":");
    n += (size_t)snprintf(deep + n, sizeof deep - n, "1");
    for (unsigned i = 0; i < 110; i++)
        deep[n++] = '}';
    cw_method m = example();
    m.output = cw_str_make(deep, n);
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, 10000);
    const cw_lock_entry entry = {shop, CW_STR("deep"), define(&m, &text)};
    assert_int_equal(write_lock(NULL, &shop, 1, &entry, 1, NULL), CW_OK);
    cw_lock *lock = read_lock();
    assert_int_equal(cw_lock_check(lock, shop, CW_STR("deep"), entry.definition, NULL),
                     CW_LOCK_SAME);
    cw_lock_unref(lock);
}

TEST(what_could_not_be_read_again_is_not_written)
{
    const cw_lock_entry entry = {site, CW_STR("read"), CW_STR("{nonsense")};
    cw_err err = {0};
    write_two_sources();
    cw_lock *old = read_lock();
    assert_int_equal(write_lock(old, &site, 1, &entry, 1, &err), CW_PARSE);
    assert_non_null(strstr(err.msg, "could not be read again"));
    cw_lock_unref(old);
    cw_lock *lock = read_lock();
    assert_int_equal(cw_lock_check(lock, site, CW_STR("read"), CW_STR("{\"id\":\"read\"}"), NULL),
                     CW_LOCK_SAME);
    cw_lock_unref(lock);
}

/* ---- without memory ---- */

static void define_once(void *ctx)
{
    cw_buf out;
    cw_method m = example();
    cw_buf_init(&out, 10000);
    cw_lock_define(&m, ctx, &out);
    assert_int_equal(out.code, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_buf_done(&out);
}

static void read_and_write_once(void *ctx)
{
    (void)ctx;
    cw_lock *lock = NULL;
    const cw_lock_entry entry = {shop, CW_STR("buy"), CW_STR("{}")};
    cw_code rc = cw_lock_read(path, &lock, NULL);
    if (!rc)
        rc = write_lock(lock, &shop, 1, &entry, 1, NULL);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_lock_unref(lock);
}

TEST(every_failed_allocation_is_survived)
{
    assert_true(oom_each(define_once, NULL) >= 2);
    cw_arena arena;
    cw_arena_init(&arena, 1 << 20);
    const cw_json *described = json_of(&arena, "{\"x-mcp-tool\":{\"title\":\"t\"}}");
    assert_true(oom_each(define_once, (void *)(uintptr_t)described) >= 2);
    cw_arena_done(&arena);
    write_two_sources();
    assert_true(oom_each(read_and_write_once, NULL) >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_definition_has_one_spelling),
        cmocka_unit_test(whatever_a_model_sees_changes_it),
        cmocka_unit_test(threat_D3_what_a_service_says_of_itself_changes_it),
        cmocka_unit_test(what_is_too_deep_is_no_definition),
        cmocka_unit_test(a_deep_definition_is_read_again),
        cmocka_unit_test(what_could_not_be_read_again_is_not_written),
        cmocka_unit_test(hashes_are_those_of_sha256),
        cmocka_unit_test(tools_are_the_same_new_or_changed),
        cmocka_unit_test(one_source_is_replaced_and_others_stay),
        cmocka_unit_test(an_approval_has_its_time_and_its_author),
        cmocka_unit_test(whoever_is_told_of_tools_can_stop),
        cmocka_unit_test(no_file_is_no_lock_and_no_lock_file_is_told),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
