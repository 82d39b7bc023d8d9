/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Approvals of definitions: by source, by method, of names that do not fit; with every allocation
 * failing in turn. */
#include "source/remote/lock/lock_approve.h"

#include "support/json_fixture.h"
#include "support/oom.h"
#include "support/temp_dir.h"

#define OUT_MAX 100000u
#define FILE_MAX 8192

static const cw_remote_definition first[] = {
    {CW_STR_INIT("add"), CW_STR_INIT("{\"usage\":\"Adds\"}")},
    {CW_STR_INIT("echo"), CW_STR_INIT("{\"usage\":\"Returns it\"}")},
    {CW_STR_INIT("wipe"), CW_STR_INIT("{\"usage\":\"Removes all\"}")},
};
static const cw_remote_definition second[] = {
    {CW_STR_INIT("add"), CW_STR_INIT("{\"usage\":\"Adds two\"}")},
    {CW_STR_INIT("echo"), CW_STR_INIT("{\"usage\":\"Returns all\"}")},
    {CW_STR_INIT("list"), CW_STR_INIT("{\"usage\":\"Lists\"}")},
};

static char path[128];

SETUP(set_up)
{
    int rc = temp_dir_setup(state);
    snprintf(path, sizeof path, "%s/lock", temp_dir);
    return rc;
}

TEARDOWN(tear_down)
{
    unlink(path);
    return temp_dir_teardown(state);
}

/* Approve definitions of "shop" in the file, and append the changes. */
static cw_code approve(const cw_remote_definition *items, size_t n, const cw_str *methods,
                       size_t n_methods, cw_buf *out)
{
    cw_lock_approval a;
    cw_json_writer w;
    cw_lock *lock = NULL;
    cw_err err = {0};
    cw_code rc = cw_lock_read(path, &lock, &err);
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_array(&w);
    cw_lock_approval_init(&a, lock, methods, n_methods, &w);
    if (!rc)
        rc = cw_lock_approve(&a, CW_STR("shop"), items, n);
    cw_json_close(&w);
    if (!rc)
        rc = cw_json_writer_end(&w, &err);
    if (!rc)
        rc = cw_lock_approval_write(&a, path, &err);
    cw_lock_approval_done(&a);
    cw_lock_unref(lock);
    return rc;
}

static void assert_approved(const cw_remote_definition *items, size_t n, const cw_str *methods,
                            size_t n_methods, const char *expected)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, OUT_MAX);
    assert_int_equal(approve(items, n, methods, n_methods, &out), CW_OK);
    assert_str(cw_buf_str(&out), expected);
}

/* The verdict of the file on a definition of "shop". */
static cw_lock_verdict check(const cw_remote_definition *d)
{
    cw_lock *lock = NULL;
    assert_int_equal(cw_lock_read(path, &lock, NULL), CW_OK);
    cw_lock_verdict verdict =
        lock ? cw_lock_check(lock, CW_STR("shop"), d->method, d->definition, NULL) : CW_LOCK_NEW;
    cw_lock_unref(lock);
    return verdict;
}

#define CHANGE(method, change)                                                                     \
    "{\"source\":\"shop\",\"method\":\"" method "\",\"change\":\"" change "\"}"
#define ALL_NEW "[" CHANGE("add", "new") "," CHANGE("echo", "new") "," CHANGE("wipe", "new") "]"
#define ALL_CHANGED                                                                                \
    "[" CHANGE("add", "changed") "," CHANGE("echo", "changed") "," CHANGE(                         \
        "list", "new") "," CHANGE("wipe", "gone") "]"

TEST(a_source_is_approved_as_a_whole)
{
    assert_approved(first, 3, NULL, 0, ALL_NEW);
    assert_approved(first, 3, NULL, 0, "[]");
    assert_approved(second, 3, NULL, 0, ALL_CHANGED);
    assert_int_equal(check(&second[2]), CW_LOCK_SAME);
    assert_int_equal(check(&first[2]), CW_LOCK_NEW);
}

