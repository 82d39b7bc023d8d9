/* SPDX-License-Identifier: GPL-2.0-or-later */
/* show.c - a configuration as a commented YAML file.
 *
 * The values are first written as JSON through the table, which knows how each
 * type is spelled, then printed beside the table, which knows the comments.
 */
#include <stdio.h>

#include "base/ascii.h"
#include "base/journal.h"
#include "config/keys/keys.h"
#include "config/syntax/quote.h"

#define JSON_MAX (16u * CW_CONFIG_MAX_BYTES)

static void indent(cw_buf *out, unsigned depth)
{
    for (unsigned i = 0; i < depth; i++)
        cw_buf_add(out, CW_STR("  "));
}

static size_t count_while(cw_str s, size_t from, bool (*is)(char))
{
    size_t i = from;
    while (i < s.n && is(s.p[i]))
        i++;
    return i - from;
}

/* Inlined functions have no address in every build. */
static bool is_digit(char c)
{
    return cw_is_digit(c);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Whether a text needs no quotes: a word, or a number with a unit. Words that some reader of YAML
 * takes for something else do need them. */
static bool is_plain(cw_str text)
{
    static const char *const taken[] = {"null", "true", "false", "yes", "no", "on", "off"};
    for (size_t i = 0; i < CW_COUNT(taken); i++)
        if (cw_str_is(text, taken[i]))
            return false;
    size_t digits = count_while(text, 0, is_digit);
    size_t letters = count_while(text, digits, is_letter);
    return letters > (digits ? 0 : 1) && digits + letters == text.n;
}

static void show_text(cw_buf *out, cw_str text)
{
    if (is_plain(text))
        cw_buf_add(out, text);
    else
        cw_quote(out, text);
}

static void show_scalar(cw_buf *out, const cw_json *v)
{
    if (cw_json_is(v, CW_JSON_STRING))
        show_text(out, cw_json_text(v));
    else
        cw_buf_add(out, cw_json_text(v));
}

static void show_value(cw_buf *out, const cw_json *v, unsigned depth);

/* The members of a mapping, one a line; the first continues a line that has begun already when it
 * follows a dash. Nothing nests deeper than a file may (CW_CONFIG_MAX_DEPTH). */
static void show_members(cw_buf *out, const cw_json *v, unsigned depth, bool is_begun)
{
    for (const cw_json *name = cw_json_first(v); name; name = cw_json_next_key(name)) {
        if (!is_begun)
            indent(out, depth);
        is_begun = false;
        show_text(out, cw_json_text(name));
        cw_buf_add_char(out, ':');
        show_value(out, cw_json_value(name), depth);
    }
}

static void show_list(cw_buf *out, const cw_json *v, unsigned depth, bool is_begun)
{
    for (const cw_json *item = cw_json_first(v); item; item = cw_json_next(item)) {
        if (!is_begun)
            indent(out, depth);
        is_begun = false;
        cw_buf_add_char(out, '-');
        if (!cw_json_count(item)) {
            show_value(out, item, depth);
            continue;
        }
        cw_buf_add_char(out, ' ');
        if (cw_json_is(item, CW_JSON_OBJECT))
            show_members(out, item, depth + 1, /* is_begun= */ true);
        else
            show_list(out, item, depth + 1, /* is_begun= */ true);
    }
}

/* The value after "key:" or "-". */
static void show_value(cw_buf *out, const cw_json *v, unsigned depth)
{
    bool is_list = cw_json_is(v, CW_JSON_ARRAY);
    if (!is_list && !cw_json_is(v, CW_JSON_OBJECT)) {
        cw_buf_add_char(out, ' ');
        show_scalar(out, v);
        cw_buf_add_char(out, '\n');
        return;
    }
    if (!cw_json_count(v)) {
        cw_buf_add(out, is_list ? CW_STR(" []\n") : CW_STR(" {}\n"));
        return;
    }
    cw_buf_add_char(out, '\n');
    if (is_list)
        show_list(out, v, depth + 1, /* is_begun= */ false);
    else
        show_members(out, v, depth + 1, /* is_begun= */ false);
}

static void show_keys(cw_buf *out, const cw_key *keys, const cw_json *values, unsigned depth)
{
    for (const cw_key *key = keys; key->name; key++) {
        char help[CW_KEY_HELP_SIZE];
        const cw_json *v = cw_json_get(values, cw_str_from(key->name));
        if (depth == 0 && key != keys)
            cw_buf_add_char(out, '\n');
        indent(out, depth);
        cw_buf_printf(out, "# %s\n", cw_key_help(key, help));
        indent(out, depth);
        cw_buf_printf(out, "%s:", key->name);
        if (key->type != &cw_type_section) {
            show_value(out, v, depth);
            continue;
        }
        cw_buf_add_char(out, '\n');
        show_keys(out, key->children, v, depth + 1);
    }
}

/* The configuration as JSON in `json`, and that as a document in the arena. */
static cw_code to_document(const cw_config *config, cw_buf *json, cw_arena *arena,
                           const cw_json **ret)
{
    cw_json_writer w;
    cw_json_writer_init(&w, json, CW_JSON_COMPACT);
    cw_config_root.type->write(&w, &cw_config_root, config);
    cw_code rc = cw_json_writer_end(&w, NULL);
    if (rc)
        return rc;
    const cw_json_opts opts = {.max_bytes = JSON_MAX};
    return cw_json_read(cw_buf_str(json), &opts, arena, ret, NULL, NULL);
}

void cw_config_show(const cw_config *config, cw_buf *out)
{
    cw_arena arena;
    cw_buf json;
    cw_arena_init(&arena, JSON_MAX);
    cw_buf_init(&json, JSON_MAX);
    const cw_json *values = NULL;
    cw_code rc = to_document(config, &json, &arena, &values);
    if (!rc)
        show_keys(out, cw_config_root.children, values, 0);
    else if (!out->code)
        out->code = rc;
    cw_buf_done(&json);
    cw_arena_done(&arena);
}

/* ---- differences ---- */

static void write_value(const cw_key *key, const void *base, cw_buf *out)
{
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    key->type->write(&w, key, cw_key_const_field(key, base));
    if (cw_json_writer_end(&w, NULL) && !out->code)
        out->code = CW_NOMEM;
}

static bool same_value(const cw_key *key, const cw_config *a, const cw_config *b)
{
    CW_CLEANUP(cw_buf_done) cw_buf x;
    CW_CLEANUP(cw_buf_done) cw_buf y;
    cw_buf_init(&x, JSON_MAX);
    cw_buf_init(&y, JSON_MAX);
    write_value(key, a, &x);
    write_value(key, b, &y);
    return !x.code && !y.code && cw_str_eq(cw_buf_str(&x), cw_buf_str(&y));
}

bool cw_config_equal(const cw_config *a, const cw_config *b)
{
    return same_value(&cw_config_root, a, b);
}

static void add_changed_keys(const cw_key *keys, cw_str prefix, const cw_config *a,
                             const cw_config *b, bool needs_restart, cw_buf *out)
{
    for (const cw_key *key = keys; key->name; key++) {
        char name[CW_KEY_HELP_SIZE];
        bool is_section = key->type == &cw_type_section;
        snprintf(name, sizeof name, "%.*s%s", CW_STR_ARG(prefix), key->name);
        bool is_asked = key->needs_restart == needs_restart && (needs_restart || !is_section);
        if (is_asked && !same_value(key, a, b))
            cw_buf_printf(out, "%s%s", out->n ? ", " : "", name);
        if (!is_section)
            continue;
        snprintf(name, sizeof name, "%.*s%s.", CW_STR_ARG(prefix), key->name);
        add_changed_keys(key->children, cw_str_from(name), a, b, needs_restart, out);
    }
}

void cw_config_changed_keys(const cw_config *a, const cw_config *b, bool needs_restart, cw_buf *out)
{
    add_changed_keys(cw_config_root.children, CW_STR(""), a, b, needs_restart, out);
}

/* ---- what servers of one database have in common ---- */

static void add_shared_keys(const cw_key *keys, const cw_config *config, cw_buf *out)
{
    for (const cw_key *key = keys; key->name; key++) {
        /* Each machine has its own paths. */
        if (key->is_local || key->type == &cw_type_path)
            continue;
        cw_buf_printf(out, "%s:", key->name);
        if (key->type == &cw_type_section)
            add_shared_keys(key->children, config, out);
        else
            write_value(key, config, out);
        cw_buf_add_char(out, '\n');
    }
}

void cw_config_write_shared(const cw_config *config, cw_buf *out)
{
    add_shared_keys(cw_config_root.children, config, out);
}

/* ---- masks ---- */

#define MASK CW_STR("***")

static void mask_members(cw_json_writer *w, const cw_json *v)
{
    cw_json_open_object(w);
    for (const cw_json *name = cw_json_first(v); name; name = cw_json_next_key(name))
        cw_json_add_string_member(w, cw_json_text(name), MASK);
    cw_json_close(w);
}

/* The program is shown, its arguments are not. */
static void mask_command(cw_json_writer *w, const cw_json *v)
{
    cw_json_open_array(w);
    const cw_json *first = cw_json_first(v);
    for (const cw_json *item = first; item; item = cw_json_next(item))
        cw_json_add_string(w, item == first ? cw_json_text(item) : MASK);
    cw_json_close(w);
}

/* Members with one of two names, at any depth. */
static void mask_named(cw_json_writer *w, const cw_json *v, const char *one, const char *other)
{
    if (cw_json_is(v, CW_JSON_ARRAY)) {
        cw_json_open_array(w);
        for (const cw_json *item = cw_json_first(v); item; item = cw_json_next(item))
            mask_named(w, item, one, other);
        cw_json_close(w);
        return;
    }
    if (!cw_json_is(v, CW_JSON_OBJECT)) {
        cw_json_add_value(w, v);
        return;
    }
    cw_json_open_object(w);
    for (const cw_json *name = cw_json_first(v); name; name = cw_json_next_key(name)) {
        cw_str text = cw_json_text(name);
        bool is_masked = (cw_str_is(text, one) || cw_str_is(text, other)) &&
                         !cw_json_is(cw_json_value(name), CW_JSON_NULL);
        cw_json_add_key(w, text);
        if (is_masked)
            cw_json_add_string(w, MASK);
        else
            mask_named(w, cw_json_value(name), one, other);
    }
    cw_json_close(w);
}

/* Calls that Causeway makes by itself: to log in, to subscribe, about jobs. */
static void mask_calls(cw_json_writer *w, const cw_json *v)
{
    mask_named(w, v, "params", "params");
}

/* Settings of methods: what is sent with every call, such as the key of an API. */
static void mask_methods(cw_json_writer *w, const cw_json *v)
{
    mask_named(w, v, "value", "default");
}

static void mask_url(cw_json_writer *w, const cw_json *v)
{
    cw_str rest, text = cw_json_text(v);
    cw_str path = cw_str_cut(text, '?', &rest);
    CW_CLEANUP(cw_buf_done) cw_buf masked;
    cw_buf_init(&masked, JSON_MAX);
    cw_buf_printf(&masked, "%.*s%s", CW_STR_ARG(path), rest.p ? "?***" : "");
    if (cw_json_is(v, CW_JSON_STRING))
        cw_json_add_string(w, masked.code ? MASK : cw_buf_str(&masked));
    else
        cw_json_add_value(w, v);
}

/* A part of the configuration that has secrets among its values: a source, or traces. */
static void mask_part(cw_json_writer *w, const cw_json *part)
{
    static const struct {
        const char *name;
        void (*write)(cw_json_writer *w, const cw_json *v);
    } masked[] = {{"headers", mask_members},
                  {"environment", mask_members},
                  {"command", mask_command},
                  {"init_calls", mask_calls},
                  {"events", mask_calls},
                  {"jobs", mask_calls},
                  {"answers_to_service", mask_members},
                  {"methods", mask_methods},
                  {"resources", mask_methods},
                  {"templates", mask_methods},
                  {"prompts", mask_methods},
                  {"url", mask_url}};
    cw_json_open_object(w);
    for (const cw_json *name = cw_json_first(part); name; name = cw_json_next_key(name)) {
        size_t i = 0;
        while (i < CW_COUNT(masked) && !cw_str_is(cw_json_text(name), masked[i].name))
            i++;
        cw_json_add_key(w, cw_json_text(name));
        if (i < CW_COUNT(masked))
            masked[i].write(w, cw_json_value(name));
        else
            cw_json_add_value(w, cw_json_value(name));
    }
    cw_json_close(w);
}

static void mask_sources(cw_json_writer *w, const cw_json *v)
{
    cw_json_open_array(w);
    for (const cw_json *source = cw_json_first(v); source; source = cw_json_next(source))
        mask_part(w, source);
    cw_json_close(w);
}

static void mask_config(cw_json_writer *w, const cw_json *values)
{
    cw_json_open_object(w);
    for (const cw_json *name = cw_json_first(values); name; name = cw_json_next_key(name)) {
        const cw_json *v = cw_json_value(name);
        cw_json_add_key(w, cw_json_text(name));
        if (cw_str_is(cw_json_text(name), "sources"))
            mask_sources(w, v);
        else if (cw_str_is(cw_json_text(name), "traces"))
            mask_part(w, v);
        else
            cw_json_add_value(w, v);
    }
    cw_json_close(w);
}

cw_code cw_config_write_masked(const cw_config *config, cw_json_writer *w, cw_err *err)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    CW_CLEANUP(cw_buf_done) cw_buf json;
    cw_arena_init(&arena, JSON_MAX);
    cw_buf_init(&json, JSON_MAX);
    const cw_json *values = NULL;
    if (to_document(config, &json, &arena, &values))
        return cw_fail_nomem(err);
    mask_config(w, values);
    return CW_OK;
}

cw_str cw_config_store(const cw_config *config)
{
    return config->store.url.n ? config->store.url : config->store.path;
}

bool cw_config_needs_approvals(const cw_config *config)
{
    return config->state.lock.n || config->state.approvals_in_store;
}

cw_log_opts cw_config_log_opts(const cw_config *config)
{
    bool is_text = config->log.format == CW_CONFIG_LOG_TEXT;
    const cw_config_focus *focus = &config->log.focus;
    return (cw_log_opts){
        .journal = is_text ? cw_journal_of_stderr() : NULL,
        .json = config->log.format == CW_CONFIG_LOG_JSON,
        .path = config->log.file.n ? config->log.file.p : NULL,
        .level = config->log.level,
        .levels = config->log.levels.text.n ? config->log.levels.text.p : NULL,
        .has_focus = focus->tools.n || focus->sources.n || focus->callers.n,
    };
}
