/* SPDX-License-Identifier: GPL-2.0-or-later */
/* portable_name.c - computes portable names of tools, and finds tools by them. */
#include "catalogue/tool/portable_name.h"

#include <openssl/sha.h>
#include <stdlib.h>

#include "base/ascii.h"
#include "base/map.h"

#define DIGEST 5u                            /* bytes of the name's digest that are shown */
#define SUFFIX (3u + 2u * DIGEST)            /* "___1f0c44d2a7" */
#define KEPT (CW_PORTABLE_NAME_MAX - SUFFIX) /* of a name before the suffix */

struct cw_portable_names {
    cw_map tools; /* portable name -> cw_portable_tool */
    cw_arena arena;
};

/* ---- the name of a name ---- */

/* Whether a dot or '_' stands beside another of them, or an end of the name. */
static bool has_neighbours(cw_str name, size_t at)
{
    const char *marks = "._";
    return at == 0 || at + 1 == name.n || strchr(marks, name.p[at - 1]) ||
           strchr(marks, name.p[at + 1]);
}

/* The number of dots, or SIZE_MAX when one could not be read back. */
static size_t count_dots(cw_str name)
{
    size_t n = 0;
    for (size_t i = 0; i < name.n; i++) {
        bool is_double = name.p[i] == '_' && i && name.p[i - 1] == '_';
        if (is_double || (name.p[i] == '.' && has_neighbours(name, i)))
            return SIZE_MAX;
        n += name.p[i] == '.';
    }
    return n;
}

static cw_str spell_dots(cw_str name, char room[CW_PORTABLE_NAME_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < name.n; i++) {
        room[n++] = name.p[i] == '.' ? '_' : name.p[i];
        if (name.p[i] == '.')
            room[n++] = '_';
    }
    return cw_str_make(room, n);
}

static cw_str add_digest(cw_str name, char room[CW_PORTABLE_NAME_MAX])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[SHA256_DIGEST_LENGTH];
    size_t n = 0;
    if (!cw_is_letter(name.p[0]))
        room[n++] = 't';
    for (size_t i = 0; i < name.n && n < KEPT; i++)
        room[n++] = name.p[i] == '.' ? '_' : name.p[i];
    memset(room + n, '_', 3);
    n += 3;
    SHA256((const unsigned char *)name.p, name.n, digest);
    for (size_t i = 0; i < DIGEST; i++) {
        room[n++] = digits[digest[i] >> 4];
        room[n++] = digits[digest[i] & 15];
    }
    return cw_str_make(room, n);
}

cw_str cw_portable_name(cw_str name, char room[CW_PORTABLE_NAME_MAX])
{
    size_t n_dots = name.n <= CW_PORTABLE_NAME_MAX ? count_dots(name) : SIZE_MAX;
    if (n_dots == SIZE_MAX || name.n + n_dots > CW_PORTABLE_NAME_MAX || !cw_is_letter(name.p[0]))
        return add_digest(name, room);
    return n_dots ? spell_dots(name, room) : name;
}

/* ---- back ---- */

static cw_code add(cw_portable_names *a, const cw_entry *tool)
{
    char room[CW_PORTABLE_NAME_MAX];
    cw_str name = cw_portable_name(tool->tool_name, room);
    if (name.p != room)
        return CW_OK;
    cw_portable_tool *one = cw_arena_alloc(&a->arena, sizeof *one);
    cw_str key = cw_arena_dup_str(&a->arena, name);
    if (!one || !key.p)
        return CW_NOMEM;
    *one = (cw_portable_tool){tool, cw_map_find(&a->tools, name)};
    return cw_map_put(&a->tools, key, one, NULL);
}

cw_portable_names *cw_portable_names_new(const cw_snapshot *snapshot)
{
    cw_portable_names *a = calloc(1, sizeof *a);
    size_t n;
    const cw_entry *const *tools = cw_snapshot_tools(snapshot, &n);
    cw_code rc = CW_OK;
    if (!a)
        return NULL;
    cw_map_init(&a->tools, CW_SNAPSHOT_MAX_METHODS);
    cw_arena_init(&a->arena, CW_ARENA_MAX);
    for (size_t i = 0; i < n && !rc; i++)
        rc = add(a, tools[i]);
    if (!rc)
        return a;
    cw_portable_names_free(a);
    return NULL;
}

void cw_portable_names_free(cw_portable_names *a)
{
    if (!a)
        return;
    cw_map_done(&a->tools);
    cw_arena_done(&a->arena);
    free(a);
}

const cw_portable_tool *cw_portable_names_find(const cw_portable_names *a, cw_str name)
{
    return cw_map_find(&a->tools, name);
}
