/* SPDX-License-Identifier: GPL-2.0-or-later */
/* translations_load.c - find the .mo files of a folder and open them.
 *
 * First all paths are gathered and sorted, then languages are made of them and
 * their files read: the order in which a folder is read does not matter.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/langtag.h"
#include "base/limits.h"
#include "catalogue/i18n/translations_int.h"

#define SUFFIX CW_STR(".mo")
#define GETTEXT_FOLDER "LC_MESSAGES"

typedef struct found {
    cw_str tag;
    const char *path;
} found;

typedef struct loader {
    cw_translations *t;
    const cw_translations_opts *opts;
    cw_arena scratch;
    found *files;
    size_t n_files;
    size_t max, left; /* bytes: of all files, and those that may still be read */
    cw_err *err;
} loader;

/* ---- finding ---- */

static cw_code fail_nomem(const loader *l)
{
    return cw_fail_nomem(l->err);
}

static cw_str tag_of(loader *l, cw_str name)
{
    char tag[CW_LANGTAG_MAX];
    size_t n = cw_langtag_format(name, tag);
    return n ? cw_arena_dup_str(&l->t->arena, cw_str_make(tag, n)) : CW_STR("");
}

static cw_code add_file(loader *l, cw_str tag, const char *path)
{
    if (l->n_files == CW_TRANSLATIONS_MAX_FILES)
        return cw_fail(l->err, CW_LIMIT, "more than %u files", CW_TRANSLATIONS_MAX_FILES);
    l->files[l->n_files++] = (found){tag, path};
    return CW_OK;
}

typedef cw_code (*entry_fn)(loader *l, const char *folder, const char *name, cw_str tag);

/* Every entry of a folder that is not hidden; one that is not there is empty when it may be. */
static cw_code each_entry(loader *l, const char *folder, cw_str tag, bool may_miss, entry_fn fn)
{
    DIR *dir = opendir(folder);
    if (!dir && may_miss && (errno == ENOENT || errno == ENOTDIR))
        return CW_OK;
    if (!dir)
        return cw_fail_errno(l->err, errno, "'%s'", folder);
    cw_code rc = CW_OK;
    for (const struct dirent *e = readdir(dir); e && !rc; e = readdir(dir)) {
        if (e->d_name[0] != '.')
            rc = fn(l, folder, e->d_name, tag);
    }
    closedir(dir);
    return rc;
}

static cw_code on_inner(loader *l, const char *folder, const char *name, cw_str tag)
{
    if (!cw_str_ends(cw_str_from(name), SUFFIX))
        return CW_OK;
    const char *path = cw_arena_printf(&l->scratch, "%s/%s", folder, name);
    return path ? add_file(l, tag, path) : fail_nomem(l);
}

/* LANG.mo, or LANG/ with files inside. Other files and folders are ignored, but a .mo file that is
 * never read is a mistake. */
static cw_code on_outer(loader *l, const char *folder, const char *name, cw_str none)
{
    cw_str stem = cw_str_from(name);
    bool is_file = cw_str_ends(stem, SUFFIX);
    (void)none;
    if (is_file)
        stem.n -= SUFFIX.n;
    cw_str tag = tag_of(l, stem);
    const char *path = cw_arena_printf(&l->scratch, "%s/%s", folder, name);
    if (!tag.p || !path)
        return fail_nomem(l);
    if (is_file && !tag.n)
        return cw_fail(l->err, CW_PARAMS,
                       "'%s': its name is no language; expected one such as \"de.mo\", "
                       "\"pt_BR.mo\" or \"de/NAME.mo\"",
                       name);
    if (is_file)
        return add_file(l, tag, path);
    if (!tag.n)
        return CW_OK;
    const char *deeper = cw_arena_printf(&l->scratch, "%s/" GETTEXT_FOLDER, path);
    if (!deeper)
        return fail_nomem(l);
    cw_code rc = each_entry(l, path, tag, /* may_miss= */ true, on_inner);
    return rc ? rc : each_entry(l, deeper, tag, /* may_miss= */ true, on_inner);
}

/* ---- reading ---- */

static cw_code read_file(loader *l, const char *path, cw_str *ret)
{
    cw_buf b;
    size_t n = 0;
    cw_buf_init(&b, l->left);
    cw_code rc = cw_file_read(path, CW_FILE_PLAIN, &b, l->err);
    if (rc == CW_LIMIT)
        cw_fail(l->err, rc, "'%s': with it the files have more than %zu bytes", path, l->max);
    char *p = rc ? NULL : cw_buf_take(&b, &n);
    if (!p) {
        cw_buf_done(&b);
        return rc ? rc : fail_nomem(l);
    }
    l->left -= n;
    *ret = cw_str_make(p, n);
    return cw_arena_hold(&l->t->arena, p, free) ? fail_nomem(l) : CW_OK;
}

