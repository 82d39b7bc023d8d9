/* SPDX-License-Identifier: GPL-2.0-or-later */
/* library.c - shared libraries by dlopen. */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

cw_code cw_library_load(const char *name, const cw_library_symbol *symbols, size_t n,
                        void **ret_library, cw_err *err)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return cw_fail(err, CW_IO, "%s cannot be loaded", name);
    for (size_t i = 0; i < n; i++) {
        void *found = dlsym(library, symbols[i].name);
        if (!found)
            return cw_fail(err, CW_IO, "%s lacks the function %s", name, symbols[i].name);
        /* A pointer to data cannot be cast to one to a function; its bytes are the same. */
        memcpy(symbols[i].function, &found, sizeof found);
    }
    *ret_library = library;
    return CW_OK;
}
