/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parse.c - the grammar of ECMA-262 patterns in Unicode mode, without leniency but one. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/hex.h"
#include "base/utf8.h"
#include "schema/pattern/pattern_int.h"

#define SURROGATE_FIRST 0xd800u
#define SURROGATE_LAST 0xdfffu

typedef struct cw_group_name {
    cw_str name;
    uint32_t index;
    struct cw_group_name *next;
} group_name;

static cw_code parse_alternatives(cw_pattern_reader *r, cw_node **ret);

/* CW_PARAMS "at 7: …" with the position of the reader. */
CW_PRINTF(2, 3) static cw_code fail(cw_pattern_reader *r, const char *fmt, ...)
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

/* ---- escapes and classes: sets of code points ---- */

static const cw_range digits[] = {{'0', '9'}};
static const cw_range words[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
static const cw_range spaces[] = {
    {0x09, 0x0d},     {0x20, 0x20},     {0xa0, 0xa0},     {0x1680, 0x1680}, {0x2000, 0x200a},
    {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}, {0xfeff, 0xfeff},
};

/* Room for one more in a growing array of the arena. */
static void *grow(cw_pattern_reader *r, void *items, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return items;
    size_t more = *cap ? *cap * 2 : 4;
    void *grown = cw_arena_resize(r->arena, items, *cap * size, more * size);
    if (grown)
        *cap = more;
    return grown;
}

static cw_code add_range(cw_pattern_reader *r, cw_set *set, uint32_t lo, uint32_t hi)
{
    cw_range *ranges = grow(r, set->ranges, set->n_ranges, &set->cap_ranges, sizeof *ranges);
    if (!ranges)
        return cw_arena_fail(r->arena, r->err);
    set->ranges = ranges;
    ranges[set->n_ranges++] = (cw_range){lo, hi};
    return CW_OK;
}

static cw_code set_add(cw_pattern_reader *r, cw_set *set, uint32_t lo, uint32_t hi)
{
    /* Text has no surrogates, and PCRE2 none in its patterns. */
    if (lo < SURROGATE_FIRST && hi >= SURROGATE_FIRST) {
        cw_code rc = add_range(r, set, lo, SURROGATE_FIRST - 1);
        if (rc)
            return rc;
        lo = SURROGATE_LAST + 1;
    } else if (lo >= SURROGATE_FIRST && lo <= SURROGATE_LAST) {
        lo = SURROGATE_LAST + 1;
    }
    return lo > hi ? CW_OK : add_range(r, set, lo, hi);
}

static cw_code add_ranges(cw_pattern_reader *r, cw_set *set, const cw_range *ranges, size_t n,
                          bool complement)
{
    cw_code rc = CW_OK;
    uint32_t from = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        if (!complement)
            rc = set_add(r, set, ranges[i].lo, ranges[i].hi);
        else if (ranges[i].lo > from)
            rc = set_add(r, set, from, ranges[i].lo - 1);
        from = ranges[i].hi + 1;
    }
    if (complement && !rc)
        rc = set_add(r, set, from, CW_CODE_POINT_MAX);
    return rc;
}

/* The next code point of the pattern. */
static uint32_t next_code_point(cw_pattern_reader *r)
{
    uint32_t c = 0;
    unsigned n = cw_utf8_decode(r->text.p + r->at, r->text.n - r->at, &c);
    r->at += n ? n : 1;
    return c;
}

/* ---- \p ---- */

static cw_code add_property(cw_pattern_reader *r, cw_set *set, bool negated)
{
    cw_str rest = {r->text.p + r->at, r->text.n - r->at};
    cw_str after;
    cw_str inside = cw_str_cut(rest, '}', &after);
    if (inside.n < 2 || inside.p[0] != '{' || !after.p)
        return fail(r, "\\p needs a {name}");
    cw_str name = cw_property_find(cw_str_make(inside.p + 1, inside.n - 1), r->arena);
    if (!name.p)
        return fail(r, "no property '%.*s'", (int)inside.n - 1, inside.p + 1);
    cw_property *properties = name.n == 0 ? NULL
                                          : grow(r, set->properties, set->n_properties,
                                                 &set->cap_properties, sizeof *properties);
    if (!properties)
        return cw_arena_fail(r->arena, r->err);
    set->properties = properties;
    properties[set->n_properties++] = (cw_property){name, negated};
    r->at += inside.n + 1;
    return CW_OK;
}

/* Whether \d, \D, \s, \S, \w, \W, \p or \P stands here (behind the backslash); added to the set. */
static cw_code read_class_escape(cw_pattern_reader *r, cw_set *set, bool *ret_taken)
{
    *ret_taken = true;
    switch (r->text.p[r->at++]) {
    case 'd':
        return add_ranges(r, set, digits, CW_COUNT(digits), false);
    case 'D':
        return add_ranges(r, set, digits, CW_COUNT(digits), true);
    case 's':
        return add_ranges(r, set, spaces, CW_COUNT(spaces), false);
    case 'S':
        return add_ranges(r, set, spaces, CW_COUNT(spaces), true);
    case 'w':
        return add_ranges(r, set, words, CW_COUNT(words), false);
    case 'W':
        return add_ranges(r, set, words, CW_COUNT(words), true);
    case 'p':
        return add_property(r, set, false);
    case 'P':
        return add_property(r, set, true);
    default:
        r->at--;
        *ret_taken = false;
        return CW_OK;
    }
}

