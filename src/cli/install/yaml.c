/* SPDX-License-Identifier: GPL-2.0-or-later */
/* yaml.c - edits YAML in block style.
 *
 * libyaml reports where each node begins and ends. Entries of a section in block style are whole
 * lines, so an edit adds, replaces or removes lines. A section in flow style is edited only if it is
 * empty.
 */
#include <yaml.h>

#include "base/ascii.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "cli/install/edit.h"
#include "json/write.h"

#define UNIT "  "
#define LONGEST_WORD 5u /* of the plain scalars that are not strings: "false" */

/* ---- events ---- */

typedef struct event {
    yaml_event_t y;
    size_t begin, end; /* offsets in the text */
} event;

/* The lines of the section and the entry in a text. */
typedef struct layout {
    const cw_install_place *at;
    cw_str text;
    yaml_parser_t parser;
    cw_err *err;
    cw_buf *others;         /* or NULL */
    size_t character, byte; /* the same position, counted both ways */
    size_t content_end;     /* of the last scalar or bracket */
    size_t n_anchors;

    bool has_root, has_merge, has_section, has_entry;
    cw_str root_indent, entry_indent; /* .p of the second is NULL if the section is empty */
    size_t root_end;                  /* end of the last line of content */
    size_t section_begin, section_end, key_end;
    size_t value_begin, value_end; /* of an empty section: the null or the brackets */
    size_t entry_begin, entry_end;
    size_t n_others;         /* other entries of the section */
    size_t n_members;        /* of the root */
    bool has_start, has_end; /* the document has "---", "..." */
} layout;

/* Marks count characters. Successive marks are close to each other, in either direction. */
static size_t offset_of(layout *l, yaml_mark_t mark)
{
    for (; l->character < mark.index && l->byte < l->text.n; l->character++)
        l->byte += cw_utf8_len(l->text.p + l->byte, l->text.n - l->byte);
    for (; l->character > mark.index && l->byte > 0; l->character--) {
        do
            l->byte--;
        while (l->byte > 0 && ((unsigned char)l->text.p[l->byte] & 0xc0) == 0x80);
    }
    return l->byte;
}

static cw_str anchor_of(const yaml_event_t *y)
{
    const yaml_char_t *anchor = NULL;
    if (y->type == YAML_SCALAR_EVENT)
        anchor = y->data.scalar.anchor;
    else if (y->type == YAML_MAPPING_START_EVENT)
        anchor = y->data.mapping_start.anchor;
    else if (y->type == YAML_SEQUENCE_START_EVENT)
        anchor = y->data.sequence_start.anchor;
    else if (y->type == YAML_ALIAS_EVENT)
        anchor = y->data.alias.anchor;
    return cw_str_from((const char *)anchor);
}

static cw_str tag_of(const yaml_event_t *y)
{
    const yaml_char_t *tag = NULL;
    if (y->type == YAML_SCALAR_EVENT)
        tag = y->data.scalar.tag;
    else if (y->type == YAML_MAPPING_START_EVENT)
        tag = y->data.mapping_start.tag;
    else if (y->type == YAML_SEQUENCE_START_EVENT)
        tag = y->data.sequence_start.tag;
    return cw_str_from((const char *)tag);
}

static cw_str text_of(const yaml_event_t *y)
{
    if (y->type != YAML_SCALAR_EVENT)
        return (cw_str){NULL, 0};
    return cw_str_make((const char *)y->data.scalar.value, y->data.scalar.length);
}

