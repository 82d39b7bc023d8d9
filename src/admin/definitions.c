/* SPDX-License-Identifier: GPL-2.0-or-later */
/* definitions.c - loads of services that end in a list of definitions. */
#include "admin/definitions.h"

#include <stdlib.h>

typedef struct load load;

typedef struct item {
    load *load;
    cw_remote_job *job; /* NULL: it has ended */
    cw_shared_conn *shared;
} item;

struct load {
    cw_list node; /* in server->loads */
    cw_admin_call *c;
    cw_config *config; /* a reference */
    cw_admin_definitions_fn fn;
    cw_arena arena;
    cw_loop *loop;
    cw_message message; /* ends it outside of the callbacks of jobs */
    cw_admin_definitions *all;
    item *items;
    size_t n, n_running;
    bool is_posted;
};

static void free_load(load *l)
{
    for (size_t i = 0; i < l->n; i++) {
        cw_remote_load_cancel(l->items[i].job, /* loops_ended= */ false);
        cw_source_unref(l->all[i].source);
        cw_shared_conn_close(l->items[i].shared, /* loops_ended= */ false);
    }
    cw_list_remove(&l->node);
    cw_config_unref(l->config);
    cw_arena_done(&l->arena);
    free(l);
}

static void on_end(cw_message *message)
{
    load *l = CW_CONTAINER(message, load, message);
    l->fn(l->c, l->all, l->n);
    free_load(l);
}

static void on_drop(cw_message *message)
{
    free_load(CW_CONTAINER(message, load, message));
}

/* Once, when nothing runs any more. */
static void end_if_done(load *l)
{
    if (l->n_running || l->is_posted)
        return;
    l->is_posted = true;
    l->message = (cw_message){.fn = on_end, .drop = on_drop};
    cw_loop_post(l->loop, &l->message);
}

static void set_problem(load *l, size_t i, cw_str problem)
{
    l->all[i].problem = cw_arena_dup_str(&l->arena, problem);
    if (!l->all[i].problem.p)
        l->all[i].problem = CW_STR("out of memory");
}

static void on_loaded(const cw_remote_loaded *loaded, void *ctx)
{
    item *it = ctx;
    load *l = it->load;
    size_t i = (size_t)(it - l->items);
    it->job = NULL;
    it->shared = loaded->shared;
    l->all[i].source = loaded->source;
    l->all[i].items = loaded->definitions;
    l->all[i].n = loaded->n_definitions;
    if (!loaded->source)
        set_problem(l, i, loaded->problem.n ? loaded->problem : loaded->lock);
    l->n_running--;
    end_if_done(l);
}

/* A description from another time does not count, and the lock file is compared later. */
static void start(load *l, size_t i, cw_spawner *spawner)
{
    cw_err err = {0};
    cw_remote_opts opts = {
        .config = l->all[i].config,
        .owner = l->config,
        .n_loops = 1,
        .answer_size = l->config->limits.max_result_size,
        .spawner = spawner,
        .policy = cw_sources_policy(l->config),
        .defines = true,
    };
    l->n_running++;
    if (cw_remote_load(l->loop, &opts, on_loaded, &l->items[i], &l->items[i].job, &err)) {
        l->n_running--;
        set_problem(l, i, cw_str_from(err.msg));
    }
}

static cw_code select_sources(load *l, const cw_json *names, cw_err *err)
{
    const cw_config_remotes *sources = &l->config->sources;
    l->all = cw_arena_calloc(&l->arena, sources->n + 1, sizeof *l->all);
    l->items = cw_arena_calloc(&l->arena, sources->n + 1, sizeof *l->items);
    if (!l->all || !l->items)
        return cw_arena_fail(&l->arena, err);
    for (size_t i = 0; i < sources->n; i++) {
        if (!cw_admin_is_named(names, sources->items[i].name))
            continue;
        l->items[l->n].load = l;
        l->all[l->n++].config = &sources->items[i];
    }
    return CW_OK;
}

cw_code cw_admin_definitions_load(cw_admin_call *c, cw_admin_definitions_fn fn, cw_err *err)
{
    load *l = calloc(1, sizeof *l);
    if (!l)
        return cw_fail_nomem(err);
    l->c = c;
    l->fn = fn;
    l->loop = c->server->loop;
    l->config = cw_config_ref(c->server->config);
    cw_arena_init(&l->arena, CW_ADMIN_RESULT_MAX);
    cw_list_add(&c->server->loads, &l->node);
    cw_code rc = select_sources(l, cw_json_get(c->params, CW_STR("names")), err);
    if (rc) {
        free_load(l);
        return rc;
    }
    for (size_t i = 0; i < l->n; i++)
        start(l, i, c->server->spawner);
    end_if_done(l);
    return CW_OK;
}

void cw_admin_definitions_close(cw_admin_server *server)
{
    for (cw_list *node = server->loads.next, *next; node != &server->loads; node = next) {
        load *l = CW_CONTAINER(node, load, node);
        next = node->next;
        if (!l->is_posted) /* otherwise the loop drops its message */
            free_load(l);
    }
}
