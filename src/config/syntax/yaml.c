/* SPDX-License-Identifier: GPL-2.0-or-later */
/* yaml.c - libyaml's events, written down as JSON text and read by our own reader.
 *
 *     limits:              {"limits":{"header_size":"16KB"}}
 *       header_size: 16KB
 *                          0 {            1:1
 *                          1  "limits"    1:1
 *                          2  {           2:3
 *                          3   "header_size" 2:3
 *                          4   "16KB"     2:16
 *                          5  }           3:1
 *                          6 }            3:1
 *
 * Invariant: positions[i] belongs to entry i of the tape that cw_json_read will
 * make of the text, so every entry that goes to the text is recorded once, in
 * the same order, the closing brackets too.
 */
#include "config/syntax/yaml.h"

#include <stdlib.h>
#include <yaml.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/utf8.h"
#include "config/syntax/quote.h"
#include "json/write.h"

/* A byte of YAML makes at most 6 of JSON ("\0" becomes "\u0000", "- " becomes "null,"). */
#define JSON_MAX (8u * CW_CONFIG_MAX_BYTES)

#define ALIAS_TEXT                                                                                 \
    "anchors and aliases are not supported; put a value that begins with \"&\" or \"*\" in quotes"
#define TAG_TEXT "tags are not supported; put a value that begins with \"!\" in quotes"

typedef struct frame {
    bool is_map;
    bool want_value; /* a mapping whose next event is a value */
    bool has_items;
    cw_map keys; /* of a mapping: key to its position */
} frame;

typedef struct reader {
    yaml_parser_t parser;
    cw_str src;
    size_t byte; /* offset in src of character `character` */
    size_t character;
    cw_arena *arena;
    cw_buf json;
    cw_yaml_pos *positions;
    size_t n_positions;
    size_t cap_positions;
    frame stack[CW_CONFIG_MAX_DEPTH];
    size_t depth;
    bool has_document;
    cw_yaml_pos *fail_pos;
    cw_err *err;
} reader;

/* libyaml's words for what people do most often, and ours. */
static const struct {
    const char *theirs;
    const char *ours;
} phrases[] = {
    {"while scanning an alias", ALIAS_TEXT},
    {"while scanning an anchor", ALIAS_TEXT},
    {"while scanning a tag", TAG_TEXT},
    {"while parsing a tag", TAG_TEXT},
    {"found undefined tag handle", TAG_TEXT},
    {"found character that cannot start any token",
     "this character cannot begin a value: indent with spaces, and put text in quotes"},
    {"did not find expected node content",
     "expected a value: put text that begins with a bracket or a colon in quotes"},
    {"mapping values are not allowed in this context",
     "unexpected \":\": put text that holds \": \" in quotes"},
    {"could not find expected ':'", "expected \":\" behind the key"},
};

static cw_yaml_pos pos_of(yaml_mark_t mark)
{
    return (cw_yaml_pos){(uint32_t)mark.line + 1, (uint32_t)mark.column + 1};
}

/* Remember where it went wrong; the result is for cw_fail. */
static cw_err *at(reader *r, yaml_mark_t mark)
{
    *r->fail_pos = pos_of(mark);
    return r->err;
}

static const char *phrase_for(const char *theirs)
{
    for (size_t i = 0; theirs && i < CW_COUNT(phrases); i++)
        if (strcmp(theirs, phrases[i].theirs) == 0)
            return phrases[i].ours;
    return NULL;
}

static cw_code fail_parser(reader *r)
{
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_MEMORY_ERROR)
        return cw_fail_nomem(r->err);
    cw_err *err = at(r, p->problem_mark);
    const char *ours = phrase_for(p->problem);
    if (!ours)
        ours = phrase_for(p->context);
    if (ours)
        return cw_fail(err, CW_PARSE, "%s", ours);
    const char *problem = p->problem ? p->problem : "not YAML";
    if (!p->context)
        return cw_fail(err, CW_PARSE, "%s", problem);
    return cw_fail(err, CW_PARSE, "%s %s that begins on line %zu", problem, p->context,
                   p->context_mark.line + 1);
}

/* The source byte at a mark. Marks count characters and only move forward, so all calls together
 * walk the text once. */
static char byte_at(reader *r, yaml_mark_t mark)
{
    while (r->character < mark.index && r->byte < r->src.n) {
        r->byte += cw_utf8_len(r->src.p + r->byte, r->src.n - r->byte);
        r->character++;
    }
    return r->byte < r->src.n ? r->src.p[r->byte] : '\0';
}