static bool is_plain(const yaml_event_t *y)
{
    return y->type == YAML_SCALAR_EVENT && y->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

static bool is_start(const event *e)
{
    return e->y.type == YAML_MAPPING_START_EVENT || e->y.type == YAML_SEQUENCE_START_EVENT;
}

static bool is_end(const event *e)
{
    return e->y.type == YAML_MAPPING_END_EVENT || e->y.type == YAML_SEQUENCE_END_EVENT;
}

/* Everything of an event that has a meaning, so that equal texts are equal documents. */
static void add_other(layout *l, const event *e)
{
    if (!l->others)
        return;
    cw_buf_printf(l->others, "%d%c%zu ", (int)e->y.type, is_plain(&e->y) ? 'p' : '-',
                  text_of(&e->y).n);
    cw_buf_add(l->others, anchor_of(&e->y));
    cw_buf_add_char(l->others, ' ');
    cw_buf_add(l->others, tag_of(&e->y));
    cw_buf_add_char(l->others, '\n');
    if (text_of(&e->y).n)
        cw_buf_add(l->others, text_of(&e->y));
}

/* Forget what was added since the others had this length. */
static void drop_others(layout *l, size_t n)
{
    if (l->others && !l->others->code)
        l->others->n = n;
}

static size_t others_length(const layout *l)
{
    return l->others ? l->others->n : 0;
}

static cw_code fail_parser(const layout *l)
{
    const yaml_parser_t *p = &l->parser;
    if (p->error == YAML_MEMORY_ERROR)
        return cw_fail_nomem(l->err);
    return cw_fail(l->err, CW_PARSE, "line %zu: %s", p->problem_mark.line + 1,
                   p->problem ? p->problem : "not YAML");
}

static cw_code next(layout *l, event *ret)
{
    if (!yaml_parser_parse(&l->parser, &ret->y))
        return fail_parser(l);
    ret->begin = offset_of(l, ret->y.start_mark);
    ret->end = offset_of(l, ret->y.end_mark);
    if (ret->end > ret->begin && (ret->y.type == YAML_SCALAR_EVENT ||
                                  ret->y.type == YAML_ALIAS_EVENT || is_start(ret) || is_end(ret)))
        l->content_end = ret->end;
    if (anchor_of(&ret->y).n && ret->y.type != YAML_ALIAS_EVENT)
        l->n_anchors++;
    add_other(l, ret);
    return CW_OK;
}

/* ---- nodes ---- */

static cw_code next_of_type(layout *l, yaml_event_type_t type, cw_code otherwise, const char *what)
{
    event e;
    cw_code rc = next(l, &e);
    if (rc)
        return rc;
    bool is_it = e.y.type == type;
    yaml_event_delete(&e.y);
    return is_it ? CW_OK : cw_fail(l->err, otherwise, "%s", what);
}

static cw_code read_document_end(layout *l)
{
    event e;
    cw_code rc = next(l, &e);
    if (rc)
        return rc;
    bool is_it = e.y.type == YAML_DOCUMENT_END_EVENT;
    l->has_end = is_it && !e.y.data.document_end.implicit;
    yaml_event_delete(&e.y);
    return is_it ? CW_OK : cw_fail(l->err, CW_PARSE, "the document does not end");
}

/* Read the rest of a node that begins with this event. */
static cw_code skip_node(layout *l, const event *first)
{
    for (unsigned depth = is_start(first); depth > 0;) {
        event e;
        cw_code rc = next(l, &e);
        if (rc)
            return rc;
        depth = depth + is_start(&e) - is_end(&e);
        yaml_event_delete(&e.y);
        if (depth > CW_CONFIG_MAX_DEPTH)
            return cw_fail(l->err, CW_LIMIT, "it has more than %u values inside one another",
                           CW_CONFIG_MAX_DEPTH);
    }
    return CW_OK;
}

static cw_code skip_value(layout *l)
{
    event e;
    cw_code rc = next(l, &e);
    if (rc)
        return rc;
    rc = skip_node(l, &e);
    yaml_event_delete(&e.y);
    return rc;
}

/* ---- entries ---- */

/* The white space in front of what begins at `at`; .p is NULL if something else is there. Items of
 * a list have a dash in between. */
static cw_str indent_at(const layout *l, size_t at, bool has_dash)
{
    size_t begin = cw_install_line_begin(l->text, at), end = begin;
    while (end < at && l->text.p[end] == ' ')
        end++;
    cw_str indent = cw_str_make(l->text.p + begin, end - begin);
    if (has_dash && (end == at || l->text.p[end++] != '-'))
        return (cw_str){NULL, 0};
    cw_str gap = cw_str_make(l->text.p + end, at - end);
    bool is_alone = has_dash ? cw_install_is_blank(gap) : gap.n == 0;
    return is_alone ? indent : (cw_str){NULL, 0};
}

static cw_code fail_layout(const layout *l)
{
    return cw_fail(l->err, CW_PARAMS, "the entries of \"%s\" are not on lines of their own",
                   l->at->section);
}

/* An entry that begins at `begin` has been read. */
static cw_code end_entry(layout *l, size_t begin, bool is_ours, size_t n_others, size_t n_anchors)
{
    cw_str indent = indent_at(l, begin, l->at->is_list);
    if (!l->entry_indent.p)
        l->entry_indent = indent;
    if (!indent.p)
        return fail_layout(l);
    if (!is_ours) {
        l->n_others++;
        return CW_OK;
    }
    if (l->has_entry)
        return cw_fail(l->err, CW_PARAMS, "\"%s\" has two entries \"%s\"", l->at->section,
                       l->at->name);
    if (n_anchors != l->n_anchors)
        return cw_fail(l->err, CW_PARAMS, "the entry \"%s\" has an anchor", l->at->name);
    l->has_entry = true;
    l->entry_begin = cw_install_line_begin(l->text, begin);
    l->entry_end = l->content_end;
    if (l->text.p[l->entry_end - 1] != '\n')
        l->entry_end = cw_install_line_end(l->text, l->entry_end);
    drop_others(l, n_others);
    return CW_OK;
}

/* The members of an item. *ret: its "name" is that of the entry. */
static cw_code read_item(layout *l, const event *item, bool *ret)
{
    *ret = false;
    if (item->y.type != YAML_MAPPING_START_EVENT)
        return skip_node(l, item);
    for (;;) {
        event key, value;
        cw_code rc = next(l, &key);
        if (rc)
            return rc;
        bool is_over = is_end(&key), is_name = cw_str_is(text_of(&key.y), "name");
        if (!is_over)
            rc = skip_node(l, &key);
        yaml_event_delete(&key.y);
        if (is_over || rc)
            return rc;
        rc = next(l, &value);
        if (rc)
            return rc;
        if (is_name && cw_str_is(text_of(&value.y), l->at->name))
            *ret = true;
        rc = skip_node(l, &value);
        yaml_event_delete(&value.y);
        if (rc)
            return rc;
    }
}

static cw_code read_member(layout *l, const event *key, bool *ret)
{
    *ret = cw_str_is(text_of(&key->y), l->at->name);
    cw_code rc = skip_node(l, key);
    return rc ? rc : skip_value(l);
}

static cw_code read_entries(layout *l)
{
    for (;;) {
        event first;
        bool is_ours = false;
        size_t n_others = others_length(l), n_anchors = l->n_anchors;
        cw_code rc = next(l, &first);
        if (rc)
            return rc;
        bool is_over = is_end(&first);
        if (!is_over)
            rc = l->at->is_list ? read_item(l, &first, &is_ours) : read_member(l, &first, &is_ours);
        yaml_event_delete(&first.y);
        if (is_over || rc)
            return rc;
        rc = end_entry(l, first.begin, is_ours, n_others, n_anchors);
        if (rc)
            return rc;
    }
}

/* ---- the section ---- */

static bool is_null(const yaml_event_t *y)
{
    cw_str text = text_of(y);
    if (anchor_of(y).n || tag_of(y).n)
        return false;
    return is_plain(y) && (text.n == 0 || cw_str_is(text, "~") || cw_str_is(text, "null"));
}

static cw_code read_flow_section(layout *l, const event *start)
{
    event e;
    cw_code rc = next(l, &e);
    if (rc)
        return rc;
    bool is_empty = is_end(&e);
    l->value_begin = start->begin;
    l->value_end = e.end;
    yaml_event_delete(&e.y);
    return is_empty ? CW_OK
                    : cw_fail(l->err, CW_PARAMS,
                              "its \"%s\" is in flow style: write an entry on each line",
                              l->at->section);
}

static cw_code read_section_value(layout *l, const event *value)
{
    bool is_map = value->y.type == YAML_MAPPING_START_EVENT;
    if (is_null(&value->y)) {
        l->value_begin = value->begin;
        l->value_end = value->end;
        return CW_OK;
    }
    if (!is_start(value) || is_map == l->at->is_list)
        return cw_fail(l->err, CW_PARAMS, "its \"%s\" is not a %s", l->at->section,
                       l->at->is_list ? "list" : "mapping");
    if (anchor_of(&value->y).n || tag_of(&value->y).n)
        return cw_fail(l->err, CW_PARAMS, "its \"%s\" has an anchor or a tag", l->at->section);
    bool is_flow = is_map ? value->y.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE
                          : value->y.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
    return is_flow ? read_flow_section(l, value) : read_entries(l);
}

static cw_code read_section(layout *l, const event *key, size_t n_others)
{
    event value;
    cw_str indent = indent_at(l, key->begin, false);
    if (l->has_section)
        return cw_fail(l->err, CW_PARAMS, "it has \"%s\" twice", l->at->section);
    if (!indent.p)
        return fail_layout(l);
    l->has_section = true;
    l->section_begin = cw_install_line_begin(l->text, key->begin);
    l->key_end = key->end;
    cw_code rc = next(l, &value);
    if (rc)
        return rc;
    rc = read_section_value(l, &value);
    yaml_event_delete(&value.y);
    l->section_end = l->content_end;
    if (l->section_end && l->text.p[l->section_end - 1] != '\n')
        l->section_end = cw_install_line_end(l->text, l->section_end);
    if (l->n_others == 0)
        drop_others(l, n_others);
    return rc;
}

/* ---- the document ---- */

static cw_code read_root_member(layout *l, const event *key, size_t n_others)
{
    l->n_members++;
    if (!l->root_indent.p)
        l->root_indent = indent_at(l, key->begin, false);
    if (cw_str_is(text_of(&key->y), "<<"))
        l->has_merge = true;
    if (key->y.type == YAML_SCALAR_EVENT && cw_str_is(text_of(&key->y), l->at->section))
        return read_section(l, key, n_others);
    cw_code rc = skip_node(l, key);
    return rc ? rc : skip_value(l);
}

static cw_code read_root(layout *l)
{
    for (bool is_over = false; !is_over;) {
        event key;
        size_t n_others = others_length(l);
        cw_code rc = next(l, &key);
        if (rc)
            return rc;
        is_over = is_end(&key);
        if (!is_over)
            rc = read_root_member(l, &key, n_others);
        else
            drop_others(l, n_others);
        yaml_event_delete(&key.y);
        if (rc)
            return rc;
    }
    l->root_end = l->content_end;
    if (l->root_end && l->text.p[l->root_end - 1] != '\n')
        l->root_end = cw_install_line_end(l->text, l->root_end);
    return CW_OK;
}

/* `start` is the end of its "---". */
static cw_code read_document(layout *l, size_t start)
{
    event root;
    cw_code rc = next(l, &root);
    if (rc)
        return rc;
    bool is_mapping = root.y.type == YAML_MAPPING_START_EVENT;
    bool is_flow = is_mapping && root.y.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
    bool is_empty = is_plain(&root.y) && root.y.data.scalar.length == 0;
    bool is_marked = anchor_of(&root.y).n || tag_of(&root.y).n;
    yaml_event_delete(&root.y);
    if (is_marked || is_flow || (!is_empty && !is_mapping))
        return cw_fail(l->err, CW_PARAMS, "it is not a YAML mapping in block style");
    drop_others(l, 0);
    l->root_end = cw_install_line_end(l->text, start);
    l->has_root = is_mapping;
    if (is_mapping)
        rc = read_root(l);
    size_t n_others = others_length(l);
    if (!rc)
        rc = read_document_end(l);
    if (!rc)
        rc = next_of_type(l, YAML_STREAM_END_EVENT, CW_PARAMS, "it has several documents");
    drop_others(l, n_others);
    return rc;
}

static cw_code read_stream(layout *l)
{
    event e;
    cw_code rc = next_of_type(l, YAML_STREAM_START_EVENT, CW_PARSE, "not YAML");
    if (!rc)
        rc = next(l, &e);
    if (rc)
        return rc;
    bool has_document = e.y.type == YAML_DOCUMENT_START_EVENT;
    l->has_start = has_document && !e.y.data.document_start.implicit;
    yaml_event_delete(&e.y);
    drop_others(l, 0);
    l->root_end = l->text.n;
    return has_document ? read_document(l, e.end) : CW_OK;
}

/* A carriage return alone is a line break of YAML, but not of this editor. */
static bool has_lone_return(cw_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\r' && (i + 1 == text.n || text.p[i + 1] != '\n'))
            return true;
    }
    return false;
}

