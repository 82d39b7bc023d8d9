/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record_json.c - a record as bytes in a lane, and as a line. */
#include <sodium.h>

#include "audit/audit_int.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "json/write.h"

#define ALIGN 8u
#define REDACTED "[redacted]"

/* ---- in a lane ---- */

static size_t cut(cw_str text, size_t max)
{
    return text.n <= max ? text.n : cw_utf8_cut(text, max);
}

static size_t arguments_of(const cw_audit_record *r, size_t max)
{
    return r->arguments.n <= max ? r->arguments.n : 0;
}

size_t cw_audit_packed_size(const cw_audit_record *r, size_t max_arguments)
{
    size_t n = sizeof(cw_audit_packed) + cut(r->caller, CW_AUDIT_MAX_NAME) +
               cut(r->caller_id, CW_AUDIT_MAX_NAME) + cut(r->method, CW_AUDIT_MAX_NAME) +
               cut(r->tool, CW_AUDIT_MAX_NAME) + cut(r->address, CW_AUDIT_MAX_ADDRESS) +
               cut(r->detail, CW_AUDIT_MAX_NAME) + arguments_of(r, max_arguments);
    return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static uint16_t put(char **to, cw_str text, size_t max)
{
    size_t n = cut(text, max);
    if (n)
        memcpy(*to, text.p, n);
    *to += n;
    return (uint16_t)n;
}

void cw_audit_pack(const cw_audit_record *r, size_t max_arguments, uint64_t number, char *to)
{
    char *at = to + sizeof(cw_audit_packed);
    cw_audit_packed p = {
        .size = (uint32_t)cw_audit_packed_size(r, max_arguments),
        .number = number,
        .when = cw_clock_wall_ms(),
        .us = r->us,
        .code = r->code,
        .door = r->door,
        .outcome = r->outcome,
        .kind = (uint8_t)r->kind,
        .has_us = r->has_us,
        .has_code = r->has_code,
        .has_hash = r->arguments_hash != NULL,
        .is_cut = max_arguments > 0 && r->arguments.n > max_arguments,
    };
    if (p.has_hash)
        memcpy(p.hash, r->arguments_hash, CW_AUDIT_HASH);
    p.n_caller = put(&at, r->caller, CW_AUDIT_MAX_NAME);
    p.n_caller_id = put(&at, r->caller_id, CW_AUDIT_MAX_NAME);
    p.n_method = put(&at, r->method, CW_AUDIT_MAX_NAME);
    p.n_tool = put(&at, r->tool, CW_AUDIT_MAX_NAME);
    p.n_address = put(&at, r->address, CW_AUDIT_MAX_ADDRESS);
    p.n_detail = put(&at, r->detail, CW_AUDIT_MAX_NAME);
    p.n_arguments = (uint32_t)arguments_of(r, max_arguments);
    if (p.n_arguments)
        memcpy(at, r->arguments.p, p.n_arguments);
    memcpy(to, &p, sizeof p);
}

uint32_t cw_audit_packed_step(const char *packed)
{
    cw_audit_packed p;
    memcpy(&p, packed, sizeof p);
    return p.size;
}

void cw_audit_hash(cw_str bytes, unsigned char out[CW_AUDIT_HASH])
{
    crypto_generichash(out, CW_AUDIT_HASH, (const unsigned char *)bytes.p, bytes.n, NULL, 0);
}

/* ---- what is left out of arguments ---- */

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

/* False: they are left out, for want of memory or since rules go by names and these have none. */
static bool write_arguments(cw_json_writer *w, cw_str text, const cw_audit_rules *rules,
                            cw_arena *arena)
{
    const cw_json *root;
    cw_arena_reset(arena);
    if (cw_json_read(text, NULL, arena, &root, NULL, NULL))
        return false;
    trail all = {.items = cw_arena_calloc(arena, rules->n + 1, sizeof(cw_audit_pointer *))};
    if (!all.items || (rules->n && !cw_json_is(root, CW_JSON_OBJECT)))
        return false;
    for (size_t i = 0; i < rules->n; i++)
        all.items[all.n++] = &rules->items[i];
    cw_json_add_key(w, CW_STR("arguments"));
    write_value(w, root, &all, arena);
    return true;
}

/* ---- lines ---- */

static void open_line(cw_json_writer *w, cw_buf *out, int64_t when, const char *kind)
{
    char date[CW_CLOCK_ISO_LEN + 1];
    cw_clock_format_iso(when, date);
    cw_json_writer_init(w, out, CW_JSON_COMPACT);
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("time"), cw_str_from(date));
    cw_json_add_string_member(w, CW_STR("kind"), cw_str_from(kind));
}

