/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_files.c - checks the files and directories that a configuration names. */
#include "cli/lib/config_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "catalogue/i18n/translations.h"
#include "cli/lib/cli.h"
#include "config/config.h"
#include "config/report.h"
#include "net/addr/listener.h"
#include "net/server/tls.h"
#include "server/files/local_socket.h"
#include "server/files/plugin_host_path.h"
#include "server/options/database.h"
#include "server/options/oauth_server.h"
#include "source/upstream/package.h"
#include "store/db.h"

#define PATH_BYTES 4096u
#define SECRET_MAX 65536u
#define SEAL_MIN 32u
#define METRICS_TOKEN_MIN 16u
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
    cw_fail_errno(err, errno, "cannot create a file in '%s'", folder);
    return false;
}

static cw_code check_output(const checking *x, const char *section, const char *name, cw_str path)
{
    struct stat st;
    cw_err err = {0};
    if (path.n && stat(path.p, &st) == 0 && S_ISDIR(st.st_mode)) {
        cw_fail(&err, CW_CONFIG, "'%s' is a directory", path.p);
        return report(x, section, name, err.msg, "name a file");
    }
    if (path.n == 0 || is_writable(path.p, &err))
        return CW_OK;
    return report(x, section, name, err.msg,
                  "create the directory, and make it writable for this user");
}

/* The directory of the state, which the server makes. */
static cw_code check_state(const checking *x)
{
    struct stat st;
    cw_err err = {0};
    cw_str path = x->config->state.directory;
    if (path.n == 0)
        return CW_OK;
    if (stat(path.p, &st) == 0 && !S_ISDIR(st.st_mode)) {
        cw_fail(&err, CW_CONFIG, "'%s' is not a directory", path.p);
        return report(x, "state", "directory", err.msg, "remove it, or name another path");
    }
    if (is_writable(path.p, &err))
        return CW_OK;
    return report(x, "state", "directory", err.msg,
                  "create the directory, and make it writable for this user");
}

static cw_code check_folder(const checking *x, const char *section, const char *name, cw_str path)
{
    struct stat st;
    char message[PATH_BYTES + 64];
    if (path.n == 0 || (stat(path.p, &st) == 0 && S_ISDIR(st.st_mode)))
        return CW_OK;
    snprintf(message, sizeof message, "there is no directory '%s'", path.p);
    return report(x, section, name, message, "create it, or name another one");
}

/* A service manager may make the directory at the start, so a missing one is no mistake. */
cw_code cw_cli_check_socket(const char *file, const cw_config *config, cw_config_problems *problems,
                            cw_config_problems *warnings)
{
    char path[CW_LOCAL_SOCKET_PATH];
    cw_err err = {0};
    const cw_place admin = {.up = &root, .name = CW_STR("admin")};
    const cw_place place = {.up = &admin, .name = CW_STR("socket")};
    if (!config->admin.enabled || !config->admin.socket.n)
        return CW_OK;
    if (cw_local_socket_path(config, file, path, &err))
        return cw_config_report(problems, file, &place, "%s", err.msg);
    if (is_writable(path, &err))
        return CW_OK;
    return cw_config_report(warnings, file, &place,
                            "warning: %s; create the directory before the start, and make it "
                            "writable for the server",
                            err.msg);
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
    cw_code rc = cw_tls_check_ciphers(c->tls.ciphers.p, &err);
    if (rc == CW_NOMEM)
        return rc;
    if (rc) {
        const cw_place ciphers = {.up = &top, .name = CW_STR("ciphers")};
        return cw_config_report(x->problems, x->file, &ciphers, "%s", err.msg);
    }
    rc = cw_tls_check_files(c->tls.certificate.p, c->tls.key.p, &wrong, &err);
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

static cw_code check_authorities(const checking *x, const cw_place *section, const char *key,
                                 cw_str path)
{
    cw_err err = {0};
    const cw_place place = {.up = section, .name = cw_str_from(key)};
    cw_code rc = path.n ? cw_tls_check_authorities(path.p, &err) : CW_OK;
    if (!rc || rc == CW_NOMEM)
        return rc;
    return cw_config_report(x->problems, x->file, &place, "%s", err.msg);
}

static cw_code check_webhooks(const checking *x)
{
    const cw_place top = {.up = &root, .name = CW_STR("mcp")};
    const cw_place events = {.up = &top, .name = CW_STR("events")};
    return check_authorities(x, &events, "webhook_ca_file", x->config->mcp.events.ca_file);
}

/* ---- secrets ---- */

static cw_code fail_short(const char *path, size_t min, cw_err *err)
{
    return cw_fail(err, CW_CONFIG, "'%s' has fewer than %zu bytes", path, min);
}

static cw_code read_secret(const char *path, size_t min, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, SECRET_MAX);
    cw_code rc = cw_file_read(path, CW_FILE_PLAIN, &text, err);
    return !rc && text.n < min ? fail_short(path, min, err) : rc;
}

