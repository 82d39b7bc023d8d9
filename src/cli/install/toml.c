/* SPDX-License-Identifier: GPL-2.0-or-later */
/* toml.c - edits TOML.
 *
 * The scanner splits a text into statements, tables and pairs, without an interpretation of values.
 * A new entry is a table at the end of the text, which is valid wherever the section is defined,
 * unless the section is an inline table or a list of tables.
 */
#include "base/ascii.h"
#include "base/utf8.h"
#include "cli/install/edit.h"
#include "json/write.h"

#define MAX_PARTS 16u
#define MAX_DEPTH 64u
#define NUMBER_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-.:"

/* ---- statements ---- */

typedef struct dotted_key {
    cw_str parts[MAX_PARTS];
    size_t n;
} dotted_key;

typedef enum kind { PAIR, TABLE, TABLE_LIST } kind;

typedef struct statement {
    kind kind;
    dotted_key key;    /* of a pair: relative to its table */
    cw_str value;      /* of a pair */
    size_t begin, end; /* whole lines */
} statement;

typedef struct scanner {
    cw_str text;
    size_t at;
    cw_arena *arena;
    cw_err *err;
} scanner;

static cw_code fail(const scanner *s, const char *what)
{
    cw_json_pos pos = cw_json_locate(s->text, s->at);
    return cw_fail(s->err, CW_PARSE, "line %u: %s", (unsigned)pos.line, what);
}

static char peek(const scanner *s)
{
    return s->at < s->text.n ? s->text.p[s->at] : '\0';
}

static bool is_at(const scanner *s, const char *word)
{
    return cw_str_starts(cw_str_make(s->text.p + s->at, s->text.n - s->at), cw_str_from(word));
}

static void skip_blanks(scanner *s)
{
    while (peek(s) == ' ' || peek(s) == '\t')
        s->at++;
}

static void skip_comment(scanner *s)
{
    if (peek(s) != '#')
        return;
    const char *end = memchr(s->text.p + s->at, '\n', s->text.n - s->at);
    s->at = end ? (size_t)(end - s->text.p) : s->text.n;
}

/* White space, line breaks and comments. */
static void skip_space(scanner *s)
{
    for (size_t before = SIZE_MAX; before != s->at;) {
        before = s->at;
        skip_comment(s);
        while (s->at < s->text.n && cw_is_space(peek(s)))
            s->at++;
    }
}

/* The end of a statement: white space, a comment, a line break. */
static bool skip_line_end(scanner *s)
{
    skip_blanks(s);
    skip_comment(s);
    if (is_at(s, "\r\n"))
        s->at++;
    if (s->at < s->text.n && peek(s) != '\n')
        return false;
    s->at += s->at < s->text.n;
    return true;
}

/* ---- strings ---- */

/* Behind `"""` or three apostrophes. Up to two more quotes in front of the end are content. */
static bool skip_long_string(scanner *s, char quote, const char *end)
{
    for (s->at += 3; s->at < s->text.n; s->at++) {
        if (quote == '"' && peek(s) == '\\') {
            s->at++;
        } else if (is_at(s, end)) {
            s->at += 3;
            for (unsigned i = 0; i < 2 && peek(s) == quote; i++)
                s->at++;
            return true;
        }
    }
    return false;
}

static bool skip_string(scanner *s)
{
    char quote = peek(s);
    const char *triple = quote == '"' ? "\"\"\"" : "\'\'\'";
    if (is_at(s, triple))
        return skip_long_string(s, quote, triple);
    for (s->at++; s->at < s->text.n && peek(s) != '\n'; s->at++) {
        if (quote == '"' && peek(s) == '\\') {
            s->at++;
        } else if (peek(s) == quote) {
            s->at++;
            return true;
        }
    }
    return false;
}

static bool read_hex(cw_str digits, uint32_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < digits.n; i++) {
        if (!cw_is_hex(digits.p[i]))
            return false;
        char c = (char)(digits.p[i] | 0x20);
        *ret = *ret << 4 | (uint32_t)(cw_is_digit(c) ? c - '0' : c - 'a' + 10);
    }
    return *ret <= 0x10ffff && (*ret < 0xd800 || *ret > 0xdfff);
}

/* The character of an escape sequence behind its backslash, at *at, which moves behind it. */
static bool decode_escape(cw_str text, size_t *at, uint32_t *ret)
{
    static const char names[] = "btnfre\"\\", values[] = "\b\t\n\f\r\033\"\\";
    char c = *at < text.n ? text.p[(*at)++] : '\0';
    const char *found = c ? strchr(names, c) : NULL;
    size_t n = c == 'u' ? 4 : (c == 'U' ? 8 : 0);
    if (found) {
        *ret = (unsigned char)values[found - names];
        return true;
    }
    if (n == 0 || text.n - *at < n || !read_hex(cw_str_make(text.p + *at, n), ret))
        return false;
    *at += n;
    return true;
}

