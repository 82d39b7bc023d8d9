/* SPDX-License-Identifier: GPL-2.0-or-later */
/* edit.c - inserts an entry into a JSON text, and removes it.
 *
 * Comments and commas behind the last element become spaces in a copy, which our
 * strict reader can read; the places that it tells are those of the text.
 */
#include <stdlib.h>

#include "base/ascii.h"
#include "cli/install/install.h"
#include "json/write.h"

#define CONTEXT_LINES 2u
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

/* The end of a comment that begins at `at`, or `at` if none does. */
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

static void blank_extras(char *p, size_t n)
{
    size_t comma = SIZE_MAX; /* with nothing but space behind it */
    for (size_t at = 0; at < n;) {
        size_t end = skip_comment(p, at, n);
        if (end > at) {
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
}

static bool is_blank(cw_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (!cw_is_space(text.p[i]))
            return false;
    }
    return true;
}

cw_code cw_install_read(cw_str text, const char *section, cw_arena *arena, const cw_json **ret_root,
                        cw_str *ret_plain, cw_err *err)
{
    char *copy = cw_arena_dup(arena, text.p, text.n);
    if (!copy)
        return cw_arena_fail(arena, err);
    blank_extras(copy, text.n);
    *ret_plain = cw_str_make(copy, text.n);
    *ret_root = NULL;
    if (is_blank(text))
        return CW_OK;
    cw_code rc = cw_json_read(*ret_plain, NULL, arena, ret_root, NULL, err);
    if (rc)
        return rc;
    if (!cw_json_is(*ret_root, CW_JSON_OBJECT))
        return cw_fail(err, CW_PARAMS, "it is no JSON object");
    const cw_json *list = cw_json_get(*ret_root, cw_str_from(section));
    if (list && !cw_json_is(list, CW_JSON_OBJECT))
        return cw_fail(err, CW_PARAMS, "its \"%s\" is no object", section);
    return CW_OK;
}

cw_code cw_install_find(cw_str text, const char *section, cw_str name, cw_arena *arena,
                        cw_str *ret_value, cw_err *err)
{
    const cw_json *root = NULL;
    cw_str plain = {NULL, 0};
    *ret_value = (cw_str){NULL, 0};
    cw_code rc = cw_install_read(text, section, arena, &root, &plain, err);
    const cw_json *entry = rc ? NULL : cw_json_get(cw_json_get(root, cw_str_from(section)), name);
    if (!entry)
        return rc;
    cw_str span = cw_json_span(entry);
    *ret_value = cw_str_make(text.p + (span.p - plain.p), span.n);
    return CW_OK;
}

/* ---- places ---- */

/* A text that is being edited. */
typedef struct edit {
    cw_str text, plain;
    cw_buf *out;
    size_t done; /* bytes of the text that are in `out` or left out */
} edit;

static size_t begin_of(const edit *e, const cw_json *v)
{
    return (size_t)(cw_json_span(v).p - e->plain.p);
}

static size_t end_of(const edit *e, const cw_json *v)
{
    return begin_of(e, v) + cw_json_span(v).n;
}

static void copy_to(edit *e, size_t at)
{
    if (at > e->done)
        cw_buf_add(e->out, cw_str_make(e->text.p + e->done, at - e->done));
    e->done = at;
}

/* The white space in front of the first thing of the line where this stands. */
static cw_str indent_at(const edit *e, size_t at)
{
    size_t begin = at;
    while (begin > 0 && e->text.p[begin - 1] != '\n')
        begin--;
    size_t end = begin;
    while (end < at && (e->text.p[end] == ' ' || e->text.p[end] == '\t'))
        end++;
    return cw_str_make(e->text.p + begin, end - begin);
}

/* The indentation of a level, taken from the first member of the root. */
static cw_str unit_of(const edit *e, const cw_json *root)
{
    const cw_json *key = root ? cw_json_first(root) : NULL;
    cw_str indent = key ? indent_at(e, begin_of(e, key)) : CW_STR("");
    return indent.n ? indent : CW_STR("  ");
}

static void add_times(cw_buf *out, cw_str text, unsigned times)
{
    while (times-- > 0)
        cw_buf_add(out, text);
}

static void add_value(cw_buf *out, cw_str value, cw_str unit, unsigned level)
{
    for (cw_str rest = value; rest.p;) {
        cw_str line = cw_str_cut(rest, '\n', &rest);
        size_t depth = 0;
        while (depth < line.n && line.p[depth] == '\t')
            depth++;
        add_times(out, unit, (unsigned)depth);
        cw_buf_add(out, cw_str_make(line.p + depth, line.n - depth));
        if (rest.p) {
            cw_buf_add_char(out, '\n');
            add_times(out, unit, level);
        }
    }
}

/* "name": value; with a section around it when there is none. */
static void add_member(cw_buf *out, const char *section, cw_str name, cw_str value, cw_str unit)
{
    if (section) {
        cw_json_escape(out, cw_str_from(section));
        cw_buf_add(out, CW_STR(": {\n"));
        add_times(out, unit, ENTRY_LEVEL);
    }
    cw_json_escape(out, name);
    cw_buf_add(out, CW_STR(": "));
    add_value(out, value, unit, ENTRY_LEVEL);
    if (section) {
        cw_buf_add_char(out, '\n');
        cw_buf_add(out, unit);
        cw_buf_add_char(out, '}');
    }
}

/* ---- putting ---- */

static bool has_comma(const edit *e, size_t from, size_t to)
{
    for (size_t at = from; at < to;) {
        size_t end = skip_comment(e->text.p, at, to);
        if (end == at && e->text.p[at] == ',')
            return true;
        at = end > at ? end : at + 1;
    }
    return false;
}

/* Make room for one more member at the end of an object, and stand there. */
static void open_end(edit *e, const cw_json *object, cw_str unit, unsigned level)
{
    size_t close = end_of(e, object) - 1, last = close;
    while (last > 0 && cw_is_space(e->text.p[last - 1]))
        last--;
    const cw_json *value = NULL;
    for (const cw_json *k = cw_json_first(object); k; k = cw_json_next_key(k))
        value = cw_json_value(k);
    if (value && !has_comma(e, end_of(e, value), close)) {
        copy_to(e, end_of(e, value));
        cw_buf_add_char(e->out, ',');
    }
    copy_to(e, last);
    cw_buf_add_char(e->out, '\n');
    add_times(e->out, unit, level);
}

/* An object that was on one line gets its end on one of its own. */
static void close_end(edit *e, const cw_json *object, cw_str unit, unsigned level)
{
    size_t close = end_of(e, object) - 1;
    if (!memchr(e->text.p + e->done, '\n', close - e->done)) {
        cw_buf_add_char(e->out, '\n');
        add_times(e->out, unit, level);
        e->done = close;
    }
    copy_to(e, e->text.n);
}

static cw_code finish(const cw_buf *out, cw_err *err)
{
    return out->code ? cw_fail(err, out->code, "%s", cw_code_text(out->code)) : CW_OK;
}

cw_code cw_install_put(cw_str text, const char *section, cw_str name, cw_str value, cw_arena *arena,
                       cw_buf *out, cw_err *err)
{
    edit e = {.text = text, .out = out};
    const cw_json *root = NULL;
    cw_code rc = cw_install_read(text, section, arena, &root, &e.plain, err);
    if (rc)
        return rc;
    cw_str unit = unit_of(&e, root);
    const cw_json *list = cw_json_get(root, cw_str_from(section));
    const cw_json *entry = cw_json_get(list, name);
    if (!root) {
        cw_buf_add(out, CW_STR("{\n"));
        cw_buf_add(out, unit);
        add_member(out, section, name, value, unit);
        cw_buf_add(out, CW_STR("\n}\n"));
    } else if (entry) {
        copy_to(&e, begin_of(&e, entry));
        add_value(out, value, unit, ENTRY_LEVEL);
        e.done = end_of(&e, entry);
        copy_to(&e, text.n);
    } else {
        const cw_json *object = list ? list : root;
        unsigned level = list ? ENTRY_LEVEL : 1;
        open_end(&e, object, unit, level);
        add_member(out, list ? NULL : section, name, value, unit);
        close_end(&e, object, unit, level - 1);
    }
    return finish(out, err);
}

/* ---- removing ---- */

/* From behind the member before it to its own end; the first one up to the next. */
static void leave_out(edit *e, const cw_json *list, const cw_json *entry)
{
    const cw_json *before = NULL, *key = cw_json_first(list);
    for (; cw_json_value(key) != entry; key = cw_json_next_key(key))
        before = cw_json_value(key);
    const cw_json *next = cw_json_next_key(key);
    size_t from = before ? end_of(e, before) : begin_of(e, list) + 1;
    size_t to = end_of(e, entry);
    if (!before && next) {
        from = begin_of(e, key);
        to = begin_of(e, next);
    } else if (!before) {
        to = end_of(e, list) - 1;
    }
    copy_to(e, from);
    e->done = to;
    copy_to(e, e->text.n);
}

/* One parameter too many. NOLINTNEXTLINE(readability-function-size) */
cw_code cw_install_remove(cw_str text, const char *section, cw_str name, bool drops_section,
                          cw_arena *arena, cw_buf *out, bool *ret_is_bare, cw_err *err)
{
    edit e = {.text = text, .out = out};
    const cw_json *root = NULL;
    cw_code rc = cw_install_read(text, section, arena, &root, &e.plain, err);
    if (rc)
        return rc;
    const cw_json *list = cw_json_get(root, cw_str_from(section));
    const cw_json *entry = cw_json_get(list, name);
    if (!root || !list || !entry)
        return cw_fail(err, CW_NOTFOUND, "it has no entry");
    bool is_last = cw_json_count(list) == 1;
    *ret_is_bare = is_last && cw_json_count(root) == 1;
    if (is_last && drops_section)
        leave_out(&e, root, list);
    else
        leave_out(&e, list, entry);
    return finish(out, err);
}

/* ---- showing ---- */

static cw_str line_at(cw_str text, size_t at)
{
    const char *end = memchr(text.p + at, '\n', text.n - at);
    return cw_str_make(text.p + at, end ? (size_t)(end - text.p) + 1 - at : text.n - at);
}

static void add_lines(cw_buf *out, cw_str text, char mark)
{
    for (size_t at = 0; at < text.n;) {
        cw_str line = line_at(text, at);
        cw_buf_add_char(out, mark);
        cw_buf_add(out, line);
        if (line.p[line.n - 1] != '\n')
            cw_buf_add_char(out, '\n');
        at += line.n;
    }
}

/* Bytes of whole lines that both texts begin with. */
static size_t same_begin(cw_str a, cw_str b)
{
    size_t at = 0;
    while (at < a.n && at < b.n) {
        cw_str x = line_at(a, at), y = line_at(b, at);
        if (!cw_str_eq(x, y))
            break;
        at += x.n;
    }
    return at;
}

static size_t same_end(cw_str a, cw_str b)
{
    size_t n = 0;
    while (n < a.n && n < b.n && a.p[a.n - 1 - n] == b.p[b.n - 1 - n])
        n++;
    /* Up to the begin of a line of both. */
    while (n && ((n < a.n && a.p[a.n - n - 1] != '\n') || (n < b.n && b.p[b.n - n - 1] != '\n')))
        n--;
    return n;
}

static size_t lines_back(cw_str text, size_t at)
{
    for (unsigned lines = 0; at > 0; at--) {
        if (text.p[at - 1] == '\n' && lines++ == CONTEXT_LINES)
            break;
    }
    return at;
}

static size_t lines_on(cw_str text, size_t at)
{
    for (unsigned lines = 0; at < text.n && lines < CONTEXT_LINES; lines++)
        at += line_at(text, at).n;
    return at;
}

void cw_install_add_diff(cw_buf *out, cw_str old_text, cw_str new_text)
{
    size_t begin = same_begin(old_text, new_text);
    cw_str a = cw_str_make(old_text.p + begin, old_text.n - begin);
    cw_str b = cw_str_make(new_text.p + begin, new_text.n - begin);
    size_t end = same_end(a, b);
    size_t from = lines_back(old_text, begin), behind = old_text.n - end;
    add_lines(out, cw_str_make(old_text.p + from, begin - from), ' ');
    add_lines(out, cw_str_make(a.p, a.n - end), '-');
    add_lines(out, cw_str_make(b.p, b.n - end), '+');
    add_lines(out, cw_str_make(old_text.p + behind, lines_on(old_text, behind) - behind), ' ');
}
