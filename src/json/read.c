/* SPDX-License-Identifier: GPL-2.0-or-later */
/* read.c - the reader: one pass, no recursion.
 *
 * Open containers are a stack of frames; frame 0 stands for the outside of the
 * document. Every step moves the cursor behind what it has read and returns
 * true, or records the failure and returns false.
 *
 *     read_values   one round per value
 *       read_string, read_number, read_literal   put one value on the tape
 *       read_opening                             puts one, pushes a frame, reads the first key
 *       next_value                               ',' and the next key, or closes containers
 *
 * Strings are scanned in place and decoded only when they hold an escape;
 * numbers are checked and left as text. Line and column are counted only after
 * a failure.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/map.h"
#include "base/utf8.h"
#include "json/json_int.h"
#include "json/scan.h"

#ifndef MEMBERS_CEILING           /* a test reaches a lower one */
#define MEMBERS_CEILING 0xFFFFFFu /* bits of a count in meta */
#endif
#define FRAMES_FIRST 16u /* kept on the stack; deeper ones in the arena */

typedef struct key_table key_table;

/* The keys of an open object. All zero: no key yet. */
typedef struct key_set {
    uint64_t seen;
    key_table *table;
} key_set;

typedef struct key_pool {
    cw_arena *arena;
    key_table *spare; /* the largest unused table, or NULL */
} key_pool;

/* One open container. */
typedef struct frame {
    key_set keys;
    uint32_t open;  /* the container's index on the tape */
    uint32_t count; /* members so far */
    char closer;    /* '}', ']', or 0 for the outside */
} frame;

typedef struct reader {
    const char *end; /* of the source */
    cw_json *limit;  /* end of the tape's memory */
    cw_json *tape;
    frame *last; /* end of the frames' memory */
    frame *frames;
    key_pool pool;
    uint32_t max_depth;
    uint32_t max_members;
    uint32_t object_meta;
    bool check_keys;
    cw_str src;
    cw_arena *arena;
    cw_json_pos *pos;
    cw_err *err;
    cw_code code;
} reader;

/* The byte at p, or -1 at the end: one comparison serves for both. */
CW_INLINE int peek(const reader *r, const char *p)
{
    return CW_LIKELY(p < r->end) ? (unsigned char)*p : -1;
}

/* A string that is not plain up to its closing quote. */
typedef struct rich_string {
    cw_str text; /* in the source, or decoded in the arena */
    const char *close;
    uint32_t meta; /* CW_JSON_DECODED or 0 */
} rich_string;

/* Changes with every value. Only inlined functions take its address: it lives in registers. */
typedef struct cursor {
    const char *p;
    cw_json *next; /* where the next value goes */
    frame *top;    /* the innermost open container */
} cursor;

/* Not inlined: the cursor stays in registers while strings are plain and nothing fails. */
static CW_NOINLINE bool read_rich(reader *r, const char *open, const char *p, rich_string *ret);
/* Record a failure at p and return false. */
CW_PRINTF(4, 5)
static CW_NOINLINE bool read_fail(reader *r, const char *p, cw_code code, const char *fmt, ...);
static CW_NOINLINE bool read_fail_arena(reader *r, const char *p);
static CW_NOINLINE bool read_expected(reader *r, const char *p, const char *what);
static CW_NOINLINE bool read_fail_key(reader *r, const cw_json *key, cw_code code);

/* More memory; returns where `next` is now, or NULL. */
static CW_NOINLINE cw_json *grow_tape(reader *r, cw_json *next, const char *p)
{
    size_t used = (size_t)(next - r->tape);
    /* Half as much again, but no more than can come: a value takes at least one byte. */
    size_t more = used / 2 + 16;
    size_t left = (size_t)(r->end - p) + 1;
    size_t cap = used + (more < left ? more : left);
    cw_json *tape = cw_arena_resize(r->arena, r->tape, used * sizeof *tape, cap * sizeof *tape);
    if (!tape) {
        read_fail_arena(r, p);
        return NULL;
    }
    r->tape = tape;
    r->limit = tape + cap;
    return tape + used;
}

CW_INLINE bool push(reader *r, cursor *c, cw_str text, uint32_t meta)
{
    if (CW_UNLIKELY(c->next == r->limit)) {
        c->next = grow_tape(r, c->next, c->p);
        if (!c->next)
            return false;
    }
    cw_json *v = c->next++;
    v->p = text.p;
    v->n = (uint32_t)text.n;
    v->meta = meta;
    return true;
}

