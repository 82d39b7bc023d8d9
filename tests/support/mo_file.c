/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mo_file.c - write .mo files and directories of them. */
#include "support/mo_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void mo_put(char *at, uint32_t v, unsigned flags)
{
    v = flags & MO_OTHER_ORDER ? __builtin_bswap32(v) : v;
    memcpy(at, &v, sizeof v);
}

size_t mo_build(char out[MO_MAX], const mo_pair *pairs, uint32_t n, unsigned flags)
{
    const uint32_t head[] = {0x950412DE, 0, n, 28, 28 + 8 * n, 0, 28 + 16 * n};
    size_t at = 28 + 16 * (size_t)n;
    for (size_t i = 0; i < 7; i++)
        mo_put(out + 4 * i, head[i], flags);
    for (size_t i = 0; i < 2 * (size_t)n; i++) {
        const char *s = i < n ? pairs[i].id : pairs[i - n].text;
        mo_put(out + 28 + 8 * i, (uint32_t)strlen(s), flags);
        mo_put(out + 32 + 8 * i, (uint32_t)at, flags);
        memcpy(out + at, s, strlen(s) + 1);
        at += strlen(s) + 1;
    }
    return at;
}

void mo_dir_create(char path[64])
{
    snprintf(path, 64, "/tmp/causeway-mo-XXXXXX");
    if (!mkdtemp(path))
        abort();
}

void mo_dir_save(const char *dir, const char *name, const char *bytes, size_t n)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f))
        abort();
}

void mo_dir_add(const char *dir, const char *name, const mo_pair *pairs, uint32_t n)
{
    char bytes[MO_MAX];
    mo_dir_save(dir, name, bytes, mo_build(bytes, pairs, n, 0));
}

void mo_dir_add_subdir(const char *dir, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (mkdir(path, 0700))
        abort();
}

void mo_dir_remove(const char *dir)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    if (system(command))
        abort();
}
