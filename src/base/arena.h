/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arena.h - many small allocations with one lifetime and one ceiling.
 *
 * A request is parsed, validated and answered from one arena, which is reset as
 * a whole when the request ends. Nothing in an arena is freed on its own.
 *
 *     cw_arena a;
 *     cw_arena_init(&a, 1 << 20);
 *     char *copy = cw_arena_dup(&a, name.p, name.n);
 *     cw_arena_done(&a);
 *
 * Blocks double from CW_ARENA_BLOCK_MIN up to CW_ARENA_BLOCK_MAX; a request
 * larger than a quarter of the block size gets a block of its own, which
 * cw_arena_resize can grow with realloc and no copy of ours.
 *
 * Ownership: memory belongs to the arena until reset or done. An object of its own life is tied
 *            to the arena with cw_arena_hold.
 * Threads:   one thread at a time.
 * Limits:    the byte ceiling given at init counts blocks, not requests; reaching it, like a failed
 *            malloc, gives NULL. `cw_arena_code` tells the two apart.
 * Under ASan the unused part of every block is poisoned.
 */
#ifndef CW_BASE_ARENA_H
#define CW_BASE_ARENA_H

#include <stdarg.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/str.h"

#if defined(__SANITIZE_ADDRESS__)
#define CW_ARENA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CW_ARENA_ASAN 1
#endif
#endif
#ifdef CW_ARENA_ASAN
#include <sanitizer/asan_interface.h>
#define CW_ARENA_POISON(p, n) __asan_poison_memory_region((p), (n))
#define CW_ARENA_UNPOISON(p, n) __asan_unpoison_memory_region((p), (n))
#else
#define CW_ARENA_POISON(p, n) ((void)(p), (void)(n))
#define CW_ARENA_UNPOISON(p, n) ((void)(p), (void)(n))
#endif

#define CW_ARENA_ALIGN 16u
#define CW_ARENA_BLOCK_MIN 1024u
#define CW_ARENA_BLOCK_MAX 65536u
#define CW_ARENA_WARM 4096u
#define CW_ARENA_SMALL 8192u

typedef struct cw_arena_block cw_arena_block;
typedef struct cw_arena_held cw_arena_held;

typedef struct cw_arena {
    char *cur; /* next free byte of the newest bump block, aligned like end */
    char *end;
    cw_arena_block *blocks; /* bump blocks, newest first */
    cw_arena_block *large;  /* blocks with one allocation each */
    cw_arena_held *held;
    size_t used; /* bytes of all blocks, compared with max */
    size_t max;
    size_t next_block;
    cw_code failed; /* CW_OK, or why the last allocation gave NULL */
} cw_arena;

void cw_arena_init(cw_arena *a, size_t max_bytes);
/* The same for an arena that is not reset. It begins with `n` bytes of its owner's, which do not
 * count; both `room` and `n` are multiples of CW_ARENA_ALIGN. Before the owner frees the room, it
 * calls CW_ARENA_UNPOISON for it. */
void cw_arena_init_at(cw_arena *a, size_t max_bytes, void *room, size_t n);
/* Release held objects, newest first, and all memory but one bump block of the smallest size. The
 * ceiling stays. */
void cw_arena_reset(cw_arena *a);
/* The same for an arena of a pool, whose users are much alike: one that needed more than a block,
 * but no more than CW_ARENA_SMALL bytes, begins with a block of CW_ARENA_WARM bytes from now on. */
void cw_arena_recycle(cw_arena *a);
/* Release everything; the struct may be initialised again. A zeroed struct is fine. */
void cw_arena_done(cw_arena *a);
/* The same for an arena with secrets, whose memory is overwritten first. What cw_arena_resize has left
 * behind is not. */
void cw_arena_wipe(cw_arena *a);

/* The part of cw_arena_alloc that does not fit the current block. */
void *cw_arena_alloc_slow(cw_arena *a, size_t n);

/* `n` bytes aligned to 16, contents undefined. NULL when out of memory or over the ceiling. n = 0
 * gives a valid pointer. */
CW_INLINE void *cw_arena_alloc(cw_arena *a, size_t n)
{
    /* The room is a multiple of the alignment, so what fits also fits rounded up. n = 0 wraps round
     * and takes the slow path. */
    if (CW_UNLIKELY(n - 1 >= (size_t)(a->end - a->cur)))
        return cw_arena_alloc_slow(a, n);
    char *p = a->cur;
    a->cur += (n + CW_ARENA_ALIGN - 1) & ~(size_t)(CW_ARENA_ALIGN - 1);
    CW_ARENA_UNPOISON(p, n);
    return p;
}
/* The same, zeroed; NULL also when count * size overflows. */
void *cw_arena_calloc(cw_arena *a, size_t count, size_t size);
/* A copy with a NUL behind it (not counted). */
char *cw_arena_dup(cw_arena *a, const void *bytes, size_t n);
/* As cw_arena_dup; .p is NULL on failure. */
cw_str cw_arena_dup_str(cw_arena *a, cw_str s);
/* printf into the arena, NUL-terminated; NULL on failure. */
CW_PRINTF(2, 3) char *cw_arena_printf(cw_arena *a, const char *fmt, ...);
CW_PRINTF(2, 0) char *cw_arena_vprintf(cw_arena *a, const char *fmt, va_list args);

/* Grow or shrink the allocation `p` of `old_n` bytes. In place when `p` is the newest allocation of
 * the bump block and the block has room, or when it shrinks; realloc for one with a block of its
 * own that is over CW_ARENA_BLOCK_MAX or among the newest few; else a copy. NULL on failure, and
 * `p` stays valid. `p` NULL allocates. */
void *cw_arena_resize(cw_arena *a, void *p, size_t old_n, size_t new_n);

/* Call unref(obj) when the arena is reset or done. On failure unref is called at once and CW_NOMEM
 * or CW_LIMIT returned: the caller never owns obj afterwards. */
CW_MUST_USE cw_code cw_arena_hold(cw_arena *a, void *obj, void (*unref)(void *));

/* CW_NOMEM or CW_LIMIT after an allocation gave NULL. */
cw_code cw_arena_code(const cw_arena *a);
/* cw_arena_code with a message: what a function returns whose arena allocation gave NULL. */
cw_code cw_arena_fail(const cw_arena *a, cw_err *err);

#endif
