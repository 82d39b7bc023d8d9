/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "base/err.h"
#include "base/utf8.h"
#include "support/test.h"

TEST(fail_records_and_returns)
{
    cw_err err = {0};
    assert_int_equal(cw_fail(&err, CW_PARAMS, "missing '%s'", "name"), CW_PARAMS);
    assert_int_equal(err.code, CW_PARAMS);
    assert_string_equal(err.msg, "missing 'name'");
    assert_int_equal(cw_fail(NULL, CW_LIMIT, "%d", 1), CW_LIMIT);
    assert_int_equal(cw_fail_nomem(&err), CW_NOMEM);
    assert_string_equal(err.msg, "out of memory");
    assert_int_equal(cw_fail_nomem(NULL), CW_NOMEM);
}

TEST(outcomes_never_fill_err)
{
    static const cw_code outcomes[] = {CW_OK, CW_AGAIN, CW_DECLINED, CW_DONE};
    cw_err err = {CW_IO, "before"};
    for (size_t i = 0; i < CW_COUNT(outcomes); i++) {
        assert_int_equal(cw_fail(&err, outcomes[i], "text"), outcomes[i]);
        assert_int_equal(cw_wrap(&err, outcomes[i], "text"), outcomes[i]);
    }
    assert_int_equal(err.code, CW_IO);
    assert_string_equal(err.msg, "before");
}

TEST(fail_errno_appends_the_system_text)
{
    cw_err err = {0};
    assert_int_equal(cw_fail_errno(&err, ENOENT, "open '%s'", "x"), CW_IO);
    assert_string_equal(err.msg, "open 'x': No such file or directory");
    assert_int_equal(cw_fail_errno(&err, ENOMEM, "read"), CW_NOMEM);
    assert_int_equal(err.code, CW_NOMEM);
    assert_int_equal(cw_fail_errno(NULL, ENOMEM, "read"), CW_NOMEM);
    assert_int_equal(cw_fail_errno(NULL, EIO, "read"), CW_IO);
    cw_fail_errno(&err, 123456, "read");
    assert_string_equal(err.msg, "read: Unknown error 123456");
}

TEST(wrap_puts_context_in_front)
{
    cw_err err = {0};
    cw_code rc = cw_fail(&err, CW_PARSE, "line %d", 3);
    assert_int_equal(cw_wrap(&err, rc, "config '%s'", "a.yaml"), CW_PARSE);
    assert_string_equal(err.msg, "config 'a.yaml': line 3");
    assert_int_equal(cw_wrap(NULL, CW_PARSE, "x"), CW_PARSE);
    err = (cw_err){0};
    cw_wrap(&err, CW_TIMEOUT, "source");
    assert_string_equal(err.msg, "source: timed out");
    assert_int_equal(err.code, CW_TIMEOUT);
}

TEST(arguments_may_point_into_the_old_message)
{
    cw_err err = {0};
    cw_fail(&err, CW_IO, "inner");
    cw_fail(&err, CW_INVALID, "outer (%s)", err.msg);
    assert_string_equal(err.msg, "outer (inner)");
    cw_wrap(&err, CW_INVALID, "%s", err.msg);
    assert_string_equal(err.msg, "outer (inner): outer (inner)");
}

TEST(long_messages_are_cut_between_characters)
{
    char text[2000];
    for (size_t shift = 0; shift < 4; shift++) {
        memset(text, 'x', shift);
        for (size_t i = shift; i + 4 < sizeof(text); i += 4)
            memcpy(text + i, "\xF0\x9F\x98\x80", 5);
        cw_err err = {0};
        cw_fail(&err, CW_IO, "%s", text);
        size_t n = strlen(err.msg);
        assert_in_range(n, CW_ERR_MSG_MAX - 4, CW_ERR_MSG_MAX - 1);
        assert_true(cw_utf8_is_valid(cw_str_make(err.msg, n)));
        cw_wrap(&err, CW_IO, "context");
        assert_true(cw_utf8_is_valid(cw_str_from(err.msg)));
        cw_wrap(&err, CW_IO, "%s", text);
        assert_true(cw_utf8_is_valid(cw_str_from(err.msg)));
        cw_fail_errno(&err, EIO, "%s", text);
        assert_true(cw_utf8_is_valid(cw_str_from(err.msg)));
    }
    memset(text, 'a', CW_ERR_MSG_MAX - 1);
    text[CW_ERR_MSG_MAX - 1] = '\0';
    cw_err err;
    cw_fail(&err, CW_IO, "%s", text);
    assert_string_equal(err.msg, text);
}

TEST(codes_have_text)
{
    assert_string_equal(cw_code_text(CW_OK), "ok");
    assert_string_equal(cw_code_text(CW_INTERNAL), "internal error");
    assert_string_equal(cw_code_text((cw_code)999), "internal error");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fail_records_and_returns),
        cmocka_unit_test(outcomes_never_fill_err),
        cmocka_unit_test(fail_errno_appends_the_system_text),
        cmocka_unit_test(wrap_puts_context_in_front),
        cmocka_unit_test(arguments_may_point_into_the_old_message),
        cmocka_unit_test(long_messages_are_cut_between_characters),
        cmocka_unit_test(codes_have_text),
    };
    return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
