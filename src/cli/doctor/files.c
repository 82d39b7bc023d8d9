/* SPDX-License-Identifier: GPL-2.0-or-later */
/* files.c - doctor: modes and owners of the files and directories that a configuration names. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "source/remote/lock/lock.h"

/* Another user, who could change the file. Root checks the set-up of a service's user. */
static bool is_foreign(const struct stat *st)
{
    return geteuid() != 0 && st->st_uid != geteuid() && st->st_uid != 0;
}

/* A group with the number of its user holds only that user on most systems. */
static mode_t shared_bits(const struct stat *st, mode_t group, mode_t other)
{
    bool is_private = (uint64_t)st->st_gid == (uint64_t)st->st_uid;
    return st->st_mode & (is_private ? other : group | other);
}

bool cw_doctor_is_shared(cw_doctor *d, const char *path, const char **ret_chmod)
{
    struct stat st;
    if (stat(path, &st) || !shared_bits(&st, S_IWGRP, S_IWOTH))
        return false;
    *ret_chmod = cw_doctor_text(d, "chmod go-w '%s'", path);
    return true;
}

static void check_owner(cw_doctor *d, const char *path)
{
    struct stat st;
    if (stat(path, &st) || !is_foreign(&st))
        return;
    cw_doctor_add(d, CW_DOCTOR_WARNING, path,
                  cw_doctor_text(d, "chown %u '%s'", (unsigned)geteuid(), path),
                  "belongs to another user (uid %u), who can change it", (unsigned)st.st_uid);
}

/* A file whose contents decide what the server does. */
static void check_trusted(cw_doctor *d, cw_str path)
{
    const char *remedy;
    if (!path.n)
        return;
    check_owner(d, path.p);
    if (cw_doctor_is_shared(d, path.p, &remedy))
        cw_doctor_add(d, CW_DOCTOR_WARNING, path.p, remedy, "other users can write to this file");
}

/* A key or a secret. Groups may read it: services share keys so. */
static void check_secret(cw_doctor *d, cw_str path)
{
    struct stat st;
    if (path.n && stat(path.p, &st) == 0 && st.st_mode & S_IROTH)
        cw_doctor_add(d, CW_DOCTOR_ERROR, path.p, cw_doctor_text(d, "chmod o-rwx '%s'", path.p),
                      "every user can read this secret (mode %04o)", (unsigned)st.st_mode & 07777);
    check_trusted(d, path);
}

/* A directory in which other users could create or replace files. */
static void check_directory(cw_doctor *d, const char *path, const char *what)
{
    const char *remedy;
    check_owner(d, path);
    if (cw_doctor_is_shared(d, path, &remedy))
        cw_doctor_add(d, CW_DOCTOR_ERROR, path, remedy,
                      "other users can write to the directory of %s", what);
}

static void check_parent(cw_doctor *d, cw_str path, const char *what)
{
    char parent[PATH_MAX];
    if (!path.n || path.n >= sizeof parent)
        return;
    snprintf(parent, sizeof parent, "%s", path.p);
    char *slash = strrchr(parent, '/');
    if (!slash)
        return;
    slash[slash == parent] = 0;
    check_directory(d, parent, what);
}

static void check_secrets(cw_doctor *d, const cw_config_pairs *files)
{
    for (size_t i = 0; i < files->n; i++)
        check_secret(d, files->items[i].value);
}

static void check_source(cw_doctor *d, const cw_config_remote *s)
{
    check_secret(d, s->secret.file);
    check_secrets(d, &s->environment_files);
    check_secrets(d, &s->header_files);
    check_secret(d, s->oauth.client_secret_file);
    check_secret(d, s->tls.key);
    check_trusted(d, s->tls.certificate);
    check_trusted(d, s->tls.ca_file);
    check_trusted(d, s->overlay);
    check_trusted(d, s->openrpc);
    if (s->command.n && strchr(s->command.items[0].p, '/'))
        check_trusted(d, s->command.items[0]);
}

static void check_directories(cw_doctor *d)
{
    const cw_config *c = d->config;
    if (c->plugins.directory.n)
        check_directory(d, c->plugins.directory.p, "plugins");
    if (c->plugins.data.n)
        check_directory(d, c->plugins.data.p, "plugin data");
    if (c->state.directory.n)
        check_directory(d, c->state.directory.p, "the server's state");
    check_parent(d, c->store.path, "the database");
    check_parent(d, c->state.lock, "the lock file");
}

static void check_lock(cw_doctor *d)
{
    cw_str path = d->config->state.lock;
    cw_lock *lock = NULL;
    cw_err err = {0};
    d->has_lock = d->config->state.approvals_in_store; /* it is checked with the sources */
    if (!path.n || !d->config->sources.n)
        return;
    if (d->config->store.url.n)
        cw_doctor_add(
            d, CW_DOCTOR_WARNING, path.p,
            "set \"approvals: store\" in place of state.lock, and approve the definitions",
            "approvals are in a file of this machine: other replicas do not have them");
    cw_code rc = cw_lock_read(path.p, &lock, &err);
    d->has_lock = lock != NULL;
    cw_lock_unref(lock);
    if (rc)
        cw_doctor_add(d, CW_DOCTOR_ERROR, path.p,
                      "make the file readable for this user, or restore it from a backup",
                      "all tools of services are withheld: %s", err.msg);
    else if (!d->has_lock)
        cw_doctor_add(d, CW_DOCTOR_ERROR, path.p,
                      "review the tools with \"causeway source diff\", then run \"causeway source "
                      "approve\", or restore the file from a backup",
                      "the lock file does not exist, so all tools of services are withheld");
    check_trusted(d, path);
}

void cw_doctor_check_files(cw_doctor *d)
{
    const cw_config *c = d->config;
    cw_doctor_check_contents(d);
    check_trusted(d, cw_str_from(d->config_path));
    check_trusted(d, c->tls.certificate);
    check_secret(d, c->tls.key);
    check_secret(d, c->mcp.secret_file);
    for (size_t i = 0; i < c->mcp.old_secret_files.n; i++)
        check_secret(d, c->mcp.old_secret_files.items[i]);
    check_secret(d, c->store.password_file);
    check_secret(d, c->metrics.token_file);
    check_trusted(d, c->mcp.events.ca_file);
    check_trusted(d, c->access.server.client_document_ca_file);
    for (size_t i = 0; i < c->access.issuers.n; i++) {
        check_secret(d, c->access.issuers.items[i].client_secret_file);
        check_trusted(d, c->access.issuers.items[i].ca_file);
    }
    for (size_t i = 0; i < c->access.server.clients.n; i++) {
        check_secret(d, c->access.server.clients.items[i].secret_file);
        check_trusted(d, c->access.server.clients.items[i].jwks_file);
    }
    for (size_t i = 0; i < c->sources.n; i++)
        check_source(d, &c->sources.items[i]);
    check_directories(d);
    check_lock(d);
}
