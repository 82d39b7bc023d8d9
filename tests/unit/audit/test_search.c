/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/reader.h"
#include "audit/search.h"
#include "support/oom.h"
#include "support/test.h"

static char folder[] = "/tmp/cw-search-XXXXXX";
static char path[128];

/* The numbers of the records that were found, in order. */
typedef struct found {
    int64_t numbers[1024];
    size_t n, max;
} found;

static cw_code on_record(const cw_json *record, void *ctx, cw_err *err)
{
    found *f = ctx;
    (void)err;
    if (f->n == f->max)
        return CW_DONE;
    assert_true(cw_json_to_i64(cw_json_get(record, CW_STR("n")), &f->numbers[f->n++]));
    return CW_OK;
}

static FILE *open_index(unsigned index)
{
    char name[160];
    snprintf(name, sizeof name, index ? "%s.%u" : "%s", path, index);
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    return f;
}

static void remove_files(void)
{
    char name[160];
    unlink(path);
    for (unsigned i = 1; i < 5; i++) {
        snprintf(name, sizeof name, "%s.%u", path, i);
        unlink(name);
    }
}

static void add(FILE *f, int n, size_t padding)
{
    fprintf(f, "{\"time\":\"2026-01-01T00:00:00.000Z\",\"caller\":\"%s\",\"n\":%d,\"pad\":\"",
            n % 2 ? "odd" : "even", n);
    for (size_t i = 0; i < padding; i++)
        fputc('x', f);
    fputs("\"}\n", f);
}

static cw_audit_search make(found *f)
{
    *f = (found){.max = CW_COUNT(f->numbers)};
    return (cw_audit_search){.path = path, .files = 3, .fn = on_record, .ctx = f};
}

/* A search ends after CW_AUDIT_SEARCH_MS, which a busy machine with a sanitizer can need for large lines. */
static cw_audit_search search_whole(found *f)
{
    cw_audit_search s = make(f);
    assert_int_equal(cw_audit_search_run(&s, NULL), CW_OK);
    for (int tries = 0; s.is_late && tries < 20; tries++) {
        s = make(f);
        assert_int_equal(cw_audit_search_run(&s, NULL), CW_OK);
    }
    assert_false(s.is_late);
    return s;
}

static void assert_counts_down(const found *f, int64_t from)
{
    for (size_t i = 0; i < f->n; i++)
        assert_int_equal(f->numbers[i], from - (int64_t)i);
}

TEST(records_come_newest_first_across_pieces_and_files)
{
    found f;
    cw_audit_search s = make(&f);
    int n = 0;
    for (unsigned index = 3; index < 4; index--) {
        FILE *file = open_index(index);
        /* Lines end before, at and behind the ends of pieces. */
        for (int i = 0; i < 100; i++, n++)
            add(file, n, (size_t)(n * 7919 % 9000));
        fclose(file);
    }
    assert_int_equal(cw_audit_search_run(&s, NULL), CW_OK);
    assert_int_equal(f.n, 400);
    assert_counts_down(&f, 399);
    assert_false(s.is_late);
    assert_int_equal(s.n_damaged, 0);
    remove_files();
}

TEST(the_filter_and_the_function_select)
{
    found f;
    cw_audit_search s = make(&f);
    FILE *file = open_index(0);
    for (int i = 0; i < 10; i++)
        add(file, i, 0);
    fclose(file);
    f.max = 3;
    assert_int_equal(cw_audit_search_run(&s, NULL), CW_DONE);
    assert_counts_down(&f, 9);
    s = make(&f);
    s.filter.caller = CW_STR("odd");
    assert_int_equal(cw_audit_search_run(&s, NULL), CW_OK);
    assert_int_equal(f.n, 5);
    assert_int_equal(f.numbers[4], 1);
    remove_files();
}

TEST(damaged_and_endless_lines_are_counted)
{
    found f;
    FILE *file = open_index(0);
    add(file, 0, 0);
    add(file, 100, CW_AUDIT_LINE_MAX + 1);
    add(file, 1, CW_AUDIT_LINE_MAX - 1000);
    fputs("no record\n\n", file);
    add(file, 2, 0);
    fputs("{\"n\":3,\"time\":\"2026\"}", file); /* of a server that died */
    fclose(file);
    cw_audit_search s = search_whole(&f);
    assert_int_equal(f.n, 4);
    assert_counts_down(&f, 3);
    assert_int_equal(s.n_damaged, 2);
    remove_files();
}

