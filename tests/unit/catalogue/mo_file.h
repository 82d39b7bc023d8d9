/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mo_file.h - .mo files as bytes, as msgfmt would write them, and wrong ones. */
#ifndef CW_TESTS_MO_FILE_H
#define CW_TESTS_MO_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"

#define MO_HEADER "Content-Type: text/plain; charset=UTF-8\n"
#define MO_OTHER_ORDER 1u
#define MO_MAX 4096u

typedef struct mo_pair {
    const char *id, *text;
} mo_pair;

static inline void mo_put(char *at, uint32_t v, unsigned flags)
{
    v = flags & MO_OTHER_ORDER ? __builtin_bswap32(v) : v;
    memcpy(at, &v, sizeof v);
}

/* `pairs` in the order that they shall stand in. Returns the length. */
static inline size_t mo_write(char out[MO_MAX], const mo_pair *pairs, uint32_t n, unsigned flags)
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

/* A folder of its own with files in it: mo_folder(path), mo_file(path, "de.mo", …). */
static inline void mo_folder(char path[64])
{
    snprintf(path, 64, "/tmp/causeway-mo-XXXXXX");
    if (!mkdtemp(path))
        abort();
}

static inline void mo_save(const char *folder, const char *name, const char *bytes, size_t n)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f))
        abort();
}

static inline void mo_file(const char *folder, const char *name, const mo_pair *pairs, uint32_t n)
{
    char bytes[MO_MAX];
    mo_save(folder, name, bytes, mo_write(bytes, pairs, n, 0));
}

static inline void mo_make_folder(const char *folder, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (mkdir(path, 0700))
        abort();
}

static inline void mo_remove(const char *folder)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command))
        abort();
}

#endif
