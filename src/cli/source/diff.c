/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source diff: prints tools that differ from their approved definition, member by member. */
#include "cli/source/source_set.h"
#include "config/syntax/quote.h"

#define SCRATCH_MAX ((size_t)16 * CW_LOCK_MAX_BYTES)

typedef struct differing {
    bool json;
    const cw_lock *lock;
    const cw_source_set_item *item;
    cw_arena arena; /* of one tool */
    cw_buf out, pointer;
    cw_json_writer w;
    size_t n; /* tools that differ */
    cw_code code;
} differing;

/* ---- one member ---- */

static void add_json(differing *d, const char *key, const cw_json *value)
{
    cw_json_add_key(&d->w, cw_str_from(key));
    if (value)
        cw_json_add_value(&d->w, value);
    else
        cw_json_add_null(&d->w);
}

static void add_text(differing *d, const cw_json *value)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_json_writer w;
    cw_buf_init(&text, CW_CLI_OUTPUT_MAX);
    if (!value) {
        cw_buf_add(&d->out, CW_STR("(none)"));
        return;
    }
    cw_json_writer_init(&w, &text, CW_JSON_COMPACT);
    cw_json_add_value(&w, value);
    if (cw_json_writer_end(&w, NULL) && !d->out.code)
        d->out.code = CW_NOMEM;
    cw_quote_shown(&d->out, cw_buf_str(&text));
}

static void print_diff(differing *d, const cw_json *old, const cw_json *now)
{
    if (d->pointer.code && !d->out.code)
        d->out.code = d->pointer.code;
    cw_str pointer = cw_buf_str(&d->pointer);
    if (d->json) {
        cw_json_open_object(&d->w);
        cw_json_add_string_member(&d->w, CW_STR("pointer"), pointer);
        add_json(d, "old", old);
        add_json(d, "new", now);
        cw_json_close(&d->w);
        return;
    }
    cw_buf_add(&d->out, CW_STR("  "));
    cw_quote_shown(&d->out, pointer);
    cw_buf_add(&d->out, CW_STR(": "));
    add_text(d, old);
    cw_buf_add(&d->out, CW_STR(" → "));
    add_text(d, now);
    cw_buf_add_char(&d->out, '\n');
}

/* ---- two values ---- */

static void compare(differing *d, const cw_json *old, const cw_json *now);

static void compare_at(differing *d, cw_str token, const cw_json *old, const cw_json *now)
{
    size_t n = d->pointer.n;
    cw_buf_add_char(&d->pointer, '/');
    for (size_t i = 0; i < token.n; i++) {
        if (token.p[i] == '~' || token.p[i] == '/')
            cw_buf_add(&d->pointer, token.p[i] == '~' ? CW_STR("~0") : CW_STR("~1"));
        else
            cw_buf_add_char(&d->pointer, token.p[i]);
    }
    compare(d, old, now);
    if (d->pointer.n > n)
        d->pointer.n = n;
}

static void compare_objects(differing *d, const cw_json *old, const cw_json *now)
{
    for (const cw_json *k = cw_json_first(old); k; k = cw_json_next_key(k))
        compare_at(d, cw_json_text(k), cw_json_value(k), cw_json_get(now, cw_json_text(k)));
    for (const cw_json *k = cw_json_first(now); k; k = cw_json_next_key(k)) {
        if (!cw_json_get(old, cw_json_text(k)))
            compare_at(d, cw_json_text(k), NULL, cw_json_value(k));
    }
}

static void compare_arrays(differing *d, const cw_json *old, const cw_json *now)
{
    const cw_json *a = cw_json_first(old), *b = cw_json_first(now);
    for (uint64_t i = 0; a || b; i++) {
        char digits[CW_DIGITS_SIZE];
        compare_at(d, cw_digits_u64(i, digits), a, b);
        a = a ? cw_json_next(a) : NULL;
        b = b ? cw_json_next(b) : NULL;
    }
}

/* As deep as documents may be. NULL: there is none. */
static void compare(differing *d, const cw_json *old, const cw_json *now)
{
    if (old && now && cw_json_equal(old, now))
        return;
    if (cw_json_is(old, CW_JSON_OBJECT) && cw_json_is(now, CW_JSON_OBJECT))
        compare_objects(d, old, now);
    else if (cw_json_is(old, CW_JSON_ARRAY) && cw_json_is(now, CW_JSON_ARRAY))
        compare_arrays(d, old, now);
    else
        print_diff(d, old, now);
}

/* ---- one tool ---- */