/* The first byte that is no white space, or the end. */
static CW_NOINLINE const char *skip_space(const char *p, const char *end)
{
#if SCAN_SSE2
    /* Indented text: a line feed and then many spaces. */
    if (p < end && *p == '\n')
        p++;
    while (end - p >= 16) {
        __m128i blank = _mm_cmpeq_epi8(load16(p), _mm_set1_epi8(' '));
        unsigned other = (unsigned)_mm_movemask_epi8(blank) ^ 0xFFFFu;
        if (other) {
            p += first_bit(other);
            break;
        }
        p += 16;
    }
#endif
    while (p < end && cw_is_space(*p))
        p++;
    return p;
}

/* Skip white space, of which compact text has none, and peek. */
CW_INLINE int peek_token(const reader *r, cursor *c)
{
    int byte = peek(r, c->p);
    if (CW_LIKELY(byte > ' '))
        return byte;
    c->p = skip_space(c->p, r->end);
    return peek(r, c->p);
}

/* The string or key whose opening quote is at the cursor. */
CW_INLINE bool read_string(reader *r, cursor *c, uint32_t meta)
{
    const char *close = skip_plain(c->p + 1, r->end);
    cw_str text = cw_str_make(c->p + 1, (size_t)(close - c->p) - 1);
    if (CW_UNLIKELY(peek(r, close) != '"')) {
        CW_UNINIT rich_string rich;
        if (!read_rich(r, c->p, close, &rich))
            return false;
        text = rich.text;
        close = rich.close;
        meta |= rich.meta;
    }
    if (meta & CW_JSON_KEY)
        meta |= cw_json_key_hash(text) << 8;
    if (CW_UNLIKELY(!push(r, c, text, meta)))
        return false;
    c->p = close + 1;
    return true;
}

CW_INLINE const char *skip_digits(const reader *r, const char *p)
{
    while (p < r->end && cw_is_digit(*p))
        p++;
    return p;
}

/* Behind the '.' or 'e' at `p`: at least one digit. */
CW_INLINE const char *skip_part(reader *r, const char *p, const char *what)
{
    const char *behind = skip_digits(r, p);
    if (CW_LIKELY(behind != p))
        return behind;
    read_expected(r, p, what);
    return NULL;
}

CW_INLINE bool read_number(reader *r, cursor *c)
{
    const char *p = c->p;
    uint32_t meta = CW_JSON_NUMBER;
    if (*p == '-') {
        meta |= CW_JSON_NEGATIVE;
        p++;
    }
    const char *digits = p;
    p = skip_part(r, digits, "a digit");
    if (CW_UNLIKELY(!p))
        return false;
    if (CW_UNLIKELY(*digits == '0' && p - digits > 1))
        return read_fail(r, digits, CW_PARSE, "a number must not start with 0");
    if (peek(r, p) == '.') {
        meta |= CW_JSON_FRACTION;
        p = skip_part(r, p + 1, "a digit after the decimal point");
        if (CW_UNLIKELY(!p))
            return false;
    }
    if (CW_UNLIKELY((peek(r, p) | 0x20) == 'e')) {
        meta |= CW_JSON_EXPONENT;
        p++;
        if (peek(r, p) == '+' || peek(r, p) == '-')
            p++;
        p = skip_part(r, p, "a digit in the exponent");
        if (CW_UNLIKELY(!p))
            return false;
    }
    if (CW_UNLIKELY(!push(r, c, cw_str_make(c->p, (size_t)(p - c->p)), meta)))
        return false;
    c->p = p;
    return true;
}

CW_INLINE bool read_literal(reader *r, cursor *c)
{
    size_t left = (size_t)(r->end - c->p);
    cw_str text = cw_str_make(c->p, 4);
    uint32_t type;
    if (left >= 4 && memcmp(c->p, "true", 4) == 0) {
        type = CW_JSON_TRUE;
    } else if (left >= 4 && memcmp(c->p, "null", 4) == 0) {
        type = CW_JSON_NULL;
    } else if (left >= 5 && memcmp(c->p, "false", 5) == 0) {
        type = CW_JSON_FALSE;
        text.n = 5;
    } else {
        return read_expected(r, c->p, "a value");
    }
    if (CW_UNLIKELY(!push(r, c, text, type)))
        return false;
    c->p += text.n;
    return true;
}