/* The characters of a quoted key; .p is NULL without memory. *ret_is_valid: its escapes are. */
static cw_str decode(scanner *s, cw_str inner, bool *ret_is_valid)
{
    char *out = cw_arena_alloc(s->arena, inner.n);
    size_t n = 0;
    *ret_is_valid = true;
    for (size_t at = 0; out && *ret_is_valid && at < inner.n;) {
        uint32_t cp = 0;
        char utf8[4];
        if (inner.p[at] != '\\') {
            out[n++] = inner.p[at++];
            continue;
        }
        at++;
        *ret_is_valid = decode_escape(inner, &at, &cp);
        unsigned length = *ret_is_valid ? cw_utf8_encode(cp, utf8) : 0;
        memcpy(out + n, utf8, length); /* an escape is no shorter than its character */
        n += length;
    }
    return cw_str_make(out, n);
}

/* ---- keys ---- */

static cw_code read_quoted_part(scanner *s, cw_str *ret)
{
    size_t begin = s->at;
    bool is_valid = !is_at(s, "\"\"\"") && !is_at(s, "\'\'\'");
    if (!is_valid || !skip_string(s))
        return fail(s, "a key is not closed");
    *ret = cw_str_make(s->text.p + begin + 1, s->at - begin - 2);
    if (s->text.p[begin] == '\'')
        return CW_OK;
    *ret = decode(s, *ret, &is_valid);
    if (!ret->p)
        return cw_arena_fail(s->arena, s->err);
    return is_valid ? CW_OK : fail(s, "a key has an unknown escape sequence");
}

static cw_code read_part(scanner *s, cw_str *ret)
{
    skip_blanks(s);
    if (peek(s) == '"' || peek(s) == '\'')
        return read_quoted_part(s, ret);
    size_t begin = s->at;
    while (cw_is_alnum(peek(s)) || peek(s) == '_' || peek(s) == '-')
        s->at++;
    *ret = cw_str_make(s->text.p + begin, s->at - begin);
    return ret->n ? CW_OK : fail(s, "a key is missing");
}

static cw_code read_key(scanner *s, dotted_key *ret)
{
    for (ret->n = 0;; s->at++) {
        if (ret->n == MAX_PARTS)
            return cw_fail(s->err, CW_LIMIT, "a key has more than %u parts", MAX_PARTS);
        cw_code rc = read_part(s, &ret->parts[ret->n++]);
        if (rc)
            return rc;
        skip_blanks(s);
        if (peek(s) != '.')
            return CW_OK;
    }
}

/* ---- values ---- */

static cw_str read_word(scanner *s)
{
    size_t begin = s->at;
    while (s->at < s->text.n && peek(s) && strchr(NUMBER_CHARACTERS, peek(s)))
        s->at++;
    return cw_str_make(s->text.p + begin, s->at - begin);
}

/* A boolean, a number, a date or a time. The space between date and time is part of a value. */
static bool skip_scalar(scanner *s)
{
    cw_str word = read_word(s);
    if (cw_str_is(word, "true") || cw_str_is(word, "false"))
        return true;
    bool is_date = word.n == 10 && word.p[4] == '-' && word.p[7] == '-';
    if (is_date && peek(s) == ' ' && s->at + 1 < s->text.n && cw_is_digit(s->text.p[s->at + 1])) {
        s->at++;
        read_word(s);
    }
    if (word.n > 1 && (word.p[0] == '+' || word.p[0] == '-'))
        word = cw_str_make(word.p + 1, word.n - 1);
    return cw_str_is(word, "inf") || cw_str_is(word, "nan") || (word.n && cw_is_digit(word.p[0]));
}

/* A value, or inside a container one piece of it: a value, a key or punctuation. */
static bool skip_piece(scanner *s, char *closers, size_t *depth)
{
    char c = peek(s);
    if (c == '"' || c == '\'')
        return skip_string(s);
    if (*depth && c == closers[*depth - 1]) {
        (*depth)--;
        s->at++;
        return true;
    }
    if (c == '[' || c == '{') {
        if (*depth == MAX_DEPTH)
            return false;
        closers[(*depth)++] = c == '[' ? ']' : '}';
        s->at++;
        return true;
    }
    if (*depth && (c == ',' || (closers[*depth - 1] == '}' && c == '='))) {
        s->at++;
        return true;
    }
    return *depth ? read_word(s).n > 0 : skip_scalar(s);
}

