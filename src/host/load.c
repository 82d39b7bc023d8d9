/* SPDX-License-Identifier: GPL-2.0-or-later */
/* load.c - loads a shared object and finds its declarations. The ABI is checked first. */
#include <dlfcn.h>

#include "host/hosted.h"

#define ARENA_MAX (256u * 1024u * 1024u)
#define PROBLEMS_MAX (1024u * 1024u)

static cw_code refuse(cw_hosted *h, const char *name, const char *text)
{
    cw_buf_printf(&h->problems, "%s: %s\n", name ? name : "plugin", text);
    return h->problems.code ? h->problems.code : CW_PARAMS;
}

/* The text of dlerror without the internal path: "undefined symbol: x". */
static const char *loader_text(const char *path)
{
    const char *text = dlerror();
    size_t n = strlen(path);
    if (!text)
        return "unknown reason";
    if (strncmp(text, path, n) == 0 && strncmp(text + n, ": ", 2) == 0)
        text += n + 2;
    return text;
}

static cw_code refuse_object(cw_hosted *h, const char *path, const char *name)
{
    const char *text = loader_text(path);
    if (strstr(text, "undefined symbol: causeway_plugin"))
        return refuse(h, name, "not a plugin: there is no CW_PLUGIN in it");
    const char *line = cw_arena_printf(&h->arena, "cannot be loaded: %.400s", text);
    return line ? refuse(h, name, line) : CW_NOMEM;
}

static cw_code refuse_abi(cw_hosted *h, const char *name, uint32_t abi)
{
    const char *text = cw_arena_printf(&h->arena, "built for plugin ABI %u, this host speaks %d",
                                       abi, CW_PLUGIN_ABI);
    return text ? refuse(h, name, text) : CW_NOMEM;
}

void cw_hosted_init(cw_hosted *h)
{
    *h = (cw_hosted){0};
    cw_arena_init(&h->arena, ARENA_MAX);
    cw_buf_init(&h->problems, PROBLEMS_MAX);
}

void cw_hosted_done(cw_hosted *h)
{
    cw_arena_done(&h->arena);
    cw_buf_done(&h->problems);
}

cw_code cw_hosted_load(cw_hosted *h, const char *path, const char *name)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object)
        return refuse_object(h, path, name);
    const cw_plugin_entry *entry = dlsym(object, "causeway_plugin");
    if (!entry)
        return refuse(h, name, "not a plugin: there is no CW_PLUGIN in it");
    if (entry->abi != CW_PLUGIN_ABI)
        return refuse_abi(h, name, entry->abi);
    if (entry->size < sizeof(*entry) || entry->method_size < sizeof(cw_plugin_method) ||
        entry->tool_size < sizeof(cw_plugin_tool))
        return refuse(h, name, "built with a header of another version; build it anew");
    return cw_hosted_check(h, entry, name);
}