/* ---- duplicate keys ----
 *
 * Three stages, each for objects that the stage before it cannot check cheaply:
 *
 *     a 64-bit set of key hashes   rules out a duplicate for most keys of most objects
 *     a walk over earlier keys     on a hit, while the object has at most KEYS_SEARCHED members
 *     a table by the seeded hash   beyond that, so that chosen collisions cost nothing
 *
 * Tables are in the arena; the table of a closed object serves the next large one. */

#define KEYS_SEARCHED 32u

/* A key as its distance from the object on the tape, because the tape moves while it grows, with
 * enough of the seeded hash that other keys are hardly ever looked at. */
typedef struct key_slot {
    uint32_t hash;
    uint32_t key; /* 0: empty; no key stands where its object does */
} key_slot;

/* Open addressing, linear probing, at most 3/4 full. */
struct key_table {
    uint32_t room; /* slots allocated */
    uint32_t cap;  /* slots in use as a table, a power of two <= room */
    uint32_t n;
    key_slot slots[];
};

#define TABLE_MIN (4u * KEYS_SEARCHED)

static bool same_key(const cw_json *a, const cw_json *b)
{
    return a->meta >> 8 == b->meta >> 8 && a->n == b->n && memcmp(a->p, b->p, a->n) == 0;
}

static uint32_t hash_of_key(const cw_json *key)
{
    return (uint32_t)cw_hash(cw_str_make(key->p, key->n));
}

/* The slot with a key of this name, or the empty one where it belongs. */
static key_slot *find_slot(key_table *table, const cw_json *object, const cw_json *key,
                           uint32_t hash)
{
    uint32_t mask = table->cap - 1;
    uint32_t i = hash & mask;
    for (;; i = (i + 1) & mask) {
        key_slot *slot = &table->slots[i];
        if (!slot->key || (slot->hash == hash && same_key(object + slot->key, key)))
            return slot;
    }
}

/* An empty table with `cap` slots; NULL when the arena fails. */
static key_table *take_table(key_pool *pool, uint32_t cap)
{
    key_table *table = pool->spare;
    if (table && table->room >= cap) {
        pool->spare = NULL;
    } else {
        table = cw_arena_alloc(pool->arena, sizeof *table + cap * sizeof table->slots[0]);
        if (!table)
            return NULL;
        table->room = cap;
    }
    table->cap = cap;
    table->n = 0;
    memset(table->slots, 0, cap * sizeof table->slots[0]);
    return table;
}

static void give_back_table(key_pool *pool, key_table *table)
{
    if (!pool->spare || pool->spare->room < table->room)
        pool->spare = table;
}

/* The first table of an object, filled with the keys it has. */
static key_table *build_table(key_pool *pool, const cw_json *object, uint32_t before)
{
    key_table *table = take_table(pool, TABLE_MIN);
    if (!table)
        return NULL;
    const cw_json *key = object + 1;
    for (uint32_t i = 0; i < before; i++) {
        uint32_t hash = hash_of_key(key);
        *find_slot(table, object, key, hash) = (key_slot){hash, (uint32_t)(key - object)};
        key = cw_json_after(key + 1);
    }
    table->n = before;
    return table;
}

static key_table *grow_table(key_pool *pool, key_table *old)
{
    key_table *table = take_table(pool, old->cap * 2);
    if (!table)
        return NULL;
    uint32_t mask = table->cap - 1;
    for (uint32_t i = 0; i < old->cap; i++) {
        if (!old->slots[i].key)
            continue;
        /* All are different: any empty slot will do. */
        uint32_t j = old->slots[i].hash & mask;
        while (table->slots[j].key)
            j = (j + 1) & mask;
        table->slots[j] = old->slots[i];
    }
    table->n = old->n;
    give_back_table(pool, old);
    return table;
}

static cw_code search_keys(key_set *set, const cw_json *object, const cw_json *key, uint32_t before)
{
    const cw_json *other = object + 1;
    for (uint32_t i = 0; i < before; i++) {
        if (same_key(other, key))
            return CW_PARSE;
        other = cw_json_after(other + 1);
    }
    set->seen |= UINT64_C(1) << (key->meta >> 26);
    return CW_OK;
}

