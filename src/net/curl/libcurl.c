/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libcurl.c - loads libcurl when it is first used. */
#include "net/curl/libcurl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#define LIBRARY "libcurl.so.4"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static cw_curl curl;
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
        problem = LIBRARY " cannot be loaded";
        return;
    }
#define CW_X(name, symbol) find(library, #symbol, &curl.name, sizeof curl.name);
    CW_CURL_FUNCTIONS(CW_X)
#undef CW_X
    /* Found among what the library itself needs. */
    void *shutdown = dlsym(library, "SSL_get_shutdown");
    memcpy(&curl.ssl_get_shutdown, &shutdown, sizeof shutdown);
    if (!problem && curl.global_init(CURL_GLOBAL_DEFAULT))
        problem = LIBRARY " cannot be used";
}

cw_code cw_curl_load(const cw_curl **ret, cw_err *err)
{
    pthread_once(&once, load);
    if (problem)
        return cw_fail(err, CW_IO, "%s", problem);
    *ret = &curl;
    return CW_OK;
}