/* The first line of the file is the secret. */
static cw_code read_first_line(const char *path, size_t min, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_str rest;
    cw_buf_init(&text, SECRET_MAX);
    cw_code rc = cw_file_read(path, CW_FILE_PLAIN, &text, err);
    cw_str line = cw_str_trim(cw_str_cut(cw_buf_str(&text), '\n', &rest));
    return !rc && line.n < min ? fail_short(path, min, err) : rc;
}

static cw_code check_seal(const checking *x)
{
    cw_err err = {0};
    cw_str path = x->config->mcp.secret_file;
    if (path.n == 0 || !read_secret(path.p, SEAL_MIN, &err))
        return CW_OK;
    return report(x, "mcp", "secret_file", err.msg, "write 32 random bytes or more into it");
}

static cw_code check_old_seals(const checking *x)
{
    cw_err err = {0};
    const cw_config_strings *files = &x->config->mcp.old_secret_files;
    for (size_t i = 0; i < files->n; i++) {
        if (read_secret(files->items[i].p, SEAL_MIN, &err))
            return report(x, "mcp", "old_secret_files", err.msg, "remove it from the list");
    }
    return CW_OK;
}

static cw_code check_metrics_token(const checking *x)
{
    cw_err err = {0};
    cw_str path = x->config->metrics.token_file;
    if (path.n == 0 || !read_first_line(path.p, METRICS_TOKEN_MIN, &err))
        return CW_OK;
    return report(x, "metrics", "token_file", err.msg,
                  "write a token of 16 characters or more into its first line");
}

static cw_code check_client(const checking *x, const cw_place *item,
                            const cw_config_oauth_client *client)
{
    cw_err err = {0};
    bool has_secret = client->secret_file.n > 0;
    const cw_place place = {.up = item,
                            .name = has_secret            ? CW_STR("secret_file")
                                    : client->jwks_file.n ? CW_STR("jwks_file")
                                                          : CW_STR("jwks")};
    cw_str file = has_secret ? client->secret_file : client->jwks_file;
    cw_code rc = file.n ? read_secret(file.p, 1, &err) : CW_OK;
    if (!rc)
        rc = cw_oauth_server_check_client(client, &err);
    if (!rc || rc == CW_NOMEM)
        return rc;
    return cw_config_report(x->problems, x->file, &place, "%s; %s", err.msg,
                            has_secret ? "write the client's secret there"
                                       : "save the client's key set there");
}

static cw_code check_clients(const checking *x)
{
    const cw_place top = {.up = &root, .name = CW_STR("access")};
    const cw_place server = {.up = &top, .name = CW_STR("server")};
    const cw_place list = {.up = &server, .name = CW_STR("clients")};
    cw_code rc = check_authorities(x, &server, "client_document_ca_file",
                                   x->config->access.server.client_document_ca_file);
    for (size_t i = 0; i < x->config->access.server.clients.n && !rc; i++) {
        const cw_place item = {.up = &list, .index = i};
        rc = check_client(x, &item, &x->config->access.server.clients.items[i]);
    }
    return rc;
}

static cw_code check_issuer(const checking *x, const cw_place *item, const cw_config_issuer *issuer)
{
    cw_err err = {0};
    const cw_place secret = {.up = item, .name = CW_STR("client_secret_file")};
    cw_code rc = CW_OK;
    if (issuer->client_secret_file.n && read_first_line(issuer->client_secret_file.p, 1, &err))
        rc = cw_config_report(x->problems, x->file, &secret,
                              "%s; write the client's secret into its first line", err.msg);
    return rc ? rc : check_authorities(x, item, "ca_file", issuer->ca_file);
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
    return x->config->store.url.n
               ? report(x, "store", "url", message, "name a PostgreSQL database of accounts")
               : report(x, "store", "path", message,
                        "name a database of accounts in a directory that this user can write to");
}

