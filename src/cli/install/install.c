/* SPDX-License-Identifier: GPL-2.0-or-later */
/* install: registers this server with a local MCP client, or removes it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/install/install.h"
#include "cli/plugin/plugin.h"
#include "store/db.h"

#define PATH_BYTES 4096u
#define BACKUP_SUFFIX ".causeway-backup"
#define NAME_MAX_BYTES 64u
#define BUSY_MS 2000u
#define ACCOUNT_MAX_BYTES 65536u

/* ---- clients ---- */

typedef enum place { IN_HOME, IN_CONFIG } place;

/* A client, and how it wants to be told. */
typedef struct client {
    const char *name;
    const char *title;
    const char *path;
    const char *section;
    const char *command_type; /* of a server that it starts; NULL: not said */
    const char *url_type;     /* of one that runs; NULL: not said */
    place place;
    bool takes_url;
} client;

#ifdef __APPLE__
#define CONFIG_FOLDER "Library/Application Support"
#else
#define CONFIG_FOLDER ".config"
#endif

static const client clients[] = {
    {"claude-desktop", "Claude Desktop", "Claude/claude_desktop_config.json", "mcpServers", NULL,
     NULL, IN_CONFIG, false},
    {"claude-code", "Claude Code", ".claude.json", "mcpServers", "stdio", "http", IN_HOME, true},
    {"vscode", "Visual Studio Code", "Code/User/mcp.json", "servers", "stdio", "http", IN_CONFIG,
     true},
    {"cursor", "Cursor", ".cursor/mcp.json", "mcpServers", NULL, NULL, IN_HOME, true},
};

static const client *find_client(const char *name)
{
    for (size_t i = 0; i < CW_COUNT(clients); i++) {
        if (strcmp(clients[i].name, name) == 0)
            return &clients[i];
    }
    return NULL;
}

static cw_code find_file(const client *c, char *out, size_t n, cw_err *err)
{
    const char *home = getenv("HOME"), *config = getenv("XDG_CONFIG_HOME");
    int length = -1;
#ifdef __APPLE__
    config = NULL;
#endif
    if (c->place == IN_CONFIG && config && config[0] == '/')
        length = snprintf(out, n, "%s/%s", config, c->path);
    else if (home && home[0] == '/')
        length = snprintf(out, n, "%s/%s%s", home, c->place == IN_CONFIG ? CONFIG_FOLDER "/" : "",
                          c->path);
    if (length <= 0 || (size_t)length >= n)
        return cw_fail(err, CW_PARAMS,
                       "cannot find the files of %s: HOME is not an absolute path, or too long",
                       c->title);
    return CW_OK;
}

/* ---- the entry ---- */

typedef struct order {
    const client *client;
    const char *name, *config, *plugin, *account, *token_file, *url;
    bool is_dry, is_sure, is_undo;
    char path[PATH_BYTES];
    char backup[PATH_BYTES + sizeof BACKUP_SUFFIX];
    cw_arena arena;
    cw_buf old_text, new_text, kept; /* kept: the backup */
    bool has_file, has_backup;
    bool removes_file;
} order;

static void add_member(cw_buf *out, const char *key, const char *value)
{
    cw_buf_add_char(out, '\t');
    cw_json_escape(out, cw_str_from(key));
    cw_buf_add(out, CW_STR(": "));
    cw_json_escape(out, cw_str_from(value));
    cw_buf_add(out, CW_STR(",\n"));
}

/* A file as another program finds it, wherever that is started. */
static cw_code add_file(cw_buf *out, const char *option, const char *path, cw_err *err)
{
    char *real = realpath(path, NULL);
    if (!real)
        return cw_fail_errno(err, errno, "'%s'", path);
    cw_buf_printf(out, ", \"%s\", ", option);
    cw_json_escape(out, cw_str_from(real));
    free(real);
    return CW_OK;
}

static cw_code add_command(const order *o, cw_buf *out, cw_err *err)
{
    char program[PATH_BYTES];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n < 0)
        return cw_fail_errno(err, errno, "/proc/self/exe");
    program[n] = '\0';
    if (o->client->command_type)
        add_member(out, "type", o->client->command_type);
    add_member(out, "command", program);
    cw_buf_add(out, CW_STR("\t\"args\": [\"stdio\""));
    cw_code rc = CW_OK;
    if (o->config)
        rc = add_file(out, "--config", o->config, err);
    if (!rc && o->plugin)
        rc = add_file(out, "--plugin", o->plugin, err);
    if (o->account) {
        cw_buf_add(out, CW_STR(", \"--as\", "));
        cw_json_escape(out, cw_str_from(o->account));
    }
    if (!rc && o->token_file)
        rc = add_file(out, "--token-file", o->token_file, err);
    cw_buf_add(out, CW_STR("]\n}"));
    return rc;
}

