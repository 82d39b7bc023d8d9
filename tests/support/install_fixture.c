/* SPDX-License-Identifier: GPL-2.0-or-later */
/* install_fixture.c - edits of one text, and the properties that every edit has. */
#include "support/install_fixture.h"

#include "support/assert_str.h"
#include "support/json_fixture.h"

#define OUT_MAX ((size_t)64 << 20)

typedef struct edit_run {
    cw_arena arena;
    cw_buf out;
    cw_err err;
} edit_run;

static void begin(edit_run *r)
{
    *r = (edit_run){0};
    cw_arena_init(&r->arena, (size_t)1 << 30);
    cw_buf_init(&r->out, OUT_MAX);
}

static void end(edit_run *r)
{
    cw_buf_done(&r->out);
    cw_arena_done(&r->arena);
}

static cw_code put(edit_run *r, const edit_fixture *f, cw_str text)
{
    cw_str exact = exact_copy(&r->arena, text);
    return cw_install_put(f->format, exact, &f->at, must_read(&r->arena, f->value), &r->arena,
                          &r->out, &r->err);
}

void assert_put(const edit_fixture *f, const char *text, const char *expected)
{
    edit_run r, again;
    begin(&r);
    begin(&again);
    if (put(&r, f, cw_str_from(text)))
        fail_msg("%s", r.err.msg);
    assert_str(cw_buf_str(&r.out), expected);
    assert_int_equal(put(&again, f, cw_buf_str(&r.out)), CW_OK);
    assert_str(cw_buf_str(&again.out), expected);
    end(&again);
    end(&r);
}

void assert_removed(const edit_fixture *f, const char *text, bool drops_section,
                    const char *expected)
{
    edit_run r;
    begin(&r);
    if (cw_install_remove(f->format, cw_str_from(text), &f->at, drops_section, &r.arena, &r.out,
                          &r.err))
        fail_msg("%s", r.err.msg);
    assert_str(cw_buf_str(&r.out), expected);
    end(&r);
}

void assert_refused(const edit_fixture *f, cw_str text, cw_code code, const char *part)
{
    edit_run r;
    begin(&r);
    assert_int_equal(put(&r, f, text), code);
    if (!str_has(cw_str_from(r.err.msg), part))
        fail_msg("'%s' has no '%s'", r.err.msg, part);
    assert_int_equal(r.out.n, 0);
    end(&r);
}

void assert_round_trip(const edit_fixture *f, const char *text)
{
    edit_run r, back;
    begin(&r);
    begin(&back);
    if (put(&r, f, cw_str_from(text)))
        fail_msg("%s", r.err.msg);
    if (cw_install_remove(f->format, cw_buf_str(&r.out), &f->at, true, &back.arena, &back.out,
                          &back.err))
        fail_msg("%s", back.err.msg);
    assert_str(cw_buf_str(&back.out), text);
    end(&back);
    end(&r);
}

/* Whether `whole` is `part` with bytes inserted. */
static bool is_inserted_into(cw_str part, cw_str whole)
{
    size_t at = 0;
    for (size_t i = 0; i < whole.n && at < part.n; i++)
        at += whole.p[i] == part.p[at];
    return at == part.n;
}

static void check_removal(const edit_fixture *f, cw_str text)
{
    edit_run r;
    cw_install_found found = {0};
    begin(&r);
    cw_code rc = cw_install_remove(f->format, text, &f->at, true, &r.arena, &r.out, &r.err);
    assert_int_equal(rc, CW_OK);
    assert_int_equal(f->format->find(cw_buf_str(&r.out), &f->at, &r.arena, NULL, &found, NULL),
                     CW_OK);
    assert_null(found.entry.p);
    assert_true(is_inserted_into(cw_buf_str(&r.out), text));
    end(&r);
}

bool check_edits(const edit_fixture *f, cw_str text)
{
    edit_run r, again;
    cw_install_found found = {0};
    begin(&r);
    begin(&again);
    bool had_entry = !f->format->find(text, &f->at, &r.arena, NULL, &found, NULL) && found.entry.p;
    bool is_put = put(&r, f, text) == CW_OK;
    if (!is_put)
        assert_int_equal(r.out.n, 0);
    if (is_put) {
        cw_str made = cw_buf_str(&r.out);
        assert_true(cw_install_is_from(f->format, made, text, &f->at, &r.arena));
        assert_int_equal(put(&again, f, made), CW_OK);
        if (!cw_str_eq(cw_buf_str(&again.out), made))
            fail_msg("not stable: <<%.*s>>\nbecame <<%.*s>>\nthen <<%.*s>>", CW_STR_ARG(text),
                     CW_STR_ARG(made), CW_STR_ARG(cw_buf_str(&again.out)));
        if (!had_entry)
            assert_true(is_inserted_into(text, made));
        check_removal(f, made);
    }
    end(&again);
    end(&r);
    return is_put;
}

void assert_all_cuts(const edit_fixture *f, const char *text)
{
    size_t n = strlen(text), n_put = 0;
    char *cut = malloc(n + 1);
    assert_non_null(cut);
    for (size_t i = 0; i <= n; i++)
        n_put += check_edits(f, cw_str_make(text, i));
    for (size_t i = 0; i < n; i++) {
        memcpy(cut, text, i);
        memcpy(cut + i, text + i + 1, n - i - 1);
        n_put += check_edits(f, cw_str_make(cut, n - 1));
    }
    free(cut);
    assert_true(n_put > 0 && n_put < 2 * n + 1); /* some are edited, some are refused */
}
