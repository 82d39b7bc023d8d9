/* SPDX-License-Identifier: GPL-2.0-or-later */
/* library.h - functions of a shared library that is loaded when it is first used.
 *
 *     static const cw_library_symbol symbols[] = {{"PQfinish", &pq.finish}};
 *     cw_code rc = cw_library_load("libpq.so.5", symbols, CW_COUNT(symbols), &library, err);
 *
 * Ownership: a library stays loaded until the process ends.
 * Threads:   any; the pointers are the caller's.
 */
#ifndef CW_BASE_LIBRARY_H
#define CW_BASE_LIBRARY_H

#include "base/err.h"

typedef struct cw_library_symbol {
    const char *name;
    void *function; /* the address of a pointer to a function of this type */
} cw_library_symbol;

/* Load a library and set the pointers. *ret_library is its handle, for dlsym. CW_IO with its name: it
 * is not there, or lacks a function. */
CW_MUST_USE cw_code cw_library_load(const char *name, const cw_library_symbol *symbols, size_t n,
                                    void **ret_library, cw_err *err);

#endif