static cw_code open_file(loader *l, const char *path, cw_mo *ret)
{
    cw_str bytes = {NULL, 0};
    cw_code rc = read_file(l, path, &bytes);
    if (rc)
        return rc;
    rc = cw_mo_open(bytes, ret, l->err);
    return rc ? cw_wrap(l->err, rc, "'%s'", path) : CW_OK;
}

/* ---- languages ---- */

static int compare_files(const void *a, const void *b)
{
    const found *x = a, *y = b;
    int order = cw_str_cmp(x->tag, y->tag);
    return order ? order : strcmp(x->path, y->path);
}

/* The files are sorted: those of a language stand together. The original may have none. */
static cw_code make_languages(loader *l)
{
    cw_translations *t = l->t;
    t->items = cw_arena_calloc(&t->arena, l->n_files + 1, sizeof *t->items);
    cw_mo *room = cw_arena_calloc(&t->arena, l->n_files + 1, sizeof *room);
    if (!t->items || !room)
        return fail_nomem(l);
    for (size_t i = 0; i < l->n_files; i++) {
        if (!t->n || !cw_str_eq(t->items[t->n - 1].tag, l->files[i].tag))
            t->items[t->n++] = (cw_language){.tag = l->files[i].tag, .files = &room[i]};
        cw_code rc = open_file(l, l->files[i].path, &room[i]);
        if (rc)
            return rc;
        t->items[t->n - 1].n_files++;
    }
    return CW_OK;
}

static cw_language *find_language(const cw_translations *t, cw_str tag)
{
    for (size_t i = 0; i < t->n; i++) {
        if (cw_str_ieq(t->items[i].tag, tag))
            return &t->items[i];
    }
    return NULL;
}

static cw_code add_original(loader *l)
{
    cw_translations *t = l->t;
    size_t at = t->n;
    cw_str tag = tag_of(l, l->opts->original);
    if (!tag.p)
        return fail_nomem(l);
    if (!tag.n || find_language(t, tag))
        return CW_OK;
    for (; at && cw_str_cmp(t->items[at - 1].tag, tag) > 0; at--)
        t->items[at] = t->items[at - 1];
    t->items[at] = (cw_language){.tag = tag};
    t->n++;
    return CW_OK;
}

static cw_code load(loader *l)
{
    cw_translations *t = l->t;
    cw_str default_value = l->opts->default_value;
    l->files = cw_arena_calloc(&l->scratch, CW_TRANSLATIONS_MAX_FILES, sizeof *l->files);
    if (!l->files)
        return fail_nomem(l);
    cw_code rc = each_entry(l, l->opts->folder, CW_STR(""), /* may_miss= */ false, on_outer);
    if (!rc && l->n_files)
        qsort(l->files, l->n_files, sizeof *l->files, compare_files);
    if (!rc)
        rc = make_languages(l);
    if (!rc)
        rc = add_original(l);
    if (rc)
        return rc;
    t->default_value = find_language(t, default_value);
    if (!t->default_value)
        return cw_fail(l->err, CW_PARAMS, "there is no language '%.*s' in '%s'",
                       CW_STR_ARG(default_value), l->opts->folder);
    return CW_OK;
}

cw_code cw_translations_load(const cw_translations_opts *opts, cw_translations **ret, cw_err *err)
{
    cw_translations *t = calloc(1, sizeof *t);
    if (!t)
        return cw_fail_nomem(err);
    atomic_init(&t->refs, 1);
    /* Both hold what the ceilings of files and bytes let through. */
    cw_arena_init(&t->arena, CW_ARENA_MAX);
    loader l = {.t = t, .opts = opts, .max = CW_TRANSLATIONS_MAX_BYTES, .err = err};
    if (opts->max_bytes)
        l.max = opts->max_bytes;
    l.left = l.max;
    cw_arena_init(&l.scratch, CW_ARENA_MAX);
    cw_code rc = load(&l);
    cw_arena_done(&l.scratch);
    if (rc) {
        cw_translations_unref(t);
        return cw_wrap(err, rc, "translations");
    }
    *ret = t;
    return CW_OK;
}
