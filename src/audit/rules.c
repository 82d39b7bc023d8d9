/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rules.c - follows JSON pointers through arguments, and leaves out the values they lead to. */
#include "audit/rules.h"

#include "base/digits.h"

#define REDACTED "[redacted]"

static cw_code make_token(cw_str escaped, cw_arena *arena, cw_str *ret)
{
    char *text = cw_arena_alloc(arena, escaped.n + 1);
    size_t n = 0;
    if (!text)
        return cw_arena_code(arena);
    for (size_t i = 0; i < escaped.n; i++) {
        char c = escaped.p[i];
        if (c == '~' && (++i == escaped.n || (escaped.p[i] != '0' && escaped.p[i] != '1')))
            return CW_PARAMS;
        text[n++] = c != '~' ? c : (char)(escaped.p[i] == '0' ? '~' : '/');
    }
    *ret = cw_str_make(text, n);
    return CW_OK;
}

static cw_code make_pointer(cw_str text, cw_arena *arena, cw_audit_pointer *ret)
{
    if (text.n == 0 || text.p[0] != '/')
        return CW_PARAMS;
    cw_str rest = cw_str_make(text.p + 1, text.n - 1);
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '/';
    ret->tokens = cw_arena_calloc(arena, n, sizeof *ret->tokens);
    if (!ret->tokens)
        return cw_arena_code(arena);
    while (rest.p) {
        cw_code rc = make_token(cw_str_cut(rest, '/', &rest), arena, &ret->tokens[ret->n++]);
        if (rc)
            return rc;
    }
    return CW_OK;
}

cw_code cw_audit_rules_make(const cw_str *pointers, size_t n, cw_arena *arena, cw_audit_rules *ret,
                            cw_err *err)
{
    *ret = (cw_audit_rules){.items = cw_arena_calloc(arena, n + 1, sizeof *ret->items)};
    if (!ret->items)
        return cw_arena_fail(arena, err);
    for (size_t i = 0; i < n; i++) {
        cw_code rc = make_pointer(pointers[i], arena, &ret->items[ret->n++]);
        if (rc == CW_PARAMS)
            return cw_fail(err, rc, "not a JSON pointer: '%.*s'", CW_STR_ARG(pointers[i]));
        if (rc)
            return cw_arena_fail(arena, err);
    }
    return CW_OK;
}

/* The rules that lead to a value, as far as they have been followed. */
typedef struct trail {
    const cw_audit_pointer **items;
    size_t n;
    size_t depth; /* tokens that have matched */
} trail;

/* Follow a member's name. True: its value is left out. */
static bool follow(const trail *from, cw_str name, trail *to)
{
    to->n = 0;
    to->depth = from->depth + 1;
    for (size_t i = 0; i < from->n; i++) {
        const cw_audit_pointer *p = from->items[i];
        cw_str token = p->tokens[from->depth];
        if (!cw_str_eq(token, name) && !cw_str_is(token, "*"))
            continue;
        if (p->n == to->depth)
            return true;
        to->items[to->n++] = p;
    }
    return false;
}

static void write_value(cw_json_writer *w, const cw_json *v, const trail *at, cw_arena *arena);

static void write_member(cw_json_writer *w, cw_str name, const cw_json *v, const trail *at,
                         trail *next, cw_arena *arena)
{
    if (follow(at, name, next))
        cw_json_add_string(w, CW_STR(REDACTED));
    else
        write_value(w, v, next, arena);
}

/* As deep as the reader lets a document be. */
static void write_value(cw_json_writer *w, const cw_json *v, const trail *at, cw_arena *arena)
{
    bool is_object = cw_json_is(v, CW_JSON_OBJECT);
    trail next = {.items = NULL};
    if (at->n == 0 || (!is_object && !cw_json_is(v, CW_JSON_ARRAY))) {
        cw_json_add_value(w, v);
        return;
    }
    next.items = cw_arena_calloc(arena, at->n, sizeof(cw_audit_pointer *));
    if (!next.items) {
        cw_json_add_string(w, CW_STR(REDACTED));
        return;
    }
    if (is_object) {
        cw_json_open_object(w);
        for (const cw_json *k = cw_json_first(v); k; k = cw_json_next_key(k)) {
            cw_json_add_key(w, cw_json_text(k));
            write_member(w, cw_json_text(k), cw_json_value(k), at, &next, arena);
        }
    } else {
        size_t i = 0;
        char digits[CW_DIGITS_SIZE];
        cw_json_open_array(w);
        for (const cw_json *e = cw_json_first(v); e; e = cw_json_next(e))
            write_member(w, cw_digits_u64(i++, digits), e, at, &next, arena);
    }
    cw_json_close(w);
}

bool cw_audit_rules_write(const cw_audit_rules *rules, cw_str key, cw_str text, cw_arena *arena,
                          cw_json_writer *w)
{
    const cw_json *root;
    if (cw_json_read(text, NULL, arena, &root, NULL, NULL))
        return false;
    trail all = {.items = cw_arena_calloc(arena, rules->n + 1, sizeof(cw_audit_pointer *))};
    if (!all.items || (rules->n && !cw_json_is(root, CW_JSON_OBJECT)))
        return false;
    for (size_t i = 0; i < rules->n; i++)
        all.items[all.n++] = &rules->items[i];
    if (key.n)
        cw_json_add_key(w, key);
    write_value(w, root, &all, arena);
    return true;
}
