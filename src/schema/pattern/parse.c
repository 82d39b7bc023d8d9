/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parse.c - the grammar of ECMA-262 patterns in Unicode mode, without leniency but one. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "schema/pattern/pattern_int.h"

typedef struct cw_group_name {
    cw_str name;
    uint32_t index;
    struct cw_group_name *next;
} group_name;

static cw_code parse_alternatives(cw_pattern_reader *r, cw_node **ret);

cw_code cw_pattern_fail(cw_pattern_reader *r, const char *fmt, ...)
{
    char text[CW_ERR_MSG_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return cw_fail(r->err, CW_PARAMS, "at %zu: %s", r->at, text);
}

static bool at_char(const cw_pattern_reader *r, char c)
{
    return r->at < r->text.n && r->text.p[r->at] == c;
}

static bool take(cw_pattern_reader *r, cw_str s)
{
    if (!cw_str_starts(cw_str_make(r->text.p + r->at, r->text.n - r->at), s))
        return false;
    r->at += s.n;
    return true;
}

/* NULL without memory. */
static cw_node *make_node(cw_pattern_reader *r, cw_node_kind kind)
{
    cw_node *node = cw_arena_calloc(r->arena, 1, sizeof *node);
    if (!node)
        return NULL;
    node->kind = kind;
    if (kind == NODE_SET)
        node->set = cw_arena_calloc(r->arena, 1, sizeof *node->set);
    return kind == NODE_SET && !node->set ? NULL : node;
}

static cw_code new_node(cw_pattern_reader *r, cw_node_kind kind, cw_node **ret)
{
    *ret = make_node(r, kind);
    if (*ret)
        return CW_OK;
    cw_code rc = cw_arena_fail(r->arena, r->err);
    assert(rc != CW_OK);
    return rc;
}

static cw_code new_character(cw_pattern_reader *r, uint32_t c, cw_node **ret)
{
    cw_code rc = new_node(r, NODE_SET, ret);
    return rc ? rc : cw_set_add(r, (*ret)->set, c, c);
}

/* '.' is everything but the line ends. */
static cw_code new_dot(cw_pattern_reader *r, cw_node **ret)
{
    cw_code rc = new_node(r, NODE_SET, ret);
    if (rc)
        return rc;
    (*ret)->set->negated = true;
    rc = cw_set_add(r, (*ret)->set, '\n', '\n');
    if (!rc)
        rc = cw_set_add(r, (*ret)->set, '\r', '\r');
    return rc ? rc : cw_set_add(r, (*ret)->set, 0x2028, 0x2029);
}

/* ---- groups ---- */

/* A name up to '>': an identifier. */
static cw_code read_name(cw_pattern_reader *r, cw_str *ret)
{
    size_t first = r->at;
    while (r->at < r->text.n && r->text.p[r->at] != '>') {
        char c = r->text.p[r->at];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
                      (unsigned char)c >= 0x80;
        if (!letter && !(r->at > first && c >= '0' && c <= '9'))
            return cw_pattern_fail(r, "not a group name");
        r->at++;
    }
    *ret = cw_str_make(r->text.p + first, r->at - first);
    if (ret->n == 0 || !take(r, CW_STR(">")))
        return cw_pattern_fail(r, "a group name ends with '>'");
    return CW_OK;
}

static cw_code add_name(cw_pattern_reader *r, uint32_t index)
{
    cw_str name;
    cw_code rc = read_name(r, &name);
    if (rc)
        return rc;
    for (const group_name *g = r->names; g; g = g->next) {
        if (cw_str_eq(g->name, name))
            return cw_pattern_fail(r, "group name used twice");
    }
    group_name *g = cw_arena_alloc(r->arena, sizeof *g);
    if (!g)
        return cw_arena_fail(r->arena, r->err);
    *g = (group_name){name, index, r->names};
    r->names = g;
    return CW_OK;
}

static cw_code open_group(cw_pattern_reader *r, cw_node **ret)
{
    static const struct {
        cw_str text;
        bool behind, negated;
    } looks[] = {
        {CW_STR_INIT("?="), false, false},
        {CW_STR_INIT("?!"), false, true},
        {CW_STR_INIT("?<="), true, false},
        {CW_STR_INIT("?<!"), true, true},
    };
    for (size_t i = 0; i < CW_COUNT(looks); i++) {
        if (!take(r, looks[i].text))
            continue;
        cw_code rc = new_node(r, NODE_LOOK, ret);
        if (rc)
            return rc;
        (*ret)->behind = looks[i].behind;
        (*ret)->negated = looks[i].negated;
        return CW_OK;
    }
    if (take(r, CW_STR("?:")))
        return new_node(r, NODE_SEQ, ret);
    bool named = take(r, CW_STR("?<"));
    if (!named && at_char(r, '?'))
        return cw_pattern_fail(r, "unknown kind of group");
    cw_code rc = new_node(r, NODE_GROUP, ret);
    if (rc)
        return rc;
    (*ret)->index = ++r->n_groups;
    return named ? add_name(r, r->n_groups) : CW_OK;
}

/* Behind '('. */
static cw_code parse_group(cw_pattern_reader *r, cw_node **ret)
{
    if (++r->depth > CW_PATTERN_NESTING)
        return cw_fail(r->err, CW_LIMIT, "groups are nested deeper than %u", CW_PATTERN_NESTING);
    cw_code rc = open_group(r, ret);
    if (!rc)
        rc = parse_alternatives(r, &(*ret)->child);
    if (rc)
        return rc;
    if (!take(r, CW_STR(")")))
        return cw_pattern_fail(r, "a group is not closed");
    r->depth--;
    return CW_OK;
}

/* ---- escapes ---- */

/* \1 or \k<name>; other digits are not for here. */
static cw_code parse_backref(cw_pattern_reader *r, cw_node **ret)
{
    cw_code rc = new_node(r, NODE_BACKREF, ret);
    if (rc)
        return rc;
    if (take(r, CW_STR("k"))) {
        if (!take(r, CW_STR("<")))
            return cw_pattern_fail(r, "\\k needs a <name>");
        rc = read_name(r, &(*ret)->name);
        (*ret)->child = r->backrefs;
        r->backrefs = *ret;
        return rc;
    }
    uint32_t index = 0;
    while (r->at < r->text.n && r->text.p[r->at] >= '0' && r->text.p[r->at] <= '9') {
        index = index * 10 + (uint32_t)(r->text.p[r->at++] - '0');
        if (index > CW_PATTERN_MAX)
            return cw_pattern_fail(r, "no such group");
    }
    (*ret)->index = index;
    if (index > r->max_backref)
        r->max_backref = index;
    return CW_OK;
}

/* Behind a backslash outside a class. */
static cw_code parse_escape(cw_pattern_reader *r, cw_node **ret)
{
    if (r->at == r->text.n)
        return cw_pattern_fail(r, "a backslash at the end");
    char c = r->text.p[r->at];
    if (c == 'b' || c == 'B') {
        r->at++;
        cw_code rc = new_node(r, NODE_BOUNDARY, ret);
        if (!rc)
            (*ret)->negated = c == 'B';
        return rc;
    }
    if (c == 'k' || (c >= '1' && c <= '9'))
        return parse_backref(r, ret);
    cw_code rc = new_node(r, NODE_SET, ret);
    bool taken = false;
    if (!rc)
        rc = cw_pattern_class_escape(r, (*ret)->set, &taken);
    if (rc || taken)
        return rc;
    uint32_t code;
    rc = cw_pattern_character(r, false, &code);
    return rc ? rc : cw_set_add(r, (*ret)->set, code, code);
}

/* ---- terms ---- */

static cw_code parse_atom(cw_pattern_reader *r, cw_node **ret)
{
    if (take(r, CW_STR("^")))
        return new_node(r, NODE_BOL, ret);
    if (take(r, CW_STR("$")))
        return new_node(r, NODE_EOL, ret);
    if (take(r, CW_STR("(")))
        return parse_group(r, ret);
    if (take(r, CW_STR(".")))
        return new_dot(r, ret);
    if (take(r, CW_STR("\\")))
        return parse_escape(r, ret);
    if (take(r, CW_STR("["))) {
        cw_code rc = new_node(r, NODE_SET, ret);
        return rc ? rc : cw_pattern_class(r, (*ret)->set);
    }
    char c = r->text.p[r->at];
    if (c == '*' || c == '+' || c == '?')
        return cw_pattern_fail(r, "nothing to repeat");
    if (c == '{' || c == '}' || c == ']')
        return cw_pattern_fail(r, "'%c' must be escaped", c);
    return new_character(r, cw_pattern_next(r), ret);
}

static bool read_count(cw_pattern_reader *r, uint32_t *ret)
{
    size_t first = r->at;
    uint64_t value = 0;
    while (r->at < r->text.n && r->text.p[r->at] >= '0' && r->text.p[r->at] <= '9') {
        value = value * 10 + (uint64_t)(r->text.p[r->at++] - '0');
        if (value >= CW_PATTERN_FOREVER)
            value = CW_PATTERN_FOREVER - 1;
    }
    *ret = (uint32_t)value;
    return r->at > first;
}

/* "{2}", "{2,}" or "{2,5}" behind its brace. */
static cw_code read_bounds(cw_pattern_reader *r, uint32_t *min, uint32_t *max)
{
    if (!read_count(r, min))
        return cw_pattern_fail(r, "a count must follow '{'");
    *max = *min;
    if (take(r, CW_STR(",")) && !read_count(r, max))
        *max = CW_PATTERN_FOREVER;
    if (!take(r, CW_STR("}")))
        return cw_pattern_fail(r, "'}' must follow the count");
    return *min > *max ? cw_pattern_fail(r, "counts are out of order") : CW_OK;
}

static cw_code parse_quantifier(cw_pattern_reader *r, cw_node **node)
{
    uint32_t min = 0;
    uint32_t max = CW_PATTERN_FOREVER;
    if (take(r, CW_STR("+"))) {
        min = 1;
    } else if (take(r, CW_STR("?"))) {
        max = 1;
    } else if (take(r, CW_STR("{"))) {
        cw_code rc = read_bounds(r, &min, &max);
        if (rc)
            return rc;
    } else if (!take(r, CW_STR("*"))) {
        return CW_OK;
    }
    cw_node_kind kind = (*node)->kind;
    if (kind == NODE_BOL || kind == NODE_EOL || kind == NODE_BOUNDARY || kind == NODE_LOOK)
        return cw_pattern_fail(r, "nothing to repeat");
    cw_node *repeat = make_node(r, NODE_REPEAT);
    if (!repeat)
        return cw_arena_fail(r->arena, r->err);
    repeat->min = min;
    repeat->max = max;
    repeat->lazy = take(r, CW_STR("?"));
    repeat->child = *node;
    *node = repeat;
    return CW_OK;
}

static cw_code parse_sequence(cw_pattern_reader *r, cw_node **ret)
{
    cw_code rc = new_node(r, NODE_SEQ, ret);
    cw_node **tail = rc ? NULL : &(*ret)->child;
    while (!rc && r->at < r->text.n && !at_char(r, '|') && !at_char(r, ')')) {
        rc = parse_atom(r, tail);
        if (!rc)
            rc = parse_quantifier(r, tail);
        if (!rc)
            tail = &(*tail)->next;
    }
    return rc;
}

static cw_code parse_alternatives(cw_pattern_reader *r, cw_node **ret)
{
    cw_code rc = parse_sequence(r, ret);
    if (rc || !at_char(r, '|'))
        return rc;
    cw_node *alt = make_node(r, NODE_ALT);
    if (!alt)
        return cw_arena_fail(r->arena, r->err);
    alt->child = *ret;
    cw_node **tail = &alt->child->next;
    while (!rc && take(r, CW_STR("|"))) {
        rc = parse_sequence(r, tail);
        if (!rc)
            tail = &(*tail)->next;
    }
    *ret = alt;
    return rc;
}

static cw_code resolve_names(cw_pattern_reader *r)
{
    for (cw_node *node = r->backrefs, *next; node; node = next) {
        next = node->child;
        node->child = NULL;
        for (const group_name *g = r->names; g; g = g->next) {
            if (cw_str_eq(g->name, node->name))
                node->index = g->index;
        }
        if (node->index == 0)
            return cw_pattern_fail(r, "no group named '%.*s'", CW_STR_ARG(node->name));
    }
    return CW_OK;
}

cw_code cw_pattern_parse(cw_pattern_reader *r, cw_node **ret)
{
    cw_code rc = parse_alternatives(r, ret);
    if (rc)
        return rc;
    if (r->at < r->text.n)
        return cw_pattern_fail(r, "')' without '('");
    if (r->max_backref > r->n_groups)
        return cw_pattern_fail(r, "no group %u", r->max_backref);
    return resolve_names(r);
}
