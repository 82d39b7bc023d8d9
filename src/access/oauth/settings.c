/* SPDX-License-Identifier: GPL-2.0-or-later */
/* settings.c - a counted copy of the settings of the authorization server. */
#include "access/oauth/settings.h"

#include <stdatomic.h>
#include <stdlib.h>

#define SETTINGS_MAX_BYTES ((size_t)16 << 20)

typedef struct counted {
    cw_oauth_settings settings;
    atomic_uint refs;
    cw_arena arena;
} counted;

static counted *own(cw_oauth_settings *s)
{
    return CW_CONTAINER(s, counted, settings);
}

/* NULL without memory; an empty list has a place too. */
static cw_str *copy_list(cw_arena *arena, const cw_str *items, size_t n)
{
    cw_str *copy = cw_arena_calloc(arena, n + 1, sizeof *copy);
    for (size_t i = 0; copy && i < n; i++) {
        copy[i] = cw_arena_dup_str(arena, items[i]);
        if (!copy[i].p)
            return NULL;
    }
    return copy;
}

static bool copy_client(cw_arena *arena, cw_oauth_client *c)
{
    c->id = cw_arena_dup_str(arena, c->id);
    c->name = cw_arena_dup_str(arena, c->name);
    c->account = cw_arena_dup_str(arena, c->account);
    c->jwks = cw_arena_dup_str(arena, c->jwks);
    c->redirect_uris = copy_list(arena, c->redirect_uris, c->n_redirect_uris);
    c->ceiling = copy_list(arena, c->ceiling, c->n_ceiling);
    c->scopes = copy_list(arena, c->scopes, c->n_scopes);
    return c->id.p && c->name.p && c->account.p && c->jwks.p && c->redirect_uris && c->ceiling &&
           c->scopes;
}

static bool copy_texts(counted *c)
{
    cw_oauth_settings *s = &c->settings;
    cw_oauth_client *clients = cw_arena_calloc(&c->arena, s->n_clients + 1, sizeof *clients);
    for (size_t i = 0; clients && i < s->n_clients; i++) {
        clients[i] = s->clients[i];
        if (!copy_client(&c->arena, &clients[i]))
            return false;
    }
    s->clients = clients;
    s->ceiling = copy_list(&c->arena, s->ceiling, s->n_ceiling);
    return clients && s->ceiling;
}

cw_code cw_oauth_settings_new(const cw_oauth_settings *from, cw_oauth_settings **ret, cw_err *err)
{
    counted *c = calloc(1, sizeof *c);
    if (!c)
        return cw_fail_nomem(err);
    c->settings = *from;
    atomic_init(&c->refs, 1);
    cw_arena_init(&c->arena, SETTINGS_MAX_BYTES);
    if (!copy_texts(c)) {
        cw_code rc = cw_arena_fail(&c->arena, err);
        cw_oauth_settings_unref(&c->settings);
        return rc;
    }
    *ret = &c->settings;
    return CW_OK;
}

cw_oauth_settings *cw_oauth_settings_ref(cw_oauth_settings *s)
{
    atomic_fetch_add(&own(s)->refs, 1);
    return s;
}

void cw_oauth_settings_unref(cw_oauth_settings *s)
{
    if (!s || atomic_fetch_sub(&own(s)->refs, 1) != 1)
        return;
    counted *c = own(s);
    cw_arena_done(&c->arena);
    free(c);
}