/* The bytes from `from` on with controls beyond ASCII as \uXXXX: they stand in texts only, and
 * JSON lets them stand there as they are. */
static void escape_controls(cw_buf *out, size_t from, cw_arena *scratch)
{
    size_t n = out->n - from, done = 0;
    char *copy = NULL;
    for (size_t i = 0; i < n;) {
        const char *p = copy ? copy : out->p + from;
        uint32_t cp = 0;
        unsigned len = (unsigned char)p[i] < 0x7f ? 1 : cw_utf8_decode(p + i, n - i, &cp);
        if (len == 0)
            len = 1;
        if (cp < 0x7f || !cw_utf8_is_control(cp)) {
            i += len;
            continue;
        }
        if (!copy) {
            cw_arena_reset(scratch);
            copy = cw_arena_dup(scratch, p, n);
            if (!copy) {
                out->code = CW_NOMEM;
                return;
            }
            out->n = from;
        }
        cw_buf_add_bytes(out, copy + done, i - done);
        cw_buf_printf(out, "\\u%04x", (unsigned)cp);
        done = i += len;
    }
    if (copy)
        cw_buf_add_bytes(out, copy + done, n - done);
}

static void close_object(cw_json_writer *w)
{
    cw_json_close(w);
    (void)!cw_json_writer_end(w, NULL); /* sticky in the buffer */
}

static void add_text(cw_json_writer *w, const char *name, const char **at, size_t n)
{
    if (n)
        cw_json_add_string_member(w, cw_str_from(name), cw_str_make(*at, n));
    *at += n;
}

static void add_hash(cw_json_writer *w, const cw_audit_packed *p)
{
    char hex[2 * CW_AUDIT_HASH + 1];
    if (!p->has_hash)
        return;
    sodium_bin2hex(hex, sizeof hex, p->hash, sizeof p->hash);
    cw_json_add_string_member(w, CW_STR("arguments_hash"), cw_str_from(hex));
}

void cw_audit_add_line(cw_buf *out, const char *packed, const cw_audit_rules *rules,
                       cw_arena *scratch)
{
    static const char *const kinds[] = {"call", "refusal", "login", "change"};
    cw_json_writer w;
    cw_audit_packed p;
    memcpy(&p, packed, sizeof p);
    const char *at = packed + sizeof p;
    size_t from = out->n;
    open_line(&w, out, p.when, kinds[p.kind]);
    if (p.door)
        cw_json_add_string_member(&w, CW_STR("door"), cw_str_from(p.door));
    add_text(&w, "caller", &at, p.n_caller);
    add_text(&w, "caller_id", &at, p.n_caller_id);
    add_text(&w, "method", &at, p.n_method);
    add_text(&w, "tool", &at, p.n_tool);
    cw_json_add_string_member(&w, CW_STR("outcome"), cw_str_from(p.outcome));
    if (p.has_code)
        cw_json_add_i64_member(&w, CW_STR("code"), p.code);
    add_text(&w, "address", &at, p.n_address);
    add_text(&w, "detail", &at, p.n_detail);
    if (p.has_us)
        cw_json_add_i64_member(&w, CW_STR("us"), (int64_t)p.us);
    add_hash(&w, &p);
    bool is_cut = p.is_cut;
    if (p.n_arguments)
        is_cut = !write_arguments(&w, cw_str_make(at, p.n_arguments), rules, scratch);
    if (is_cut)
        cw_json_add_bool_member(&w, CW_STR("arguments_left_out"), true);
    close_object(&w);
    if (!out->code)
        escape_controls(out, from, scratch);
    cw_buf_add_char(out, '\n');
}

void cw_audit_add_lost(cw_buf *out, int64_t when, uint64_t security, uint64_t calls)
{
    cw_json_writer w;
    open_line(&w, out, when, "lost");
    cw_json_add_i64_member(&w, CW_STR("security"), (int64_t)security);
    cw_json_add_i64_member(&w, CW_STR("calls"), (int64_t)calls);
    close_object(&w);
    cw_buf_add_char(out, '\n');
}
