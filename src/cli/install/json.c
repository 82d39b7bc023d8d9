/* SPDX-License-Identifier: GPL-2.0-or-later */
/* json.c - edits JSON with comments and trailing commas.
 *
 * Comments and trailing commas become spaces in a copy of the same length, which the strict reader
 * accepts. Offsets in the copy are offsets in the text.
 */
#include "base/ascii.h"
#include "cli/install/edit.h"
#include "json/write.h"

#define ENTRY_LEVEL 2u /* root, section, entry */

/* ---- reading ---- */

static size_t skip_string(const char *p, size_t at, size_t n)
{
    for (at++; at < n && p[at] != '"'; at++) {
        if (p[at] == '\\')
            at++;
    }
    return at < n ? at + 1 : n;
}

/* The end of the comment that begins at `at`; `at` without one. */
static size_t skip_comment(const char *p, size_t at, size_t n)
{
    if (at + 1 >= n || p[at] != '/')
        return at;
    if (p[at + 1] == '/') {
        const char *end = memchr(p + at, '\n', n - at);
        return end ? (size_t)(end - p) : n;
    }
    if (p[at + 1] != '*')
        return at;
    const char *end = memmem(p + at + 2, n - at - 2, "*/", 2);
    return end ? (size_t)(end - p) + 2 : n;
}

static void blank(char *p, size_t from, size_t to)
{
    for (; from < to; from++) {
        if (!cw_is_space(p[from]))
            p[from] = ' ';
    }
}

/* Returns false if a comment is not closed. */
static bool blank_extras(char *p, size_t n)
{
    size_t comma = SIZE_MAX; /* with nothing but space behind it */
    for (size_t at = 0; at < n;) {
        size_t end = skip_comment(p, at, n);
        if (end > at) {
            if (p[at + 1] == '*' && (end < at + 4 || p[end - 1] != '/' || p[end - 2] != '*'))
                return false;
            blank(p, at, end);
            at = end;
            continue;
        }
        if (p[at] == '"') {
            at = skip_string(p, at, n);
            comma = SIZE_MAX;
            continue;
        }
        if ((p[at] == '}' || p[at] == ']') && comma != SIZE_MAX)
            p[comma] = ' ';
        if (p[at] == ',')
            comma = at;
        else if (!cw_is_space(p[at]))
            comma = SIZE_MAX;
        at++;
    }
    return true;
}

/* A text that is being edited, and its values. */
typedef struct json_edit {
    cw_install_edit e;
    cw_str plain; /* the text without comments and trailing commas; the values point into it */
    cw_str newline, unit;                  /* of indentation */
    const cw_json *root, *section, *entry; /* NULL: absent */
} json_edit;

static size_t begin_of(const json_edit *j, const cw_json *v)
{
    return (size_t)(cw_json_span(v).p - j->plain.p);
}

static size_t end_of(const json_edit *j, const cw_json *v)
{
    return begin_of(j, v) + cw_json_span(v).n;
}

/* The white space in front of the first member of the root. */
static cw_str unit_of(const json_edit *j)
{
    const cw_json *key = j->root ? cw_json_first(j->root) : NULL;
    if (!key)
        return CW_STR("  ");
    size_t at = begin_of(j, key), begin = cw_install_line_begin(j->e.text, at), end = begin;
    while (end < at && (j->e.text.p[end] == ' ' || j->e.text.p[end] == '\t'))
        end++;
    return end > begin ? cw_str_make(j->e.text.p + begin, end - begin) : CW_STR("  ");
}

static cw_code parse(cw_str text, const cw_install_place *at, cw_arena *arena, json_edit *j,
                     cw_err *err)
{
    char *copy = cw_arena_dup(arena, text.p, text.n);
    if (!copy)
        return cw_arena_fail(arena, err);
    if (!blank_extras(copy, text.n))
        return cw_fail(err, CW_PARSE, "a comment is not closed");
    j->e.text = text;
    j->plain = cw_str_make(copy, text.n);
    j->newline = cw_install_newline(text);
    j->unit = CW_STR("  ");
    if (cw_install_is_blank(text))
        return CW_OK;
    cw_code rc = cw_json_read(j->plain, NULL, arena, &j->root, NULL, err);
    if (rc)
        return rc;
    if (!cw_json_is(j->root, CW_JSON_OBJECT))
        return cw_fail(err, CW_PARAMS, "it is not a JSON object");
    j->unit = unit_of(j);
    j->section = cw_json_get(j->root, cw_str_from(at->section));
    if (j->section && !cw_json_is(j->section, CW_JSON_OBJECT))
        return cw_fail(err, CW_PARAMS, "its \"%s\" is not an object", at->section);
    j->entry = cw_json_get(j->section, cw_str_from(at->name));
    return CW_OK;
}

