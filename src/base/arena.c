/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arena.c - bump blocks for small things, a block each for large ones.
 *
 *     blocks -> [head|used....|free...] -> [head|used.......] -> [head|used...]
 *                             ^cur    ^end                       oldest = smallest
 *     large <-> [head|one allocation] <-> [head|one allocation]
 *
 * Invariants: cur and end are multiples of CW_ARENA_ALIGN; no bump block exceeds
 * CW_ARENA_BLOCK_MAX, so a larger allocation certainly has a block of its own.
 */
#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* How many large blocks cw_arena_resize looks at. A growing buffer is nearly always the newest one;
 * a bound keeps a client that makes many of them from buying a walk for each. */
#define RESIZE_LOOKS 8

struct cw_arena_block {
    _Alignas(CW_ARENA_ALIGN) cw_arena_block *next;
    cw_arena_block *prev; /* large blocks only */
    size_t size;          /* with this head */
};

struct cw_arena_held {
    cw_arena_held *next;
    void *obj;
    void (*unref)(void *);
};

#define HEAD sizeof(cw_arena_block)

static char *block_data(cw_arena_block *b)
{
    return (char *)b + HEAD;
}

static void *give_up(cw_arena *a, cw_code code)
{
    a->failed = code;
    return NULL;
}

/* The size of a block that holds n bytes, or 0 when there is no such size. */
static size_t block_size(size_t n)
{
    if (n > SIZE_MAX - HEAD - CW_ARENA_ALIGN)
        return 0;
    return HEAD + ((n + CW_ARENA_ALIGN - 1) & ~(size_t)(CW_ARENA_ALIGN - 1));
}

static void *alloc_large(cw_arena *a, size_t n)
{
    size_t size = block_size(n);
    if (size == 0 || size > a->max - a->used)
        return give_up(a, CW_LIMIT);
    cw_arena_block *b = malloc(size);
    if (!b)
        return give_up(a, CW_NOMEM);
    *b = (cw_arena_block){.next = a->large, .size = size};
    if (a->large)
        a->large->prev = b;
    a->large = b;
    a->used += size;
    CW_ARENA_POISON(block_data(b) + n, size - HEAD - n);
    return block_data(b);
}

/* A new bump block with room for at least n bytes, smaller than usual near the ceiling. */
static cw_code add_block(cw_arena *a, size_t n)
{
    size_t size = a->next_block;
    size_t left = (a->max - a->used) & ~(size_t)(CW_ARENA_ALIGN - 1);
    if (size > left)
        size = left;
    if (size < block_size(n))
        return CW_LIMIT;
    cw_arena_block *b = malloc(size);
    if (!b)
        return CW_NOMEM;
    *b = (cw_arena_block){.next = a->blocks, .size = size};
    a->blocks = b;
    a->used += size;
    if (a->next_block < CW_ARENA_BLOCK_MAX)
        a->next_block *= 2;
    a->cur = block_data(b);
    a->end = (char *)b + size;
    CW_ARENA_POISON(a->cur, size - HEAD);
    return CW_OK;
}

static void free_blocks(cw_arena_block *b)
{
    while (b) {
        cw_arena_block *next = b->next;
        CW_ARENA_UNPOISON(b, b->size);
        free(b);
        b = next;
    }
}

static void release_held(cw_arena *a)
{
    while (a->held) {
        cw_arena_held *h = a->held;
        a->held = h->next;
        h->unref(h->obj);
    }
}

/* The large block that holds p, or NULL when p is in a bump block or too far down the list. */
static cw_arena_block *find_large(cw_arena *a, char *p, size_t n)
{
    if (n > CW_ARENA_BLOCK_MAX)
        return (cw_arena_block *)(void *)(p - HEAD);
    cw_arena_block *b = a->large;
    for (int i = 0; b && i < RESIZE_LOOKS; i++, b = b->next)
        if (block_data(b) == p)
            return b;
    return NULL;
}

static void *resize_large(cw_arena *a, cw_arena_block *b, size_t new_n)
{
    size_t size = block_size(new_n);
    if (size == 0 || (size > b->size && size - b->size > a->max - a->used))
        return give_up(a, CW_LIMIT);
    CW_ARENA_UNPOISON(b, b->size);
    if (size > b->size) {
        cw_arena_block *moved = realloc(b, size);
        if (!moved)
            return give_up(a, CW_NOMEM);
        a->used += size - moved->size;
        moved->size = size;
        if (moved->prev)
            moved->prev->next = moved;
        else
            a->large = moved;
        if (moved->next)
            moved->next->prev = moved;
        b = moved;
    }
    CW_ARENA_POISON(block_data(b) + new_n, b->size - HEAD - new_n);
    return block_data(b);
}

/* Whether p, the newest allocation of the bump block, now has new_n bytes. */
static bool resize_newest(cw_arena *a, char *p, size_t new_n)
{
    size_t room = (size_t)(a->end - p);
    if (new_n > room)
        return false;
    a->cur = p + ((new_n + CW_ARENA_ALIGN - 1) & ~(size_t)(CW_ARENA_ALIGN - 1));
    CW_ARENA_POISON(p, room);
    CW_ARENA_UNPOISON(p, new_n);
    return true;
}

void cw_arena_init(cw_arena *a, size_t max_bytes)
{
    *a = (cw_arena){.max = max_bytes, .next_block = CW_ARENA_BLOCK_MIN};
}