/* The stages after the first. Not inlined: most keys end at the first. */
static CW_NOINLINE cw_code check_key(key_pool *pool, key_set *set, const cw_json *object,
                                     const cw_json *key, uint32_t before)
{
    if (before < KEYS_SEARCHED)
        return search_keys(set, object, key, before);
    key_table *table = set->table;
    if (!table)
        table = build_table(pool, object, before);
    else if (table->n >= table->cap / 4 * 3)
        table = grow_table(pool, table);
    if (!table)
        return cw_arena_code(pool->arena);
    set->table = table;

    uint32_t hash = hash_of_key(key);
    key_slot *slot = find_slot(table, object, key, hash);
    if (slot->key)
        return CW_PARSE;
    *slot = (key_slot){hash, (uint32_t)(key - object)};
    table->n++;
    return CW_OK;
}

/* The object is closed: keep its table for others. */
static CW_NOINLINE void release_keys(key_pool *pool, key_set *set)
{
    if (set->table)
        give_back_table(pool, set->table);
    set->table = NULL;
}

/* Record `key` (with its hash in meta) as the next member of `object`, which has `before` members
 * already. CW_PARSE when one of them has the same name; CW_NOMEM or CW_LIMIT from the arena. */
CW_INLINE cw_code add_key(key_pool *pool, key_set *set, const cw_json *object, const cw_json *key,
                          uint32_t before)
{
    uint64_t bit = UINT64_C(1) << (key->meta >> 26);
    if (CW_UNLIKELY((set->seen & bit) || before >= KEYS_SEARCHED))
        return check_key(pool, set, object, key, before);
    set->seen |= bit;
    return CW_OK;
}

/* ---- containers ---- */

/* Room for frames above the last one; returns where `top` is now, or NULL when they would be deeper
 * than allowed. */
static CW_NOINLINE frame *grow_frames(reader *r, const char *p)
{
    size_t used = (size_t)(r->last - r->frames) + 1;
    if (used > r->max_depth) {
        read_fail(r, p, CW_LIMIT, "nested deeper than %u levels", r->max_depth);
        return NULL;
    }
    size_t cap = used * 2 < r->max_depth + 1 ? used * 2 : r->max_depth + 1;
    frame *frames = cw_arena_alloc(r->arena, cap * sizeof *frames);
    if (!frames) {
        read_fail_arena(r, p);
        return NULL;
    }
    memcpy(frames, r->frames, used * sizeof *frames);
    r->frames = frames;
    r->last = frames + cap - 1;
    return frames + used - 1;
}

CW_INLINE bool open_container(reader *r, cursor *c, uint32_t meta, char closer)
{
    if (CW_UNLIKELY(c->top == r->last)) {
        c->top = grow_frames(r, c->p);
        if (!c->top)
            return false;
    }
    *++c->top = (frame){.open = (uint32_t)(c->next - r->tape), .closer = closer};
    if (CW_UNLIKELY(!push(r, c, cw_str_make(c->p, 1), meta)))
        return false;
    c->p++;
    return true;
}

CW_INLINE bool close_container(reader *r, cursor *c)
{
    frame *f = c->top;
    uint32_t distance = (uint32_t)(c->next - r->tape) - f->open;
    if (CW_UNLIKELY(!push(r, c, cw_str_make(c->p, distance), CW_JSON_END)))
        return false;
    cw_json *open = r->tape + f->open;
    open->n = distance;
    open->meta |= f->count << 8;
    if (CW_UNLIKELY(f->keys.table != NULL))
        release_keys(&r->pool, &f->keys);
    c->top--;
    c->p++;
    return true;
}

/* A key and its colon. */
CW_INLINE bool read_key(reader *r, cursor *c, const char *what)
{
    if (CW_UNLIKELY(peek_token(r, c) != '"'))
        return read_expected(r, c->p, what);
    uint32_t before = c->top->count++;
    if (CW_UNLIKELY(before == r->max_members))
        return read_fail(r, c->p, CW_LIMIT, "more than %u members in an object", r->max_members);
    if (CW_UNLIKELY(!read_string(r, c, CW_JSON_STRING | CW_JSON_KEY)))
        return false;
    if (r->check_keys) {
        const cw_json *object = r->tape + c->top->open;
        const cw_json *key = c->next - 1;
        cw_code rc = add_key(&r->pool, &c->top->keys, object, key, before);
        if (CW_UNLIKELY(rc))
            return read_fail_key(r, key, rc);
    }
    if (CW_UNLIKELY(peek_token(r, c) != ':'))
        return read_expected(r, c->p, "':' after the key");
    c->p++;
    return true;
}

