/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_openrpc.c - whatever a plugin or a service says about itself, these hold:
 *
 *   - reading ends with methods, CW_PARAMS or CW_LIMIT, and a failure has a message
 *   - ids are unique and not empty, permissions are sorted, no list of needs has doubles
 *   - every schema reads back from its own bytes
 *   - a catalogue can be built of what was read, or says why not
 *   - every tool is one line of JSON with the right members, in both forms
 */
#include "fuzz.h"

#include "catalogue/tool/tool_json.h"
#include "source/openrpc/openrpc.h"

#define ARENA_MAX ((size_t)256 << 20)
#define WARNINGS_MAX 65536u

static void nothing(cw_source *source)
{
    (void)source;
}

static void check_sorted(const cw_str *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        CHECK(items[i].n > 0);
        CHECK(i == 0 || cw_str_cmp(items[i - 1], items[i]) < 0);
    }
}

/* Scopes keep the order that they were declared in. */
static void check_distinct(const cw_str *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        CHECK(items[i].n > 0);
        for (size_t k = 0; k < i; k++)
            CHECK(!cw_str_eq(items[k], items[i]));
    }
}

static const cw_json *read_again(cw_arena *a, cw_str text)
{
    const cw_json_opts deep = {.max_depth = CW_JSON_DEPTH_CEILING};
    const cw_json *root = NULL;
    CHECK(cw_json_read(text, &deep, a, &root, NULL, NULL) == CW_OK);
    return root;
}

static void check_method(cw_arena *a, const cw_method *m)
{
    CHECK(m->id.n > 0);
    check_sorted(m->needs.permissions, m->needs.n_permissions);
    check_distinct(m->needs.scopes, m->needs.n_scopes);
    for (size_t i = 0; i < m->n_params; i++) {
        cw_str schema = m->params[i].schema;
        CHECK(m->params[i].name.n > 0);
        if (schema.n)
            CHECK(!cw_json_is(read_again(a, schema), CW_JSON_STRING));
    }
    if (m->output.n)
        CHECK(cw_json_is(read_again(a, m->output), CW_JSON_OBJECT));
}

static void check_tool(cw_arena *a, const cw_entry *entry, cw_tool_form form)
{
    cw_buf out;
    cw_buf_init(&out, SIZE_MAX / 2);
    cw_tool_write(entry, form, &out);
    CHECK(out.code == CW_OK);
    cw_str text = cw_buf_str(&out);
    CHECK(!memchr(text.p, '\n', text.n));
    const cw_json *tool = read_again(a, text);
    CHECK(cw_json_is(cw_json_get(tool, CW_STR("name")), CW_JSON_STRING));
    const cw_json *description = cw_json_get(tool, CW_STR("description"));
    CHECK(cw_json_is(description, CW_JSON_STRING) && cw_json_text(description).n > 0);
    const cw_json *input = cw_json_get(tool, CW_STR("inputSchema"));
    CHECK(cw_json_is(cw_json_get(input, CW_STR("properties")), CW_JSON_OBJECT));
    cw_buf_done(&out);
}

static void check_catalogue(cw_arena *a, const cw_method *methods, size_t n_methods)
{
    const cw_offer_ops ops = {nothing, nothing};
    const cw_offer offer = {CW_STR("fuzz"), methods, n_methods, NULL};
    cw_snapshot *s = NULL;
    CHECK(cw_snapshot_build(&offer, 1, &ops, NULL, &s, NULL) == CW_OK);
    size_t n;
    size_t n_problems;
    (void)cw_snapshot_entries(s, &n);
    const cw_snapshot_problem *problems = cw_snapshot_problems(s, &n_problems);
    CHECK(n == (n_problems ? 0 : n_methods));
    CHECK(n_problems == 0 || problems[0].text.n > 0);
    const cw_entry *const *tools = cw_snapshot_tools(s, &n);
    for (size_t i = 0; i < n; i++) {
        CHECK(tools[i]->tool_name.n >= 1 && tools[i]->tool_name.n <= CW_TOOL_NAME_MAX);
        check_tool(a, tools[i], CW_TOOL_ANY_OUTPUT);
        check_tool(a, tools[i], CW_TOOL_OBJECT_OUTPUT);
    }
    cw_snapshot_unref(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cw_str src = cw_str_make((const char *)data, size);
    cw_arena arena;
    cw_arena_init(&arena, ARENA_MAX);
    const cw_json *doc = NULL;
    for (int trusted = 0; trusted < 2; trusted++) {
        cw_arena_reset(&arena);
        if (cw_json_read(src, NULL, &arena, &doc, NULL, NULL))
            break;
        /* A stranger's document loses what cannot be used, a plugin's is refused. */
        CW_CLEANUP(cw_buf_done) cw_buf warnings;
        cw_buf_init(&warnings, WARNINGS_MAX);
        const cw_openrpc_opts opts = {
            .trust_marks = trusted, .callable = true, .warnings = trusted ? NULL : &warnings};
        cw_method *methods = NULL;
        size_t n = 0;
        cw_err err = {0};
        cw_code rc = cw_openrpc_read(doc, &opts, &arena, &methods, &n, &err);
        CHECK(rc == CW_OK || rc == CW_PARAMS || rc == CW_LIMIT);
        CHECK(rc == CW_OK || err.msg[0]);
        for (size_t i = 0; !rc && i < n; i++)
            check_method(&arena, &methods[i]);
        if (!rc)
            check_catalogue(&arena, methods, n);
    }
    cw_arena_done(&arena);
    return 0;
}