/* The entry's value; a tab stands for a level of indentation. */
static cw_code make_value(const order *o, cw_buf *out, cw_err *err)
{
    cw_buf_add(out, CW_STR("{\n"));
    if (!o->url)
        return add_command(o, out, err);
    if (o->client->url_type)
        add_member(out, "type", o->client->url_type);
    cw_buf_add(out, CW_STR("\t\"url\": "));
    cw_json_escape(out, cw_str_from(o->url));
    cw_buf_add(out, CW_STR("\n}"));
    return CW_OK;
}

/* ---- the new text ---- */

static cw_code change(order *o, cw_err *err)
{
    cw_buf value;
    cw_buf_init(&value, CW_INSTALL_MAX_BYTES);
    cw_code rc = make_value(o, &value, err);
    if (!rc && value.code)
        rc = cw_fail(err, value.code, "%s", cw_code_text(value.code));
    if (!rc)
        rc = cw_install_put(cw_buf_str(&o->old_text), o->client->section, cw_str_from(o->name),
                            cw_buf_str(&value), &o->arena, &o->new_text, err);
    cw_buf_done(&value);
    return rc;
}

/* If the file is unchanged since the installation, the backup is restored byte for byte. */
static bool equals_backup(order *o)
{
    const cw_json *ours = NULL, *kept = NULL;
    cw_str plain;
    const char *section = o->client->section;
    return o->has_backup &&
           !cw_install_read(cw_buf_str(&o->new_text), section, &o->arena, &ours, &plain, NULL) &&
           !cw_install_read(cw_buf_str(&o->kept), section, &o->arena, &kept, &plain, NULL) &&
           ours && kept && cw_json_equal(ours, kept);
}

/* The entry as it was before, or none; whatever else has changed since stays. */
static cw_code take_back(order *o, cw_err *err)
{
    cw_str before = {NULL, 0}, name = cw_str_from(o->name), now, plain;
    const cw_json *kept = NULL;
    cw_str text = cw_buf_str(&o->old_text);
    const char *section = o->client->section;
    bool is_bare = false;
    cw_code rc = cw_install_find(text, section, name, &o->arena, &now, err);
    if (rc)
        return rc;
    if (!now.p)
        return cw_fail(err, CW_NOTFOUND, "there is no entry \"%s\" to take back", o->name);
    if (o->has_backup)
        rc = cw_install_find(cw_buf_str(&o->kept), section, name, &o->arena, &before, err);
    if (!rc && o->has_backup)
        rc = cw_install_read(cw_buf_str(&o->kept), section, &o->arena, &kept, &plain, err);
    if (rc)
        return rc;
    bool had_section = cw_json_get(kept, cw_str_from(section));
    rc = before.p ? cw_install_put(text, section, name, before, &o->arena, &o->new_text, err)
                  : cw_install_remove(text, section, name, kept && !had_section, &o->arena,
                                      &o->new_text, &is_bare, err);
    if (rc)
        return rc;
    o->removes_file = is_bare && !o->has_backup; /* we made it */
    if (o->removes_file)
        cw_buf_clear(&o->new_text);
    if (equals_backup(o)) {
        cw_buf_clear(&o->new_text);
        cw_buf_add(&o->new_text, cw_buf_str(&o->kept));
    }
    return o->new_text.code ? cw_fail(err, o->new_text.code, "out of memory") : CW_OK;
}

static cw_code prepare(order *o, cw_err *err)
{
    cw_code rc = find_file(o->client, o->path, sizeof o->path, err);
    if (rc)
        return rc;
    snprintf(o->backup, sizeof o->backup, "%s" BACKUP_SUFFIX, o->path);
    rc = cw_install_load(o->path, &o->old_text, &o->has_file, err);
    if (!rc)
        rc = cw_install_load(o->backup, &o->kept, &o->has_backup, err);
    if (rc)
        return rc;
    rc = o->is_undo ? take_back(o, err) : change(o, err);
    return rc == CW_PARSE || rc == CW_PARAMS ? cw_wrap(err, rc, "'%s' is left as it is", o->path)
                                             : rc;
}

/* ---- asking and writing ---- */