static cw_code parse(cw_str text, const cw_install_place *at, layout *l, cw_err *err)
{
    l->at = at;
    l->text = text;
    l->err = err;
    if (text.n > CW_CONFIG_MAX_BYTES)
        return cw_fail(err, CW_LIMIT, "it is larger than %u bytes", CW_CONFIG_MAX_BYTES);
    if (!cw_utf8_is_valid(text) || (text.n && memmem(text.p, text.n, "\xef\xbb\xbf", 3)))
        return cw_fail(err, CW_PARSE, "it is not UTF-8 without a byte order mark");
    if (has_lone_return(text))
        return cw_fail(err, CW_PARAMS, "it has a carriage return without a line feed");
    if (!yaml_parser_initialize(&l->parser))
        return cw_fail_nomem(err);
    yaml_parser_set_encoding(&l->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&l->parser, (const unsigned char *)(text.n ? text.p : ""), text.n);
    cw_code rc = read_stream(l);
    yaml_parser_delete(&l->parser);
    return rc;
}

static cw_code find(cw_str text, const cw_install_place *at, cw_arena *arena, cw_buf *others,
                    cw_install_found *ret, cw_err *err)
{
    (void)arena;
    layout l = {.others = others};
    *ret = (cw_install_found){0};
    cw_code rc = parse(text, at, &l, err);
    if (rc)
        return rc;
    ret->has_section = l.has_section;
    if (l.has_entry)
        ret->entry = cw_str_make(text.p + l.entry_begin, l.entry_end - l.entry_begin);
    return CW_OK;
}