/* Whether the piece that ended at `end` is a value that a comma or an equals sign must follow, and
 * the next one, at `at`, begins a value. Dots join the parts of a key. */
static bool lacks_comma(cw_str text, size_t end, size_t at)
{
    return !strchr("[{,=.", text.p[end - 1]) && !strchr("]},=.", text.p[at]);
}

static cw_code read_value(scanner *s, cw_str *ret)
{
    char closers[MAX_DEPTH];
    size_t begin = s->at, depth = 0;
    do {
        size_t end = s->at;
        if (depth)
            skip_space(s);
        if (s->at >= s->text.n || (depth && lacks_comma(s->text, end, s->at)) ||
            !skip_piece(s, closers, &depth))
            return fail(s, "a value is not complete");
    } while (depth);
    *ret = cw_str_make(s->text.p + begin, s->at - begin);
    return CW_OK;
}

/* ---- scanning ---- */

static cw_code read_table(scanner *s, statement *ret)
{
    ret->kind = is_at(s, "[[") ? TABLE_LIST : TABLE;
    const char *end = ret->kind == TABLE_LIST ? "]]" : "]";
    s->at += strlen(end);
    cw_code rc = read_key(s, &ret->key);
    if (rc)
        return rc;
    if (!is_at(s, end))
        return fail(s, "the name of a table is not closed");
    s->at += strlen(end);
    return CW_OK;
}

static cw_code read_pair(scanner *s, statement *ret)
{
    ret->kind = PAIR;
    cw_code rc = read_key(s, &ret->key);
    if (rc)
        return rc;
    if (peek(s) != '=')
        return fail(s, "a key has no value");
    s->at++;
    skip_blanks(s);
    return read_value(s, &ret->value);
}

/* CW_DONE: no more statements. */
static cw_code read_statement(scanner *s, statement *ret)
{
    *ret = (statement){0};
    skip_space(s);
    if (s->at >= s->text.n)
        return CW_DONE;
    ret->begin = cw_install_line_begin(s->text, s->at);
    cw_code rc = peek(s) == '[' ? read_table(s, ret) : read_pair(s, ret);
    if (!rc && !skip_line_end(s))
        rc = fail(s, "a value is followed by something else");
    ret->end = s->at;
    return rc;
}

/* ---- the entry ---- */

/* The lines of the entry in a text. */
typedef struct layout {
    const cw_install_place *at;
    dotted_key table; /* of the pairs that follow */
    bool is_found, is_over;
    bool is_table; /* [section.name], else pairs */
    size_t begin, end;
    cw_buf *others; /* or NULL */
} layout;

/* Part `i` of the key of a statement from the root on; .p is NULL behind its end. */
static cw_str part_of(const layout *l, const statement *s, size_t i)
{
    size_t n = s->kind == PAIR ? l->table.n : 0;
    if (i < n)
        return l->table.parts[i];
    return i - n < s->key.n ? s->key.parts[i - n] : (cw_str){NULL, 0};
}

static void add_other(layout *l, const statement *s)
{
    if (!l->others)
        return;
    cw_buf_add_char(l->others, (char)('0' + s->kind));
    for (size_t i = 0; part_of(l, s, i).p; i++) {
        cw_buf_add(l->others, part_of(l, s, i));
        cw_buf_add_char(l->others, '\0');
    }
    cw_buf_add(l->others, s->value);
    cw_buf_add_char(l->others, '\n');
}

static cw_code refuse_twice(const layout *l, cw_err *err)
{
    return cw_fail(err, CW_PARAMS, "%s.%s is defined in several places", l->at->section,
                   l->at->name);
}

static cw_code add_to_entry(layout *l, const statement *s, cw_err *err)
{
    bool is_head = s->kind == TABLE && s->key.n == 2;
    if (s->kind == TABLE_LIST && s->key.n == 2)
        return cw_fail(err, CW_PARAMS, "%s.%s is a list of tables", l->at->section, l->at->name);
    if (l->is_over || (l->is_found && is_head) || (l->is_found && !l->is_table && s->kind != PAIR))
        return refuse_twice(l, err);
    if (!l->is_found) {
        l->begin = s->begin;
        l->is_table = s->kind != PAIR;
        l->is_found = true;
    }
    l->end = s->end;
    return CW_OK;
}