/* Append the members of an object, apart from the value `without`. */
static void add_others(cw_buf *out, const cw_json *object, const cw_json *without)
{
    for (const cw_json *k = object ? cw_json_first(object) : NULL; k; k = cw_json_next_key(k)) {
        if (cw_json_value(k) == without)
            continue;
        cw_json_escape(out, cw_json_text(k));
        cw_buf_add_char(out, ':');
        cw_buf_add(out, cw_json_span(cw_json_value(k)));
        cw_buf_add_char(out, '\n');
    }
}

static cw_code find(cw_str text, const cw_install_place *at, cw_arena *arena, cw_buf *others,
                    cw_install_found *ret, cw_err *err)
{
    json_edit j = {0};
    *ret = (cw_install_found){0};
    cw_code rc = parse(text, at, arena, &j, err);
    if (rc)
        return rc;
    ret->has_section = j.section;
    if (j.entry)
        ret->entry = cw_str_make(text.p + begin_of(&j, j.entry), cw_json_span(j.entry).n);
    if (others) {
        add_others(others, j.root, j.section);
        cw_buf_add_char(others, '\n');
        add_others(others, j.section, j.entry);
    }
    return CW_OK;
}

/* ---- writing ---- */

static void add_line(json_edit *j, unsigned level)
{
    cw_buf_add(j->e.out, j->newline);
    while (level-- > 0)
        cw_buf_add(j->e.out, j->unit);
}

static void add_key(json_edit *j, const char *name)
{
    cw_json_escape(j->e.out, cw_str_from(name));
    cw_buf_add(j->e.out, CW_STR(": "));
}

/* Objects have a line for each member, arrays are on one line. */
static void add_value(json_edit *j, const cw_json *value, unsigned level)
{
    if (!cw_json_is(value, CW_JSON_OBJECT)) {
        cw_install_add_flow(j->e.out, value);
        return;
    }
    cw_buf_add_char(j->e.out, '{');
    for (const cw_json *k = cw_json_first(value); k; k = cw_json_next_key(k)) {
        add_line(j, level + 1);
        cw_json_escape(j->e.out, cw_json_text(k));
        cw_buf_add(j->e.out, CW_STR(": "));
        add_value(j, cw_json_value(k), level + 1);
        if (cw_json_next_key(k))
            cw_buf_add_char(j->e.out, ',');
    }
    add_line(j, level);
    cw_buf_add_char(j->e.out, '}');
}

/* "name": value, in a new section if the root has none. */
static void add_member(json_edit *j, const cw_install_place *at, const cw_json *value)
{
    if (!j->section) {
        add_key(j, at->section);
        cw_buf_add_char(j->e.out, '{');
        add_line(j, ENTRY_LEVEL);
    }
    add_key(j, at->name);
    add_value(j, value, ENTRY_LEVEL);
    if (!j->section) {
        add_line(j, 1);
        cw_buf_add_char(j->e.out, '}');
    }
}

/* ---- putting ---- */

/* The first comma outside comments; `to` without one. */
static size_t find_comma(cw_str text, size_t from, size_t to)
{
    size_t at = from;
    while (at < to && text.p[at] != ',') {
        size_t end = skip_comment(text.p, at, to);
        at = end > at ? end : at + 1;
    }
    return at;
}

/* Copy up to the end of the last member of an object, with a comma behind it, and start a line.
 * Returns whether the object has a trailing comma. */
static bool open_end(json_edit *j, const cw_json *object, unsigned level)
{
    cw_str text = j->e.text;
    size_t close = end_of(j, object) - 1, last = close;
    const cw_json *value = NULL;
    for (const cw_json *k = cw_json_first(object); k; k = cw_json_next_key(k))
        value = cw_json_value(k);
    bool has_comma = value && find_comma(text, end_of(j, value), close) < close;
    if (value && !has_comma) {
        cw_install_copy_to(&j->e, end_of(j, value));
        cw_buf_add_char(j->e.out, ',');
    }
    while (last > 0 && cw_is_space(text.p[last - 1]))
        last--;
    cw_install_copy_to(&j->e, last);
    add_line(j, level);
    return has_comma;
}

/* The closing bracket of an object that was on one line gets a line of its own. */
static void close_end(json_edit *j, const cw_json *object, unsigned level)
{
    size_t close = end_of(j, object) - 1;
    if (memchr(j->e.text.p + j->e.done, '\n', close - j->e.done))
        return;
    add_line(j, level);
    j->e.done = close;
}