/* Behind a value: close what ends here, then stop before the next value or outside of all. */
CW_INLINE bool next_value(reader *r, cursor *c)
{
    while (c->top->closer) {
        frame *f = c->top;
        int byte = peek_token(r, c);
        if (byte == ',') {
            c->p++;
            if (f->closer == '}')
                return read_key(r, c, "a key after ','");
            if (CW_UNLIKELY(++f->count > MEMBERS_CEILING))
                return read_fail(r, c->p, CW_LIMIT, "more than %u elements in an array",
                                 MEMBERS_CEILING);
            return true;
        }
        if (CW_UNLIKELY(byte != f->closer))
            return read_expected(r, c->p, f->closer == '}' ? "',' or '}'" : "',' or ']'");
        if (CW_UNLIKELY(!close_container(r, c)))
            return false;
    }
    return true;
}

/* Open the container at the cursor. Stops before its first value, or behind it when it is empty. */
CW_INLINE bool read_opening(reader *r, cursor *c, bool *ret_empty)
{
    bool object = *c->p == '{';
    char closer = object ? '}' : ']';
    if (!open_container(r, c, object ? r->object_meta : CW_JSON_ARRAY, closer))
        return false;
    *ret_empty = peek_token(r, c) == closer;
    if (*ret_empty)
        return close_container(r, c);
    if (object)
        return read_key(r, c, "a key or '}'");
    c->top->count = 1;
    return true;
}

static bool read_values(reader *r, cursor *c)
{
    bool ok;
    do {
        int byte = peek_token(r, c);
        bool whole = true;
        if (byte == '"')
            ok = read_string(r, c, CW_JSON_STRING);
        else if (byte == '{' || byte == '[')
            ok = read_opening(r, c, &whole);
        else if (byte == '-' || (byte >= '0' && byte <= '9'))
            ok = read_number(r, c);
        else
            ok = read_literal(r, c);
        if (ok && whole)
            ok = next_value(r, c);
    } while (ok && c->top->closer);
    return ok;
}

static uint32_t ceiling(uint32_t asked, uint32_t usual, uint32_t most)
{
    uint32_t n = asked ? asked : usual;
    return n < most ? n : most;
}

/* Read everything into a tape of its own. */
static bool read_document(reader *r, const cw_json **ret_root)
{
    /* Requests and schemas have a value for every 9 to 13 bytes. */
    size_t cap = r->src.n / 8 + 8;
    r->tape = cw_arena_alloc(r->arena, cap * sizeof *r->tape);
    if (!r->tape)
        return read_fail_arena(r, r->src.p);
    r->limit = r->tape + cap;

    cursor c = {.p = r->src.p, .next = r->tape, .top = r->frames};
    if (!read_values(r, &c))
        return false;
    if (peek_token(r, &c) != -1)
        return read_expected(r, c.p, "the end of the text");

    size_t used = (size_t)(c.next - r->tape);
    size_t had = (size_t)(r->limit - r->tape);
    if (had - used > used / 8)
        r->tape = cw_arena_resize(r->arena, r->tape, had * sizeof *r->tape, used * sizeof *r->tape);
    *ret_root = r->tape; /* shrinking is done in place and cannot fail */
    return true;
}