static void open_tool(differing *d, cw_str method, const char *change)
{
    d->n++;
    if (d->json) {
        cw_json_open_object(&d->w);
        cw_json_add_string_member(&d->w, CW_STR("source"), d->item->config->name);
        cw_json_add_string_member(&d->w, CW_STR("method"), method);
        cw_json_add_string_member(&d->w, CW_STR("change"), cw_str_from(change));
        cw_json_add_key(&d->w, CW_STR("differences"));
        cw_json_open_array(&d->w);
        return;
    }
    cw_buf_printf(&d->out, "%s: ", d->item->config->name.p);
    cw_cli_add_text(&d->out, method);
    cw_buf_printf(&d->out, ": %s\n", change);
}

static void close_tool(differing *d)
{
    if (!d->json)
        return;
    cw_json_close(&d->w);
    cw_json_close(&d->w);
}

static cw_code read_json(differing *d, cw_str text, const cw_json **ret)
{
    const cw_json_opts opts = {.max_bytes = text.n + 1, .max_depth = CW_JSON_DEPTH_CEILING};
    return cw_json_read(text, &opts, &d->arena, ret, NULL, NULL);
}

static cw_code compare_tool(differing *d, const cw_remote_definition *def)
{
    cw_str old = CW_STR("");
    const cw_json *was = NULL, *is = NULL;
    cw_lock_verdict verdict = CW_LOCK_NEW;
    if (d->lock)
        verdict = cw_lock_check(d->lock, d->item->config->name, def->method, def->definition, &old);
    if (verdict == CW_LOCK_SAME)
        return CW_OK;
    cw_arena_reset(&d->arena);
    cw_code rc = read_json(d, def->definition, &is);
    if (!rc && old.n)
        rc = read_json(d, old, &was);
    if (rc)
        return rc;
    open_tool(d, def->method, verdict == CW_LOCK_NEW ? "new" : "changed");
    if (was)
        compare(d, was, is);
    else
        print_diff(d, NULL, is);
    close_tool(d);
    return CW_OK;
}

static cw_code on_approved(cw_str method, void *ctx)
{
    differing *d = ctx;
    for (size_t i = 0; i < d->item->n_definitions; i++) {
        if (cw_str_eq(d->item->definitions[i].method, method))
            return CW_OK;
    }
    open_tool(d, method, "gone");
    close_tool(d);
    return CW_OK;
}

static cw_code compare_source(differing *d, const cw_source_set_item *item)
{
    cw_code rc = CW_OK;
    d->item = item;
    for (size_t i = 0; i < item->n_definitions && !rc; i++)
        rc = compare_tool(d, &item->definitions[i]);
    return rc ? rc : cw_lock_each(d->lock, item->config->name, on_approved, d);
}

/* ---- all ---- */

static int print_differences(cw_source_set *all, void *ctx)
{
    differing *d = ctx;
    bool is_whole = true;
    cw_code rc = CW_OK;
    cw_json_writer_init(&d->w, &d->out, CW_JSON_INDENT);
    if (d->json)
        cw_json_open_array(&d->w);
    for (size_t i = 0; i < all->n && !rc; i++) {
        const cw_source_set_item *item = &all->items[i];
        if (!item->is_wanted)
            continue;
        if (item->source) {
            rc = compare_source(d, item);
        } else {
            is_whole = false;
            cw_source_set_report(item);
        }
    }
    if (rc)
        return cw_cli_failure("%s", cw_code_text(rc));
    if (d->json) {
        cw_json_close(&d->w);
        cw_cli_end_json(&d->w);
    }
    int code = cw_cli_print_buf(&d->out);
    return code == CW_EXIT_OK && (d->n || !is_whole) ? CW_EXIT_FAILURE : code;
}

static int diff(cw_source_set *all)
{
    cw_lock *lock = NULL;
    int code = cw_source_set_read_lock(all, &lock);
    if (code >= 0)
        return code;
    differing d = {.json = all->json, .lock = lock};
    cw_arena_init(&d.arena, SCRATCH_MAX);
    cw_buf_init(&d.out, CW_CLI_OUTPUT_MAX);
    cw_buf_init(&d.pointer, CW_CLI_OUTPUT_MAX);
    code = cw_source_set_run(all, CW_SOURCE_SET_DEFINE, print_differences, &d);
    cw_arena_done(&d.arena);
    cw_buf_done(&d.out);
    cw_buf_done(&d.pointer);
    cw_lock_free(lock);
    return code;
}

int cw_cli_source_diff(int argc, char **argv)
{
    static const cw_source_command command = {
        .name = "source diff",
        .args = "[NAME...]",
        .about = "Read the description of each service (or of the named ones) and compare the\n"
                 "exposed tools with the lock file. Print changed tools with JSON Pointers, tools\n"
                 "that were never approved, and removed tools. The exit code is 1 if something\n"
                 "differs or a service cannot be reached.",
        .has_json = true,
        .run = diff,
    };
    return cw_source_set_command(&command, argc, argv);
}