static cw_code record(reader *r, yaml_mark_t mark)
{
    if (r->n_positions == r->cap_positions) {
        size_t cap = r->cap_positions ? r->cap_positions * 2 : 64;
        size_t size = sizeof *r->positions;
        cw_yaml_pos *grown =
            cw_arena_resize(r->arena, r->positions, r->cap_positions * size, cap * size);
        if (!grown)
            return cw_arena_fail(r->arena, r->err);
        r->positions = grown;
        r->cap_positions = cap;
    }
    r->positions[r->n_positions++] = pos_of(mark);
    return CW_OK;
}

static size_t skip_digits(cw_str s, size_t i)
{
    while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9')
        i++;
    return i;
}

/* number of RFC 8259: -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)? */
static bool is_number(cw_str s)
{
    size_t i = s.n && s.p[0] == '-';
    size_t end = skip_digits(s, i);
    if (end == i || (s.p[i] == '0' && end > i + 1))
        return false;
    if (end < s.n && s.p[end] == '.') {
        i = end + 1;
        end = skip_digits(s, i);
        if (end == i)
            return false;
    }
    if (end < s.n && (s.p[end] == 'e' || s.p[end] == 'E')) {
        i = end + 1;
        if (i < s.n && (s.p[i] == '+' || s.p[i] == '-'))
            i++;
        end = skip_digits(s, i);
        if (end == i)
            return false;
    }
    return end == s.n;
}

static bool is_literal(cw_str s)
{
    return cw_str_is(s, "null") || cw_str_is(s, "true") || cw_str_is(s, "false") || is_number(s);
}

static cw_code add_key(reader *r, frame *f, const yaml_event_t *e, cw_str text)
{
    bool plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    char exposed[CW_EXCERPT_SIZE];
    cw_err *err = at(r, e->start_mark);
    if (plain && cw_str_is(text, "<<"))
        return cw_fail(err, CW_PARSE, "merge keys are not supported");
    if (plain && text.n == 0)
        return cw_fail(err, CW_PARSE, "a key is missing in front of \":\"");
    if (plain && is_literal(text))
        return cw_fail(err, CW_PARSE, "keys are strings: put %s in quotes",
                       cw_excerpt(text, exposed));

    cw_yaml_pos *first = cw_map_find(&f->keys, text);
    if (first)
        return cw_fail(err, CW_PARSE, "key %s appears twice; it is on line %u already",
                       cw_excerpt(text, exposed), first->line);
    cw_str name = cw_arena_dup_str(r->arena, text);
    cw_yaml_pos *pos = name.p ? cw_arena_alloc(r->arena, sizeof *pos) : NULL;
    if (!pos)
        return cw_arena_fail(r->arena, r->err);
    *pos = pos_of(e->start_mark);
    cw_code rc = cw_map_put(&f->keys, name, pos, NULL);
    if (rc == CW_LIMIT)
        return cw_fail(err, rc, "more than %u keys in one mapping", CW_JSON_MAX_MEMBERS);
    if (rc)
        return cw_fail_nomem(r->err);

    if (f->has_items)
        cw_buf_add_char(&r->json, ',');
    cw_json_escape(&r->json, text);
    cw_buf_add_char(&r->json, ':');
    f->has_items = true;
    f->want_value = true;
    return record(r, e->start_mark);
}

/* The comma in front of a value, where one belongs. */
static void begin_value(reader *r)
{
    if (!r->depth)
        return;
    frame *f = &r->stack[r->depth - 1];
    if (!f->is_map && f->has_items)
        cw_buf_add_char(&r->json, ',');
    f->has_items = true;
    f->want_value = false;
}

static frame *frame_that_wants_key(reader *r)
{
    frame *f = r->depth ? &r->stack[r->depth - 1] : NULL;
    return f && f->is_map && !f->want_value ? f : NULL;
}

