/* SPDX-License-Identifier: GPL-2.0-or-later */
/* launch.c - builds command lines of the launcher, and looks for programs before it starts. */
#include "net/process/launch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARENA_MAX ((size_t)4 << 20)
#define OPTIONS_MAX 8u /* beside paths */
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

struct cw_launcher {
    cw_arena arena;
    const char *path;
    const char **hidden; /* options, ends with NULL */
    size_t n_hidden;
    unsigned refs;
};

static size_t count(const char *const *list)
{
    size_t n = 0;
    while (list && list[n])
        n++;
    return n;
}

/* ---- the launcher ---- */

static cw_code fill(cw_launcher *l, const char *path, const char *const *hidden)
{
    size_t n = count(hidden);
    cw_str copy = cw_arena_dup_str(&l->arena, cw_str_from(path));
    l->hidden = cw_arena_calloc(&l->arena, n + 1, sizeof *l->hidden);
    l->path = copy.p;
    if (!l->path || !l->hidden)
        return CW_NOMEM;
    for (; l->n_hidden < n; l->n_hidden++) {
        l->hidden[l->n_hidden] = cw_arena_printf(&l->arena, "--hide=%s", hidden[l->n_hidden]);
        if (!l->hidden[l->n_hidden])
            return CW_NOMEM;
    }
    return CW_OK;
}

cw_code cw_launcher_new(const char *path, const char *const *hidden, cw_launcher **ret, cw_err *err)
{
    cw_launcher *l = calloc(1, sizeof *l);
    if (!l)
        return cw_fail_nomem(err);
    l->refs = 1;
    cw_arena_init(&l->arena, ARENA_MAX);
    if (fill(l, path, hidden)) {
        cw_launcher_unref(l);
        return cw_fail_nomem(err);
    }
    *ret = l;
    return CW_OK;
}

cw_launcher *cw_launcher_ref(cw_launcher *l)
{
    if (l)
        l->refs++;
    return l;
}

void cw_launcher_unref(cw_launcher *l)
{
    if (!l || --l->refs)
        return;
    cw_arena_done(&l->arena);
    free(l);
}

/* ---- the program ---- */

static const char *path_variable(const cw_spawn *job)
{
    for (const char *const *v = job->env; *v; v++) {
        if (strncmp(*v, "PATH=", 5) == 0)
            return *v + 5;
    }
    return DEFAULT_PATH;
}

/* As execvp will find it: 0, or an errno. The launcher could report it by its exit status only. */
static int find_program(const cw_spawn *job, cw_arena *arena)
{
    const char *text;
    if (strchr(job->path, '/')) {
        bool is_below = job->folder && job->path[0] != '/';
        text = is_below ? cw_arena_printf(arena, "%s/%s", job->folder, job->path) : job->path;
        return !text ? ENOMEM : access(text, X_OK) ? errno : 0;
    }
    int found = ENOENT;
    cw_str rest = cw_str_from(path_variable(job));
    while (rest.p && found != 0) {
        cw_str folder = cw_str_cut(rest, ':', &rest);
        text =
            cw_arena_printf(arena, "%.*s%s%s", CW_STR_ARG(folder), folder.n ? "/" : "", job->path);
        if (!text)
            return ENOMEM;
        if (access(text, X_OK) == 0)
            found = 0;
        else if (errno == EACCES)
            found = EACCES;
    }
    return found;
}

cw_code cw_launch_fail(const cw_spawn *job, int errnum, cw_err *err)
{
    return cw_fail_errno(err, errnum, "start '%s'%s%s", job->path, job->folder ? " in " : "",
                         job->folder ? job->folder : "");
}

/* ---- the command line ---- */

typedef struct builder {
    cw_arena *arena;
    const char **argv;
    size_t n;
    bool is_full; /* no memory */
} builder;

static void add(builder *b, const char *word)
{
    if (word)
        b->argv[b->n++] = word;
    else
        b->is_full = true;
}

static void add_number(builder *b, const char *option, uint64_t n)
{
    if (n)
        add(b, cw_arena_printf(b->arena, "%s=%llu", option, (unsigned long long)n));
}

static void add_paths(builder *b, const char *option, const char *const *paths)
{
    for (size_t i = 0; paths && paths[i]; i++)
        add(b, cw_arena_printf(b->arena, "%s=%s", option, paths[i]));
}

static void add_words(builder *b, const char *const *words, size_t from)
{
    for (size_t i = from; words[i]; i++)
        add(b, words[i]);
}

static void add_program(builder *b, const cw_launcher *l, const cw_spawn *job)
{
    const cw_confinement *c = job->confinement;
    add(b, l->path);
    add(b, "--exec");
    add_number(b, "--parent", (uint64_t)getpid());
    add_number(b, "--memory", c->memory);
    add_number(b, "--files", c->files);
    add_number(b, "--processes", c->processes);
    add_words(b, l->hidden, 0);
    add_paths(b, "--read", c->readable);
    add_paths(b, "--write", c->writable);
    add(b, "--");
    add(b, job->path);
    add_words(b, job->argv, 1);
}

static cw_code build(cw_launch *how, const cw_launcher *l, const cw_spawn *job, cw_err *err)
{
    size_t n = OPTIONS_MAX + count(job->argv) + l->n_hidden;
    if (job->confinement)
        n += count(job->confinement->readable) + count(job->confinement->writable);
    builder b = {.arena = &how->arena,
                 .argv = cw_arena_calloc(&how->arena, n + 1, sizeof(const char *))};
    if (!b.argv)
        return cw_arena_fail(&how->arena, err);
    if (job->confinement) {
        add_program(&b, l, job);
    } else {
        add(&b, job->argv[0]);
        add_words(&b, l->hidden, 0);
        add_words(&b, job->argv, 1);
    }
    how->path = job->confinement ? l->path : job->path;
    how->argv = b.argv;
    how->searches_path = false;
    return b.is_full ? cw_arena_fail(&how->arena, err) : CW_OK;
}

cw_code cw_launch_init(cw_launch *how, const cw_launcher *launcher, const cw_spawn *job,
                       cw_err *err)
{
    *how = (cw_launch){.path = job->path, .argv = job->argv, .searches_path = job->searches_path};
    cw_arena_init(&how->arena, ARENA_MAX);
    bool is_direct = !job->confinement && !(job->is_launcher && launcher);
    if (is_direct)
        return CW_OK;
    cw_code rc = CW_OK;
    if (!launcher)
        rc = cw_fail(err, CW_PARAMS, "start '%s': there is no program causeway-plugin-host",
                     job->path);
    int errnum = !rc && job->confinement ? find_program(job, &how->arena) : 0;
    if (errnum)
        rc = cw_launch_fail(job, errnum, err);
    if (!rc)
        rc = build(how, launcher, job, err);
    if (rc)
        cw_launch_done(how);
    return rc;
}

void cw_launch_done(cw_launch *how)
{
    cw_arena_done(&how->arena);
}
