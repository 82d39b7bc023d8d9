/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libpq.c - loads libpq when it is first used. */
#include "store/libpq.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#define LIBRARY "libpq.so.5"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static cw_libpq pq;
static const char *problem; /* NULL: it can be used */

/* A pointer to data cannot be cast to one to a function; its bytes are the same. */
static void find(void *library, const char *symbol, void *function, size_t size)
{
    void *found = dlsym(library, symbol);
    if (!found)
        problem = LIBRARY " lacks a function";
    else
        memcpy(function, &found, size);
}

static void load(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        problem = LIBRARY " cannot be loaded; Debian's package is libpq5";
        return;
    }
#define CW_X(name, symbol) find(library, #symbol, &pq.name, sizeof pq.name);
    CW_LIBPQ_FUNCTIONS(CW_X)
#undef CW_X
}

cw_code cw_libpq_load(const cw_libpq **ret, cw_err *err)
{
    pthread_once(&once, load);
    if (problem)
        return cw_fail(err, CW_IO, "store.url: %s", problem);
    *ret = &pq;
    return CW_OK;
}