cw_code cw_json_read(cw_str src, const cw_json_opts *opts, cw_arena *arena,
                     const cw_json **ret_root, cw_json_pos *pos, cw_err *err)
{
    static const cw_json_opts defaults = {0};
    const cw_json_opts *o = opts ? opts : &defaults;
    size_t max_bytes = o->max_bytes ? o->max_bytes : CW_JSON_MAX_BYTES;
    if (max_bytes > UINT32_MAX)
        max_bytes = UINT32_MAX;
    if (src.n > max_bytes) {
        if (pos)
            *pos = (cw_json_pos){.line = 1, .column = 1};
        return cw_fail(err, CW_LIMIT, "JSON text of %zu bytes is longer than %zu", src.n,
                       max_bytes);
    }
    if (src.n == 0)
        src.p = ""; /* may be NULL, which knows no arithmetic */

    CW_UNINIT frame first[FRAMES_FIRST];
    first[0] = (frame){0};
    uint32_t max_depth = ceiling(o->max_depth, CW_JSON_MAX_DEPTH, CW_JSON_DEPTH_CEILING);
    /* Every member named: a small document would notice the time to clear the rest. */
    CW_UNINIT reader r = {
        .end = src.p + src.n,
        .limit = NULL,
        .tape = NULL,
        .last = first + (max_depth < FRAMES_FIRST ? max_depth : FRAMES_FIRST - 1),
        .frames = first,
        .pool = {.arena = arena, .spare = NULL},
        .max_depth = max_depth,
        .max_members = ceiling(o->max_members, CW_JSON_MAX_MEMBERS, MEMBERS_CEILING),
        .object_meta = CW_JSON_OBJECT | (o->allow_duplicates ? CW_JSON_UNCHECKED : 0),
        .check_keys = !o->allow_duplicates,
        .src = src,
        .arena = arena,
        .pos = pos,
        .err = err,
        .code = CW_OK,
    };
    return read_document(&r, ret_root) ? CW_OK : r.code;
}

/* ---- strings ---- */

/* strings with escapes or characters beyond ASCII.
 *
 * First the whole string is checked up to its closing quote; decoding then trusts
 * what it sees.
 */

/* The value of four hex digits at p, or -1. */
static int32_t hex4(const char *p, const char *end)
{
    if (end - p < 4)
        return -1;
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        unsigned letter = (unsigned)((p[i] | 0x20) - 'a');
        if (cw_is_digit(p[i]))
            value = value * 16 + (p[i] - '0');
        else if (letter < 6)
            value = value * 16 + 10 + (int32_t)letter;
        else
            return -1;
    }
    return value;
}

static char control_of(char letter)
{
    switch (letter) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return letter; /* '"', '\\' and '/' stand for themselves */
    }
}

/* Decode the body of a string that has been checked: at most as long as `raw`. Returns the length.
 */
static size_t decode(cw_str raw, char *out)
{
    const char *p = raw.p;
    const char *end = raw.p + raw.n;
    char *o = out;
    for (;;) {
        const char *slash = memchr(p, '\\', (size_t)(end - p));
        size_t run = (size_t)((slash ? slash : end) - p);
        memcpy(o, p, run);
        o += run;
        if (!slash)
            return (size_t)(o - out);
        p = slash + 2;
        if (slash[1] != 'u') {
            *o++ = control_of(slash[1]);
            continue;
        }
        uint32_t cp = (uint32_t)hex4(p, end);
        p += 4;
        if (cp >= 0xD800 && cp < 0xDC00) {
            cp = 0x10000 + ((cp - 0xD800) << 10) + ((uint32_t)hex4(p + 2, end) - 0xDC00);
            p += 6;
        }
        o += cw_utf8_encode(cp, o);
    }
}

/* Check the escape whose backslash is at p; returns what is behind it, or NULL. */
static const char *scan_escape(reader *r, const char *p)
{
    const char *letter = p + 1;
    if (letter == r->end || !*letter || !strchr("\"\\/bfnrtu", *letter)) {
        read_expected(r, letter, "one of \"\\/bfnrtu after a backslash");
        return NULL;
    }
    if (*letter != 'u')
        return letter + 1;
    int32_t unit = hex4(letter + 1, r->end);
    if (unit < 0) {
        read_fail(r, p, CW_PARSE, "expected four hex digits after \\u");
        return NULL;
    }
    const char *behind = letter + 5;
    if (unit < 0xD800 || unit > 0xDFFF)
        return behind;
    int32_t low = -1;
    if (unit < 0xDC00 && r->end - behind >= 2 && behind[0] == '\\' && behind[1] == 'u')
        low = hex4(behind + 2, r->end);
    if (low < 0xDC00 || low > 0xDFFF) {
        read_fail(r, p, CW_PARSE, "\\u%04X is half of a surrogate pair", (unsigned)unit);
        return NULL;
    }
    return behind + 6;
}

