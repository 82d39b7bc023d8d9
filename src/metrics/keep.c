/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keep.c - pages from which metrics get their memory. */
#include "metrics/keep.h"

#include <pthread.h>
#include <stdalign.h>
#include <sys/mman.h>

#define CHUNK ((size_t)64 * 1024)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *chunk;
static size_t left; /* bytes at `chunk` */

static char *map_pages(size_t n)
{
    void *pages = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

static char *take(size_t n)
{
    if (left < n) {
        chunk = map_pages(CHUNK);
        left = chunk ? CHUNK : 0;
    }
    if (left < n)
        return NULL;
    char *ret = chunk;
    chunk += n;
    left -= n;
    return ret;
}

void *cw_metrics_keep(size_t n)
{
    size_t size = (n + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
    if (size > CHUNK / 4)
        return map_pages(size);
    pthread_mutex_lock(&lock);
    char *ret = take(size);
    pthread_mutex_unlock(&lock);
    return ret;
}
