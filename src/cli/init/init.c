/* SPDX-License-Identifier: GPL-2.0-or-later */
/* init: writes a first configuration with a database, an account, a token and a first service. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "access/credentials.h"
#include "cli/import/import.h"
#include "cli/init/answers.h"
#include "cli/init/client_entry.h"
#include "cli/init/existing.h"
#include "cli/init/first_account.h"
#include "cli/lib/table.h"
#include "config/syntax/quote.h"
#include "server/files/examples.h"

#define CONFIG_FILE "causeway.yaml"
#define DATABASE_FILE "causeway.db"
#define TOKEN_FILE "token"
#define AUDIT_FILE "audit.log"
#define STATE_FOLDER "state"
#define DATA_FOLDER "plugin-data"
/* Scopes that the example plugin requires. */
#define EXAMPLE_READ "tutorial:read"
#define EXAMPLE_SEARCH "tutorial:search"
#define TEXT_MAX_BYTES ((size_t)1 << 20)

typedef struct first {
    cw_init_answers answers;
    cw_import import;
    cw_buf config; /* text of the configuration */
    char token[CW_TOKEN_LEN + 1];
    char whole[4096]; /* path of the folder */
    /* Made by this command, and removed if it fails. */
    bool made_folder, made_overlay, made_config, made_database, made_state, made_data;
} first;

/* ---- the configuration ---- */

static void add_text(cw_buf *out, const char *key, const char *value)
{
    if (!*value)
        return;
    cw_buf_printf(out, "%s: ", key);
    cw_quote(out, cw_str_from(value));
    cw_buf_add_char(out, '\n');
}

static void add_listen(cw_buf *out, const cw_init_answers *a)
{
    cw_buf_add(out, CW_STR("listen:\n  - address: "));
    cw_quote(out, cw_str_from(a->listen));
    cw_buf_printf(out, "\n    tls: %s\n", *a->certificate ? "true" : "false");
    if (*a->certificate) {
        cw_buf_add(out, CW_STR("tls:\n  "));
        add_text(out, "certificate", a->certificate);
        cw_buf_add(out, CW_STR("  "));
        add_text(out, "key", a->key);
    }
    add_text(out, "public_url", a->public_url);
}

/* Requests must name a known host: that of the public URL, or this machine. */
static void add_hosts(cw_buf *out, const char *public_url)
{
    const char *host = strstr(public_url, "://");
    if (!host)
        return;
    host += 3;
    cw_buf_add(out, CW_STR("hosts: [localhost, 127.0.0.1, \"[::1]\", "));
    cw_quote(out, cw_str_make(host, strcspn(host, "/")));
    cw_buf_add(out, CW_STR("]\n"));
}

static void add_console(cw_buf *out, bool is_enabled)
{
    cw_buf_printf(out,
                  "\n# Pages for browsers, at http://console.localhost:PORT/console/. A listener "
                  "for other\n# machines also needs console.host.%s\n%sconsole:\n%s  enabled: "
                  "true\n",
                  is_enabled ? "" : " Remove the # to enable them.", is_enabled ? "" : "#",
                  is_enabled ? "" : "#");
}

/* A tool of the example plugin requires scopes that are not built in. */
static void add_access(cw_buf *out, const cw_init_answers *a)
{
    if (a->oauth || a->examples)
        cw_buf_add(out, CW_STR("\naccess:\n"));
    if (a->oauth)
        cw_buf_add(out, CW_STR("  # OAuth clients log people in with their accounts here.\n"
                               "  server:\n    enabled: true\n"));
    if (a->examples)
        cw_buf_add(out, CW_STR("  scopes: [\"" EXAMPLE_READ "\", \"" EXAMPLE_SEARCH "\"]\n"));
}