/* The closing quote of a string, from any place in it; NULL after a failure. */
static const char *scan_string(reader *r, const char *p, bool *ret_escaped)
{
    while (p) {
        p = skip_plain(p, r->end);
        int byte = peek(r, p);
        if (byte == '"')
            return p;
        if (byte == '\\') {
            *ret_escaped = true;
            p = scan_escape(r, p);
            continue;
        }
        size_t n = byte >= 0x80 ? sequence_len(p, r->end) : 0;
        if (n > 0) {
            p += n;
            continue;
        }
        if (byte < 0)
            read_expected(r, p, "'\"' at the end of a string");
        else if (byte < 0x20)
            read_fail(r, p, CW_PARSE, "control character U+%04X in a string must be escaped",
                      (unsigned)byte);
        else
            read_fail(r, p, CW_PARSE, "invalid UTF-8 in a string (byte 0x%02X)", (unsigned)byte);
        return NULL;
    }
    return NULL;
}

static bool read_rich(reader *r, const char *open, const char *p, rich_string *ret)
{
    bool escaped = false;
    const char *close = scan_string(r, p, &escaped);
    if (!close)
        return false;
    cw_str raw = cw_str_make(open + 1, (size_t)(close - open) - 1);
    *ret = (rich_string){.text = raw, .close = close};
    if (!escaped)
        return true;
    char *memory = cw_arena_alloc(r->arena, DECODED_HEAD + raw.n);
    if (!memory)
        return read_fail_arena(r, open);
    char *text = memory + DECODED_HEAD;
    decoded_set_source(text, cw_str_make(open, raw.n + 2));
    ret->text = cw_str_make(text, decode(raw, text));
    ret->meta = CW_JSON_DECODED;
    return true;
}

/* ---- failures ---- */

#define FOUND_MAX 32
#define KEY_SHOWN 64 /* bytes of a key in a message */

static void describe(const reader *r, const char *p, char out[FOUND_MAX])
{
    if (p == r->end) {
        snprintf(out, FOUND_MAX, "the end of the text");
        return;
    }
    unsigned c = (unsigned char)*p;
    if (c > 0x20 && c < 0x7F)
        snprintf(out, FOUND_MAX, "'%c'", (char)c);
    else
        snprintf(out, FOUND_MAX, "byte 0x%02X", c);
}

/* `quoted` is the key with its quotes as it stands in the source: escaped already. */
static bool fail_duplicate(reader *r, cw_str quoted)
{
    size_t n = cw_utf8_cut(quoted, KEY_SHOWN);
    return read_fail(r, quoted.p, CW_PARSE, "duplicate key %.*s%s", (int)n, quoted.p,
                     n < quoted.n ? "...\"" : "");
}

cw_json_pos cw_json_locate(cw_str src, size_t offset)
{
    cw_json_pos pos = {.offset = offset < src.n ? offset : src.n, .line = 1, .column = 1};
    const char *p = src.p;
    const char *stop = src.p + pos.offset;
    while (p < stop) {
        size_t n = (unsigned char)*p < 0x80 ? 1 : sequence_len(p, stop);
        pos.column++;
        if (*p == '\n') {
            pos.line++;
            pos.column = 1;
        }
        p += n ? n : 1;
    }
    return pos;
}

static bool read_fail(reader *r, const char *p, cw_code code, const char *fmt, ...)
{
    char msg[CW_ERR_MSG_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(msg, sizeof msg, fmt, args);
    va_end(args);
    cw_json_pos pos = cw_json_locate(r->src, (size_t)(p - r->src.p));
    if (r->pos)
        *r->pos = pos;
    r->code = cw_fail(r->err, code, "line %u, column %u: %s", pos.line, pos.column, msg);
    return false;
}

static bool read_fail_arena(reader *r, const char *p)
{
    if (r->pos)
        *r->pos = cw_json_locate(r->src, (size_t)(p - r->src.p));
    r->code = cw_arena_fail(r->arena, r->err);
    return false;
}

static bool read_expected(reader *r, const char *p, const char *what)
{
    char found[FOUND_MAX];
    describe(r, p, found);
    return read_fail(r, p, CW_PARSE, "expected %s, found %s", what, found);
}

static bool read_fail_key(reader *r, const cw_json *key, cw_code code)
{
    cw_str quoted = cw_json_span(key);
    return code == CW_PARSE ? fail_duplicate(r, quoted) : read_fail_arena(r, quoted.p);
}
