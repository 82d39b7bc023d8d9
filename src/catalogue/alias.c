/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "catalogue/alias.h"

#include <stdlib.h>

#include "access/seal.h"
#include "base/map.h"

#define DIGEST 4u                    /* bytes of the name's digest that are shown */
#define SUFFIX (1u + 2u * DIGEST)    /* "_1f0c44d2" */
#define KEPT (CW_ALIAS_MAX - SUFFIX) /* of a name before the suffix */

struct cw_aliases {
    cw_map tools; /* alias -> cw_entry, or &contested */
    cw_arena arena;
};

/* Stands for an alias that more than one tool would have. */
static const cw_entry contested;

static bool is_strict(cw_str name)
{
    return name.n <= CW_ALIAS_MAX && !memchr(name.p, '.', name.n);
}

/* At most `max` bytes of the name, in which nothing is refused. */
static size_t clean(cw_str name, size_t max, char room[CW_ALIAS_MAX])
{
    size_t n = name.n < max ? name.n : max;
    for (size_t i = 0; i < n; i++)
        room[i] = name.p[i] == '.' ? '_' : name.p[i];
    return n;
}

/* The alias that depends on nothing but the name; empty where the name is too long for it. */
static cw_str plain_alias(cw_str name, char room[CW_ALIAS_MAX])
{
    if (name.n > CW_ALIAS_MAX)
        return cw_str_make(room, 0);
    return cw_str_make(room, clean(name, CW_ALIAS_MAX, room));
}

static cw_str marked_alias(cw_str name, char room[CW_ALIAS_MAX])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[CW_SEAL_DIGEST];
    size_t n = clean(name, KEPT, room);
    cw_seal_digest(name, digest);
    room[n++] = '_';
    for (size_t i = 0; i < DIGEST; i++) {
        room[n++] = digits[digest[i] >> 4];
        room[n++] = digits[digest[i] & 15];
    }
    return cw_str_make(room, n);
}

static cw_code put(cw_aliases *a, cw_str alias, const cw_entry *tool)
{
    cw_str key = cw_arena_dup_str(&a->arena, alias);
    return key.p ? cw_map_put(&a->tools, key, (void *)(uintptr_t)tool, NULL) : CW_NOMEM;
}

static bool is_taken(const cw_aliases *a, const cw_snapshot *snapshot, cw_str alias)
{
    return cw_map_find(&a->tools, alias) || cw_snapshot_find_tool(snapshot, alias);
}

/* Claim an alias; what somebody has already becomes nobody's. */
static cw_code claim(cw_aliases *a, const cw_snapshot *snapshot, const cw_entry *tool)
{
    char room[CW_ALIAS_MAX];
    cw_str alias = plain_alias(tool->tool_name, room);
    if (!alias.n)
        return CW_OK;
    return put(a, alias, is_taken(a, snapshot, alias) ? &contested : tool);
}

static bool has(const cw_aliases *a, cw_str alias, const cw_entry *tool)
{
    return alias.n && cw_map_find(&a->tools, alias) == tool;
}

/* The same for a tool that got none. */
static cw_code claim_marked(cw_aliases *a, const cw_snapshot *snapshot, const cw_entry *tool)
{
    char room[CW_ALIAS_MAX];
    if (has(a, plain_alias(tool->tool_name, room), tool))
        return CW_OK;
    cw_str alias = marked_alias(tool->tool_name, room);
    return is_taken(a, snapshot, alias) ? CW_OK : put(a, alias, tool);
}

static cw_code fill(cw_aliases *a, const cw_snapshot *snapshot)
{
    static cw_code (*const rounds[])(cw_aliases *, const cw_snapshot *,
                                     const cw_entry *) = {claim, claim_marked};
    size_t n;
    const cw_entry *const *tools = cw_snapshot_tools(snapshot, &n);
    cw_code rc = CW_OK;
    for (size_t round = 0; round < CW_COUNT(rounds); round++) {
        for (size_t i = 0; i < n && !rc; i++) {
            if (!is_strict(tools[i]->tool_name))
                rc = rounds[round](a, snapshot, tools[i]);
        }
    }
    return rc;
}

cw_aliases *cw_aliases_new(const cw_snapshot *snapshot)
{
    cw_aliases *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    cw_map_init(&a->tools, 2 * CW_SNAPSHOT_MAX_METHODS);
    cw_arena_init(&a->arena, SIZE_MAX);
    if (fill(a, snapshot)) {
        cw_aliases_free(a);
        return NULL;
    }
    return a;
}

void cw_aliases_free(cw_aliases *a)
{
    if (!a)
        return;
    cw_map_done(&a->tools);
    cw_arena_done(&a->arena);
    free(a);
}

cw_str cw_alias_of(const cw_aliases *a, const cw_entry *tool, char room[CW_ALIAS_MAX])
{
    if (is_strict(tool->tool_name))
        return tool->tool_name;
    cw_str alias = plain_alias(tool->tool_name, room);
    if (has(a, alias, tool))
        return alias;
    alias = marked_alias(tool->tool_name, room);
    return has(a, alias, tool) ? alias : tool->tool_name;
}

const cw_entry *cw_alias_find(const cw_aliases *a, cw_str alias)
{
    const cw_entry *tool = cw_map_find(&a->tools, alias);
    return tool == &contested ? NULL : tool;
}
