/* SPDX-License-Identifier: GPL-2.0-or-later */
/* json.h - bytes to one flat, read-only document.
 *
 * Why ours: numbers keep their exact text, every value knows its source span (so
 * that arguments, results and schemas travel on as the bytes they came in), and
 * reading costs a few instructions per byte with UTF-8 and duplicate keys
 * checked. No C library in Debian does the first two.
 *
 * A document is a tape of 16-byte values in source order. A container is
 * followed by its children and closed by an end marker; a member is a key value
 * followed by the member's value:
 *
 *     {"a":[1,2],"b":null}
 *
 *     0 OBJECT   count 2, n 8: its END is 8 entries on
 *     1  KEY     "a"
 *     2  ARRAY   count 2, n 3
 *     3   NUMBER 1
 *     4   NUMBER 2
 *     5  END     n 3: its ARRAY is 3 entries back
 *     6  KEY     "b"
 *     7  NULL
 *     8 END      n 8
 *
 *     const cw_json *root;
 *     rc = cw_json_read(bytes, NULL, &arena, &root, NULL, err);
 *     const cw_json *id = cw_json_get(root, CW_STR("id"));
 *     for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v)) ...
 *     for (const cw_json *k = cw_json_first(obj); k; k = cw_json_next_key(k))
 *         use(cw_json_text(k), cw_json_value(k));
 *
 * Ownership: the tape and decoded strings are in the arena; the source bytes are borrowed and must
 *            live as long as the document.
 * Threads:   a document is immutable and may be shared.
 * Limits:    cw_json_opts; a source is at most 2^32-1 bytes, a container holds at most 2^24-1
 *            members. Memory is below 10 x the source + 64 KiB, and usually near 2 x; only a source
 *            made of brackets needs more, up to 16 x. The arena's ceiling is kept: CW_LIMIT.
 */
#ifndef CW_JSON_JSON_H
#define CW_JSON_JSON_H

#include "base/arena.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/str.h"

typedef enum cw_json_type {
    CW_JSON_NULL,
    CW_JSON_FALSE,
    CW_JSON_TRUE,
    CW_JSON_NUMBER,
    CW_JSON_STRING,
    CW_JSON_ARRAY,
    CW_JSON_OBJECT,
    CW_JSON_END, /* closes a container; never seen through the functions below */
} cw_json_type;

/* One value. Use the functions; the layout is here for them, the writer and the schema engine.
 *
 *   p     start of the text: a string's characters (decoded when it has escapes), a number's or
 *         literal's text, a container's opening bracket, an END's closing bracket
 *   n     bytes of text; for a container the distance to its END; for an END the distance back
 *   meta  bits 0-2 type; 3 key; 4 string was decoded; 5 number has '.', or object was read with
 *         duplicates allowed; 6 number has exponent; 7 number is negative; bits 8-31 a container's
 *         member count or a key's cw_json_key_hash
 */
typedef struct cw_json {
    const char *p;
    uint32_t n;
    uint32_t meta;
} cw_json;

#define CW_JSON_KEY 8u
#define CW_JSON_DECODED 16u
#define CW_JSON_FRACTION 32u
#define CW_JSON_UNCHECKED 32u
#define CW_JSON_EXPONENT 64u
#define CW_JSON_NEGATIVE 128u

/* No reader option goes beyond this depth, so that code that follows a document down (equality,
 * hashing, validation) knows how much stack it can cost. */
#define CW_JSON_DEPTH_CEILING 1024u

typedef struct cw_json_opts {
    size_t max_bytes;      /* 0: CW_JSON_MAX_BYTES */
    uint32_t max_depth;    /* 0: CW_JSON_MAX_DEPTH; at most CW_JSON_DEPTH_CEILING */
    uint32_t max_members;  /* of one object; 0: CW_JSON_MAX_MEMBERS */
    bool allow_duplicates; /* off for everything that comes from outside */
} cw_json_opts;

/* The position where reading stopped: byte offset from 0, line and column (in characters) from 1. */
typedef struct cw_json_pos {
    size_t offset;
    uint32_t line;
    uint32_t column;
} cw_json_pos;

/* Read one document: RFC 8259, any root, strict UTF-8, no byte order mark, no lone surrogate.
 * `opts` NULL: the defaults. `pos` may be NULL; it is filled on failure. Fails with CW_PARSE
 * ("line 3, column 7: expected ':' after the key, found '='"), CW_LIMIT or CW_NOMEM; what was read
 * until then stays in the arena. */
CW_MUST_USE cw_code cw_json_read(cw_str src, const cw_json_opts *opts, cw_arena *arena,
                                 const cw_json **ret_root, cw_json_pos *pos, cw_err *err);

/* Line and column of a byte offset in a source. Lines end with LF; an ill-formed byte counts as one
 * character. */
cw_json_pos cw_json_locate(cw_str src, size_t offset);

CW_INLINE cw_json_type cw_json_type_of(const cw_json *v)
{
    return (cw_json_type)(v->meta & 7u);
}

CW_INLINE bool cw_json_is(const cw_json *v, cw_json_type type)
{
    return v && (v->meta & 7u) == (uint32_t)type;
}

/* "null", "boolean", "number", "string", "array" or "object". */
const char *cw_json_type_name(const cw_json *v);

/* Members of an object, elements of an array, else 0. */
CW_INLINE uint32_t cw_json_count(const cw_json *v)
{
    uint32_t t = v->meta & 7u;
    return t == CW_JSON_ARRAY || t == CW_JSON_OBJECT ? v->meta >> 8 : 0;
}

