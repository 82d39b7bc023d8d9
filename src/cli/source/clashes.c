/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clashes.c - methods of a service whose names belong to another one, to a plugin or to the server.
 *
 * A catalogue is built of all of them, in the order of a server: the built-in source, plugins by name,
 * services. A method that a server would leave out is a problem of its service.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "admin/admin.h"
#include "admin/source.h"
#include "catalogue/snapshot.h"
#include "cli/plugin/plugin.h"
#include "cli/source/source_set.h"
#include "server/files/plugin_host_path.h"
#include "source/openrpc/openrpc.h"
#include "source/registry/registry.h"

#define BUILTIN_MAX ((size_t)64 << 20)

typedef struct comparison {
    cw_arena arena; /* of the built-in methods */
    cw_plugin_report *plugins;
    size_t n_plugins;
    /* All offers, in order. */
    cw_offer *offers;
    cw_source_set_item **items; /* likewise; NULL: not a service */
    bool *defers;               /* likewise: services do */
    size_t n;
} comparison;

static cw_code allocate(comparison *c, size_t n_plugins, size_t n_services)
{
    size_t n = 1 + n_plugins + n_services;
    c->plugins = calloc(n, sizeof *c->plugins);
    c->offers = calloc(n, sizeof *c->offers);
    c->items = calloc(n, sizeof *c->items);
    c->defers = calloc(n, sizeof *c->defers);
    return c->plugins && c->offers && c->items && c->defers ? CW_OK : CW_NOMEM;
}

static void comparison_done(comparison *c)
{
    for (size_t i = 0; i < c->n_plugins; i++)
        cw_plugin_report_done(&c->plugins[i]);
    free(c->plugins);
    free(c->offers);
    free(c->items);
    free(c->defers);
    cw_arena_done(&c->arena);
}

static void add_offer(comparison *c, cw_source_set_item *item, cw_offer offer)
{
    c->items[c->n] = item;
    c->defers[c->n] = item != NULL;
    c->offers[c->n++] = offer;
}

static void add_service(comparison *c, cw_source_set_item *item)
{
    cw_source *source = item->source;
    if (source)
        add_offer(c, item,
                  (cw_offer){item->config->name, source->methods, source->n_methods, source});
}

/* ---- the server itself ---- */

static cw_code add_builtin(comparison *c, const cw_config *config)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    const cw_json *doc = NULL;
    cw_method *methods = NULL;
    size_t n = 0;
    const cw_openrpc_opts opts = {.trust_marks = true, .callable = true};
    cw_buf_init(&text, BUILTIN_MAX);
    if (!config->admin.enabled)
        return CW_OK;
    cw_code rc = cw_admin_describe(&config->admin.tools, config->console.enabled, &text);
    if (!rc)
        rc = cw_json_read(cw_buf_str(&text), NULL, &c->arena, &doc, NULL, NULL);
    if (!rc)
        rc = cw_openrpc_read(doc, &opts, &c->arena, &methods, &n, NULL);
    if (!rc)
        add_offer(c, NULL, (cw_offer){CW_STR(CW_ADMIN_SOURCE_NAME), methods, n, NULL});
    return rc;
}

/* ---- its plugins ---- */

static cw_str name_of(const struct dirent *file)
{
    cw_str name = cw_str_from(file->d_name);
    return cw_str_make(name.p, name.n - CW_STR(CW_PLUGIN_SUFFIX).n);
}

static int is_plugin(const struct dirent *file)
{
    return file->d_name[0] != '.' &&
           cw_str_ends(cw_str_from(file->d_name), CW_STR(CW_PLUGIN_SUFFIX));
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return cw_str_cmp(name_of(*a), name_of(*b));
}

/* One that cannot be loaded offers nothing. */
static cw_code add_plugin(comparison *c, const cw_config *config, const char *host,
                          const struct dirent *file, cw_err *err)
{
    struct stat st;
    cw_plugin_report *report = &c->plugins[c->n_plugins];
    const char *path =
        cw_arena_printf(&c->arena, "%s/%s", config->plugins.directory.p, file->d_name);
    cw_str name = cw_arena_dup_str(&c->arena, name_of(file));
    if (!path || !name.p)
        return cw_arena_fail(&c->arena, err);
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return CW_OK;
    c->n_plugins++;
    cw_code rc = cw_plugin_inspect(config, host, path, report, err);
    if (!rc && !report->problems.n)
        add_offer(c, NULL, (cw_offer){name, report->methods, report->n_methods, NULL});
    return rc;
}

/* A directory that does not exist has no plugins. */
static int list_plugins(const cw_config *config, struct dirent ***ret, cw_err *err)
{
    const char *directory = config->plugins.directory.p;
    int n = config->plugins.directory.n ? scandir(directory, ret, is_plugin, by_name) : 0;
    if (n < 0 && errno != ENOENT && errno != ENOTDIR)
        cw_fail_errno(err, errno, "'%s'", directory);
    return n < 0 ? 0 : n;
}

static cw_code add_plugins(comparison *c, const cw_config *config, struct dirent **files, int n,
                           cw_err *err)
{
    char *host = NULL;
    cw_code rc = n ? cw_plugin_host_find(config, /* is_needed= */ true, &host, err) : CW_OK;
    for (int i = 0; i < n && !rc; i++)
        rc = add_plugin(c, config, host, files[i], err);
    free(host);
    return rc;
}

/* ---- all together ---- */

static void keep(cw_source *source)
{
    (void)source;
}

static cw_code compare(const comparison *c, const cw_config *config)
{
    static const cw_offer_ops ops = {.ref = keep, .unref = keep};
    const cw_snapshot_opts opts = {.policy = cw_sources_policy(config), .defers = c->defers};
    cw_snapshot *snapshot = NULL;
    size_t n = 0;
    cw_code rc = cw_snapshot_build(c->offers, c->n, &ops, &opts, &snapshot, NULL);
    const cw_snapshot_problem *problems = rc ? NULL : cw_snapshot_problems(snapshot, &n);
    for (size_t i = 0; i < n; i++) {
        cw_source_set_item *item = c->items[problems[i].offer];
        if (item)
            cw_source_set_add_problem(item, problems[i].text);
    }
    for (size_t i = 0; i < c->n && !rc; i++) {
        if (c->items[i])
            c->items[i]->n_tools =
                cw_snapshot_count(snapshot, c->offers[i].methods, c->offers[i].n_methods).tools;
    }
    cw_snapshot_unref(snapshot);
    return rc;
}

static bool has_service(const cw_source_set *all)
{
    for (size_t i = 0; i < all->n; i++) {
        if (all->items[i].source)
            return true;
    }
    return false;
}

static cw_code gather(comparison *c, cw_source_set *all)
{
    struct dirent **files = NULL;
    int n = list_plugins(all->config, &files, &all->uncompared);
    cw_code rc = allocate(c, (size_t)n, all->n);
    if (!rc)
        rc = add_builtin(c, all->config);
    if (!rc && add_plugins(c, all->config, files, n, &all->uncompared) == CW_NOMEM)
        rc = CW_NOMEM;
    for (size_t i = 0; i < all->n && !rc; i++)
        add_service(c, &all->items[i]);
    for (int i = 0; i < n; i++)
        free(files[i]);
    free(files);
    return rc;
}

cw_code cw_source_set_find_clashes(cw_source_set *all)
{
    comparison c = {0};
    if (!has_service(all))
        return CW_OK;
    cw_arena_init(&c.arena, BUILTIN_MAX);
    cw_code rc = gather(&c, all);
    if (!rc)
        rc = compare(&c, all->config);
    comparison_done(&c);
    return rc;
}
