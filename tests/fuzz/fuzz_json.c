/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_json.c - whatever the bytes are, these hold:
 *
 *   - reading ends with a document, CW_PARSE or CW_LIMIT, and a failure has a place in the source
 *   - what strict reading accepts is accepted with duplicates allowed, and is the same
 *   - what is written, compact or indented, reads back equal, and compact text is a fixed point
 *   - every span reads back equal to its value
 *   - a number that is an int64 is an integer, and is itself when written
 *   - any text survives escaping, except that ill-formed bytes become U+FFFD
 */
#include "fuzz.h"

#include "base/utf8.h"
#include "json/write.h"

#define ARENA_MAX ((size_t)256 << 20)
#define VALUES_MAX 200 /* spans looked at: containers overlap, all of them would be quadratic */

static const cw_json *read_again(cw_arena *a, cw_str text)
{
    const cw_json *root = NULL;
    CHECK(cw_json_read(text, NULL, a, &root, NULL, NULL) == CW_OK);
    return root;
}

static void write_value(cw_buf *out, const cw_json *v, cw_json_style style)
{
    cw_json_writer w;
    cw_json_writer_init(&w, out, style);
    cw_json_add_value(&w, v);
    CHECK(cw_json_writer_end(&w, NULL) == CW_OK);
}

static void check_style(cw_arena *a, const cw_json *root, cw_json_style style)
{
    cw_buf once;
    cw_buf twice;
    cw_buf_init(&once, SIZE_MAX / 4);
    cw_buf_init(&twice, SIZE_MAX / 4);
    write_value(&once, root, style);
    const cw_json *again = read_again(a, cw_buf_str(&once));
    CHECK(cw_json_equal(root, again));
    CHECK(cw_json_hash(root) == cw_json_hash(again));
    write_value(&twice, again, style);
    CHECK(cw_str_eq(cw_buf_str(&once), cw_buf_str(&twice)));
    cw_buf_done(&once);
    cw_buf_done(&twice);
}

static void check_number(cw_arena *a, const cw_json *v)
{
    CHECK(cw_json_compare_numbers(v, v) == 0);
    double d;
    bool finite = cw_json_to_double(v, &d);
    int64_t i;
    if (!cw_json_to_i64(v, &i))
        return;
    CHECK(cw_json_is_integer(v));
    CHECK(finite && d == (double)i);
    cw_buf b;
    cw_buf_init(&b, 64);
    cw_json_writer w;
    cw_json_writer_init(&w, &b, CW_JSON_COMPACT);
    cw_json_add_i64(&w, i);
    CHECK(cw_json_equal(v, read_again(a, cw_buf_str(&b))));
    cw_buf_done(&b);
}

static void check_values(cw_arena *a, const cw_json *root)
{
    const cw_json *end = cw_json_after(root);
    int n = 0;
    for (const cw_json *v = root; v < end && n < VALUES_MAX; v++) {
        if (cw_json_type_of(v) == CW_JSON_END)
            continue;
        n++;
        const cw_json *again = read_again(a, cw_json_span(v));
        CHECK(cw_json_equal(v, again));
        if (cw_json_type_of(v) == CW_JSON_NUMBER)
            check_number(a, v);
        if (v->meta & CW_JSON_KEY)
            CHECK(v->meta >> 8 == cw_json_key_hash(cw_json_text(again)));
    }
}

static void check_escape(cw_arena *a, cw_str text)
{
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 4);
    cw_json_escape(&b, text);
    const cw_json *v = read_again(a, cw_buf_str(&b));
    CHECK(cw_json_type_of(v) == CW_JSON_STRING);
    CHECK(cw_str_eq(cw_json_text(v), text) == cw_utf8_is_valid(text));
    cw_buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const cw_json_opts loose = {.allow_duplicates = true};
    cw_str src = cw_str_make((const char *)data, size);
    cw_arena arena;
    cw_arena_init(&arena, ARENA_MAX);
    const cw_json *root = NULL;
    const cw_json *same = NULL;
    cw_json_pos pos = {0};
    cw_err err = {0};

    cw_code rc = cw_json_read(src, NULL, &arena, &root, &pos, &err);
    cw_code loose_rc = cw_json_read(src, &loose, &arena, &same, NULL, NULL);
    if (rc == CW_OK) {
        CHECK(loose_rc == CW_OK && cw_json_equal(root, same));
        check_style(&arena, root, CW_JSON_COMPACT);
        check_style(&arena, root, CW_JSON_INDENT);
        check_values(&arena, root);
    } else {
        CHECK(rc == CW_PARSE || rc == CW_LIMIT);
        CHECK(pos.offset <= size && pos.line >= 1 && pos.column >= 1);
        CHECK(err.code == rc && err.msg[0]);
    }
    if (same)
        (void)cw_json_pointer(same, src);
    check_escape(&arena, src);
    cw_arena_done(&arena);
    return 0;
}