/* By its first bytes: to open it would bring an older one up to date. */
static cw_code check_store(const checking *x)
{
    cw_err err = {0};
    const char *path = x->config->store.path.p;
    cw_str password = x->config->store.password_file;
    const cw_db_opts opts = cw_database_opts(x->config, /* busy_ms= */ 0);
    if (x->config->store.url.n && password.n && read_first_line(password.p, 1, &err))
        return report(x, "store", "password_file", err.msg,
                      "write the password into its first line, readable for this user");
    if (x->config->store.url.n && cw_db_check_opts(&opts, &err))
        return report_store(x, err.msg);
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
    cw_db_opts opts = cw_database_opts(x->config, /* busy_ms= */ 0);
    opts.may_create = true;
    if (cw_config_store(x->config).n == 0)
        return CW_OK;
    cw_code rc = cw_db_open(&opts, &db, &err);
    cw_db_close(db);
    if (!rc || rc == CW_TIMEOUT || rc == CW_NOMEM)
        return rc == CW_NOMEM ? rc : CW_OK;
    /* So can a server that is away now. */
    if (rc == CW_IO && cw_db_is_server(opts.where))
        return CW_OK;
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

/* ---- exposure ---- */

static bool is_exposed(const cw_config_listener *l)
{
    cw_address address;
    if (l->address.unix_path.n)
        return false;
    /* A name that cannot be looked up here may be any address elsewhere. */
    return cw_address_parse(l->address.text, &address, NULL) || !cw_address_is_loopback(&address);
}

const char *cw_cli_exposed_address(const cw_config *config)
{
    for (size_t i = 0; i < config->listen.n; i++) {
        if (is_exposed(&config->listen.items[i]))
            return config->listen.items[i].address.text.p;
    }
    return NULL;
}

static cw_code check_exposure(const char *file, const cw_config *config,
                              cw_config_problems *warnings)
{
    const cw_place top = {.up = &root, .name = CW_STR("roles")};
    const cw_place anonymous = {.up = &top, .name = CW_STR("anonymous")};
    size_t n_rights = 0;
    for (size_t i = 0; i < config->roles.n; i++) {
        if (cw_str_is(config->roles.items[i].name, "anonymous"))
            n_rights = config->roles.items[i].permissions.n;
    }
    const char *address = n_rights ? cw_cli_exposed_address(config) : NULL;
    if (!address)
        return CW_OK;
    return cw_config_report(
        warnings, file, &anonymous,
        "warning: other machines reach %s and have these rights without a login; "
        "listen on 127.0.0.1, or move the rights to another role",
        address);
}

/* Packages without a fixed version. */
static cw_code check_packages(const char *file, const cw_config *config,
                              cw_config_problems *warnings)
{
    const cw_place list = {.up = &root, .name = CW_STR("sources")};
    cw_code rc = CW_OK;
    for (size_t i = 0; i < config->sources.n && !rc; i++) {
        const cw_place at = {.up = &list, .index = i};
        const cw_place command = {.up = &at, .name = CW_STR("command")};
        cw_str package = cw_package_unpinned(&config->sources.items[i].command);
        if (package.n)
            rc = cw_config_report(warnings, file, &command,
                                  "warning: %.*s has no fixed version, so another program may run "
                                  "at the next start; write PACKAGE@1.2.3",
                                  CW_STR_ARG(package));
    }
    return rc;
}

/* Directories of services. They may be made later, so a missing one is no mistake. */
static cw_code check_directories(const char *file, const cw_config *config,
                                 cw_config_problems *warnings)
{
    const cw_place list = {.up = &root, .name = CW_STR("sources")};
    cw_code rc = CW_OK;
    for (size_t i = 0; i < config->sources.n && !rc; i++) {
        const cw_config_remote *s = &config->sources.items[i];
        const cw_place at = {.up = &list, .index = i};
        const struct {
            const char *key;
            cw_str path;
        } all[] = {{"skills", s->skills}, {"working_directory", s->folder}};
        for (size_t j = 0; j < CW_COUNT(all) && !rc; j++) {
            const cw_place place = {.up = &at, .name = cw_str_from(all[j].key)};
            if (all[j].path.n && access(all[j].path.p, X_OK) != 0)
                rc = cw_config_report(warnings, file, &place,
                                      "warning: cannot open the directory '%s': %s; create it, "
                                      "or name another one",
                                      all[j].path.p, strerror(errno));
        }
    }
    return rc;
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
    return report(x, "translations", "directory", err.msg, "create the file again with msgfmt");
}

static cw_code check_plugins(const checking *x)
{
    char *host = NULL;
    cw_err err = {0};
    bool is_needed = x->config->plugins.directory.n > 0;
    for (size_t i = 0; i < x->config->sources.n; i++)
        is_needed = is_needed || x->config->sources.items[i].command.n > 0;
    cw_code rc = check_folder(x, "plugins", "directory", x->config->plugins.directory);
    if (!rc)
        rc = check_folder(x, "plugins", "data", x->config->plugins.data);
    if (!rc && cw_plugin_host_find(x->config, is_needed, &host, &err))
        rc = report(x, "plugins", "host", err.msg, "name the program causeway-plugin-host");
    free(host);
    return rc;
}

/* ---- toolsets ---- */

/* Plugins name themselves: what is in their directory is not known here. */
static bool may_be_source(const cw_config *config, cw_str name)
{
    bool is_known = config->plugins.directory.n || cw_str_is(name, CW_CONFIG_BUILTIN_SOURCE);
    for (size_t i = 0; i < config->sources.n && !is_known; i++)
        is_known = cw_str_eq(config->sources.items[i].name, name);
    return is_known;
}

/* A source may be added later, so it is no mistake. */
static cw_code check_toolsets(const char *file, const cw_config *config,
                              cw_config_problems *warnings)
{
    const cw_place all = {.up = &root, .name = CW_STR("toolsets")};
    cw_code rc = CW_OK;
    for (size_t i = 0; i < config->toolsets.n && !rc; i++) {
        const cw_config_toolset *t = &config->toolsets.items[i];
        const cw_place toolset = {.up = &all, .name = t->name};
        const cw_place sources = {.up = &toolset, .name = CW_STR("sources")};
        for (size_t j = 0; j < t->sources.n && !rc; j++) {
            if (!may_be_source(config, t->sources.items[j]))
                rc = cw_config_report(warnings, file, &sources,
                                      "warning: no plugin and no entry of sources has the name "
                                      "'%s'",
                                      t->sources.items[j].p);
        }
    }
    return rc;
}

cw_code cw_cli_check_files(const char *file, const cw_config *config, cw_config_problems *problems,
                           cw_config_problems *warnings)
{
    const checking x = {file, config, problems};
    cw_code rc = check_tls(&x);
    if (!rc)
        rc = check_seal(&x);
    if (!rc)
        rc = check_old_seals(&x);
    if (!rc)
        rc = check_metrics_token(&x);
    if (!rc)
        rc = check_webhooks(&x);
    if (!rc)
        rc = check_clients(&x);
    if (!rc)
        rc = check_issuers(&x);
    if (!rc)
        rc = check_store(&x);
    if (!rc)
        rc = check_output(&x, "log", "file", config->log.file);
    if (!rc)
        rc = check_output(&x, "audit", "path", config->audit.path);
    if (!rc)
        rc = check_state(&x);
    if (!rc)
        rc = check_plugins(&x);
    if (!rc)
        rc = check_translations(&x);
    if (!rc)
        rc = cw_cli_check_source_files(file, config, problems, warnings);
    if (!rc)
        rc = cw_cli_check_plugin_events(file, config, problems);
    if (!rc)
        rc = check_directories(file, config, warnings);
    return rc ? rc : check_toolsets(file, config, warnings);
}

cw_code cw_cli_check_risks(const char *file, const cw_config *config, cw_config_problems *warnings)
{
    cw_code rc = check_packages(file, config, warnings);
    return rc ? rc : check_exposure(file, config, warnings);
}