static cw_code on_scalar(reader *r, const yaml_event_t *e)
{
    if (e->data.scalar.anchor)
        return cw_fail(at(r, e->start_mark), CW_PARSE, ALIAS_TEXT);
    /* libyaml drops the tag "!" silently; the source still has it. */
    if (e->data.scalar.tag || byte_at(r, e->start_mark) == '!')
        return cw_fail(at(r, e->start_mark), CW_PARSE, TAG_TEXT);

    cw_str text = {(const char *)e->data.scalar.value, e->data.scalar.length};
    frame *f = frame_that_wants_key(r);
    if (f)
        return add_key(r, f, e, text);

    begin_value(r);
    if (e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        cw_json_escape(&r->json, text);
    else if (text.n == 0)
        cw_buf_add(&r->json, CW_STR("null"));
    else if (is_literal(text))
        cw_buf_add(&r->json, text);
    else
        cw_json_escape(&r->json, text);
    return record(r, e->start_mark);
}

static cw_code open_container(reader *r, const yaml_event_t *e, bool is_map)
{
    const yaml_char_t *anchor =
        is_map ? e->data.mapping_start.anchor : e->data.sequence_start.anchor;
    const yaml_char_t *tag = is_map ? e->data.mapping_start.tag : e->data.sequence_start.tag;
    if (anchor)
        return cw_fail(at(r, e->start_mark), CW_PARSE, ALIAS_TEXT);
    if (tag || byte_at(r, e->start_mark) == '!')
        return cw_fail(at(r, e->start_mark), CW_PARSE, TAG_TEXT);
    if (frame_that_wants_key(r))
        return cw_fail(at(r, e->start_mark), CW_PARSE, "a key must be a string, not a %s",
                       is_map ? "mapping" : "list");
    if (r->depth == CW_CONFIG_MAX_DEPTH)
        return cw_fail(at(r, e->start_mark), CW_LIMIT, "nested deeper than %u levels",
                       CW_CONFIG_MAX_DEPTH);

    begin_value(r);
    frame *f = &r->stack[r->depth++];
    *f = (frame){.is_map = is_map};
    cw_map_init(&f->keys, CW_JSON_MAX_MEMBERS);
    cw_buf_add_char(&r->json, is_map ? '{' : '[');
    return record(r, e->start_mark);
}

static cw_code close_container(reader *r, const yaml_event_t *e)
{
    frame *f = &r->stack[--r->depth];
    cw_map_done(&f->keys);
    cw_buf_add_char(&r->json, f->is_map ? '}' : ']');
    return record(r, e->start_mark);
}

static cw_code open_document(reader *r, const yaml_event_t *e)
{
    if (r->has_document)
        return cw_fail(at(r, e->start_mark), CW_PARSE, "a second document begins; one is allowed");
    if (e->data.document_start.tag_directives.start != e->data.document_start.tag_directives.end)
        return cw_fail(at(r, e->start_mark), CW_PARSE, TAG_TEXT);
    r->has_document = true;
    return CW_OK;
}

static cw_code on_event(reader *r, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return CW_OK;
    case YAML_DOCUMENT_START_EVENT:
        return open_document(r, e);
    case YAML_ALIAS_EVENT:
        return cw_fail(at(r, e->start_mark), CW_PARSE, ALIAS_TEXT);
    case YAML_SCALAR_EVENT:
        return on_scalar(r, e);
    case YAML_SEQUENCE_START_EVENT:
        return open_container(r, e, /* is_map= */ false);
    case YAML_MAPPING_START_EVENT:
        return open_container(r, e, /* is_map= */ true);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_container(r, e);
    }
    return CW_OK;
}

static cw_code read_events(reader *r)
{
    for (;;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&r->parser, &event))
            return fail_parser(r);
        bool is_end = event.type == YAML_STREAM_END_EVENT;
        cw_code rc = on_event(r, &event);
        yaml_event_delete(&event);
        if (!rc && r->json.code)
            rc = cw_fail(r->err, r->json.code, "%s", cw_code_text(r->json.code));
        if (rc || is_end)
            return rc;
    }
}

/* Whether libyaml, like YAML itself, would refuse the character or take it for a line break. */
static bool is_forbidden(uint32_t cp)
{
    if (cp < 0x20)
        return cp != '\t' && cp != '\n' && cp != '\r';
    if (cp < 0x7f)
        return false;
    return cp < 0xa0 || cp == 0x2028 || cp == 0x2029 || cp == 0xfeff || cp == 0xfffe ||
           cp == 0xffff;
}

/* UTF-8 throughout, and no character that would not mean itself. Checked here because libyaml
 * guesses encodings and tells the place of a bad byte only as an offset. */