/* ---- editing ---- */

/* Keys of mappings are written plain, unless they could be a number, a boolean or null. */
static void add_name(cw_buf *out, cw_str name)
{
    if (cw_is_letter(name.p[0]) && name.n > LONGEST_WORD)
        cw_buf_add(out, name);
    else
        cw_json_escape(out, name);
}

/* Each line begins with `indent` and `more`. */
static void add_entry(cw_buf *out, const layout *l, cw_str indent, cw_str more,
                      const cw_json *value)
{
    cw_str newline = cw_install_newline(l->text);
    if (!l->at->is_list) {
        cw_buf_add(out, indent);
        cw_buf_add(out, more);
        add_name(out, cw_str_from(l->at->name));
        cw_buf_add_char(out, ':');
        cw_buf_add(out, newline);
    }
    for (const cw_json *k = cw_json_first(value); k; k = cw_json_next_key(k)) {
        bool is_first = k == cw_json_first(value);
        cw_buf_add(out, indent);
        cw_buf_add(out, more);
        cw_buf_add(out, l->at->is_list && is_first ? CW_STR("- ") : CW_STR(UNIT));
        cw_buf_add(out, cw_json_text(k));
        cw_buf_add(out, CW_STR(": "));
        cw_install_add_flow(out, cw_json_value(k));
        cw_buf_add(out, newline);
    }
}

