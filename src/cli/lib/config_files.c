/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_files.c - checks the files and directories that a configuration names. */
#include "cli/lib/config_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "catalogue/i18n/translations.h"
#include "cli/lib/cli.h"
#include "cli/lib/config_sources.h"
#include "config/report.h"
#include "net/addr/listener.h"
#include "net/server/tls.h"
#include "server/plugin_host_path.h"
#include "store/db.h"

#define PATH_BYTES 4096u
#define SECRET_MAX 65536u
#define SEAL_MIN 32u
#define SQLITE_HEADER "SQLite format 3"

static const cw_place root = {0};

/* State of the checks of one configuration. */
typedef struct checking {
    const char *file;
    const cw_config *config;
    cw_config_problems *problems;
} checking;

static cw_code report(const checking *x, const char *section, const char *name, const char *message,
                      const char *remedy)
{
    const cw_place top = {.up = &root, .name = cw_str_from(section)};
    const cw_place place = {.up = &top, .name = cw_str_from(name)};
    return cw_config_report(x->problems, x->file, &place, "%s; %s", message, remedy);
}

/* ---- files and folders ---- */

/* Whether this user can make or extend the file at `path`. */
static bool is_writable(const char *path, cw_err *err)
{
    char folder[PATH_BYTES];
    if (access(path, W_OK) == 0)
        return true;
    if (errno != ENOENT) {
        cw_fail_errno(err, errno, "cannot write '%s'", path);
        return false;
    }
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = 0;
    if (access(folder, W_OK | X_OK) == 0)
        return true;
    cw_fail_errno(err, errno, "cannot make a file in '%s'", folder);
    return false;
}

static cw_code check_output(const checking *x, const char *section, const char *name, cw_str path)
{
    cw_err err = {0};
    if (path.n == 0 || is_writable(path.p, &err))
        return CW_OK;
    return report(x, section, name, err.msg, "make the folder, and let this user write there");
}

static cw_code check_folder(const checking *x, const char *section, const char *name, cw_str path)
{
    struct stat st;
    char message[PATH_BYTES + 64];
    if (path.n == 0 || (stat(path.p, &st) == 0 && S_ISDIR(st.st_mode)))
        return CW_OK;
    snprintf(message, sizeof message, "there is no folder '%s'", path.p);
    return report(x, section, name, message, "make it, or name another one");
}

/* ---- TLS ---- */

static cw_code check_tls(const checking *x)
{
    cw_err err = {0};
    cw_tls_file wrong = CW_TLS_CERTIFICATE;
    const cw_config *c = x->config;
    const cw_place top = {.up = &root, .name = CW_STR("tls")};
    if (c->tls.certificate.n == 0)
        return CW_OK;
    cw_code rc = cw_tls_check_files(c->tls.certificate.p, c->tls.key.p, &wrong, &err);
    if (!rc || rc == CW_NOMEM)
        return rc;
    const cw_place place = {.up = &top,
                            .name = wrong == CW_TLS_KEY ? CW_STR("key") : CW_STR("certificate")};
    return cw_config_report(x->problems, x->file, &place, "%s", err.msg);
}

cw_code cw_cli_check_tls(const char *file, const cw_config *config, cw_config_problems *problems)
{
    return check_tls(&(checking){file, config, problems});
}

/* ---- secrets ---- */

static cw_code read_secret(const char *path, size_t min, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, SECRET_MAX);
    cw_code rc = cw_file_read(path, CW_FILE_PLAIN, &text, err);
    if (!rc && text.n < min)
        rc = cw_fail(err, CW_CONFIG, "'%s' has fewer than %zu bytes", path, min);
    return rc;
}

static cw_code check_seal(const checking *x)
{
    cw_err err = {0};
    cw_str path = x->config->mcp.secret_file;
    if (path.n == 0 || !read_secret(path.p, SEAL_MIN, &err))
        return CW_OK;
    return report(x, "mcp", "secret_file", err.msg, "write 32 random bytes or more into it");
}

static cw_code check_issuer(const checking *x, const cw_place *item, const cw_config_issuer *issuer)
{
    cw_err err = {0};
    const cw_place secret = {.up = item, .name = CW_STR("client_secret_file")};
    const cw_place authorities = {.up = item, .name = CW_STR("ca_file")};
    cw_code rc = CW_OK;
    if (issuer->client_secret_file.n && read_secret(issuer->client_secret_file.p, 1, &err))
        rc = cw_config_report(x->problems, x->file, &secret, "%s; write the client's secret there",
                              err.msg);
    if (!rc && issuer->ca_file.n && cw_tls_check_authorities(issuer->ca_file.p, &err))
        rc = cw_config_report(x->problems, x->file, &authorities, "%s", err.msg);
    return rc;
}

static cw_code check_issuers(const checking *x)
{
    const cw_place top = {.up = &root, .name = CW_STR("access")};
    const cw_place list = {.up = &top, .name = CW_STR("issuers")};
    cw_code rc = CW_OK;
    for (size_t i = 0; i < x->config->access.issuers.n && !rc; i++) {
        const cw_place item = {.up = &list, .index = i};
        rc = check_issuer(x, &item, &x->config->access.issuers.items[i]);
    }
    return rc;
}

/* ---- the database ---- */

static cw_code report_store(const checking *x, const char *message)
{
    return report(x, "store", "path", message,
                  "name a database of accounts in a folder that this user can write to");
}

