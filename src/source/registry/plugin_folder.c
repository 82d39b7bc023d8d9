/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin_folder.c - the plugin folder: what lies there, and watching it.
 *
 * An event says only that something happened; what, is found by looking at the
 * whole folder a little later, so that a file that is being written is mostly
 * read when it is whole. Where it was not, the load fails, the older version
 * stays, and the next write leads to another look.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "source/registry/registry_int.h"

#define CALM_MS 200u /* without events, before a look */
#define CALM_MAX_MS 400u
#define POLL_MS 2000u
#define PATH_MAX_BYTES 4096u
#define SUFFIX CW_STR(".so")

static const char *folder_of(const cw_sources *s)
{
    return s->config->plugins.folder.p;
}

/* ---- what lies there ---- */

/* The plugin's name of a file's name; empty: no plugin. A name that begins with a dot is somebody's
 * temporary file. */
static cw_str plugin_name(const char *file)
{
    cw_str name = cw_str_from(file);
    if (!cw_str_ends(name, SUFFIX) || file[0] == '.')
        return CW_STR("");
    return cw_str_make(file, name.n - SUFFIX.n);
}

static cw_registry_item *find_plugin(cw_sources *s, const char *path)
{
    for (cw_registry_item *item = s->items; item; item = item->next) {
        if (item->path && strcmp(item->path, path) == 0)
            return item;
    }
    return NULL;
}

static cw_code scan_file(cw_sources *s, const char *file, cw_err *err)
{
    cw_str name = plugin_name(file);
    if (name.n == 0 || (s->only && strcmp(file, s->only) != 0))
        return CW_OK;
    char path[PATH_MAX_BYTES];
    int n = snprintf(path, sizeof path, "%s/%s", folder_of(s), file);
    if (n < 0 || (size_t)n >= sizeof path)
        return CW_OK; /* no system call takes such a path */
    cw_file_id file_id;
    if (!cw_file_id_read(path, &file_id))
        return CW_OK;
    cw_registry_item *item = find_plugin(s, path);
    if (!item)
        item = cw_sources_add(s, name, path);
    if (!item)
        return cw_fail_nomem(err);
    item->is_seen = true;
    if (item->is_gone) {
        item->is_gone = false;
        item->file_id = (cw_file_id){0};
    }
    if (!cw_file_id_equal(&file_id, &item->file_id))
        cw_sources_load(item);
    return CW_OK;
}

/* Mark and load what is there. CW_DECLINED: there is no folder; another failure leaves open what
 * is there. */
static cw_code read_folder(cw_sources *s, cw_err *err)
{
    if (s->config->plugins.folder.n == 0)
        return CW_DECLINED;
    DIR *dir = opendir(folder_of(s));
    if (!dir && (errno == ENOENT || errno == ENOTDIR)) {
        cw_fail_errno(err, errno, "'%s'", folder_of(s));
        return CW_DECLINED;
    }
    if (!dir)
        return cw_fail_errno(err, errno, "'%s'", folder_of(s));
    cw_code rc = CW_OK;
    errno = 0;
    for (const struct dirent *e = readdir(dir); e && !rc; e = readdir(dir)) {
        rc = scan_file(s, e->d_name, err);
        errno = 0;
    }
    if (!rc && errno)
        rc = cw_fail_errno(err, errno, "'%s'", folder_of(s));
    closedir(dir);
    return rc;
}

/* True when everything there is has been looked at. */
static bool scan(cw_sources *s, cw_err *err)
{
    for (cw_registry_item *item = s->items; item; item = item->next)
        item->is_seen = false;
    cw_code rc = read_folder(s, err);
    if (rc && rc != CW_DECLINED)
        return false;
    for (cw_registry_item *item = s->items; item; item = item->next) {
        if (item->path && !item->is_seen && !item->is_gone)
            cw_sources_drop(s, item);
    }
    return rc == CW_OK;
}

/* ---- watching ---- */

static void on_retire_poll(uv_timer_t *timer);

static void on_event(uv_fs_event_t *event, const char *file, int events, int status)
{
    (void)file;
    (void)events;
    (void)status;
    cw_sources *s = event->data;
    uint64_t now = cw_loop_now(s->opts.loop);
    if (!s->folder.changed_at)
        s->folder.changed_at = now;
    uint64_t latest = s->folder.changed_at + CALM_MAX_MS;
    uint64_t pause = latest <= now ? 0 : (latest - now < CALM_MS ? latest - now : CALM_MS);
    uv_timer_start(&s->folder.timer, on_retire_poll, pause, 0);
}

/* The folder that is watched may have been moved away and another put in its place. */
static bool still_watched(const cw_sources *s)
{
    struct stat st;
    return s->folder.is_watched && stat(folder_of(s), &st) == 0 &&
           st.st_dev == s->folder.watched.dev && st.st_ino == s->folder.watched.ino;
}

static bool watch(cw_sources *s, cw_err *err)
{
    cw_dir_watch *f = &s->folder;
    if (still_watched(s))
        return true;
    uv_fs_event_stop(&f->event);
    f->is_watched = false;
    struct stat st;
    if (stat(folder_of(s), &st) != 0) {
        cw_fail_errno(err, errno, "'%s'", folder_of(s));
        return false;
    }
    int rc = uv_fs_event_start(&f->event, on_event, folder_of(s), 0);
    if (rc) {
        cw_fail(err, CW_IO, "'%s': %s", folder_of(s), uv_strerror(rc));
        return false;
    }
    f->watched = (cw_file_id){.dev = st.st_dev, .ino = st.st_ino};
    f->is_watched = true;
    return true;
}

/* Watch first, then look: what comes between the two is seen twice rather than never. */
static void scan_and_watch(cw_sources *s)
{
    cw_dir_watch *f = &s->folder;
    f->changed_at = 0;
    cw_err err = {0};
    bool watched = watch(s, &err);
    bool looked = scan(s, &err);
    if (watched && looked) {
        if (f->is_reported)
            cw_log(CW_LOG_INFO, "sources", "the plugin folder is watched");
        f->is_reported = false;
        return;
    }
    if (!f->is_reported)
        cw_log_err(CW_LOG_WARN, "sources",
                   watched ? "the plugin folder cannot be read; looking every 2 s"
                           : "the plugin folder cannot be watched; looking every 2 s",
                   &err);
    f->is_reported = true;
    uv_timer_start(&f->timer, on_retire_poll, POLL_MS, 0);
}

static void on_retire_poll(uv_timer_t *timer)
{
    cw_sources *s = timer->data;
    scan_and_watch(s);
    cw_sources_check_settled(s);
}

void cw_dir_watch_open(cw_sources *s)
{
    cw_err err = {0};
    if (s->config->plugins.folder.n == 0)
        scan(s, &err); /* drops what another configuration had */
    else
        scan_and_watch(s);
}

void cw_dir_watch_close(cw_sources *s)
{
    uv_fs_event_stop(&s->folder.event);
    uv_timer_stop(&s->folder.timer);
    s->folder.is_watched = false;
    s->folder.is_reported = false;
    s->folder.changed_at = 0;
}
