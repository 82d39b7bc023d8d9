/* SPDX-License-Identifier: GPL-2.0-or-later */
/* validator.c - finds and loads the module of validator.h. */
#include "host/validator.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The folder of this program, without a slash at its end; empty where it is not known. */
static void find_folder(char *out, size_t n)
{
    ssize_t got = readlink("/proc/self/exe", out, n - 1);
    out[got < 0 ? 0 : got] = '\0';
    char *slash = strrchr(out, '/');
    if (slash)
        *slash = '\0';
}

const cw_validator_api *cw_validator_load(char *problem, size_t n)
{
    /* Installed, and in a build tree. */
    static const char *const below[] = {"", "/../validator"};
    char folder[PATH_MAX], path[PATH_MAX + 64];
    void *module = NULL;
    find_folder(folder, sizeof(folder));
    for (size_t i = 0; !module && i < sizeof(below) / sizeof(below[0]); i++) {
        snprintf(path, sizeof(path), "%s%s/" CW_VALIDATOR_MODULE, folder, below[i]);
        if (access(path, R_OK) == 0)
            module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    const cw_validator_api *api = module ? dlsym(module, CW_VALIDATOR_SYMBOL) : NULL;
    if (!api)
        snprintf(problem, n, "%s cannot be loaded, which checks arguments and results",
                 CW_VALIDATOR_MODULE);
    return api;
}