/* By its first bytes: to open it would bring an older one up to date. */
static cw_code check_store(const checking *x)
{
    cw_err err = {0};
    const char *path = x->config->store.path.p;
    if (x->config->store.path.n == 0)
        return CW_OK;
    if (!is_writable(path, &err))
        return report_store(x, err.msg);
    if (access(path, F_OK) != 0)
        return CW_OK; /* the server makes it */
    CW_CLEANUP(cw_buf_done) cw_buf head;
    cw_buf_init(&head, sizeof SQLITE_HEADER - 1);
    cw_code rc = cw_file_read(path, CW_FILE_PLAIN, &head, &err);
    if (rc && rc != CW_LIMIT)
        return report_store(x, err.msg);
    if (head.n == 0 || cw_str_is(cw_buf_str(&head), SQLITE_HEADER))
        return CW_OK;
    cw_fail(&err, CW_CONFIG, "'%s' is not a database", path);
    return report_store(x, err.msg);
}

static cw_code open_store(const checking *x)
{
    cw_err err = {0};
    cw_db *db = NULL;
    /* A locked database is one that can be used: the store waits for it, the start does not. */
    const cw_db_opts opts = {.path = x->config->store.path.p, .may_create = true, .busy_ms = 0};
    if (x->config->store.path.n == 0)
        return CW_OK;
    cw_code rc = cw_db_open(&opts, &db, &err);
    cw_db_close(db);
    if (!rc || rc == CW_TIMEOUT || rc == CW_NOMEM)
        return rc == CW_NOMEM ? rc : CW_OK;
    return report_store(x, err.msg);
}

/* ---- at the start ---- */

/* Files are not the configuration: they may be there at the next try. So this is a failure. */
static int fail_start(cw_code rc, const cw_config_problems *problems)
{
    if (rc)
        return cw_cli_failure("%s", cw_code_text(rc));
    for (size_t i = 0; i < problems->n; i++)
        (void)cw_cli_failure("%s", problems->items[i].text);
    return problems->n ? CW_EXIT_FAILURE : -1;
}

int cw_cli_try_store(const char *file, const cw_config *config, cw_config_problems *problems)
{
    return fail_start(open_store(&(checking){file, config, problems}), problems);
}

int cw_cli_try_tls(const char *file, const cw_config *config, cw_config_problems *problems)
{
    return fail_start(cw_cli_check_tls(file, config, problems), problems);
}

/* ---- everything ---- */

static cw_code check_translations(const checking *x)
{
    const cw_config *c = x->config;
    cw_translations *all = NULL;
    cw_err err = {0};
    cw_translations_opts opts = {.folder = c->translations.directory.p,
                                 .original = c->translations.source_language,
                                 .default_value = c->translations.source_language,
                                 .max_bytes = c->translations.max_size};
    if (c->translations.directory.n == 0)
        return CW_OK;
    cw_code rc = cw_translations_load(&opts, &all, &err);
    cw_translations_unref(all);
    if (!rc || rc == CW_NOMEM)
        return rc;
    return report(x, "translations", "directory", err.msg, "make the file anew with msgfmt");
}

static cw_code check_plugins(const checking *x)
{
    char *host = NULL;
    cw_err err = {0};
    bool is_needed = x->config->plugins.directory.n > 0;
    cw_code rc = check_folder(x, "plugins", "directory", x->config->plugins.directory);
    if (!rc)
        rc = check_folder(x, "plugins", "data", x->config->plugins.data);
    if (!rc && cw_plugin_host_find(x->config, is_needed, &host, &err))
        rc = report(x, "plugins", "host", err.msg, "name the program causeway-plugin-host");
    free(host);
    return rc;
}

cw_code cw_cli_check_files(const char *file, const cw_config *config, cw_config_problems *problems)
{
    const checking x = {file, config, problems};
    cw_code rc = check_tls(&x);
    if (!rc)
        rc = check_seal(&x);
    if (!rc)
        rc = check_issuers(&x);
    if (!rc)
        rc = check_store(&x);
    if (!rc)
        rc = check_output(&x, "log", "file", config->log.file);
    if (!rc)
        rc = check_output(&x, "audit", "path", config->audit.path);
    if (!rc)
        rc = check_output(&x, "state", "directory", config->state.directory);
    if (!rc)
        rc = check_plugins(&x);
    if (!rc)
        rc = check_translations(&x);
    return rc ? rc : cw_cli_check_source_files(file, config, problems);
}

/* ---- exposure ---- */

static bool is_exposed(const cw_config_listener *l)
{
    cw_address address;
    if (l->address.unix_path.n)
        return false;
    /* A name that cannot be looked up here may be any address elsewhere. */
    return cw_address_parse(l->address.text, &address, NULL) || !cw_address_is_loopback(&address);
}

cw_code cw_cli_check_exposure(const char *file, const cw_config *config,
                              cw_config_problems *warnings)
{
    const cw_place top = {.up = &root, .name = CW_STR("roles")};
    const cw_place anonymous = {.up = &top, .name = CW_STR("anonymous")};
    size_t n_rights = 0;
    for (size_t i = 0; i < config->roles.n; i++) {
        if (cw_str_is(config->roles.items[i].name, "anonymous"))
            n_rights = config->roles.items[i].permissions.n;
    }
    for (size_t i = 0; i < config->listen.n && n_rights; i++) {
        if (is_exposed(&config->listen.items[i]))
            return cw_config_report(
                warnings, file, &anonymous,
                "warning: other machines reach %s and have these rights without a login; "
                "listen on 127.0.0.1, or move the rights to another role",
                config->listen.items[i].address.text.p);
    }
    return CW_OK;
}