/* Copy up to a line. */
static void copy_lines(cw_install_edit *e, size_t end)
{
    cw_install_copy_to(e, end);
    if (end == e->text.n && end > 0 && e->text.p[end - 1] != '\n')
        cw_buf_add(e->out, cw_install_newline(e->text));
}

static void put_into_empty_section(cw_install_edit *e, const layout *l, const cw_json *value)
{
    size_t from = l->value_begin;
    while (from > l->key_end && l->value_end > l->value_begin &&
           (e->text.p[from - 1] == ' ' || e->text.p[from - 1] == '\t'))
        from--;
    if (l->value_end > l->value_begin) {
        cw_install_copy_to(e, from);
        e->done = l->value_end;
    }
    copy_lines(e, l->section_end);
    add_entry(e->out, l, l->root_indent, CW_STR(UNIT), value);
}

/* A new section would hide one that a merge key brings. */
static cw_code put_section(cw_install_edit *e, const layout *l, const cw_json *value, cw_err *err)
{
    if (l->has_merge)
        return cw_fail(err, CW_PARAMS, "it has a merge key");
    if (l->has_root && !l->root_indent.p)
        return cw_fail(err, CW_PARAMS, "its keys are not on lines of their own");
    copy_lines(e, l->root_end);
    cw_buf_add(e->out, l->root_indent);
    cw_buf_add(e->out, cw_str_from(l->at->section));
    cw_buf_add_char(e->out, ':');
    cw_buf_add(e->out, cw_install_newline(e->text));
    add_entry(e->out, l, l->root_indent, CW_STR(UNIT), value);
    return CW_OK;
}