/* Tools of the example plugin need permissions of their own. */
static void add_roles(cw_buf *out, bool examples)
{
    cw_buf_printf(out,
                  "\n# Callers without a login may do nothing. Accounts may list and call tools.\n"
                  "# Give the role operator to accounts that administer the server.\n"
                  "roles:\n"
                  "  anonymous: []\n"
                  "  authenticated: [%s, %s%s]\n"
                  "  operator: [%s, %s, %s, %s, %s, %s]\n",
                  CW_PERMISSION_DISCOVER.p, CW_PERMISSION_CALL.p,
                  examples ? ", access content" : "", CW_PERMISSION_USE_CONSOLE,
                  CW_PERMISSION_VIEW_TRAFFIC, CW_PERMISSION_VIEW_AUDIT,
                  CW_PERMISSION_VIEW_ARGUMENTS, CW_PERMISSION_ADMINISTER_SOURCES,
                  CW_PERMISSION_ADMINISTER_ACCESS);
    if (examples)
        cw_buf_add(out, CW_STR("  editor: [create content, administer site configuration]\n"));
}

/* The plugin section of the server without a configuration. */
static cw_code add_examples(cw_buf *out, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_config *config = NULL;
    cw_buf_init(&text, TEXT_MAX_BYTES);
    cw_code rc = cw_examples_config(&text, err);
    cw_config_source source = {.text = cw_buf_str(&text)};
    cw_config_problems problems;
    cw_config_problems_init(&problems);
    if (!rc)
        rc = cw_config_load(&source, &config, &problems, err);
    cw_config_problems_done(&problems);
    if (!rc && config->plugins.directory.n == 0)
        rc = cw_fail(err, CW_NOTFOUND, "the example plugin is not installed");
    if (!rc) {
        cw_buf_add(out, CW_STR("\nplugins:\n  directory: "));
        cw_quote(out, config->plugins.directory);
        cw_buf_add(out, CW_STR("\n  data: " DATA_FOLDER "\n"));
    }
    cw_config_unref(config);
    return rc;
}

static cw_code write_config(first *f, cw_err *err)
{
    const cw_init_answers *a = &f->answers;
    cw_buf *out = &f->config;
    cw_code rc = CW_OK;
    cw_buf_add(
        out, CW_STR("# Written by \"causeway init\". \"causeway config show\" prints all keys.\n"));
    add_listen(out, a);
    add_hosts(out, a->public_url);
    cw_buf_add(out, CW_STR("\nstore:\n  path: " DATABASE_FILE "\n"
                           "audit:\n  path: " AUDIT_FILE "\n"
                           "state:\n  directory: " STATE_FOLDER "\n"));
    add_console(out, a->console);
    add_access(out, a);
    add_roles(out, a->examples);
    if (a->examples)
        rc = add_examples(out, err);
    if (!rc && *a->service) {
        cw_buf_add_char(out, '\n');
        cw_import_add_entry(&f->import, out);
    }
    return rc || !out->code ? rc : cw_fail_nomem(err);
}

/* ---- files ---- */

/* A new file with these bytes. CW_PARAMS: it exists. */
static cw_code make_file(const char *name, mode_t mode, cw_str text, cw_err *err)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0)
        return cw_fail_errno(err, errno, "'%s'", name);
    bool is_written = write(fd, text.p, text.n) == (ssize_t)text.n;
    int errnum = errno;
    bool is_closed = close(fd) == 0;
    if (is_written && is_closed)
        return CW_OK;
    unlink(name); /* half of it */
    return cw_fail_errno(err, is_written ? errno : errnum, "write '%s'", name);
}

/* A link counts, wherever it leads: the file behind it is not ours to write. */
static int check_new(const char *folder)
{
    static const char *const names[] = {CONFIG_FILE,  DATABASE_FILE, DATABASE_FILE "-wal",
                                        TOKEN_FILE,   AUDIT_FILE,    DATABASE_FILE "-shm",
                                        STATE_FOLDER, DATA_FOLDER};
    struct stat st;
    for (size_t i = 0; i < CW_COUNT(names); i++) {
        if (lstat(names[i], &st) == 0)
            return cw_cli_failure(
                "'%s/%s' exists already, and init overwrites nothing; name another "
                "directory",
                folder, names[i]);
    }
    return -1;
}

