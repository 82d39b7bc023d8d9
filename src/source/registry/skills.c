/* SPDX-License-Identifier: GPL-2.0-or-later */
/* skills.c - the skills of the sources: their directories are checked regularly.
 *
 * Skills lie in nested directories, often on volumes whose changes no event reports. A check
 * compares names, sizes and times only. A directory that has changed is read as a whole.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "source/registry/registry_int.h"
#include "source/skills/folder.h"

#define LOOK_MS 1000u
#define PATH_MAX_BYTES 4096u

/* An item's directory of skills: `skills` of a service, NAME.skills beside NAME.so. False: none. */
static bool path_of(const cw_registry_item *item, char path[PATH_MAX_BYTES])
{
    int n = 0;
    if (item->is_gone)
        return false;
    if (item->remote)
        n = snprintf(path, PATH_MAX_BYTES, "%.*s", CW_STR_ARG(item->remote->skills));
    else if (item->path)
        n = snprintf(path, PATH_MAX_BYTES, "%.*s.skills", (int)(strlen(item->path) - 3),
                     item->path);
    return n > 0 && (size_t)n < PATH_MAX_BYTES;
}

static void log_left_out(cw_str skill, const char *problem, void *ctx)
{
    const cw_registry_item *item = ctx;
    cw_log(CW_LOG_WARN, "sources", "skill left out", CW_KV("source", cw_str_from(item->name)),
           CW_KV("skill", skill), CW_KV("problem", cw_str_from(problem)));
}

static void take(cw_registry_item *item, cw_skills *fresh)
{
    bool is_same = cw_skills_same(item->skills, fresh);
    cw_skills_unref(item->skills);
    item->skills = fresh;
    if (is_same)
        return;
    cw_log(CW_LOG_INFO, "sources", "skills read", CW_KV("source", cw_str_from(item->name)),
           CW_KN("skills", fresh ? fresh->n : 0));
    cw_sources_changed(item->all, /* is_change= */ true);
}

/* Check the directory of an item. Returns whether it has to be checked again later. */
static bool look(cw_registry_item *item)
{
    char path[PATH_MAX_BYTES];
    cw_skills *fresh = NULL;
    cw_err err = {0};
    if (!path_of(item, path)) {
        item->skills_stamp = 0;
        take(item, NULL);
        return false;
    }
    uint64_t stamp = cw_skill_folder_stamp(path) + cw_hash(cw_str_from(path));
    bool is_there = stamp != cw_hash(cw_str_from(path));
    if (stamp == item->skills_stamp)
        return is_there || item->remote;
    item->skills_stamp = stamp;
    cw_code rc = is_there ? cw_skill_folder_read(path, cw_str_from(item->name), log_left_out, item,
                                                 &fresh, &err)
                          : CW_OK;
    if (rc)
        cw_log_err(CW_LOG_WARN, "sources", "skills cannot be read; the older ones stay", &err);
    else
        take(item, fresh);
    if (rc == CW_NOMEM)
        item->skills_stamp = 0;
    return true;
}

static void on_look(uv_timer_t *timer)
{
    cw_sources_look_at_skills(timer->data);
}

void cw_sources_look_at_skills(cw_sources *s)
{
    bool again = false;
    if (s->is_closing)
        return;
    for (cw_registry_item *item = s->items; item; item = item->next)
        again = look(item) || again;
    if (again)
        uv_timer_start(&s->skills, on_look, LOOK_MS, 0);
    else
        uv_timer_stop(&s->skills);
}