static cw_code add_statement(layout *l, const statement *s, cw_err *err)
{
    bool is_in_section = cw_str_is(part_of(l, s, 0), l->at->section);
    cw_str name = part_of(l, s, 1);
    if (is_in_section && !name.p && s->kind == PAIR)
        return cw_fail(err, CW_PARAMS, "its %s is not a table with a heading", l->at->section);
    if (is_in_section && !name.p && s->kind == TABLE_LIST)
        return cw_fail(err, CW_PARAMS, "its %s is a list of tables", l->at->section);
    if (is_in_section && name.p && cw_str_is(name, l->at->name))
        return add_to_entry(l, s, err);
    l->is_over = l->is_found;
    add_other(l, s);
    return CW_OK;
}

static bool is_text(cw_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] < ' ' && !cw_is_space(text.p[i]))
            return false;
    }
    return cw_utf8_is_valid(text);
}

static cw_code parse(cw_str text, cw_arena *arena, layout *l, cw_err *err)
{
    scanner s = {.text = text, .arena = arena, .err = err};
    statement now;
    cw_code rc;
    if (!is_text(text))
        return cw_fail(err, CW_PARSE, "it is not UTF-8, or has a control character");
    while ((rc = read_statement(&s, &now)) == CW_OK) {
        rc = add_statement(l, &now, err);
        if (rc)
            return rc;
        if (now.kind != PAIR)
            l->table = now.key;
    }
    return rc == CW_DONE ? CW_OK : rc;
}

static cw_code find(cw_str text, const cw_install_place *at, cw_arena *arena, cw_buf *others,
                    cw_install_found *ret, cw_err *err)
{
    layout l = {.at = at, .others = others};
    *ret = (cw_install_found){0};
    cw_code rc = parse(text, arena, &l, err);
    if (!rc && l.is_found)
        *ret = (cw_install_found){{text.p + l.begin, l.end - l.begin}, true};
    return rc;
}

/* ---- editing ---- */

static void add_table(cw_buf *out, const cw_install_place *at, const cw_json *value, cw_str newline)
{
    cw_buf_printf(out, "[%s.%s]", at->section, at->name);
    cw_buf_add(out, newline);
    for (const cw_json *k = cw_json_first(value); k; k = cw_json_next_key(k)) {
        cw_buf_add(out, cw_json_text(k));
        cw_buf_add(out, CW_STR(" = "));
        cw_install_add_flow(out, cw_json_value(k));
        cw_buf_add(out, newline);
    }
}

/* Leave out the entry, and the empty line in front of it. */
static void leave_out(cw_install_edit *e, const layout *l)
{
    size_t begin = l->begin;
    size_t before = begin ? cw_install_line_begin(e->text, begin - 1) : 0;
    if (cw_install_is_blank(cw_str_make(e->text.p + before, begin - before)))
        begin = before;
    cw_install_copy_to(e, begin);
    e->done = l->end;
}

/* An empty line between the text, which is in `out` from this offset on, and the table. */
static void add_gap(cw_buf *out, size_t from, cw_str newline)
{
    if (out->n > from && out->p[out->n - 1] != '\n')
        cw_buf_add(out, newline);
    if (out->code || out->n == from)
        return;
    cw_str text = cw_str_make(out->p + from, out->n - from);
    size_t last = cw_install_line_begin(text, text.n - 1);
    if (!cw_install_is_blank(cw_str_make(text.p + last, text.n - last)))
        cw_buf_add(out, newline);
}

static cw_code put(cw_str text, const cw_install_place *at, const cw_json *value, cw_arena *arena,
                   cw_buf *out, cw_err *err)
{
    layout l = {.at = at};
    cw_install_edit e = {.text = text, .out = out};
    size_t from = out->n;
    cw_str newline = cw_install_newline(text);
    cw_code rc = parse(text, arena, &l, err);
    if (rc)
        return rc;
    if (l.is_found && l.is_table) {
        cw_install_copy_to(&e, l.begin);
        e.done = l.end;
    } else {
        if (l.is_found)
            leave_out(&e, &l);
        cw_install_copy_to(&e, text.n);
        add_gap(out, from, newline);
    }
    add_table(out, at, value, newline);
    return cw_install_copy_rest(&e, err);
}

/* The table of the section itself is never added, so it is never removed. */
static cw_code remove_entry(cw_str text, const cw_install_place *at, bool drops_section,
                            cw_arena *arena, cw_buf *out, cw_err *err)
{
    (void)drops_section;
    layout l = {.at = at};
    cw_install_edit e = {.text = text, .out = out};
    cw_code rc = parse(text, arena, &l, err);
    if (rc)
        return rc;
    leave_out(&e, &l);
    return cw_install_copy_rest(&e, err);
}