/* The database and the socket of commands are put into the folder, as doctor demands of it. */
static int check_folder(const first *f)
{
    const size_t max = sizeof((struct sockaddr_un *)0)->sun_path - sizeof "/" DATABASE_FILE ".sock";
    struct stat st;
    if (strlen(f->whole) > max)
        return cw_cli_failure("the path '%.100s...' is too long for the socket of commands: it has "
                              "%zu bytes, and at most %zu are possible; name another directory",
                              f->whole, strlen(f->whole), max);
    if (stat(".", &st))
        return cw_cli_failure("directory '%s': %s", f->whole, strerror(errno));
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return cw_cli_failure("'%s' belongs to another user, who could replace the database; name "
                              "another directory",
                              f->whole);
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return cw_cli_failure("others may write to '%s', so they could replace the database; use "
                              "chmod go-w, or name another directory",
                              f->whole);
    return -1;
}

/* Paths of the command line start where the command was started. */
static const char *make_absolute(cw_arena *arena, const char *path)
{
    char *whole = path && *path ? realpath(path, NULL) : NULL;
    cw_str kept = whole ? cw_arena_dup_str(arena, cw_str_from(whole)) : (cw_str){NULL, 0};
    free(whole);
    return kept.p ? kept.p : path;
}

static int enter_folder(first *f)
{
    cw_init_answers *a = &f->answers;
    a->certificate = make_absolute(&a->arena, a->certificate);
    a->key = make_absolute(&a->arena, a->key);
    a->secret_file = make_absolute(&a->arena, a->secret_file);
    if (!strstr(a->service, "://"))
        a->service = make_absolute(&a->arena, a->service);
    f->made_folder = mkdir(a->folder, 0700) == 0;
    if (!f->made_folder && errno != EEXIST)
        return cw_cli_failure("create directory '%s': %s", a->folder, strerror(errno));
    if (chdir(a->folder) || !getcwd(f->whole, sizeof f->whole))
        return cw_cli_failure("directory '%s': %s", a->folder, strerror(errno));
    int code = check_new(a->folder);
    return code < 0 ? check_folder(f) : code;
}

/* Half a set-up is worse than none. */
static void remove_all(const first *f)
{
    if (f->made_config)
        unlink(CONFIG_FILE);
    if (f->made_database) {
        unlink(DATABASE_FILE);
        unlink(DATABASE_FILE "-wal");
        unlink(DATABASE_FILE "-shm");
    }
    if (f->made_overlay)
        unlink(f->import.overlay.p);
    if (f->made_state)
        rmdir(STATE_FOLDER);
    if (f->made_data)
        rmdir(DATA_FOLDER);
    if (f->made_folder)
        rmdir(f->whole);
}

/* ---- account and token ---- */

static cw_code make_account(first *f, cw_err *err)
{
    cw_cli_admin a;
    char line[CW_TOKEN_LEN + 2];
    if (cw_cli_admin_open_alone(CONFIG_FILE, &a) >= 0)
        return cw_fail(err, CW_CONFIG, "the new configuration cannot be read");
    f->made_database = true;
    /* The editor calls every tool of the example plugin, the operator sees all of the console. */
    static const char *const scopes[] = {EXAMPLE_READ, EXAMPLE_SEARCH, NULL};
    const char *roles[3] = {NULL};
    const cw_init_account account = {f->answers.account, roles,
                                     f->answers.examples ? scopes : &scopes[2]};
    size_t n = 0;
    if (f->answers.examples)
        roles[n++] = "editor";
    if (f->answers.console)
        roles[n] = "operator";
    cw_code rc = cw_init_add_account(&a, &account, f->token, err);
    snprintf(line, sizeof line, "%s\n", f->token);
    if (!rc)
        rc = make_file(TOKEN_FILE, 0600, cw_str_from(line), err);
    if (!rc)
        cw_init_record_account(&a, f->answers.account);
    explicit_bzero(line, sizeof line);
    cw_cli_admin_close(&a);
    return rc;
}