TEST(files_are_read_once_and_old_ones_not_at_all)
{
    found f;
    char other[160];
    cw_audit_search s = make(&f);
    FILE *file = open_index(0);
    add(file, 7, 0);
    fclose(file);
    /* As if it had been renamed after it was read. */
    snprintf(other, sizeof other, "%s.1", path);
    assert_int_equal(link(path, other), 0);
    file = open_index(2);
    add(file, 6, 0);
    fclose(file);
    assert_int_equal(cw_audit_search_run(&s, NULL), CW_OK);
    assert_int_equal(f.n, 2);
    assert_counts_down(&f, 7);
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    snprintf(other, sizeof other, "%s.2", path);
    assert_int_equal(utimensat(-1, other, times, 0), 0);
    s = make(&f);
    snprintf(s.filter.since, sizeof s.filter.since, "2025-12-31T00:00:00.000Z");
    assert_int_equal(cw_audit_search_run(&s, NULL), CW_OK);
    assert_int_equal(f.n, 1);
    remove_files();
    cw_err err = {0};
    assert_int_equal(cw_audit_search_run(&s, &err), CW_IO);
    assert_non_null(strstr(err.msg, path));
}

TEST(a_search_goes_on_where_another_ended)
{
    char other[160];
    found f;
    FILE *file = open_index(1);
    for (int i = 0; i < 5; i++)
        add(file, i, 0);
    fclose(file);
    file = open_index(0);
    for (int i = 5; i < 10; i++)
        add(file, i, 0);
    fclose(file);
    cw_audit_place from = {0};
    for (int64_t n = 9; n >= 0; n -= 2) {
        cw_audit_search s = make(&f);
        f.max = 2;
        s.from = from;
        assert_int_equal(cw_audit_search_run(&s, NULL), n > 1 ? CW_DONE : CW_OK);
        assert_int_equal(f.n, 2);
        assert_counts_down(&f, n);
        assert_string_equal(s.oldest, "2026-01-01T00:00:00.000Z");
        from = s.end;
        assert_int_equal(from.inode != 0, n > 1);
    }
    /* The files are rotated between two searches. */
    cw_audit_search s = make(&f);
    f.max = 2;
    assert_int_equal(cw_audit_search_run(&s, NULL), CW_DONE);
    from = s.end;
    snprintf(other, sizeof other, "%s.2", path);
    char first[160];
    snprintf(first, sizeof first, "%s.1", path);
    assert_int_equal(rename(first, other), 0);
    assert_int_equal(rename(path, first), 0);
    fclose(open_index(0));
    s = make(&f);
    s.from = from;
    assert_int_equal(cw_audit_search_run(&s, NULL), CW_OK);
    assert_int_equal(f.n, 8);
    assert_counts_down(&f, 7);
    /* A newer file that got the inode of one that is gone is another file. */
    s = make(&f);
    s.from = (cw_audit_place){from.inode, 2, from.offset};
    assert_int_equal(cw_audit_search_run(&s, NULL), CW_OK);
    assert_int_equal(f.n, 0);
    remove_files();
}

static void search_once(void *ctx)
{
    found f;
    cw_audit_search s = make(&f);
    (void)ctx;
    cw_code rc = cw_audit_search_run(&s, NULL);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
}

TEST(a_search_survives_every_failed_allocation)
{
    FILE *file = open_index(0);
    add(file, 7, 100000);
    fclose(file);
    assert_true(oom_each(search_once, NULL) >= 3);
    remove_files();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_newest_first_across_pieces_and_files),
        cmocka_unit_test(the_filter_and_the_function_select),
        cmocka_unit_test(damaged_and_endless_lines_are_counted),
        cmocka_unit_test(files_are_read_once_and_old_ones_not_at_all),
        cmocka_unit_test(a_search_goes_on_where_another_ended),
        cmocka_unit_test(a_search_survives_every_failed_allocation),
    };
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/audit", folder);
    int failed = cmocka_run_group_tests_name("search", tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