/* ---- characters ---- */

static bool read_hex(cw_pattern_reader *r, unsigned n, uint32_t *ret)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < n; i++) {
        int digit = r->at + i < r->text.n ? cw_hex_value(r->text.p[r->at + i]) : -1;
        if (digit < 0)
            return false;
        value = value << 4 | (uint32_t)digit;
    }
    r->at += n;
    *ret = value;
    return true;
}

/* \u{1F600} behind its brace. */
static bool read_braced(cw_pattern_reader *r, uint32_t *ret)
{
    uint32_t value = 0;
    size_t first = r->at;
    for (; r->at < r->text.n && cw_hex_value(r->text.p[r->at]) >= 0; r->at++) {
        value = value << 4 | (uint32_t)cw_hex_value(r->text.p[r->at]);
        if (value > CW_CODE_POINT_MAX)
            return false;
    }
    if (r->at == first || r->at == r->text.n || r->text.p[r->at] != '}')
        return false;
    r->at++;
    *ret = value;
    return true;
}

/* Behind \u. Two escapes that are a surrogate pair are one code point. */
static cw_code read_unicode(cw_pattern_reader *r, uint32_t *ret)
{
    if (r->at < r->text.n && r->text.p[r->at] == '{') {
        r->at++;
        return read_braced(r, ret) ? CW_OK : fail(r, "not a code point");
    }
    if (!read_hex(r, 4, ret))
        return fail(r, "\\u needs four hexadecimal digits");
    size_t mark = r->at;
    uint32_t low;
    if (*ret >= SURROGATE_FIRST && *ret < 0xdc00 && r->at + 1 < r->text.n &&
        r->text.p[r->at] == '\\' && r->text.p[r->at + 1] == 'u') {
        r->at += 2;
        if (read_hex(r, 4, &low) && low >= 0xdc00 && low <= SURROGATE_LAST)
            *ret = 0x10000 + ((*ret - SURROGATE_FIRST) << 10) + (low - 0xdc00);
        else
            r->at = mark;
    }
    return CW_OK;
}

static cw_code read_control(cw_pattern_reader *r, uint32_t *ret)
{
    char c = r->at < r->text.n ? r->text.p[r->at] : '\0';
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
        return fail(r, "\\c needs a letter");
    r->at++;
    *ret = (uint32_t)c & 0x1f;
    return CW_OK;
}

static bool is_digit_at(const cw_pattern_reader *r, size_t at)
{
    return at < r->text.n && r->text.p[at] >= '0' && r->text.p[at] <= '9';
}

/* Characters that a backslash may stand before: those of the syntax, and, where we are lenient, all
 * ASCII punctuation, because schemas in the wild have \- and \@. */
static bool is_escapable(const cw_pattern_reader *r, char c, bool in_class)
{
    if (c && strchr("^$\\.*+?()[]{}|/", c))
        return true;
    if (c == '-' && in_class)
        return true;
    return !r->strict && c && strchr("!\"#%&',-:;<=>@_`~ ", c) != NULL;
}

/* The character escape behind a backslash: \n, \x41, \u{…}, \cA, \. and so on. `in_class` allows
 * \b and \-. */
static cw_code read_character(cw_pattern_reader *r, bool in_class, uint32_t *ret)
{
    static const char from[] = "tnvfr";
    static const char to[] = "\t\n\v\f\r";
    if (r->at == r->text.n)
        return fail(r, "a backslash at the end");
    char c = r->text.p[r->at++];
    const char *letter = c ? strchr(from, c) : NULL;
    if (letter) {
        *ret = (unsigned char)to[letter - from];
        return CW_OK;
    }
    if (c == 'b' && in_class) {
        *ret = '\b';
        return CW_OK;
    }
    if (c == '0' && !is_digit_at(r, r->at)) {
        *ret = 0;
        return CW_OK;
    }
    if (c == 'x')
        return read_hex(r, 2, ret) ? CW_OK : fail(r, "\\x needs two hexadecimal digits");
    if (c == 'u')
        return read_unicode(r, ret);
    if (c == 'c')
        return read_control(r, ret);
    if (!is_escapable(r, c, in_class)) {
        r->at--;
        return fail(r, "unknown escape");
    }
    *ret = (unsigned char)c;
    return CW_OK;
}

/* ---- classes ---- */

