/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libcurl.c - loads libcurl when it is first used. */
#include "net/curl/libcurl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "base/library.h"

#define LIBRARY "libcurl.so.4"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static cw_curl curl;
static cw_err problem; /* code CW_OK: it can be used */

static void load(void)
{
#define CW_X(name, symbol) {#symbol, &curl.name},
    static const cw_library_symbol symbols[] = {CW_CURL_FUNCTIONS(CW_X)};
#undef CW_X
    void *library;
    problem.code = cw_library_load(LIBRARY, symbols, CW_COUNT(symbols), &library, &problem);
    if (problem.code)
        return;
    /* Found among what the library itself needs. */
    void *shutdown = dlsym(library, "SSL_get_shutdown");
    memcpy(&curl.ssl_get_shutdown, &shutdown, sizeof shutdown);
    if (curl.global_init(CURL_GLOBAL_DEFAULT))
        problem.code = cw_fail(&problem, CW_IO, LIBRARY " cannot be used");
}

cw_code cw_curl_load(const cw_curl **ret, cw_err *err)
{
    pthread_once(&once, load);
    if (problem.code)
        return cw_fail(err, problem.code, "%s", problem.msg);
    *ret = &curl;
    return CW_OK;
}