static int show(const order *o)
{
    cw_buf text;
    cw_buf_init(&text, CW_INSTALL_MAX_BYTES);
    cw_buf_printf(&text, "%s%s%s%s\n", cw_cli_escape(STDOUT_FILENO, CW_CLI_BOLD), o->path,
                  cw_cli_escape(STDOUT_FILENO, CW_CLI_PLAIN),
                  o->removes_file ? " (is removed)" : (o->has_file ? "" : " (is made)"));
    cw_install_add_diff(&text, cw_buf_str(&o->old_text), cw_buf_str(&o->new_text));
    return cw_cli_print_buf(&text);
}

static bool confirm(void)
{
    char answer[16] = "";
    fputs("Write this? [y/N] ", stderr);
    return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

static cw_code apply(const order *o, cw_err *err)
{
    cw_str name = cw_str_from(o->name), entry = {NULL, 0};
    cw_arena arena;
    cw_arena_init(&arena, 64 * CW_INSTALL_MAX_BYTES);
    cw_code rc = cw_install_make_folders(o->path, err);
    /* A backup from before our entry is worth more than one with it. */
    if (!rc && o->has_backup)
        rc = cw_install_find(cw_buf_str(&o->old_text), o->client->section, name, &arena, &entry,
                             err);
    cw_arena_done(&arena);
    if (!rc && !o->is_undo && o->has_file && !entry.p)
        rc = cw_install_write(o->backup, cw_buf_str(&o->old_text), err);
    if (rc)
        return rc;
    if (o->removes_file)
        return unlink(o->path) == 0 ? CW_OK : cw_fail_errno(err, errno, "'%s'", o->path);
    rc = cw_install_write(o->path, cw_buf_str(&o->new_text), err);
    if (!rc && o->is_undo && o->has_backup)
        unlink(o->backup);
    return rc;
}

static int finish(order *o)
{
    cw_err err = {0};
    if (cw_str_eq(cw_buf_str(&o->old_text), cw_buf_str(&o->new_text)) && !o->removes_file)
        return cw_cli_print(CW_STR("Nothing has to be changed.\n"));
    int code = show(o);
    if (code != CW_EXIT_OK || o->is_dry)
        return code;
    if (!o->is_sure && !isatty(STDIN_FILENO))
        return cw_cli_usage("standard input is not a terminal: use --yes or --dry-run");
    if (!o->is_sure && !confirm())
        return cw_cli_failure("nothing was changed");
    if (apply(o, &err))
        return cw_cli_failure("%s", err.msg);
    cw_buf text;
    cw_buf_init(&text, 2 * PATH_BYTES);
    cw_buf_printf(&text, "Written; %s reads it when it is started again.%s%s\n", o->client->title,
                  !o->is_undo && o->has_file ? " The file before is kept as " : "",
                  !o->is_undo && o->has_file ? o->backup : "");
    return cw_cli_print_buf(&text);
}

/* ---- the command ---- */

static int check(const order *o, size_t n_args)
{
    if (n_args != 1 || !o->client)
        return cw_cli_usage("which client? claude-desktop, claude-code, vscode or cursor");
    if (o->url && (o->config || o->plugin || o->account || o->token_file))
        return cw_cli_usage("--url names a server that runs: leave out --config, --plugin, --as "
                            "and --token-file");
    if (o->url && !o->client->takes_url)
        return cw_cli_usage("%s starts its servers itself: leave out --url", o->client->title);
    if (o->url && strncmp(o->url, "http://", 7) != 0 && strncmp(o->url, "https://", 8) != 0)
        return cw_cli_usage("no http:// or https:// address: %s", o->url);
    if (o->plugin && (o->config || o->account || o->token_file))
        return cw_cli_usage("--plugin does without --config, --as and --token-file");
    if (o->account && o->token_file)
        return cw_cli_usage("--as and --token-file both say who calls: give one of them");
    if (o->is_dry && o->is_sure)
        return cw_cli_usage("--dry-run and --yes exclude each other");
    size_t n = strlen(o->name);
    if (n == 0 || n > NAME_MAX_BYTES ||
        strspn(o->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != n)
        return cw_cli_usage("a name has 1 to %u letters, digits, '-' and '_'", NAME_MAX_BYTES);
    return -1;
}

/* The variable with this number that the sources read; NULL: there are no more. */
static const char *variable_at(const cw_config *config, size_t i)
{
    if (i >= 2 * config->sources.n)
        return NULL;
    const cw_config_remote *source = &config->sources.items[i / 2];
    return i % 2 ? source->oauth.client_secret_environment.p : source->secret.environment.p;
}

static bool was_before(const cw_config *config, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (strcmp(variable_at(config, i), variable_at(config, at)) == 0)
            return true;
    }
    return false;
}

/* A client starts us with an environment of its own, not with that of this terminal. */
static void warn_of_variables(const cw_config *config)
{
    const char *name;
    for (size_t i = 0; (name = variable_at(config, i)); i++) {
        if (name[0] && !was_before(config, i))
            fprintf(stderr,
                    "warning: the configuration reads the variable %s: the client must have it "
                    "when it starts this server (\"env\" of the entry sets it), or the secret be "
                    "in a file\n",
                    name);
    }
}

/* Returns -1, or the exit code. */
static int check_account(const order *o, const cw_config *config)
{
    cw_err err = {0};
    cw_db *db = NULL;
    cw_account *account = NULL;
    cw_db_opts opts = {.path = config->store.path.p, .busy_ms = BUSY_MS};
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_arena_init(&arena, ACCOUNT_MAX_BYTES);
    cw_code rc = cw_db_open(&opts, &db, &err);
    if (!rc)
        rc = cw_db_find_account(db, cw_str_from(o->account), &arena, &account, &err);
    if (!rc && !account)
        rc = cw_fail(&err, CW_NOTFOUND,
                     "there is no account '%s': add it with causeway account add", o->account);
    else if (!rc && account->is_blocked)
        rc = cw_fail(&err, CW_NOTFOUND, "the account '%s' is blocked", o->account);
    cw_db_close(db);
    return rc ? cw_cli_failure("%s", err.msg) : -1;
}

/* Reject options that stdio would reject, before anything is written. Returns -1, or the exit code.
 */
static int check_config(const order *o)
{
    cw_config *config = NULL;
    if (o->url || o->plugin || o->is_undo)
        return -1;
    int code = o->config ? cw_cli_load_checked(o->config, &config) : -1;
    if (code >= 0)
        return code;
    if (o->account && (!config || config->store.path.n == 0))
        code = cw_cli_usage("--as needs a database: set store.path in the configuration");
    else if (o->account)
        code = check_account(o, config);
    if (code < 0 && config)
        warn_of_variables(config);
    cw_config_unref(config);
    return code;
}

static int run(order *o)
{
    cw_err err = {0};
    cw_arena_init(&o->arena, 64 * CW_INSTALL_MAX_BYTES);
    cw_buf_init(&o->old_text, CW_INSTALL_MAX_BYTES);
    cw_buf_init(&o->new_text, CW_INSTALL_MAX_BYTES);
    cw_buf_init(&o->kept, CW_INSTALL_MAX_BYTES);
    int code = prepare(o, &err) ? cw_cli_failure("%s", err.msg) : finish(o);
    cw_buf_done(&o->old_text);
    cw_buf_done(&o->new_text);
    cw_buf_done(&o->kept);
    cw_arena_done(&o->arena);
    return code;
}

int cw_cli_install(int argc, char **argv)
{
    order o = {0};
    const cw_cli_option options[] = {
        {"name", 0, CW_CLI_TEXT, &o.name, "NAME",
         "name of the server in that file; default: \"causeway\""},
        CW_CLI_CONFIG_OPTION(&o.config),
        {"plugin", 'p', CW_CLI_TEXT, &o.plugin, "FILE.so", "serve only this plugin"},
        {"as", 0, CW_CLI_TEXT, &o.account, "ACCOUNT", "act as this account of the database"},
        {"token-file", 0, CW_CLI_TEXT, &o.token_file, "FILE",
         "act as the owner of the token in FILE, with its\n"
         "scopes"},
        {"url", 0, CW_CLI_TEXT, &o.url, "URL", "use a running server instead of starting one"},
        {"dry-run", 'n', CW_CLI_FLAG, &o.is_dry, NULL, "print the change without writing it"},
        {"yes", 'y', CW_CLI_FLAG, &o.is_sure, NULL, "write without asking"},
        {"undo", 0, CW_CLI_FLAG, &o.is_undo, NULL, "remove the entry"},
        {0},
    };
    const cw_cli_spec spec = {
        "install", "CLIENT",
        "Add this server to the configuration file of an MCP client: claude-desktop,\n"
        "claude-code, vscode or cursor. The change is printed first. Other entries,\n"
        "comments and their order are kept, and the old file is saved as a backup.",
        options, 1};
    cw_cli_args args;
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    if (!o.name)
        o.name = "causeway";
    o.client = args.n ? find_client(args.items[0]) : NULL;
    if (!o.url && !o.plugin)
        o.config = cw_cli_config_path(o.config);
    code = check(&o, args.n);
    if (code < 0)
        code = check_config(&o);
    return code >= 0 ? code : run(&o);
}
