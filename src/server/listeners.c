/* SPDX-License-Identifier: GPL-2.0-or-later */
/* listeners.c - opens the listeners of a configuration, or takes those of another process. */
#include "server/listeners.h"

typedef struct opening {
    cw_server *server;
    const cw_config *config;
    cw_handed *handed;
} opening;

/* Whether it matters which socket belongs to which entry. */
static bool has_special(const cw_config_listeners *listen)
{
    for (size_t i = 0; i < listen->n; i++) {
        if (listen->items[i].tls || listen->items[i].proxy_protocol)
            return true;
    }
    return false;
}

static cw_code check_places(const cw_config_listeners *listen, size_t n_inherited, cw_err *err)
{
    if (n_inherited == listen->n || !has_special(listen))
        return CW_OK;
    return cw_fail(
        err, CW_CONFIG,
        "%zu sockets were inherited for %zu entries of listen: which have TLS or the PROXY "
        "protocol?",
        n_inherited, listen->n);
}

static cw_config_listener entry_at(const cw_config_listeners *listen, size_t place)
{
    return place < listen->n ? listen->items[place] : (cw_config_listener){0};
}

static void set_proxy(opening *o, const cw_config_listener *l, cw_code opened)
{
    if (!opened && l->proxy_protocol)
        cw_server_set_proxy(o->server);
}

/* The sockets of the service manager count instead of the configured addresses. */
static cw_code open_inherited(opening *o, int n, const bool *stored, size_t n_inherited,
                              cw_err *err)
{
    const cw_config_listeners *listen = &o->config->listen;
    size_t place = 0;
    cw_code rc = check_places(listen, n_inherited, err);
    for (int i = 0; i < n && !rc; i++) {
        if (stored[i])
            continue;
        cw_config_listener l = entry_at(listen, place++);
        rc = cw_server_inherit(o->server, CW_LISTENER_FIRST_FD + i, l.tls, err);
        set_proxy(o, &l, rc);
    }
    return rc;
}

/* The same sockets, from a predecessor. */
static cw_code adopt_inherited(opening *o, cw_err *err)
{
    const cw_config_listeners *listen = &o->config->listen;
    size_t place = 0;
    cw_code rc = check_places(listen, cw_handed_n_inherited(o->handed), err);
    for (size_t i = 0; i < o->handed->n && !rc; i++) {
        if (!o->handed->items[i].inherited)
            continue;
        cw_config_listener l = entry_at(listen, place++);
        rc = cw_server_adopt(o->server, &o->handed->items[i], l.tls, err);
        set_proxy(o, &l, rc);
    }
    return rc;
}

static cw_code take_stored(opening *o, int n, const bool *stored, size_t *ret_inherited,
                           cw_err *err)
{
    cw_code rc = CW_OK;
    *ret_inherited = 0;
    for (int i = 0; i < n && !rc; i++) {
        if (stored[i])
            rc = cw_handed_add_socket(o->handed, CW_LISTENER_FIRST_FD + i, err);
        else
            (*ret_inherited)++;
    }
    return rc;
}

static cw_code open_one(opening *o, const cw_config_listener *l, cw_err *err)
{
    cw_handed_listener *open = cw_handed_find(o->handed, l->address.text, /* is_local= */ false);
    cw_code rc = open ? cw_server_adopt(o->server, open, l->tls, err)
                      : cw_server_listen(o->server, l->address.text, l->tls, err);
    set_proxy(o, l, rc);
    return rc;
}

static cw_code open_configured(opening *o, cw_err *err)
{
    const cw_config_listeners *listen = &o->config->listen;
    cw_code rc = CW_OK;
    for (size_t i = 0; i < listen->n && !rc; i++)
        rc = open_one(o, &listen->items[i], err);
    return rc;
}

/* Listeners with routes of their own. The service manager has none of these. */
static cw_code open_special(opening *o, const cw_config_listeners *listen,
                            void (*set_routes)(cw_server *), cw_err *err)
{
    cw_code rc = CW_OK;
    for (size_t i = 0; i < listen->n && !rc; i++) {
        rc = open_one(o, &listen->items[i], err);
        if (!rc)
            set_routes(o->server);
    }
    return rc;
}

cw_code cw_app_open_listeners(cw_server *server, const cw_config *config, cw_handed *handed,
                              cw_err *err)
{
    opening o = {server, config, handed};
    bool stored[CW_LISTENER_MAX_INHERITED];
    size_t n_inherited;
    int n = cw_listener_inherited(stored);
    cw_code rc = take_stored(&o, n, stored, &n_inherited, err);
    if (!rc && n_inherited)
        rc = open_inherited(&o, n, stored, n_inherited, err);
    else if (!rc)
        rc = cw_handed_n_inherited(handed) ? adopt_inherited(&o, err) : open_configured(&o, err);
    if (!rc && config->console.enabled)
        rc = open_special(&o, &config->console.listen, cw_server_set_for_console, err);
    if (!rc && config->metrics.enabled)
        rc = open_special(&o, &config->metrics.listen, cw_server_set_for_metrics, err);
    return rc;
}
