/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Differences between definitions and a lock file, with every allocation failing in turn. */
#include "source/remote/lock/lock_diff.h"

#include "support/json_fixture.h"
#include "support/oom.h"
#include "support/temp_dir.h"

#define OUT_MAX 100000u

static const cw_remote_definition approved[] = {
    {CW_STR_INIT("add"), CW_STR_INIT("{\"params\":[{\"name\":\"a\"},{\"name\":\"b\"}],"
                                     "\"usage\":\"Adds\"}")},
    {CW_STR_INIT("echo"), CW_STR_INIT("{\"usage\":\"Returns it\"}")},
    {CW_STR_INIT("wipe"), CW_STR_INIT("{\"usage\":\"Removes all\"}")},
};
static const cw_remote_definition now[] = {
    {CW_STR_INIT("add"), CW_STR_INIT("{\"params\":[{\"name\":\"a\"},{\"name\":\"c\"},null],"
                                     "\"x/y~\":1}")},
    {CW_STR_INIT("echo"), CW_STR_INIT("{\"usage\":\"Returns it\"}")},
    {CW_STR_INIT("list"), CW_STR_INIT("{\"usage\":\"Lists\"}")},
};

/* The lock file of `approved`. */
static cw_lock *make_lock(void)
{
    cw_lock_entry entries[CW_COUNT(approved)];
    cw_str source = CW_STR("shop");
    cw_lock *lock = NULL;
    cw_err err = {0};
    const char *path = temp_dir_path("lock");
    for (size_t i = 0; i < CW_COUNT(approved); i++)
        entries[i] = (cw_lock_entry){source, approved[i].method, approved[i].definition};
    const cw_lock_change change = {
        .replaced = &source, .n_replaced = 1, .entries = entries, .n = CW_COUNT(entries)};
    assert_int_equal(cw_lock_write(path, NULL, &change, &err), CW_OK);
    assert_int_equal(cw_lock_read(path, &lock, &err), CW_OK);
    unlink(path);
    return lock;
}

/* The array of differences of a source. */
static cw_code diff(const cw_lock *lock, const char *source, const cw_remote_definition *items,
                    size_t n, cw_buf *out)
{
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_array(&w);
    cw_code rc = cw_lock_diff(lock, cw_str_from(source), items, n, &w);
    cw_json_close(&w);
    cw_code ended = cw_json_writer_end(&w, NULL);
    return rc ? rc : ended;
}

static void assert_diff(const cw_lock *lock, const char *source, const cw_remote_definition *items,
                        size_t n, const char *expected)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, OUT_MAX);
    assert_int_equal(diff(lock, source, items, n, &out), CW_OK);
    assert_str(cw_buf_str(&out), expected);
}

#define DIFFERENCES                                                                                \
    "[{\"source\":\"shop\",\"method\":\"add\",\"change\":\"changed\",\"differences\":["            \
    "{\"pointer\":\"/params/1/name\",\"old\":\"b\",\"new\":\"c\"},"                                \
    "{\"pointer\":\"/params/2\",\"old\":null,\"new\":null},"                                       \
    "{\"pointer\":\"/usage\",\"old\":\"Adds\",\"new\":null},"                                      \
    "{\"pointer\":\"/x~1y~0\",\"old\":null,\"new\":1}]},"                                          \
    "{\"source\":\"shop\",\"method\":\"list\",\"change\":\"new\",\"differences\":["                \
    "{\"pointer\":\"\",\"old\":null,\"new\":{\"usage\":\"Lists\"}}]},"                             \
    "{\"source\":\"shop\",\"method\":\"wipe\",\"change\":\"gone\",\"differences\":[]}]"

TEST(each_member_that_differs_has_its_pointer)
{
    cw_lock *lock = make_lock();
    assert_diff(lock, "shop", now, CW_COUNT(now), DIFFERENCES);
    assert_diff(lock, "shop", approved, CW_COUNT(approved), "[]");
    cw_lock_unref(lock);
}

TEST(without_an_approval_every_tool_is_new)
{
    static const char expected[] =
        "[{\"source\":\"other\",\"method\":\"echo\",\"change\":\"new\",\"differences\":["
        "{\"pointer\":\"\",\"old\":null,\"new\":{\"usage\":\"Returns it\"}}]}]";
    cw_lock *lock = make_lock();
    assert_diff(lock, "other", &now[1], 1, expected);
    assert_diff(NULL, "other", &now[1], 1, expected);
    assert_diff(NULL, "other", NULL, 0, "[]");
    cw_lock_unref(lock);
}

TEST(a_definition_that_is_no_json_is_an_error)
{
    static const cw_remote_definition broken = {CW_STR_INIT("echo"), CW_STR_INIT("{\"usage\":")};
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, OUT_MAX);
    assert_int_equal(diff(NULL, "shop", &broken, 1, &out), CW_PARSE);
}

static void diff_once(void *ctx)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, OUT_MAX);
    cw_code rc = diff(ctx, "shop", now, CW_COUNT(now), &out);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    /* Half a list of differences would hide a change from the operator. */
    if (!rc)
        assert_str(cw_buf_str(&out), DIFFERENCES);
}

TEST(every_failed_allocation_is_an_error)
{
    cw_lock *lock = make_lock();
    assert_true(oom_each(diff_once, lock) >= 4);
    cw_lock_unref(lock);
}

#define lock_test(f) cmocka_unit_test_setup_teardown(f, temp_dir_setup, temp_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        lock_test(each_member_that_differs_has_its_pointer),
        lock_test(without_an_approval_every_tool_is_new),
        cmocka_unit_test(a_definition_that_is_no_json_is_an_error),
        lock_test(every_failed_allocation_is_an_error),
    };
    return cmocka_run_group_tests_name("lock_diff", tests, NULL, NULL);
}