static cw_code put(cw_str text, const cw_install_place *at, const cw_json *value, cw_arena *arena,
                   cw_buf *out, cw_err *err)
{
    (void)arena;
    layout l = {0};
    cw_install_edit e = {.text = text, .out = out};
    cw_code rc = parse(text, at, &l, err);
    if (rc)
        return rc;
    if (l.has_entry) {
        cw_install_copy_to(&e, l.entry_begin);
        e.done = l.entry_end;
        add_entry(out, &l, l.entry_indent, CW_STR(""), value);
    } else if (l.entry_indent.p) {
        copy_lines(&e, l.section_end);
        add_entry(out, &l, l.entry_indent, CW_STR(""), value);
    } else if (l.has_section) {
        put_into_empty_section(&e, &l, value);
    } else {
        rc = put_section(&e, &l, value, err);
    }
    return rc ? rc : cw_install_copy_rest(&e, err);
}

/* A section without entries is null unless it has brackets, and null may be an invalid value. */
static void add_brackets(cw_install_edit *e, const layout *l)
{
    const char *colon = memchr(e->text.p + l->key_end, ':', e->text.n - l->key_end);
    cw_install_copy_to(e, colon ? (size_t)(colon - e->text.p) + 1 : l->key_end);
    cw_buf_add(e->out, l->at->is_list ? CW_STR(" []") : CW_STR(" {}"));
}

static cw_code remove_entry(cw_str text, const cw_install_place *at, bool drops_section,
                            cw_arena *arena, cw_buf *out, cw_err *err)
{
    (void)arena;
    layout l = {0};
    cw_install_edit e = {.text = text, .out = out};
    cw_code rc = parse(text, at, &l, err);
    if (rc)
        return rc;
    /* "..." ends a document. Without "---" or a member in front of it, there would be none. */
    if (l.n_members == 1 && l.has_end && !l.has_start)
        drops_section = false;
    if (l.n_others == 0 && !drops_section)
        add_brackets(&e, &l);
    cw_install_copy_to(&e, l.n_others == 0 && drops_section ? l.section_begin : l.entry_begin);
    e.done = l.entry_end;
    return cw_install_copy_rest(&e, err);
}

const cw_install_format cw_install_yaml = {find, put, remove_entry, NULL};