TEST(exactly_the_named_methods_are_approved)
{
    const cw_str echo = CW_STR("echo"), none = CW_STR("none");
    assert_approved(first, 3, NULL, 0, ALL_NEW);
    assert_approved(second, 3, &echo, 1, "[" CHANGE("echo", "changed") "]");
    assert_int_equal(check(&second[1]), CW_LOCK_SAME);
    assert_int_equal(check(&first[0]), CW_LOCK_SAME);
    assert_int_equal(check(&first[2]), CW_LOCK_SAME);
    assert_int_equal(check(&second[2]), CW_LOCK_NEW);
    assert_approved(second, 3, &none, 1, "[]");
    assert_int_equal(check(&second[1]), CW_LOCK_SAME);
}

static void assert_names(const cw_lock_offer *offers, size_t n, bool is_named, cw_str method,
                         cw_code rc, const char *message)
{
    cw_err err = {0};
    assert_int_equal(cw_lock_check_methods(offers, n, is_named, &method, 1, &err), rc);
    assert_string_equal(err.msg, message);
}

TEST(names_that_do_not_fit_are_mistakes)
{
    const cw_lock_offer offers[] = {
        {CW_STR("shop"), first, 3}, {CW_STR("other"), second, 3}, {CW_STR("lost"), NULL, 0}};
    cw_err err = {0};
    assert_names(offers, 3, false, CW_STR("wipe"), CW_OK, "");
    assert_names(offers, 3, false, CW_STR("nix"), CW_NOTFOUND,
                 "no source is called \"nix\", and none exposes such a method");
    assert_names(offers, 1, true, CW_STR("list"), CW_NOTFOUND,
                 "no source is called \"list\", and the named ones expose no such method");
    assert_names(offers, 2, true, CW_STR("list"), CW_PARAMS,
                 "none of the named methods is exposed by source \"shop\"");
    assert_names(offers, 3, true, CW_STR("add"), CW_PARAMS,
                 "none of the named methods is exposed by source \"lost\"");
    /* Without methods a source is approved as a whole, also one that could not be read. */
    assert_int_equal(cw_lock_check_methods(offers, 3, true, NULL, 0, &err), CW_OK);
}

TEST(an_etag_is_that_of_the_differences_that_were_seen)
{
    cw_err err = {0};
    assert_int_equal(cw_lock_check_etag(CW_STR("abc"), "abc", &err), CW_OK);
    assert_int_equal(cw_lock_check_etag(CW_STR("ab"), "abc", &err), CW_INVALID);
    assert_int_equal(cw_lock_check_etag(CW_STR(""), "abc", &err), CW_INVALID);
}

/* The bytes of the file; nothing of ours is allocated. */
static size_t read_file(char out[FILE_MAX])
{
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? 0 : read(fd, out, FILE_MAX);
    if (fd >= 0)
        close(fd);
    return n > 0 ? (size_t)n : 0;
}

typedef struct before {
    char bytes[FILE_MAX];
    size_t n;
} before;

static void write_file(const before *b)
{
    int fd = open(path, O_WRONLY | O_TRUNC);
    assert_int_equal(write(fd, b->bytes, b->n), (ssize_t)b->n);
    close(fd);
}

static void approve_once(void *ctx)
{
    const before *b = ctx;
    char bytes[FILE_MAX];
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, OUT_MAX);
    cw_code rc = approve(second, 3, NULL, 0, &out);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    size_t n = read_file(bytes);
    bool is_same = n == b->n && memcmp(bytes, b->bytes, n) == 0;
    assert_int_equal(is_same, rc != CW_OK);
    if (rc)
        return;
    assert_str(cw_buf_str(&out), ALL_CHANGED);
    write_file(b);
}

TEST(every_failed_allocation_leaves_the_file_as_it_was)
{
    before b;
    assert_approved(first, 3, NULL, 0, ALL_NEW);
    b.n = read_file(b.bytes);
    assert_in_range(b.n, 1, FILE_MAX - 1);
    assert_true(oom_each(approve_once, &b) >= 8);
}

#define lock_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        lock_test(a_source_is_approved_as_a_whole),
        lock_test(exactly_the_named_methods_are_approved),
        cmocka_unit_test(names_that_do_not_fit_are_mistakes),
        cmocka_unit_test(an_etag_is_that_of_the_differences_that_were_seen),
        lock_test(every_failed_allocation_leaves_the_file_as_it_was),
    };
    return cmocka_run_group_tests_name("lock_approve", tests, NULL, NULL);
}