/* ---- the command ---- */

static cw_code make_folder(const char *name, bool *is_made, cw_err *err)
{
    *is_made = mkdir(name, 0700) == 0;
    return *is_made ? CW_OK : cw_fail_errno(err, errno, "create directory '%s'", name);
}

static cw_code write_all(first *f, cw_err *err)
{
    cw_config *config = NULL;
    cw_config_problems problems;
    cw_code rc = write_config(f, err);
    if (rc)
        return rc;
    /* Checked before anything else is made. */
    cw_config_problems_init(&problems);
    rc = cw_config_read(cw_buf_str(&f->config), CONFIG_FILE, &config, &problems, err);
    cw_config_problems_done(&problems);
    cw_config_unref(config);
    if (!rc)
        rc = make_file(CONFIG_FILE, 0644, cw_buf_str(&f->config), err);
    f->made_config = !rc;
    if (!rc)
        rc = make_folder(STATE_FOLDER, &f->made_state, err);
    if (!rc && f->answers.examples)
        rc = make_folder(DATA_FOLDER, &f->made_data, err);
    return rc ? rc : make_account(f, err);
}

static void add_url(cw_buf *out, const cw_init_answers *a)
{
    if (*a->public_url)
        cw_buf_printf(out, "%s/mcp", a->public_url);
    else
        cw_buf_printf(out, "%s://%s/mcp", *a->certificate ? "https" : "http", a->listen);
}

/* The account has a token only, and people log in with passwords. */
static void add_console_steps(cw_buf *out, const first *f, const cw_init_made *made)
{
    const char *port = strrchr(f->answers.listen, ':');
    bool has_command = f->answers.oauth; /* add_oauth_entry printed it */
    cw_buf_printf(out,
                  "\nFor the console, %sstart the server, and open\n"
                  "%s://" CW_CONSOLE_HOST "%s/console/%s\n",
                  has_command ? "" : "set a password, ", *f->answers.certificate ? "https" : "http",
                  port ? port : "", has_command ? "" : ":\n");
    if (!has_command)
        cw_init_add_password_command(out, made);
}

/* The client finds everything else by itself, and its user needs a password. */
static void add_oauth_entry(cw_buf *out, const cw_init_made *made)
{
    cw_buf_printf(out, "  %.*s\n\nPeople log in with the password of an account. Set one:\n",
                  CW_STR_ARG(made->url));
    cw_init_add_password_command(out, made);
}

static int print_next(const first *f, const cw_init_made *made)
{
    cw_buf out;
    cw_buf_init(&out, TEXT_MAX_BYTES);
    cw_buf_printf(&out, "Wrote %s, the account \"%s\" and its token (" TOKEN_FILE ").\n",
                  made->config, made->account);
    if (*f->answers.service)
        cw_buf_printf(&out,
                      "%zu method%s of %s: see %s, and set \"tool: true\" for those that\n"
                      "assistants may call.\n",
                      f->import.n, f->import.n == 1 ? "" : "s", f->import.config.name.p,
                      f->import.overlay.p);
    cw_buf_add(&out, CW_STR("\nFor an MCP client:\n\n"));
    if (f->answers.oauth)
        add_oauth_entry(&out, made);
    else
        cw_init_add_client_entry(&out, made->url, made->token);
    if (f->answers.console)
        add_console_steps(&out, f, made);
    cw_init_add_next(&out, made, "serve");
    return cw_cli_print_buf(&out);
}

static int print_made(const first *f)
{
    CW_CLEANUP(cw_buf_done) cw_buf url;
    char path[sizeof f->whole + sizeof "/" CONFIG_FILE];
    cw_buf_init(&url, TEXT_MAX_BYTES);
    add_url(&url, &f->answers);
    snprintf(path, sizeof path, "%s/" CONFIG_FILE, f->whole);
    const cw_init_made made = {.config = path,
                               .account = f->answers.account,
                               .url = cw_buf_str(&url),
                               .token = cw_str_from(f->token)};
    return f->answers.json ? cw_init_print_json(&made) : print_next(f, &made);
}

