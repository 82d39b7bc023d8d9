/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_portable.c - the input is a schema, a line feed, and an instance. Whatever they are:
 *
 *   - a valid schema has a portable form, which is a valid schema and needs no rewriting
 *   - the portable form, read as either draft, accepts the instance if the schema accepts it
 *   - an instance without nulls is an instance of the same type
 */
#include "fuzz.h"

#include "schema/rewrite/nulls.h"
#include "schema/rewrite/portable.h"

#define ARENA_MAX ((size_t)64 << 20)

/* NULL: no schema. */
static cw_schema *compile(cw_str text, cw_schema_draft draft)
{
    cw_schema *s = NULL;
    const cw_schema_opts opts = {
        .draft = draft, .annotate_formats = true, .max_steps = 20000, .max_recursion = 300};
    return cw_schema_compile_text(text, &opts, &s, NULL) ? NULL : s;
}

static bool rejects(cw_str text, const cw_json *instance, cw_schema_draft draft)
{
    cw_schema *s = compile(text, draft);
    bool is_rejected = s && cw_schema_validate(s, instance, NULL) == CW_PARAMS;
    cw_schema_unref(s);
    return is_rejected;
}

static void check_nulls(const cw_schema *s, const cw_json *instance)
{
    cw_arena arena;
    cw_buf out;
    const cw_json *again;
    uint32_t n = 0;
    int64_t steps = 20000;
    cw_arena_init(&arena, ARENA_MAX);
    cw_buf_init(&out, SIZE_MAX / 4);
    cw_code rc = cw_schema_write_without_nulls(s, instance, &out, &n, &steps);
    CHECK(rc == CW_OK || rc == CW_LIMIT);
    if (!rc) {
        CHECK(cw_json_read(cw_buf_str(&out), NULL, &arena, &again, NULL, NULL) == CW_OK);
        CHECK(cw_json_type_of(again) == cw_json_type_of(instance));
        CHECK((n == 0) == cw_json_equal(again, instance));
    }
    cw_buf_done(&out);
    cw_arena_done(&arena);
}

static void check_portable(cw_str text, const cw_json *instance, bool is_accepted,
                           cw_schema_draft draft)
{
    cw_arena arena;
    cw_schema_portable found;
    const cw_json *doc, *again;
    cw_arena_init(&arena, ARENA_MAX);
    CHECK(cw_json_read(text, NULL, &arena, &doc, NULL, NULL) == CW_OK);
    CHECK(cw_schema_make_portable(doc, draft, &arena, &found) == CW_OK);
    CHECK(cw_json_read(found.text, NULL, &arena, &again, NULL, NULL) == CW_OK);
    if (found.shown == CW_SCHEMA_SHOWN)
        CHECK(cw_schema_is_portable(again, CW_SCHEMA_2020_12));
    cw_schema *s = compile(found.text, CW_SCHEMA_2020_12);
    CHECK(s || found.text.n > 100000);
    cw_schema_unref(s);
    if (is_accepted && !found.n_renames && cw_json_is(instance, CW_JSON_OBJECT)) {
        CHECK(!rejects(found.text, instance, CW_SCHEMA_2020_12));
        CHECK(!rejects(found.text, instance, CW_SCHEMA_DRAFT_07));
        if (cw_schema_is_portable(doc, draft))
            CHECK(!rejects(text, instance, CW_SCHEMA_2020_12));
    }
    cw_arena_done(&arena);
}

static void run(cw_str text, const cw_json *instance, cw_schema_draft draft)
{
    cw_schema *s = compile(text, draft);
    if (!s)
        return;
    check_nulls(s, instance);
    bool is_accepted = cw_schema_validate(s, instance, NULL) == CW_OK;
    if (cw_json_is(cw_schema_root(s), CW_JSON_OBJECT))
        check_portable(text, instance, is_accepted, draft);
    cw_schema_unref(s);
}

/* The schema as that of one property. */
static void run_inside(cw_str schema, cw_str value, cw_schema_draft draft)
{
    cw_arena arena;
    cw_buf outer, object;
    const cw_json *instance;
    cw_arena_init(&arena, ARENA_MAX);
    cw_buf_init(&outer, SIZE_MAX / 4);
    cw_buf_init(&object, SIZE_MAX / 4);
    cw_buf_printf(&outer, "{\"type\":\"object\",\"properties\":{\"p\":%.*s}}", CW_STR_ARG(schema));
    cw_buf_printf(&object, "{\"p\":%.*s}", CW_STR_ARG(value));
    if (cw_json_read(cw_buf_str(&object), NULL, &arena, &instance, NULL, NULL) == CW_OK)
        run(cw_buf_str(&outer), instance, draft);
    cw_buf_done(&outer);
    cw_buf_done(&object);
    cw_arena_done(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cw_str rest;
    cw_str schema = cw_str_cut(cw_str_make((const char *)data, size), '\n', &rest);
    if (!rest.p)
        rest = CW_STR("{}");
    cw_arena arena;
    cw_arena_init(&arena, ARENA_MAX);
    const cw_json *instance = NULL;
    if (cw_json_read(rest, NULL, &arena, &instance, NULL, NULL) == CW_OK) {
        run(schema, instance, CW_SCHEMA_2020_12);
        run(schema, instance, CW_SCHEMA_DRAFT_07);
        run_inside(schema, rest, CW_SCHEMA_2020_12);
        run_inside(schema, rest, CW_SCHEMA_DRAFT_07);
    }
    cw_arena_done(&arena);
    return 0;
}
