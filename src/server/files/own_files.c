/* SPDX-License-Identifier: GPL-2.0-or-later */
/* own_files.c - lists the files that a configuration names. */
#include "server/files/own_files.h"

#include <linux/landlock.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "server/files/local_socket.h"
#include "server/files/plugin_host_path.h"
#include "server/files/state_file.h"

#define PATHS_MAX 500u /* the launcher takes a few more */
#define ARENA_MAX ((size_t)4 << 20)
#define LANDLOCK_VERSION 2 /* host/landlock.h needs it */

typedef struct lister {
    cw_arena arena;
    const char *paths[PATHS_MAX + 1];
    size_t n;
    bool is_full;
} lister;

bool cw_own_files_can_hide(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) >=
           LANDLOCK_VERSION;
}

static void add(lister *l, cw_str path)
{
    if (path.n == 0 || l->n == PATHS_MAX)
        return;
    cw_str copy = cw_arena_dup_str(&l->arena, path);
    if (copy.p)
        l->paths[l->n++] = copy.p;
    else
        l->is_full = true;
}

static void add_with(lister *l, cw_str path, const char *suffix)
{
    char *text = path.n ? cw_arena_printf(&l->arena, "%s%s", path.p, suffix) : NULL;
    if (text)
        add(l, cw_str_from(text));
    else if (path.n)
        l->is_full = true;
}

static void add_pairs(lister *l, const cw_config_pairs *pairs)
{
    for (size_t i = 0; i < pairs->n; i++)
        add(l, pairs->items[i].value);
}

static void add_source(lister *l, const cw_config_remote *r)
{
    add(l, r->secret.file);
    add(l, r->oauth.client_secret_file);
    add(l, r->tls.key);
    add(l, r->overlay);
    add_pairs(l, &r->environment_files);
    add_pairs(l, &r->header_files);
}

static void add_state(lister *l, const cw_config *config)
{
    char path[CW_STATE_FILE_PATH];
    const char *own = config->path.n ? config->path.p : NULL;
    if (!cw_local_socket_path(config, own, path, NULL))
        add(l, cw_str_from(path));
    if (cw_state_file_name(config, own, "seal", path, NULL))
        return;
    char *slash =
        strrchr(path, '/'); /* the directory: other servers of this user have files there */
    if (slash)
        *slash = '\0';
    add(l, cw_str_from(path));
}

/* Most important ones first: the list has a maximum. */
static void add_all(lister *l, const cw_config *c)
{
    static const char *const beside[] = {"-wal", "-shm", "-journal"};
    add(l, c->path);
    add(l, c->store.path);
    for (size_t i = 0; i < CW_COUNT(beside); i++)
        add_with(l, c->store.path, beside[i]);
    add(l, c->store.password_file);
    add(l, c->tls.key);
    add(l, c->mcp.secret_file);
    for (size_t i = 0; i < c->mcp.old_secret_files.n; i++)
        add(l, c->mcp.old_secret_files.items[i]);
    add(l, c->state.lock);
    add(l, c->state.directory);
    add(l, c->audit.path);
    add_state(l, c);
    for (size_t i = 0; i < c->access.issuers.n; i++)
        add(l, c->access.issuers.items[i].client_secret_file);
    for (size_t i = 0; i < c->access.server.clients.n; i++)
        add(l, c->access.server.clients.items[i].secret_file);
    for (size_t i = 0; i < c->sources.n; i++)
        add_source(l, &c->sources.items[i]);
}

cw_code cw_own_files_hide(cw_spawner *spawner, const cw_config *config, cw_err *err)
{
    char *host = NULL;
    cw_code rc = cw_plugin_host_find(config, /* is_needed= */ true, &host, err);
    if (rc)
        return rc == CW_NOMEM ? rc : CW_OK;
    lister *l = calloc(1, sizeof *l);
    if (l) {
        cw_arena_init(&l->arena, ARENA_MAX);
        add_all(l, config);
        rc =
            l->is_full ? cw_fail_nomem(err) : cw_spawner_set_launcher(spawner, host, l->paths, err);
        cw_arena_done(&l->arena);
    }
    free(host);
    if (!l)
        return cw_fail_nomem(err);
    free(l);
    return rc;
}