static cw_code put(cw_str text, const cw_install_place *at, const cw_json *value, cw_arena *arena,
                   cw_buf *out, cw_err *err)
{
    json_edit j = {.e.out = out};
    cw_code rc = parse(text, at, arena, &j, err);
    if (rc)
        return rc;
    if (!j.root) {
        cw_buf_add_char(out, '{');
        add_line(&j, 1);
        add_member(&j, at, value);
        add_line(&j, 0);
        cw_buf_add_char(out, '}');
        cw_buf_add(out, j.newline);
        j.e.done = text.n;
    } else if (j.entry) {
        cw_install_copy_to(&j.e, begin_of(&j, j.entry));
        add_value(&j, value, ENTRY_LEVEL);
        j.e.done = end_of(&j, j.entry);
    } else {
        const cw_json *object = j.section ? j.section : j.root;
        unsigned level = j.section ? ENTRY_LEVEL : 1;
        bool has_comma = open_end(&j, object, level);
        add_member(&j, at, value);
        if (has_comma)
            cw_buf_add_char(out, ',');
        close_end(&j, object, level - 1);
    }
    return cw_install_copy_rest(&j.e, err);
}

/* ---- removing ---- */

/* The end of a member's last line if nothing but its comma, unless SIZE_MAX, follows it there; else
 * the end of the member. */
static size_t end_of_lines(cw_str text, size_t end, size_t comma)
{
    size_t at = end;
    while (at < text.n &&
           (text.p[at] == ' ' || text.p[at] == '\t' || text.p[at] == '\r' || at == comma))
        at++;
    return at < text.n && text.p[at] == '\n' ? at + 1 : end;
}

static void leave_out_span(json_edit *j, size_t from, size_t to)
{
    cw_install_copy_to(&j->e, from);
    if (to > j->e.done)
        j->e.done = to;
}

/* Leave out a member and one comma: the one behind it, or that of the member before it. */
static void leave_out(json_edit *j, const cw_json *object, const cw_json *value)
{
    cw_str text = j->e.text;
    const cw_json *before = NULL, *key = cw_json_first(object);
    for (; cw_json_value(key) != value; key = cw_json_next_key(key))
        before = cw_json_value(key);
    const cw_json *next = cw_json_next_key(key);
    size_t stop = next ? begin_of(j, next) : end_of(j, object) - 1;
    size_t begin = begin_of(j, key), end = end_of(j, value), comma = find_comma(text, end, stop);
    while (begin > 0 && (text.p[begin - 1] == ' ' || text.p[begin - 1] == '\t'))
        begin--;
    if (begin > 0 && text.p[begin - 1] == '\n') {
        size_t lines_end = end_of_lines(text, end, comma < stop ? comma : SIZE_MAX);
        begin = lines_end > end ? begin : begin_of(j, key);
        end = lines_end;
    }
    if (before && comma == stop) {
        size_t at = find_comma(text, end_of(j, before), begin);
        leave_out_span(j, at, at + 1);
    }
    leave_out_span(j, begin, end);
    if (comma < stop)
        leave_out_span(j, comma, comma + 1);
}

static cw_code remove_entry(cw_str text, const cw_install_place *at, bool drops_section,
                            cw_arena *arena, cw_buf *out, cw_err *err)
{
    json_edit j = {.e.out = out};
    cw_code rc = parse(text, at, arena, &j, err);
    if (rc)
        return rc;
    if (!j.section || !j.entry)
        return cw_fail(err, CW_NOTFOUND, "it has no entry \"%s\"", at->name);
    if (drops_section && cw_json_count(j.section) == 1)
        leave_out(&j, j.root, j.section);
    else
        leave_out(&j, j.section, j.entry);
    return cw_install_copy_rest(&j.e, err);
}

static cw_code each(cw_str text, const char *section, cw_arena *arena, cw_install_member_fn fn,
                    void *ctx, cw_err *err)
{
    json_edit j = {0};
    const cw_install_place at = {.section = section, .name = ""};
    cw_code rc = parse(text, &at, arena, &j, err);
    const cw_json *first = !rc && j.section ? cw_json_first(j.section) : NULL;
    for (const cw_json *k = first; k; k = cw_json_next_key(k)) {
        const cw_json *entry = cw_json_value(k);
        bool is_object = cw_json_is(entry, CW_JSON_OBJECT);
        for (const cw_json *m = is_object ? cw_json_first(entry) : NULL; m;
             m = cw_json_next_key(m)) {
            cw_str name = cw_json_text(m);
            fn(ctx, cw_json_text(k), &name, 1, cw_json_value(m));
        }
    }
    return rc;
}

const cw_install_format cw_install_json = {find, put, remove_entry, each};
