/* SPDX-License-Identifier: GPL-2.0-or-later */
/* health.c - how the services are: one file each in the state's folder, for `causeway
 * source list`, and a count for whoever asks whether the server is well.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "source/registry/registry_int.h"
#include "source/remote/state_files.h"

#define CHECK_MS 1000u

static const char *state_of(const cw_registry_item *item, uint64_t now)
{
    if (!item->source)
        return item->tried ? "down" : "loading";
    if (item->is_withheld)
        return "withheld";
    if (cw_remote_trouble(item->source, now))
        return "broken";
    return item->is_stale ? "stale" : "ready";
}

static uint32_t count_tools(const cw_source *source)
{
    uint32_t n = 0;
    for (size_t i = 0; source && i < source->n_methods; i++)
        n += source->methods[i].mark != NULL;
    return n;
}

static void save(const cw_registry_item *item)
{
    const cw_sources *s = item->all;
    cw_err err = {0};
    cw_source_status status = {
        .name = cw_str_from(item->name),
        .state = cw_str_from(item->state),
        .pid = getpid(),
        .at_ms = cw_clock_wall_ms(),
        .since_ms = item->since_ms,
        .refreshed_ms = item->refreshed_ms,
        .tools = count_tools(item->source),
        .methods = item->n_found,
        .withheld = item->n_withheld,
        .problem = cw_str_from(item->problem),
    };
    if (s->is_quiet)
        return;
    if (s->config->state.folder.n && cw_state_save_status(s->config->state.folder, &status, &err))
        cw_log_err(CW_LOG_WARN, "sources", "the state of a source could not be written", &err);
}

static void record(cw_registry_item *item, bool must_save)
{
    const char *state = state_of(item, cw_loop_now(item->all->opts.loop));
    bool is_other = state != item->state;
    if (is_other) {
        item->state = state;
        item->since_ms = cw_clock_wall_ms();
    }
    if (is_other || must_save)
        save(item);
}

static void count(cw_sources *s)
{
    unsigned ready = 0, stale = 0, down = 0, withheld = 0, plugins = 0;
    for (const cw_registry_item *item = s->items; item; item = item->next) {
        plugins += item->path && item->source;
        if (!item->remote || item->is_gone || !item->state)
            continue;
        bool is_ready = strcmp(item->state, "ready") == 0;
        bool is_stale = strcmp(item->state, "stale") == 0;
        ready += is_ready;
        stale += is_stale;
        down += !is_ready && !is_stale && strcmp(item->state, "loading") != 0;
        withheld += item->is_withheld;
    }
    if (!s->opts.health)
        return;
    atomic_store(&s->opts.health->ready, ready);
    atomic_store(&s->opts.health->stale, stale);
    atomic_store(&s->opts.health->down, down);
    atomic_store(&s->opts.health->withheld, withheld);
    atomic_store(&s->opts.health->plugins, plugins);
}

void cw_sources_on_loaded(cw_registry_item *item, cw_str problem, cw_str others)
{
    cw_str reported = problem.n ? problem : others;
    free(item->problem);
    item->problem = reported.n ? cw_str_dup(reported) : NULL;
    if (!problem.n)
        item->refreshed_ms = cw_clock_wall_ms();
    item->tried = true;
    record(item, /* must_save= */ true);
    count(item->all);
}

static void on_retire_poll(uv_timer_t *timer)
{
    cw_sources_check_health(timer->data);
}

void cw_sources_check_health(cw_sources *s)
{
    bool any = false;
    for (cw_registry_item *item = s->items; item; item = item->next) {
        if (!item->remote || item->is_gone)
            continue;
        any = true;
        if (cw_remote_needs_recheck(item->source) && !item->remote_job)
            cw_sources_load(item);
        record(item, /* must_save= */ false);
    }
    count(s);
    if (any && !s->is_closing)
        uv_timer_start(&s->health, on_retire_poll, CHECK_MS, 0);
    else
        uv_timer_stop(&s->health);
}
