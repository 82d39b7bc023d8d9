/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "support/oom.h"
#include "support/test.h"

static char folder[64];
static char path[96];
static cw_err err;

SETUP(setup)
{
    snprintf(folder, sizeof folder, "%s", "/tmp/causeway-file-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/x", folder);
    return 0;
}

TEARDOWN(teardown)
{
    unlink(path);
    return rmdir(folder);
}

/* `n` bytes of a pattern that shows which one is where. */
static void write_file(size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    for (size_t i = 0; i < n; i++)
        fputc((int)(i * 31 % 251), f);
    assert_int_equal(fclose(f), 0);
}

static void check_bytes(const cw_buf *b, size_t n)
{
    assert_int_equal(b->n, n);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)b->p[i] != i * 31 % 251)
            fail_msg("byte %zu differs", i);
}

TEST(files_of_all_sizes_are_read_whole)
{
    static const size_t sizes[] = {0, 1, 62, 63, 64, 16383, 16384, 16385, 100000};
    for (size_t i = 0; i < CW_COUNT(sizes); i++) {
        write_file(sizes[i]);
        for (int kind = CW_FILE_ANY; kind <= CW_FILE_PLAIN; kind++) {
            cw_buf b;
            cw_buf_init(&b, 1000000);
            assert_int_equal(cw_file_read(path, (cw_file_kind)kind, &b, &err), CW_OK);
            check_bytes(&b, sizes[i]);
            cw_buf_done(&b);
        }
    }
}

TEST(the_last_byte_of_the_ceiling_fits_and_the_next_does_not)
{
    static const size_t sizes[] = {0, 1, 63, 64, 16384, 40000};
    for (size_t i = 0; i < CW_COUNT(sizes); i++) {
        cw_buf b;
        cw_buf_init(&b, sizes[i]);
        write_file(sizes[i]);
        assert_int_equal(cw_file_read(path, CW_FILE_PLAIN, &b, &err), CW_OK);
        check_bytes(&b, sizes[i]);
        cw_buf_clear(&b);
        write_file(sizes[i] + 1);
        assert_int_equal(cw_file_read(path, CW_FILE_PLAIN, &b, &err), CW_LIMIT);
        check_bytes(&b, sizes[i]);
        assert_int_equal(b.code, CW_OK);
        char expected[160];
        snprintf(expected, sizeof expected, "'%s' is larger than %zu bytes", path, sizes[i]);
        assert_string_equal(err.msg, expected);
        cw_buf_done(&b);
    }
}

TEST(bytes_are_appended)
{
    cw_buf b;
    cw_buf_init(&b, 10);
    cw_buf_add(&b, CW_STR("abc"));
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs("defghij", f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(cw_file_read(path, CW_FILE_ANY, &b, &err), CW_OK);
    assert_true(cw_str_is(cw_buf_str(&b), "abcdefghij"));
    cw_buf_done(&b);
}

TEST(what_cannot_be_read_is_named)
{
    cw_buf b;
    cw_buf_init(&b, 10);
    assert_int_equal(cw_file_read("/nowhere/x", CW_FILE_ANY, &b, &err), CW_IO);
    assert_string_equal(err.msg, "cannot open '/nowhere/x': No such file or directory");
    assert_int_equal(cw_file_read("/", CW_FILE_ANY, &b, &err), CW_IO);
    assert_string_equal(err.msg, "cannot read '/': Is a directory");
    assert_int_equal(cw_file_read("/", CW_FILE_PLAIN, &b, &err), CW_IO);
    assert_string_equal(err.msg, "'/' is not a file");
    assert_int_equal(cw_file_read_fd(-1, "it", &b, &err), CW_IO);
    assert_string_equal(err.msg, "cannot read 'it': Bad file descriptor");
    assert_int_equal(b.n, 0);
    cw_buf_done(&b);
}

TEST(a_pipe_is_read_to_its_end_or_refused_without_waiting)
{
    int ends[2];
    cw_buf b;
    cw_buf_init(&b, 10);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "abc", 3), 3);
    close(ends[1]);
    assert_int_equal(cw_file_read_fd(ends[0], "-", &b, &err), CW_OK);
    assert_true(cw_str_is(cw_buf_str(&b), "abc"));
    close(ends[0]);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(10);
    assert_int_equal(cw_file_read(path, CW_FILE_PLAIN, &b, &err), CW_IO);
    alarm(0);
    cw_buf_done(&b);
}

static void read_once(void *ctx)
{
    (void)ctx;
    cw_buf b;
    cw_buf_init(&b, 1000000);
    cw_code rc = cw_file_read(path, CW_FILE_PLAIN, &b, &err);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    /* The size is known: no growing in steps. */
    assert_true(oom_was_hit() || b.cap < 2 * 65536 + 2);
    cw_buf_done(&b);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    cw_buf_init(&b, 1000000);
    rc = cw_file_read_fd(fd, path, &b, &err);
    assert_true(rc == CW_OK || (oom_was_hit() && rc == CW_NOMEM));
    close(fd);
    cw_buf_done(&b);
}

TEST(every_failed_allocation_is_reported)
{
    write_file(65536);
    assert_true(oom_each(read_once, NULL) >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_of_all_sizes_are_read_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(the_last_byte_of_the_ceiling_fits_and_the_next_does_not,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(bytes_are_appended, setup, teardown),
        cmocka_unit_test(what_cannot_be_read_is_named),
        cmocka_unit_test_setup_teardown(a_pipe_is_read_to_its_end_or_refused_without_waiting, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(every_failed_allocation_is_reported, setup, teardown),
    };
    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
