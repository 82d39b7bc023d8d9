/* SPDX-License-Identifier: GPL-2.0-or-later */
/* frontmatter.c - the YAML at the beginning of a SKILL.md as JSON.
 *
 * Hosts parse the YAML themselves and reject a skill whose JSON differs. The reader of configurations
 * is stricter than theirs: it takes ~ and True for texts. So a plain scalar that YAML 1.2 gives a
 * type gets this type here, and a number that JSON spells differently must be in quotes.
 */
#include "base/buf.h"
#include "base/hex.h"
#include "base/utf8.h"
#include "config/syntax/yaml.h"
#include "json/write.h"
#include "source/skills/folder.h"

#define FENCE "---"
#define NAME_MAX_BYTES 64u
#define SCRATCH_MAX (128u * CW_SKILL_MAX_FRONTMATTER)

/* ---- the text between the fences ---- */

static cw_str take_line(cw_str *rest)
{
    cw_str line = cw_str_cut(*rest, '\n', rest);
    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    return line;
}

static bool is_fence(cw_str line)
{
    while (line.n && (line.p[line.n - 1] == ' ' || line.p[line.n - 1] == '\t'))
        line.n--;
    return cw_str_is(line, FENCE);
}

/* False: it has no frontmatter. */
static bool cut_front(cw_str text, cw_str *ret)
{
    static const cw_str bom = CW_STR_INIT("\xef\xbb\xbf");
    cw_str rest = text;
    if (cw_str_starts(rest, bom))
        rest = cw_str_make(rest.p + bom.n, rest.n - bom.n);
    if (!cw_str_is(take_line(&rest), FENCE))
        return false;
    const char *begin = rest.p;
    while (rest.p && rest.n) {
        const char *at = rest.p;
        if (is_fence(take_line(&rest))) {
            *ret = cw_str_make(begin, (size_t)(at - begin));
            return true;
        }
    }
    return false;
}

/* ---- values ---- */

/* Writes a document as JSON; `text` and `pos` follow the values, which are in the order of the
 * text. */
typedef struct front_writer {
    const cw_yaml *doc;
    cw_json_writer *w;
    cw_str rest;       /* of the YAML, from `line` on */
    uint32_t line;     /* of the beginning of rest, from 1 */
    const char *wrong; /* a number that JSON does not have; NULL: none */
    cw_str wrong_text;
} front_writer;

/* The character at a position. */
static char char_at(front_writer *f, cw_yaml_pos pos)
{
    while (f->line < pos.line && f->rest.p) {
        (void)cw_str_cut(f->rest, '\n', &f->rest);
        f->line++;
    }
    cw_str line = f->rest;
    for (uint32_t i = 1; i < pos.column && line.n; i++) {
        size_t n = cw_utf8_len(line.p, line.n);
        line = cw_str_make(line.p + n, line.n - n);
    }
    return line.p && line.n ? line.p[0] : '\0';
}

static bool is_plain(front_writer *f, const cw_json *v)
{
    if (!f->doc->positions)
        return false;
    char c = char_at(f, cw_yaml_locate(f->doc, v));
    return c != '"' && c != '\'' && c != '|' && c != '>';
}

static bool is_one_of(cw_str text, const char *const *words)
{
    for (size_t i = 0; words[i]; i++) {
        if (cw_str_is(text, words[i]))
            return true;
    }
    return false;
}

static size_t skip_digits(cw_str *rest)
{
    size_t n = 0;
    while (n < rest->n && rest->p[n] >= '0' && rest->p[n] <= '9')
        n++;
    *rest = cw_str_make(rest->p + n, rest->n - n);
    return n;
}

static bool skip_one_of(cw_str *rest, const char *characters)
{
    if (!rest->n || !strchr(characters, rest->p[0]))
        return false;
    *rest = cw_str_make(rest->p + 1, rest->n - 1);
    return true;
}

static bool is_prefixed_number(cw_str text)
{
    bool is_hex = text.n > 2 && text.p[0] == '0' && text.p[1] == 'x';
    if (text.n < 3 || text.p[0] != '0' || (!is_hex && text.p[1] != 'o'))
        return false;
    for (size_t i = 2; i < text.n; i++) {
        int digit = cw_hex_value(text.p[i]);
        if (digit < 0 || (!is_hex && digit > 7))
            return false;
    }
    return true;
}