/* The tape entry behind v and all its children. */
CW_INLINE const cw_json *cw_json_after(const cw_json *v)
{
    uint32_t t = v->meta & 7u;
    return v + (t == CW_JSON_ARRAY || t == CW_JSON_OBJECT ? v->n + 1 : 1);
}

/* First element of an array, first key of an object; NULL when empty or not a container. */
CW_INLINE const cw_json *cw_json_first(const cw_json *v)
{
    return cw_json_count(v) ? v + 1 : NULL;
}

/* The element after this one; NULL at the end. */
CW_INLINE const cw_json *cw_json_next(const cw_json *v)
{
    const cw_json *after = cw_json_after(v);
    return (after->meta & 7u) == CW_JSON_END ? NULL : after;
}

/* The value of a key, and the key after this one. */
CW_INLINE const cw_json *cw_json_value(const cw_json *key)
{
    return key + 1;
}

CW_INLINE const cw_json *cw_json_next_key(const cw_json *key)
{
    return cw_json_next(key + 1);
}

/* The bytes in the source that made this value, quotes and brackets included. */
cw_str cw_json_span(const cw_json *v);

/* A string's or key's characters (decoded; may hold NUL), a number's text, "true", "false", "null";
 * a container gives its source span. */
CW_INLINE cw_str cw_json_text(const cw_json *v)
{
    uint32_t t = v->meta & 7u;
    return t == CW_JSON_ARRAY || t == CW_JSON_OBJECT ? cw_json_span(v) : cw_str_make(v->p, v->n);
}

/* The values of several members in one walk: ret[i] is that of names[i], or NULL. */
void cw_json_get_all(const cw_json *obj, const cw_str *names, size_t n, const cw_json **ret);
/* An element by index, or NULL; `array` may be NULL or no array. Linear unless all elements are
 * scalars. */
const cw_json *cw_json_at(const cw_json *array, size_t index);

CW_INLINE uint64_t cw_json_load8(const char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

CW_INLINE uint32_t cw_json_load4(const char *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* The 24 bits that a key carries in its meta; the high ones are mixed best. From the length and the
 * ends of the name only: cheap, the same in every process, no defence against chosen collisions.
 * Use it to skip most comparisons; a table keyed by client strings takes cw_hash. */
CW_INLINE uint32_t cw_json_key_hash(cw_str name)
{
    uint64_t a = 0;
    uint64_t b = 0;
    if (name.n >= 8) {
        a = cw_json_load8(name.p);
        b = cw_json_load8(name.p + name.n - 8);
    } else if (name.n >= 4) {
        a = cw_json_load4(name.p);
        b = cw_json_load4(name.p + name.n - 4);
    } else if (name.n > 0) {
        a = (uint8_t)name.p[0];
        b = (uint64_t)(uint8_t)name.p[name.n / 2] << 8 | (uint8_t)name.p[name.n - 1];
    }
    uint64_t h = (a * UINT64_C(0x9E3779B97F4A7C15) + b + name.n) * UINT64_C(0xD6E8FEB86659FD93);
    return (uint32_t)(h >> 40);
}

/* A member's value by exact name, whose cw_json_key_hash is `hash`, or NULL. `obj` may be NULL or no
 * object (NULL then). Linear in the members; with duplicates allowed the last one wins. */
const cw_json *cw_json_get_hashed(const cw_json *obj, cw_str name, uint32_t hash);
/* The same; the compiler knows the hash of a literal. */
CW_INLINE const cw_json *cw_json_get(const cw_json *obj, cw_str name)
{
    return cw_json_get_hashed(obj, name, cw_json_key_hash(name));
}

/* Whether a key has this name, whose cw_json_key_hash is `hash`. */
CW_INLINE bool cw_json_key_is(const cw_json *key, cw_str name, uint32_t hash)
{
    return key->meta >> 8 == hash && key->n == name.n &&
           (name.n == 0 || memcmp(key->p, name.p, name.n) == 0);
}

/* Whether a key has this name: for walks that look for literals, which the compiler compares in
 * place. */
CW_INLINE bool cw_json_key_eq(const cw_json *key, cw_str name)
{
    return key->n == name.n && memcmp(key->p, name.p, name.n) == 0;
}

/* Resolve an RFC 6901 pointer ("" is v itself). NULL when it leads nowhere or is malformed. */
const cw_json *cw_json_pointer(const cw_json *v, cw_str pointer);

/* Numbers on demand. False, *ret untouched, when v is not a number that this type holds exactly
 * (1.0 and 1e3 are integers, -0 is 0); double is the nearest one, ties to even, and false only when
 * that would be infinite. All work on the text: an exponent of any size costs nothing, no locale
 * matters, nothing is allocated. */
bool cw_json_to_i64(const cw_json *v, int64_t *ret);
bool cw_json_to_u64(const cw_json *v, uint64_t *ret);
bool cw_json_to_double(const cw_json *v, double *ret);
/* Whether v is a number and mathematically whole, whatever its size and spelling. */
bool cw_json_is_integer(const cw_json *v);
/* -1, 0 or 1: exact order of two numbers of any size. Both must be numbers. */
int cw_json_compare_numbers(const cw_json *a, const cw_json *b);

/* Equality as JSON Schema defines it: numbers by value, strings by code points, objects without
 * regard to order. Linear in the smaller value while members come in the same order; where the
 * order differs a small object is searched, and one of more than 16 members is looked up in a table
 * on the heap (linear again; without memory for the table the search is slower, never wrong). With
 * duplicate keys the outcome is unspecified. */
bool cw_json_equal(const cw_json *a, const cw_json *b);
/* A seeded hash that agrees with cw_json_equal. Linear; clients cannot choose collisions. */
uint64_t cw_json_hash(const cw_json *v);

#endif
