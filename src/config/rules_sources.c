/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rules_sources.c - what keys of a service demand of one another. Which words go together is known
 * to src/source alone. */
#include "base/map.h"
#include "config/rules.h"

/* A service, and where it stands. */
typedef struct entry {
    const cw_config_remote *source;
    const cw_place *place;
    const cw_json *v;
} entry;

cw_code cw_rules_same(cw_checker *c, const cw_place *list, const cw_json *v, size_t i,
                      const char *what, size_t first)
{
    const cw_place item = {.up = list, .index = i};
    return cw_check_problem(c, &item, cw_json_at(v, i), "the same %s as %.*s[%zu]", what,
                            CW_STR_ARG(list->name), first);
}

/* Report at a key of the entry, or of a section of it. */
static cw_code complain(cw_checker *c, const entry *e, const char *section, const char *name,
                        const char *message)
{
    const cw_place outer = {.up = e->place, .name = cw_str_from(section ? section : name)};
    const cw_place inner = {.up = &outer, .name = cw_str_from(name)};
    const cw_json *v = cw_json_get(e->v, outer.name);
    const cw_json *below = section && v ? cw_json_get(v, inner.name) : NULL;
    return cw_check_problem(c, section ? &inner : &outer, below ? below : v, "%s", message);
}

static bool has_wildcard(cw_str method)
{
    return memchr(method.p, '*', method.n) || memchr(method.p, '?', method.n);
}

/* A list of methods, and where it stands. */
typedef struct method_list {
    const cw_config_overlays *methods;
    cw_place place;
    const cw_json *v;
} method_list;

/* `text` of method `i` is in the map already, or is now. */
static cw_code check_unique(cw_checker *c, const method_list *l, cw_map *seen, size_t i,
                            cw_str text, const char *what)
{
    const cw_config_overlay *items = l->methods->items;
    void *other = NULL;
    if (cw_map_put(seen, text, (void *)(uintptr_t)&items[i], &other))
        return cw_fail_nomem(c->err);
    if (!other)
        return CW_OK;
    return cw_rules_same(c, &l->place, l->v, i, what,
                         (size_t)((const cw_config_overlay *)other - items));
}

static cw_code check_name(cw_checker *c, const method_list *l, cw_map *names, size_t i)
{
    const cw_config_overlay *o = &l->methods->items[i];
    if (!o->name.n)
        return CW_OK;
    if (!has_wildcard(o->method))
        return check_unique(c, l, names, i, o->name, "name");
    const cw_place item = {.up = &l->place, .index = i};
    bool is_list = cw_json_is(l->v, CW_JSON_ARRAY);
    return cw_check_problem(c, is_list ? &item : &l->place, is_list ? cw_json_at(l->v, i) : l->v,
                            "\"name\" is for one method, and \"method\" may fit several");
}

cw_code cw_rules_check_methods(cw_checker *c, const cw_config_overlays *methods,
                               const cw_place *source, const cw_json *v)
{
    const cw_str name = CW_STR("methods");
    const method_list l = {methods, {.up = source, .name = name}, cw_json_get(v, name)};
    cw_map seen, names;
    cw_map_init(&seen, methods->n);
    cw_map_init(&names, methods->n);
    cw_code rc = CW_OK;
    for (size_t i = 0; i < methods->n && !rc; i++) {
        rc = check_unique(c, &l, &seen, i, methods->items[i].method, "method");
        if (!rc)
            rc = check_name(c, &l, &names, i);
    }
    cw_map_done(&seen);
    cw_map_done(&names);
    return rc;
}

