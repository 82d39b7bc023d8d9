/* SPDX-License-Identifier: GPL-2.0-or-later */
/* landlock.c - grants for everything but hidden files. */
#include "host/landlock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The headers of Debian 12 end with version 2. */
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#define ACCESS_TRUNCATE (1ULL << 14)
#define SCOPE_SIGNAL (1ULL << 1)
#define ABI_TRUNCATE 3
#define ABI_SCOPES 6

#define READING LANDLOCK_ACCESS_FS_READ_FILE
#define WRITING (LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE)
#define CHANGING                                                                                   \
    (LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |                              \
     LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |    \
     LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | \
     LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER)
#define ALL (READING | WRITING | CHANGING)
#define OF_A_FILE (READING | WRITING)

/* A kernel that knows no scopes gets the first member alone. */
typedef struct ruleset_attr {
    uint64_t handled_fs, handled_net, scoped;
} ruleset_attr;

typedef struct granter {
    char (*hidden)[PATH_MAX]; /* without links */
    size_t n_hidden;
    int ruleset;
    uint64_t handled;
} granter;

static int abi(void)
{
    return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

/* ---- paths ---- */

/* Whether `path` is `folder` or below it. */
static bool is_within(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    if (strcmp(folder, "/") == 0)
        return true;
    return strncmp(path, folder, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

static bool is_hidden(const granter *g, const char *path)
{
    for (size_t i = 0; i < g->n_hidden; i++) {
        if (is_within(path, g->hidden[i]))
            return true;
    }
    return false;
}

static bool holds_hidden(const granter *g, const char *folder)
{
    for (size_t i = 0; i < g->n_hidden; i++) {
        if (is_within(g->hidden[i], folder))
            return true;
    }
    return false;
}

/* The path without links; of a file that does not exist, by its directory. False: its directory does
 * not exist either. */
static bool resolve(const char *path, char out[PATH_MAX])
{
    char folder[PATH_MAX], real[PATH_MAX];
    if (realpath(path, out))
        return true;
    int n = snprintf(folder, sizeof folder, "%s", path);
    char *slash = n > 0 && (size_t)n < sizeof folder ? strrchr(folder, '/') : NULL;
    if (!slash || slash == folder)
        return false;
    *slash = '\0';
    if (!realpath(folder, real))
        return false;
    n = snprintf(out, PATH_MAX, "%s/%s", strcmp(real, "/") == 0 ? "" : real, slash + 1);
    return n > 0 && n < PATH_MAX;
}

static int take_hidden(granter *g, const cw_landlock_list *paths)
{
    g->hidden = calloc(paths->n + 1, sizeof *g->hidden);
    if (!g->hidden)
        return 1;
    for (size_t i = 0; i < paths->n; i++) {
        if (resolve(paths->items[i], g->hidden[g->n_hidden]))
            g->n_hidden++;
    }
    return 0;
}

/* ---- grants ---- */

/* Files that cannot be opened cannot be used by the program either. */
static void grant(const granter *g, const char *path, uint64_t access)
{
    struct stat st;
    int fd = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && !S_ISLNK(st.st_mode)) {
        access &= g->handled & (S_ISDIR(st.st_mode) ? ALL : OF_A_FILE);
        const struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = fd};
        (void)syscall(SYS_landlock_add_rule, g->ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    }
    close(fd);
}

/* Grant a path without links, or what it holds beside hidden files. Recursion ends with the depth of
 * the deepest hidden file. */
static void grant_visible(const granter *g, const char *path, uint64_t access)
{
    char below[PATH_MAX];
    if (is_hidden(g, path))
        return;
    if (!holds_hidden(g, path)) {
        grant(g, path, access);
        return;
    }
    DIR *folder = opendir(path);
    size_t n = 0;
    for (const struct dirent *e; folder && n < CW_LANDLOCK_ENTRIES && (e = readdir(folder)); n++) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        int length =
            snprintf(below, sizeof below, "%s/%s", strcmp(path, "/") == 0 ? "" : path, e->d_name);
        /* The target of a link is granted or hidden as what it is. */
        if (e->d_type != DT_LNK && length > 0 && (size_t)length < sizeof below)
            grant_visible(g, below, access);
    }
    if (folder)
        closedir(folder);
}

static void grant_path(const granter *g, const char *path, uint64_t access)
{
    char real[PATH_MAX];
    if (realpath(path, real))
        grant_visible(g, real, access);
}

static void grant_listed(const granter *g, const cw_landlock *l)
{
    static const char *const system[] = {"/usr", "/bin", "/sbin", "/lib",  "/lib32", "/lib64",
                                         "/etc", "/opt", "/sys",  "/proc", "/run",   "."};
    const char *temporary = getenv("TMPDIR");
    for (size_t i = 0; i < sizeof system / sizeof system[0]; i++)
        grant_path(g, system[i], READING);
    grant_path(g, "/dev", OF_A_FILE);
    grant_path(g, temporary && temporary[0] == '/' ? temporary : "/tmp", ALL);
    for (size_t i = 0; i < l->readable.n; i++)
        grant_path(g, l->readable.items[i], READING);
    for (size_t i = 0; i < l->writable.n; i++)
        grant_path(g, l->writable.items[i], ALL);
}

static int restrict_to(granter *g, const cw_landlock *l)
{
    if (take_hidden(g, &l->hidden))
        return 1;
    if (l->readable.n || l->writable.n)
        grant_listed(g, l);
    else
        grant_visible(g, "/", ALL);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return 1;
    return syscall(SYS_landlock_restrict_self, g->ruleset, 0) ? 1 : 0;
}

int cw_landlock_apply(const cw_landlock *l)
{
    int version = abi();
    if (version < 2)
        return 0;
    granter g = {.handled = version < ABI_TRUNCATE ? ALL & ~ACCESS_TRUNCATE : ALL};
    const ruleset_attr attr = {.handled_fs = g.handled,
                               .scoped = version < ABI_SCOPES ? 0 : SCOPE_SIGNAL};
    size_t size = version < ABI_SCOPES ? sizeof attr.handled_fs : sizeof attr;
    g.ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
    if (g.ruleset < 0)
        return 1;
    int status = restrict_to(&g, l);
    free(g.hidden);
    close(g.ruleset);
    return status;
}