/* ---- values as JSON ---- */

static cw_code add_string(scanner *s, cw_buf *out)
{
    size_t begin = s->at;
    char quote = peek(s);
    bool is_valid = true, is_long = is_at(s, "\"\"\"") || is_at(s, "\'\'\'");
    size_t n = is_long ? 3 : 1;
    if (!skip_string(s))
        return fail(s, "a string is not closed");
    cw_str text = cw_str_make(s->text.p + begin + n, s->at - begin - 2 * n);
    if (is_long && text.n && text.p[0] == '\n')
        text = cw_str_make(text.p + 1, text.n - 1);
    if (quote == '"')
        text = decode(s, text, &is_valid);
    if (!text.p)
        return cw_arena_fail(s->arena, s->err);
    cw_json_escape(out, text);
    return is_valid ? CW_OK : fail(s, "a string has an unknown escape sequence");
}

static void add_scalar(scanner *s, cw_buf *out)
{
    size_t begin = s->at;
    (void)skip_scalar(s);
    cw_str word = cw_str_make(s->text.p + begin, s->at - begin);
    if (cw_str_is(word, "true") || cw_str_is(word, "false"))
        cw_buf_add(out, word);
    else
        cw_json_escape(out, word);
}

/* A value that read_value has accepted: nesting is bounded, and containers are closed. A dotted key
 * in an inline table is one name. */
static cw_code add_json(scanner *s, cw_buf *out)
{
    bool is_key = false;
    size_t depth = 0;
    char closers[MAX_DEPTH];
    do {
        cw_code rc = CW_OK;
        skip_space(s);
        char c = peek(s);
        if (c == '"' || c == '\'') {
            rc = add_string(s, out);
        } else if (c == '[' || c == '{') {
            closers[depth++] = c == '[' ? ']' : '}';
            is_key = c == '{';
            cw_buf_add_char(out, c);
            s->at++;
        } else if (depth && c == closers[depth - 1]) {
            if (out->n && out->p[out->n - 1] == ',')
                out->n--; /* a comma behind the last item */
            cw_buf_add_char(out, c);
            depth--;
            s->at++;
        } else if (c == ',' || c == '=') {
            is_key = c == ',' && depth && closers[depth - 1] == '}';
            cw_buf_add_char(out, c == '=' ? ':' : c);
            s->at++;
        } else if (is_key) {
            cw_json_escape(out, read_word(s));
        } else {
            add_scalar(s, out);
        }
        if (rc)
            return rc;
    } while (depth && s->at < s->text.n);
    return CW_OK;
}

/* The target of the members of a section. */
typedef struct members {
    const char *section;
    cw_arena *arena;
    cw_install_member_fn fn;
    void *ctx;
    cw_err *err;
} members;

/* The path from the root on; the first part is the section, the second the entry. */
static cw_code report_member(const members *m, const dotted_key *path, cw_str value)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_INSTALL_MAX_BYTES);
    scanner s = {.text = value, .arena = m->arena, .err = m->err};
    const cw_json *json = NULL;
    cw_code rc = add_json(&s, &text);
    cw_str copy = cw_arena_dup_str(m->arena, cw_buf_str(&text));
    if (!rc && !copy.p)
        rc = cw_arena_fail(m->arena, m->err);
    if (!rc)
        rc = cw_json_read(copy, NULL, m->arena, &json, NULL, m->err);
    if (!rc)
        m->fn(m->ctx, path->parts[1], path->parts + 2, path->n - 2, json);
    return rc;
}

static cw_code each(cw_str text, const char *section, cw_arena *arena, cw_install_member_fn fn,
                    void *ctx, cw_err *err)
{
    const members m = {section, arena, fn, ctx, err};
    scanner s = {.text = text, .arena = arena, .err = err};
    dotted_key table = {0};
    statement now;
    cw_code rc;
    while ((rc = read_statement(&s, &now)) == CW_OK) {
        dotted_key path = now.kind == PAIR ? table : now.key;
        for (size_t i = 0; now.kind == PAIR && i < now.key.n && path.n < MAX_PARTS; i++)
            path.parts[path.n++] = now.key.parts[i];
        if (now.kind != PAIR)
            table = now.kind == TABLE ? now.key : (dotted_key){0};
        else if (path.n > 2 && cw_str_is(path.parts[0], section))
            rc = report_member(&m, &path, now.value);
        if (rc)
            return rc;
    }
    return rc == CW_DONE ? CW_OK : rc;
}

const cw_install_format cw_install_toml = {find, put, remove_entry, each};