static cw_code check_characters(cw_str src, cw_yaml_pos *pos, cw_err *err)
{
    *pos = (cw_yaml_pos){1, 1};
    for (size_t i = 0; i < src.n;) {
        uint32_t cp = 0;
        unsigned n = cw_utf8_decode(src.p + i, src.n - i, &cp);
        if (!n)
            return cw_fail(err, CW_PARSE, "byte 0x%02x is not UTF-8", (unsigned char)src.p[i]);
        if (is_forbidden(cp))
            return cw_fail(err, CW_PARSE,
                           "character U+%04X is not allowed; write it in double quotes as \\u%04x",
                           (unsigned)cp, (unsigned)cp);
        i += n;
        pos->column++;
        if (cp == '\n' || (cp == '\r' && (i == src.n || src.p[i] != '\n')))
            *pos = (cw_yaml_pos){pos->line + 1, 1};
    }
    return CW_OK;
}

/* Hand the text over to the arena and read it. */
static cw_code finish(reader *r, cw_yaml *ret)
{
    if (!r->has_document)
        cw_buf_add(&r->json, CW_STR("null"));
    size_t n = 0;
    char *json = cw_buf_take(&r->json, &n);
    if (!json)
        return cw_fail_nomem(r->err);
    cw_code rc = cw_arena_hold(r->arena, json, free);
    if (rc)
        return cw_fail(r->err, rc, "%s", cw_code_text(rc));
    const cw_json_opts opts = {.max_bytes = JSON_MAX, .max_depth = CW_CONFIG_MAX_DEPTH};
    cw_yaml doc = {.positions = r->positions, .text = {json, n}};
    rc = cw_json_read(doc.text, &opts, r->arena, &doc.root, NULL, r->err);
    if (rc)
        return rc;
    *ret = doc;
    return CW_OK;
}

static cw_code read_yaml(cw_str text, cw_arena *arena, cw_yaml *ret, cw_yaml_pos *pos, cw_err *err)
{
    cw_code rc = check_characters(text, pos, err);
    if (rc)
        return rc;
    *pos = (cw_yaml_pos){0};
    reader r = {.src = text, .arena = arena, .fail_pos = pos, .err = err};
    if (!yaml_parser_initialize(&r.parser))
        return cw_fail_nomem(err);
    cw_buf_init(&r.json, JSON_MAX);
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text.p, text.n);
    rc = read_events(&r);
    if (!rc)
        rc = finish(&r, ret);
    while (r.depth)
        cw_map_done(&r.stack[--r.depth].keys);
    cw_buf_done(&r.json);
    yaml_parser_delete(&r.parser);
    if (rc == CW_NOMEM)
        *pos = (cw_yaml_pos){0};
    return rc;
}

/* A text that is one JSON object. Any other outcome is left to YAML, whose messages are better. */
static cw_code read_json(cw_str text, cw_arena *arena, cw_yaml *ret)
{
    size_t i = 0;
    while (i < text.n && strchr(" \t\r\n", text.p[i]) && text.p[i])
        i++;
    if (i == text.n || text.p[i] != '{')
        return CW_DECLINED;
    cw_yaml doc = {.text = cw_arena_dup_str(arena, text)};
    if (!doc.text.p)
        return CW_NOMEM;
    const cw_json_opts opts = {.max_bytes = CW_CONFIG_MAX_BYTES, .max_depth = CW_CONFIG_MAX_DEPTH};
    cw_code rc = cw_json_read(doc.text, &opts, arena, &doc.root, NULL, NULL);
    if (rc)
        return rc == CW_NOMEM ? CW_NOMEM : CW_DECLINED;
    *ret = doc;
    return CW_OK;
}

cw_code cw_yaml_read(cw_str text, cw_arena *arena, cw_yaml *ret, cw_yaml_pos *ret_pos, cw_err *err)
{
    *ret_pos = (cw_yaml_pos){0};
    if (text.n > CW_CONFIG_MAX_BYTES) {
        *ret_pos = (cw_yaml_pos){1, 1};
        return cw_fail(err, CW_LIMIT, "the file is larger than %u bytes", CW_CONFIG_MAX_BYTES);
    }
    if (cw_str_starts(text, CW_STR("\xef\xbb\xbf")))
        text = cw_str_make(text.p + 3, text.n - 3);
    cw_code rc = read_json(text, arena, ret);
    if (rc == CW_NOMEM)
        return cw_fail_nomem(err);
    if (rc == CW_DECLINED)
        return read_yaml(text, arena, ret, ret_pos, err);
    return rc;
}

cw_yaml_pos cw_yaml_locate(const cw_yaml *doc, const cw_json *v)
{
    if (doc->positions)
        return doc->positions[v - doc->root];
    cw_json_pos pos = cw_json_locate(doc->text, (size_t)(cw_json_span(v).p - doc->text.p));
    return (cw_yaml_pos){pos.line, pos.column};
}