static int import_service(first *f)
{
    cw_arena_init(&f->import.arena, CW_IMPORT_ARENA_MAX);
    f->import.target = f->answers.service;
    f->import.secret_file = f->answers.secret_file;
    int code = *f->answers.service ? cw_import_service(&f->import) : -1;
    f->made_overlay = code < 0 && f->import.overlay.n;
    return code;
}

static int set_up(first *f)
{
    cw_err err = {0};
    int code = cw_init_ask(&f->answers);
    if (code < 0)
        code = enter_folder(f);
    if (code < 0)
        code = import_service(f);
    if (code < 0 && write_all(f, &err))
        code = cw_cli_failure("%s", err.msg);
    if (code >= 0)
        remove_all(f);
    return code >= 0 ? code : print_made(f);
}

int cw_cli_init(int argc, char **argv)
{
    first f = {0};
    const char *existing = NULL;
    cw_init_answers *a = &f.answers;
    const cw_cli_option options[] = {
        {"config", 'c', CW_CLI_TEXT, &existing, "FILE",
         "add an account and a token to the server of this\nconfiguration, and write no new one"},
        {"listen", 'l', CW_CLI_TEXT, &a->listen, "HOST:PORT",
         "address to listen on; default 127.0.0.1:8080"},
        {"public-url", 0, CW_CLI_TEXT, &a->public_url, "URL",
         "URL of the server for clients, if it differs"},
        {"certificate", 0, CW_CLI_TEXT, &a->certificate, "FILE",
         "use TLS with this certificate; needs --key"},
        {"key", 0, CW_CLI_TEXT, &a->key, "FILE", "private key of the certificate"},
        {"account", 'a', CW_CLI_TEXT, &a->account, "NAME",
         "name of the first account; default: yours"},
        {"service", 's', CW_CLI_TEXT, &a->service, "URL", "a first service, detected as by import"},
        {"secret-file", 0, CW_CLI_TEXT, &a->secret_file, "FILE",
         "send the secret in FILE to the service"},
        {"oauth", 0, CW_CLI_FLAG, &a->oauth, NULL,
         "let OAuth clients such as Claude log people in with\naccounts of this server"},
        {"examples", 0, CW_CLI_FLAG, &a->examples, NULL, "load the example plugin"},
        {"console", 0, CW_CLI_FLAG, &a->console, NULL,
         "serve the console, and make the account an operator"},
        {"yes", 'y', CW_CLI_FLAG, &a->no_questions, NULL,
         "ask nothing; options that are missing have their\ndefaults"},
        {"json", 0, CW_CLI_FLAG, &a->json, NULL, "print JSON, and ask nothing"},
        {0},
    };
    const cw_cli_spec spec = {
        "init", "[DIRECTORY]",
        "Write a first configuration into DIRECTORY (default: causeway): roles, a\n"
        "database with an account, a token, and a first service if one is named. Print\n"
        "the entry for an MCP client and the next commands. On a terminal it asks for\n"
        "values that are not given. Existing files are not overwritten. If root names no\n"
        "DIRECTORY, and a package installed a configuration, --config is that file.",
        options, 1};
    cw_cli_args args = {0};
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    if (existing && args.n)
        return cw_cli_usage("--config and a directory exclude each other");
    if (!existing && !args.n)
        existing = cw_init_installed_config();
    a->folder = args.n ? args.items[0] : "causeway";
    cw_arena_init(&a->arena, TEXT_MAX_BYTES);
    cw_buf_init(&f.config, TEXT_MAX_BYTES);
    code = existing ? cw_init_existing(a, existing) : set_up(&f);
    cw_buf_done(&f.config);
    cw_arena_done(&f.import.arena);
    cw_arena_done(&a->arena);
    explicit_bzero(f.token, sizeof f.token);
    return code;
}