/* A number of YAML 1.2, section 10.3.2: also 010, +1, .5, 1., 0x1f, 0o17, .inf. */
static bool looks_like_number(cw_str text)
{
    static const char *const words[] = {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN", NULL};
    if (is_prefixed_number(text))
        return true;
    (void)skip_one_of(&text, "-+");
    if (is_one_of(text, words))
        return true;
    size_t n_digits = skip_digits(&text);
    if (skip_one_of(&text, "."))
        n_digits += skip_digits(&text);
    if (!n_digits)
        return false;
    if (skip_one_of(&text, "eE")) {
        (void)skip_one_of(&text, "-+");
        if (!skip_digits(&text))
            return false;
    }
    return text.n == 0;
}

static void write_text(front_writer *f, const cw_json *v)
{
    static const char *const nulls[] = {"~", "Null", "NULL", NULL};
    static const char *const yes[] = {"True", "TRUE", NULL};
    static const char *const no[] = {"False", "FALSE", NULL};
    cw_str text = cw_json_text(v);
    bool plain = is_plain(f, v);
    if (plain && is_one_of(text, nulls)) {
        cw_json_add_null(f->w);
    } else if (plain && (is_one_of(text, yes) || is_one_of(text, no))) {
        cw_json_add_bool(f->w, is_one_of(text, yes));
    } else {
        if (plain && !f->wrong && looks_like_number(text)) {
            f->wrong = "put it in quotes";
            f->wrong_text = text;
        }
        cw_json_add_string(f->w, text);
    }
}

/* The document is no deeper than CW_CONFIG_MAX_DEPTH. */
static void write_value(front_writer *f, const cw_json *v)
{
    if (cw_json_is(v, CW_JSON_STRING)) {
        write_text(f, v);
    } else if (cw_json_is(v, CW_JSON_OBJECT)) {
        cw_json_open_object(f->w);
        for (const cw_json *k = cw_json_first(v); k; k = cw_json_next_key(k)) {
            cw_json_add_key(f->w, cw_json_text(k));
            write_value(f, cw_json_value(k));
        }
        cw_json_close(f->w);
    } else if (cw_json_is(v, CW_JSON_ARRAY)) {
        cw_json_open_array(f->w);
        for (const cw_json *x = cw_json_first(v); x; x = cw_json_next(x))
            write_value(f, x);
        cw_json_close(f->w);
    } else {
        cw_json_add_span(f->w, cw_json_span(v));
    }
}

static cw_code write_front(const cw_yaml *doc, cw_str yaml, cw_arena *arena, cw_str *ret,
                           cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_json_writer w;
    cw_buf_init(&out, 8u * CW_SKILL_MAX_FRONTMATTER);
    cw_json_writer_init(&w, &out, CW_JSON_COMPACT);
    front_writer f = {.doc = doc, .w = &w, .rest = yaml, .line = 1};
    write_value(&f, doc->root);
    cw_code rc = cw_json_writer_end(&w, err);
    if (!rc && f.wrong)
        rc = cw_fail(err, CW_PARSE, "frontmatter: '%.*s' is read as a number by some hosts: %s",
                     CW_STR_ARG(f.wrong_text), f.wrong);
    if (rc)
        return rc;
    *ret = cw_arena_dup_str(arena, cw_buf_str(&out));
    return ret->p ? CW_OK : cw_arena_fail(arena, err);
}

/* ---- members ---- */

/* Small letters, digits and single hyphens between them. */
static bool is_name(cw_str name)
{
    bool is_hyphen = true;
    if (!name.n || name.n > NAME_MAX_BYTES)
        return false;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool was_hyphen = is_hyphen;
        is_hyphen = c == '-';
        if (is_hyphen ? was_hyphen : !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')))
            return false;
    }
    return !is_hyphen;
}

static cw_code take_text(const cw_json *root, const char *member, cw_arena *arena, cw_str *ret,
                         cw_err *err)
{
    const cw_json *v = cw_json_get(root, cw_str_from(member));
    if (!cw_json_is(v, CW_JSON_STRING) || !cw_str_trim(cw_json_text(v)).n)
        return cw_fail(err, CW_PARSE, "frontmatter: '%s' must be a text", member);
    *ret = cw_arena_dup_str(arena, cw_json_text(v));
    return ret->p ? CW_OK : cw_arena_fail(arena, err);
}

static cw_code read_document(cw_str yaml, cw_arena *scratch, cw_arena *arena, cw_skill_front *ret,
                             cw_err *err)
{
    cw_yaml doc;
    cw_yaml_pos pos = {0};
    cw_code rc = cw_yaml_read(yaml, scratch, &doc, &pos, err);
    if (rc == CW_NOMEM)
        return rc;
    /* The first fence is line 1. */
    if (rc)
        return cw_wrap(err, rc, "frontmatter, line %u", (unsigned)pos.line + 1);
    if (!cw_json_is(doc.root, CW_JSON_OBJECT))
        return cw_fail(err, CW_PARSE, "frontmatter: expected names and values");
    rc = take_text(doc.root, "name", arena, &ret->name, err);
    if (!rc && !is_name(ret->name))
        rc = cw_fail(err, CW_PARSE,
                     "frontmatter: 'name' must have a-z, 0-9 and single hyphens between them, "
                     "maximum %u characters",
                     NAME_MAX_BYTES);
    if (!rc)
        rc = take_text(doc.root, "description", arena, &ret->description, err);
    if (!rc && ret->description.n > CW_SKILL_MAX_DESCRIPTION)
        rc = cw_fail(err, CW_LIMIT, "frontmatter: 'description' is longer than %u bytes",
                     CW_SKILL_MAX_DESCRIPTION);
    return rc ? rc : write_front(&doc, yaml, arena, &ret->json, err);
}

cw_code cw_skill_front_read(cw_str text, cw_arena *arena, cw_skill_front *ret, cw_err *err)
{
    cw_str yaml;
    if (!cw_utf8_is_valid(text))
        return cw_fail(err, CW_PARSE, CW_SKILL_FILE " is not UTF-8");
    if (!cut_front(text, &yaml))
        return cw_fail(err, CW_PARSE,
                       CW_SKILL_FILE " must begin with frontmatter between two lines '---'");
    if (yaml.n > CW_SKILL_MAX_FRONTMATTER)
        return cw_fail(err, CW_LIMIT, "frontmatter: longer than %u bytes",
                       CW_SKILL_MAX_FRONTMATTER);
    CW_CLEANUP(cw_arena_done) cw_arena scratch;
    cw_arena_init(&scratch, SCRATCH_MAX);
    return read_document(yaml, &scratch, arena, ret, err);
}