/* One atom of a class: a character in *ret, or (*is_set) an escape that was added. */
static cw_code class_atom(cw_pattern_reader *r, cw_set *set, uint32_t *ret, bool *is_set)
{
    *is_set = false;
    if (r->text.p[r->at] != '\\') {
        *ret = next_code_point(r);
        return CW_OK;
    }
    if (++r->at == r->text.n)
        return fail(r, "a class is not closed");
    cw_code rc = read_class_escape(r, set, is_set);
    return rc || *is_set ? rc : read_character(r, true, ret);
}

static bool at_class_end(const cw_pattern_reader *r)
{
    return r->at >= r->text.n || r->text.p[r->at] == ']';
}

static cw_code class_item(cw_pattern_reader *r, cw_set *set)
{
    uint32_t lo = 0, hi = 0;
    bool lo_is_set, hi_is_set;
    cw_code rc = class_atom(r, set, &lo, &lo_is_set);
    if (rc)
        return rc;
    bool range = r->at + 1 < r->text.n && r->text.p[r->at] == '-' && r->text.p[r->at + 1] != ']';
    if (!range)
        return lo_is_set ? CW_OK : set_add(r, set, lo, lo);
    r->at++;
    rc = class_atom(r, set, &hi, &hi_is_set);
    if (rc)
        return rc;
    if (lo_is_set || hi_is_set)
        return fail(r, "a range needs two characters");
    if (lo > hi)
        return fail(r, "a range is out of order");
    return set_add(r, set, lo, hi);
}

/* The class behind its '['. */
static cw_code read_class(cw_pattern_reader *r, cw_set *set)
{
    if (r->at < r->text.n && r->text.p[r->at] == '^') {
        set->negated = true;
        r->at++;
    }
    while (!at_class_end(r)) {
        cw_code rc = class_item(r, set);
        if (rc)
            return rc;
    }
    if (r->at >= r->text.n)
        return fail(r, "a class is not closed");
    r->at++;
    return CW_OK;
}

/* ---- terms, groups, quantifiers ---- */

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
    return rc ? rc : set_add(r, (*ret)->set, c, c);
}

/* '.' is everything but the line ends. */
static cw_code new_dot(cw_pattern_reader *r, cw_node **ret)
{
    cw_code rc = new_node(r, NODE_SET, ret);
    if (rc)
        return rc;
    (*ret)->set->negated = true;
    rc = set_add(r, (*ret)->set, '\n', '\n');
    if (!rc)
        rc = set_add(r, (*ret)->set, '\r', '\r');
    return rc ? rc : set_add(r, (*ret)->set, 0x2028, 0x2029);
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
            return fail(r, "not a group name");
        r->at++;
    }
    *ret = cw_str_make(r->text.p + first, r->at - first);
    if (ret->n == 0 || !take(r, CW_STR(">")))
        return fail(r, "a group name ends with '>'");
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
            return fail(r, "group name used twice");
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
        return fail(r, "unknown kind of group");
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
        return fail(r, "a group is not closed");
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
            return fail(r, "\\k needs a <name>");
        rc = read_name(r, &(*ret)->name);
        (*ret)->child = r->backrefs;
        r->backrefs = *ret;
        return rc;
    }
    uint32_t index = 0;
    while (r->at < r->text.n && r->text.p[r->at] >= '0' && r->text.p[r->at] <= '9') {
        index = index * 10 + (uint32_t)(r->text.p[r->at++] - '0');
        if (index > CW_PATTERN_MAX)
            return fail(r, "no such group");
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
        return fail(r, "a backslash at the end");
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
        rc = read_class_escape(r, (*ret)->set, &taken);
    if (rc || taken)
        return rc;
    uint32_t code;
    rc = read_character(r, false, &code);
    return rc ? rc : set_add(r, (*ret)->set, code, code);
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
        return rc ? rc : read_class(r, (*ret)->set);
    }
    char c = r->text.p[r->at];
    if (c == '*' || c == '+' || c == '?')
        return fail(r, "nothing to repeat");
    if (c == '{' || c == '}' || c == ']')
        return fail(r, "'%c' must be escaped", c);
    return new_character(r, next_code_point(r), ret);
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
        return fail(r, "a count must follow '{'");
    *max = *min;
    if (take(r, CW_STR(",")) && !read_count(r, max))
        *max = CW_PATTERN_FOREVER;
    if (!take(r, CW_STR("}")))
        return fail(r, "'}' must follow the count");
    return *min > *max ? fail(r, "counts are out of order") : CW_OK;
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
        return fail(r, "nothing to repeat");
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
            return fail(r, "no group named '%.*s'", CW_STR_ARG(node->name));
    }
    return CW_OK;
}

cw_code cw_pattern_parse(cw_pattern_reader *r, cw_node **ret)
{
    cw_code rc = parse_alternatives(r, ret);
    if (rc)
        return rc;
    if (r->at < r->text.n)
        return fail(r, "')' without '('");
    if (r->max_backref > r->n_groups)
        return fail(r, "no group %u", r->max_backref);
    return resolve_names(r);
}