/* The address. */
static cw_code check_protocol(cw_checker *c, const entry *e)
{
    const cw_config_remote *s = e->source;
    if (!s->url.n && !s->command.n)
        return cw_check_problem(c, e->place, e->v, "missing key \"url\" or \"command\"");
    if (s->url.n && s->command.n)
        return complain(c, e, NULL, "command", "there is a url already; it is one or the other");
    if (s->url.n && s->environment.n)
        return complain(c, e, NULL, "environment", "only for a command");
    if (s->url.n && s->folder.n)
        return complain(c, e, NULL, "working_directory", "only for a command");
    if (s->url.n)
        return CW_OK;
    cw_str program = s->command.items[0];
    if (!program.n)
        return complain(c, e, NULL, "command", "the program has no name");
    /* A program with a space in its name can still stand in a list. */
    if (cw_json_is(cw_json_get(e->v, CW_STR("command")), CW_JSON_STRING) &&
        memchr(program.p, ' ', program.n))
        return complain(c, e, NULL, "command",
                        "the program and each of its arguments are entries of a list");
    return CW_OK;
}

/* Header fields that the client itself sends, or that would contradict them. */
static cw_code check_headers(cw_checker *c, const entry *e)
{
    static const char *const ours[] = {"Host",
                                       "Content-Length",
                                       "Transfer-Encoding",
                                       "Connection",
                                       "Content-Type",
                                       "Upgrade",
                                       "Sec-WebSocket-Key",
                                       "Sec-WebSocket-Version",
                                       "Sec-WebSocket-Extensions",
                                       "Sec-WebSocket-Protocol"};
    const cw_config_pairs *headers = &e->source->headers;
    for (size_t i = 0; i < headers->n; i++) {
        cw_str name = headers->items[i].name;
        for (size_t j = 0; j < CW_COUNT(ours); j++) {
            if (cw_str_ieq(name, cw_str_from(ours[j])))
                return complain(c, e, "headers", name.p, "this header is set by Causeway itself");
        }
        for (size_t j = 0; j < i; j++) {
            if (cw_str_ieq(name, headers->items[j].name))
                return complain(c, e, "headers", name.p, "the same header twice");
        }
    }
    return CW_OK;
}

/* The credentials. */
static cw_code check_credentials(cw_checker *c, const entry *e)
{
    const cw_config_remote *s = e->source;
    if (s->tls.certificate.n && !s->tls.key.n)
        return complain(c, e, "tls", "certificate", "a certificate needs its key");
    if (s->tls.key.n && !s->tls.certificate.n)
        return complain(c, e, "tls", "key", "a key needs its certificate");
    if (s->secret.file.n && s->secret.environment.n)
        return complain(c, e, "secret", "environment", "there is a file already");
    if (s->oauth.client_secret_file.n && s->oauth.client_secret_environment.n)
        return complain(c, e, "oauth", "client_secret_environment", "there is a file already");
    if (s->oauth.token_url.n && !s->oauth.client_id.n)
        return complain(c, e, "oauth", "token_url", "needs client_id");
    return CW_OK;
}

static cw_code check_entry(cw_checker *c, const entry *e)
{
    cw_code rc = check_protocol(c, e);
    if (!rc)
        rc = check_headers(c, e);
    if (!rc)
        rc = check_credentials(c, e);
    if (!rc)
        rc = cw_rules_check_methods(c, &e->source->methods, e->place, e->v);
    return rc;
}

cw_code cw_rules_check_sources(cw_checker *c, const cw_config_remotes *sources)
{
    const cw_place root = {0};
    const cw_place list = {.up = &root, .name = CW_STR("sources")};
    const cw_json *v = c->doc ? cw_json_get(c->doc->root, list.name) : NULL;
    bool is_list = cw_json_is(v, CW_JSON_ARRAY);
    cw_code rc = CW_OK;
    for (size_t i = 0; i < sources->n && !rc; i++) {
        for (size_t j = 0; j < i && !rc; j++) {
            if (cw_str_eq(sources->items[i].name, sources->items[j].name))
                rc = cw_rules_same(c, &list, v, i, "name", j);
        }
        const cw_place item = {.up = &list, .index = i};
        const entry e = {&sources->items[i], is_list ? &item : &list,
                         is_list ? cw_json_at(v, i) : v};
        if (!rc)
            rc = check_entry(c, &e);
    }
    return rc;
}