void cw_arena_init_at(cw_arena *a, size_t max_bytes, void *room, size_t n)
{
    cw_arena_init(a, max_bytes);
    a->cur = room;
    a->end = a->cur + n;
    CW_ARENA_POISON(room, n);
}

void cw_arena_reset(cw_arena *a)
{
    release_held(a);
    free_blocks(a->large);
    a->large = NULL;
    a->used = 0;
    a->failed = CW_OK;
    while (a->blocks && a->blocks->next) {
        cw_arena_block *b = a->blocks;
        a->blocks = b->next;
        b->next = NULL;
        free_blocks(b);
    }
    if (!a->blocks)
        return;
    a->used = a->blocks->size;
    a->next_block = (size_t)CW_ARENA_BLOCK_MIN * 2;
    a->cur = block_data(a->blocks);
    a->end = (char *)a->blocks + a->blocks->size;
    CW_ARENA_POISON(a->cur, a->blocks->size - HEAD);
}

void cw_arena_recycle(cw_arena *a)
{
    size_t used = a->used, max = a->max;
    cw_arena_reset(a);
    if (CW_LIKELY(used == a->used || used > CW_ARENA_SMALL || a->used >= CW_ARENA_WARM))
        return;
    cw_arena_done(a);
    cw_arena_init(a, max);
    a->next_block = CW_ARENA_WARM;
}

void cw_arena_done(cw_arena *a)
{
    release_held(a);
    free_blocks(a->large);
    free_blocks(a->blocks);
    *a = (cw_arena){0};
}

static void wipe_blocks(cw_arena_block *b)
{
    for (; b; b = b->next) {
        CW_ARENA_UNPOISON(block_data(b), b->size - HEAD);
        explicit_bzero(block_data(b), b->size - HEAD);
    }
}

void cw_arena_wipe(cw_arena *a)
{
    release_held(a);
    wipe_blocks(a->large);
    wipe_blocks(a->blocks);
    cw_arena_done(a);
}

void *cw_arena_alloc_slow(cw_arena *a, size_t n)
{
    if (n == 0)
        return cw_arena_alloc(a, 1);
    if (n > a->next_block / 4)
        return alloc_large(a, n);
    cw_code rc = add_block(a, n);
    if (rc)
        return give_up(a, rc);
    return cw_arena_alloc(a, n);
}

void *cw_arena_calloc(cw_arena *a, size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size)
        return give_up(a, CW_LIMIT);
    void *p = cw_arena_alloc(a, count * size);
    if (p)
        memset(p, 0, count * size);
    return p;
}

char *cw_arena_dup(cw_arena *a, const void *bytes, size_t n)
{
    if (n == SIZE_MAX)
        return give_up(a, CW_LIMIT);
    char *p = cw_arena_alloc(a, n + 1);
    if (!p)
        return NULL;
    if (n > 0)
        memcpy(p, bytes, n);
    p[n] = '\0';
    return p;
}

cw_str cw_arena_dup_str(cw_arena *a, cw_str s)
{
    char *p = cw_arena_dup(a, s.p, s.n);
    return (cw_str){p, p ? s.n : 0};
}

char *cw_arena_vprintf(cw_arena *a, const char *fmt, va_list args)
{
    char small[256];
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(small, sizeof(small), fmt, args);
    char *p = NULL;
    if (n < 0)
        give_up(a, CW_NOMEM);
    else if ((size_t)n < sizeof(small))
        p = cw_arena_dup(a, small, (size_t)n);
    else if ((p = cw_arena_alloc(a, (size_t)n + 1)))
        vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}

char *cw_arena_printf(cw_arena *a, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *p = cw_arena_vprintf(a, fmt, args);
    va_end(args);
    return p;
}

void *cw_arena_resize(cw_arena *a, void *p, size_t old_n, size_t new_n)
{
    if (!p)
        return cw_arena_alloc(a, new_n);
    /* Zero bytes were handed out as one. */
    size_t old = old_n ? old_n : 1;
    size_t new = new_n ? new_n : 1;
    char *old_end = (char *)p + ((old + CW_ARENA_ALIGN - 1) & ~(size_t)(CW_ARENA_ALIGN - 1));
    if (old <= CW_ARENA_BLOCK_MAX && old_end == a->cur && resize_newest(a, p, new))
        return p;
    cw_arena_block *large = find_large(a, p, old);
    if (large)
        return resize_large(a, large, new);
    if (new <= old) {
        CW_ARENA_POISON((char *)p + new, old - new);
        return p;
    }
    void *copy = cw_arena_alloc(a, new);
    if (copy)
        memcpy(copy, p, old_n);
    return copy;
}

cw_code cw_arena_hold(cw_arena *a, void *obj, void (*unref)(void *))
{
    cw_arena_held *h = cw_arena_alloc(a, sizeof(*h));
    if (!h) {
        unref(obj);
        return cw_arena_code(a);
    }
    *h = (cw_arena_held){a->held, obj, unref};
    a->held = h;
    return CW_OK;
}

cw_code cw_arena_code(const cw_arena *a)
{
    return a->failed ? a->failed : CW_NOMEM;
}

cw_code cw_arena_fail(const cw_arena *a, cw_err *err)
{
    if (cw_arena_code(a) == CW_NOMEM)
        return cw_fail_nomem(err);
    return cw_fail(err, CW_LIMIT, "more than %zu bytes of memory are needed for one request",
                   a->max);
}
