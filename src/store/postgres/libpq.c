/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libpq.c - loads libpq when it is first used. */
#include "store/postgres/libpq.h"

#include <pthread.h>

#include "base/library.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static cw_libpq pq;
static cw_err problem; /* code CW_OK: it can be used */

static void load(void)
{
#define CW_X(name, symbol) {#symbol, &pq.name},
    static const cw_library_symbol symbols[] = {CW_LIBPQ_FUNCTIONS(CW_X)};
#undef CW_X
    void *library;
    problem.code = cw_library_load("libpq.so.5", symbols, CW_COUNT(symbols), &library, &problem);
}

cw_code cw_libpq_load(const cw_libpq **ret, cw_err *err)
{
    pthread_once(&once, load);
    if (problem.code)
        return cw_fail(err, problem.code, "store.url: %s; Debian's package is libpq5", problem.msg);
    *ret = &pq;
    return CW_OK;
}
