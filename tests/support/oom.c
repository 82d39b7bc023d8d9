/* SPDX-License-Identifier: GPL-2.0-or-later */
/* oom.c - the wrappers behind -Wl,--wrap.
 *
 * Live allocations are kept in a set of addresses and not as a mere number, since
 * a test may free what a shared library allocated, which was never counted.
 */
#include "support/oom.h"

#include "support/test.h"

#include <errno.h>
#include <pthread.h>

#define LIVE_MAX (1u << 20) /* power of two; a test with more live allocations is told so */
#define RUNS_MAX 100000u

void *__real_malloc(size_t n);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t n);
int __real_posix_memalign(void **ret, size_t align, size_t n);
void *__real_aligned_alloc(size_t align, size_t n);
void __real_free(void *p);

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_reallocarray(void *p, size_t count, size_t size);
int __wrap_posix_memalign(void **ret, size_t align, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t max);
void __wrap_free(void *p);

static struct {
    pthread_mutex_t lock;
    size_t count;
    size_t fail_at; /* 0: never */
    bool fail_on;   /* all after fail_at too */
    bool hit;
    size_t live;
    uintptr_t set[LIVE_MAX]; /* open addressing; 0 is empty */
} oom = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t home(uintptr_t p)
{
    return (size_t)(((uint64_t)p * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (LIVE_MAX - 1);
}

static size_t find(uintptr_t p)
{
    size_t i = home(p);
    while (oom.set[i] != 0 && oom.set[i] != p)
        i = (i + 1) & (LIVE_MAX - 1);
    return i;
}

/* With the lock held. */
static void add_live(void *p)
{
    if (oom.live >= LIVE_MAX / 4 * 3)
        abort();
    oom.set[find((uintptr_t)p)] = (uintptr_t)p;
    oom.live++;
}

/* With the lock held. Unknown addresses are somebody else's. */
static bool remove_live(void *p)
{
    size_t hole = find((uintptr_t)p);
    if (oom.set[hole] == 0)
        return false;
    oom.live--;
    for (size_t i = (hole + 1) & (LIVE_MAX - 1); oom.set[i] != 0; i = (i + 1) & (LIVE_MAX - 1)) {
        if (((i - home(oom.set[i])) & (LIVE_MAX - 1)) < ((i - hole) & (LIVE_MAX - 1)))
            continue;
        oom.set[hole] = oom.set[i];
        hole = i;
    }
    oom.set[hole] = 0;
    return true;
}

/* Whether this allocation is to fail. */
static bool is_failing(void)
{
    pthread_mutex_lock(&oom.lock);
    oom.count++;
    bool fails =
        oom.fail_at != 0 && (oom.fail_on ? oom.count >= oom.fail_at : oom.count == oom.fail_at);
    oom.hit |= fails;
    pthread_mutex_unlock(&oom.lock);
    if (fails)
        errno = ENOMEM;
    return fails;
}

static void *note(void *p)
{
    if (!p)
        return NULL;
    pthread_mutex_lock(&oom.lock);
    add_live(p);
    pthread_mutex_unlock(&oom.lock);
    return p;
}

/* Before the memory is given back: another thread may get the same address at once. */
static bool forget(void *p)
{
    pthread_mutex_lock(&oom.lock);
    bool known = remove_live(p);
    pthread_mutex_unlock(&oom.lock);
    return known;
}

static void set_failure(size_t n, bool on)
{
    pthread_mutex_lock(&oom.lock);
    oom.count = 0;
    oom.fail_at = n;
    oom.fail_on = on;
    oom.hit = false;
    pthread_mutex_unlock(&oom.lock);
}

void *__wrap_malloc(size_t n)
{
    return is_failing() ? NULL : note(__real_malloc(n));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_failing() ? NULL : note(__real_calloc(count, size));
}

void *__wrap_realloc(void *p, size_t n)
{
    if (is_failing())
        return NULL;
    if (!p)
        return note(__real_malloc(n));
    bool known = forget(p);
    void *moved = __real_realloc(p, n);
    if (!moved && n > 0 && known)
        note(p);
    return moved && known ? note(moved) : moved;
}

void *__wrap_reallocarray(void *p, size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size) {
        errno = ENOMEM;
        return NULL;
    }
    return __wrap_realloc(p, count * size);
}

int __wrap_posix_memalign(void **ret, size_t align, size_t n)
{
    if (is_failing())
        return ENOMEM;
    int rc = __real_posix_memalign(ret, align, n);
    if (rc == 0)
        note(*ret);
    return rc;
}

void *__wrap_aligned_alloc(size_t align, size_t n)
{
    return is_failing() ? NULL : note(__real_aligned_alloc(align, n));
}

char *__wrap_strndup(const char *s, size_t max)
{
    size_t n = strnlen(s, max);
    char *copy = __wrap_malloc(n + 1);
    if (!copy)
        return NULL;
    memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

char *__wrap_strdup(const char *s)
{
    return __wrap_strndup(s, SIZE_MAX);
}

void __wrap_free(void *p)
{
    if (p)
        forget(p);
    __real_free(p);
}

void oom_fail_at(size_t n)
{
    set_failure(n, /* on= */ false);
}

void oom_fail_from(size_t n)
{
    set_failure(n, /* on= */ true);
}

void oom_reset(void)
{
    set_failure(0, /* on= */ false);
}

size_t oom_count(void)
{
    pthread_mutex_lock(&oom.lock);
    size_t n = oom.count;
    pthread_mutex_unlock(&oom.lock);
    return n;
}

bool oom_was_hit(void)
{
    pthread_mutex_lock(&oom.lock);
    bool hit = oom.hit;
    pthread_mutex_unlock(&oom.lock);
    return hit;
}

size_t oom_live(void)
{
    pthread_mutex_lock(&oom.lock);
    size_t n = oom.live;
    pthread_mutex_unlock(&oom.lock);
    return n;
}

/* Whether the run met its failure. */
static bool run_failing(void (*fn)(void *ctx), void *ctx, size_t n, bool on)
{
    size_t before = oom_live();
    set_failure(n, on);
    fn(ctx);
    bool hit = oom_was_hit();
    oom_reset();
    if (oom_live() != before)
        fail_msg("%zu live allocations before the run, %zu after it, with allocation %zu failing%s",
                 before, oom_live(), n, on ? " and all after it" : "");
    return hit;
}

size_t oom_each(void (*fn)(void *ctx), void *ctx)
{
    for (size_t n = 1; n <= RUNS_MAX; n++) {
        bool hit = run_failing(fn, ctx, n, /* on= */ false);
        hit = run_failing(fn, ctx, n, /* on= */ true) || hit;
        if (!hit)
            return n - 1;
    }
    fail_msg("still failing after %u allocations", RUNS_MAX);
    return 0;
}
