/* SPDX-License-Identifier: GPL-2.0-or-later */
/* from_clients.c - MCP servers out of the files of MCP clients.
 *
 *     files of clients ─► servers ─► shown ─► consent ─► secrets (0600), overlays (nothing exposed)
 *
 * Values of variables and headers go into files of their own; the entries name these files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/file.h"
#include "cli/import/import.h"
#include "cli/install/products.h"
#include "cli/lib/table.h"
#include "config/keys/keys.h"
#include "config/syntax/names.h"
#include "config/syntax/quote.h"

#define SERVERS_MAX 256u
#define PAIRS_MAX 64u
#define NAME_MAX_BYTES 48u /* a client's name may follow */

/* Names and values; the values are secrets. */
typedef struct pairs {
    cw_config_pair items[PAIRS_MAX];
    size_t n;
} pairs;

/* A server in the file of a client. */
typedef struct server {
    const cw_product *client;
    cw_str project;  /* of the client: a folder; empty: all of them */
    cw_str own_name; /* there */
    cw_str name;     /* here */
    cw_str program, url, folder, type;
    const cw_json *first_arg; /* or NULL */
    pairs variables, headers;
    bool is_off;         /* there */
    const char *skipped; /* why it is not copied; NULL: it is */
} server;

typedef struct collection {
    cw_import *im;
    const cw_product *client; /* whose file is read */
    cw_str project;           /* whose part of it */
    server *items;
    size_t n;
    bool is_full;
} collection;

/* ---- reading ---- */

static cw_str text_of(const cw_json *v)
{
    return cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : CW_STR("");
}

static void add_pair(pairs *p, cw_str name, const cw_json *value)
{
    if (p->n < PAIRS_MAX && cw_json_is(value, CW_JSON_STRING))
        p->items[p->n++] = (cw_config_pair){name, cw_json_text(value)};
}

static void add_pairs(pairs *p, const cw_json *object)
{
    bool is_object = cw_json_is(object, CW_JSON_OBJECT);
    for (const cw_json *k = is_object ? cw_json_first(object) : NULL; k; k = cw_json_next_key(k))
        add_pair(p, cw_json_text(k), cw_json_value(k));
}

/* The server of this name in the file that is read; NULL: there are too many. */
static server *find_server(collection *c, cw_str name)
{
    for (size_t i = c->n; i > 0 && c->items[i - 1].client == c->client; i--) {
        server *s = &c->items[i - 1];
        if (cw_str_eq(s->own_name, name) && cw_str_eq(s->project, c->project))
            return s;
    }
    if (c->n == SERVERS_MAX) {
        c->is_full = true;
        return NULL;
    }
    c->items[c->n] = (server){.client = c->client, .project = c->project, .own_name = name};
    return &c->items[c->n++];
}

/* A command in one list. */
static void take_words(server *s, const cw_json *first)
{
    if (!first)
        return;
    s->program = text_of(first);
    s->first_arg = cw_json_next(first);
}

/* Clients agree on most names. An older form of Zed has an object as its command. */
static void take_member(server *s, cw_str key, const cw_json *value)
{
    cw_str text = text_of(value);
    if ((cw_str_is(key, "command") || cw_str_is(key, "path")) && text.n)
        s->program = text;
    else if (cw_str_is(key, "args") && cw_json_is(value, CW_JSON_ARRAY))
        s->first_arg = cw_json_first(value);
    else if (cw_str_is(key, "command") && cw_json_is(value, CW_JSON_ARRAY))
        take_words(s, cw_json_first(value));
    else if (cw_str_is(key, "url") || cw_str_is(key, "httpUrl") || cw_str_is(key, "serverUrl"))
        s->url = text;
    else if (cw_str_is(key, "cwd"))
        s->folder = text;
    else if (cw_str_is(key, "type"))
        s->type = text;
    else if (cw_str_is(key, "env") || cw_str_is(key, "environment"))
        add_pairs(&s->variables, value);
    else if (cw_str_is(key, "headers") || cw_str_is(key, "http_headers"))
        add_pairs(&s->headers, value);
    else if (cw_str_is(key, "disabled"))
        s->is_off = cw_json_is(value, CW_JSON_TRUE);
    else if (cw_str_is(key, "enabled"))
        s->is_off = cw_json_is(value, CW_JSON_FALSE);
}

static void on_member(void *ctx, cw_str entry, const cw_str *path, size_t n, const cw_json *value)
{
    server *s = find_server(ctx, entry);
    if (!s)
        return;
    bool is_nested = n == 1 && cw_str_is(path[0], "command") && cw_json_is(value, CW_JSON_OBJECT);
    if (is_nested) {
        for (const cw_json *k = cw_json_first(value); k; k = cw_json_next_key(k))
            take_member(s, cw_json_text(k), cw_json_value(k));
    } else if (n == 1) {
        take_member(s, path[0], value);
    } else if (n == 2 && cw_str_is(path[0], "env")) {
        add_pair(&s->variables, path[1], value);
    } else if (n == 2 && cw_str_is(path[0], "http_headers")) {
        add_pair(&s->headers, path[1], value);
    }
}

static void read_entry(collection *c, cw_str name, const cw_json *members)
{
    bool is_object = cw_json_is(members, CW_JSON_OBJECT);
    for (const cw_json *k = is_object ? cw_json_first(members) : NULL; k; k = cw_json_next_key(k)) {
        cw_str key = cw_json_text(k);
        on_member(c, name, &key, 1, cw_json_value(k));
    }
}

/* Claude Code keeps servers of single projects in its own file, by the folder of the project:
 * {"projects": {"/srv/projects/site": {"mcpServers": {…}}}}. */
static void read_projects(collection *c, cw_str text)
{
    const cw_json *root = NULL;
    if (strcmp(c->client->name, "claude-code") != 0 ||
        cw_json_read(text, NULL, &c->im->arena, &root, NULL, NULL))
        return;
    const cw_json *all = cw_json_get(root, CW_STR("projects"));
    bool has_some = cw_json_is(all, CW_JSON_OBJECT);
    for (const cw_json *p = has_some ? cw_json_first(all) : NULL; p; p = cw_json_next_key(p)) {
        const cw_json *servers = cw_json_get(cw_json_value(p), CW_STR("mcpServers"));
        bool is_some = cw_json_is(servers, CW_JSON_OBJECT);
        c->project = cw_json_text(p);
        for (const cw_json *s = is_some ? cw_json_first(servers) : NULL; s; s = cw_json_next_key(s))
            read_entry(c, cw_json_text(s), cw_json_value(s));
    }
    c->project = CW_STR("");
}

/* A file that cannot be read is reported, and the others are used. */
static void read_client(collection *c, const cw_product *client)
{
    char path[CW_PRODUCT_PATH_BYTES];
    cw_err err = {0};
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_INSTALL_MAX_BYTES);
    if (!client->format->each || cw_product_path(client, path, NULL) || access(path, F_OK) != 0)
        return;
    c->client = client;
    cw_code rc = cw_file_read(path, CW_FILE_PLAIN, &text, &err);
    cw_str copy = rc ? CW_STR("") : cw_arena_dup_str(&c->im->arena, cw_buf_str(&text));
    if (!rc && !copy.p)
        rc = cw_arena_fail(&c->im->arena, &err);
    if (!rc)
        rc = client->format->each(copy, client->section, &c->im->arena, on_member, c, &err);
    if (!rc)
        read_projects(c, copy);
    if (rc)
        cw_cli_failure("%s: %s is left out: %s", client->title, path, err.msg);
}

/* ---- names ---- */

static const char *skip_reason(const server *s)
{
    const char *slash = s->program.n ? memrchr(s->program.p, '/', s->program.n) : NULL;
    cw_str base = slash ? cw_str_make(slash + 1, (size_t)(s->program.p + s->program.n - slash - 1))
                        : s->program;
    if (cw_str_is(base, "causeway"))
        return "it is Causeway itself";
    if (!s->program.n && !s->url.n)
        return "the file has neither a command nor a URL for it";
    if (!s->program.n && cw_str_is(s->type, "sse"))
        return "its transport (HTTP with SSE of 2024-11) is not supported";
    return NULL;
}

static bool is_taken(const collection *c, const server *but, const char *name)
{
    if (strcmp(name, CW_CONFIG_BUILTIN_SOURCE) == 0)
        return true;
    for (const server *s = c->items; s < but; s++) {
        if (!s->skipped && cw_str_is(s->name, name))
            return true;
    }
    return false;
}

/* A name of a source: the server's own, and that of the client if another one has it already. */
static cw_code choose_name(collection *c, server *s)
{
    char own[NAME_MAX_BYTES + 1];
    size_t n = 0;
    for (size_t i = 0; i < s->own_name.n && n < NAME_MAX_BYTES; i++) {
        char ch = s->own_name.p[i];
        if (ch >= 'A' && ch <= 'Z')
            ch = (char)(ch | 0x20);
        own[n++] = cw_is_alnum(ch) || ch == '_' ? ch : '-';
    }
    own[n] = '\0';
    char *name = cw_arena_printf(&c->im->arena, "%s", n ? own : "server");
    for (unsigned i = 1; name && is_taken(c, s, name); i++)
        name = i == 1 ? cw_arena_printf(&c->im->arena, "%s-%s", own, s->client->name)
                      : cw_arena_printf(&c->im->arena, "%s-%u", own, i);
    if (!name)
        return CW_NOMEM;
    s->name = cw_str_from(name);
    return CW_OK;
}

/* ---- showing ---- */

static void add_names(cw_buf *out, const char *what, const pairs *p)
{
    for (size_t i = 0; i < p->n; i++) {
        cw_buf_printf(out, "%s", i ? ", " : what);
        cw_quote_shown(out, p->items[i].name);
    }
    if (p->n)
        cw_buf_add_char(out, '\n');
}

static void add_server(cw_buf *out, const server *s)
{
    cw_quote_shown(out, s->name.n ? s->name : s->own_name);
    cw_buf_printf(out, " (%s", s->client->title);
    if (s->project.n) {
        cw_buf_add(out, CW_STR(", project "));
        cw_quote_shown(out, s->project);
    }
    cw_buf_printf(out, "%s)%s%s\n", s->is_off ? ", disabled there" : "",
                  s->skipped ? ": not copied, " : "", s->skipped ? s->skipped : "");
    if (s->skipped)
        return;
    cw_buf_add(out, CW_STR("    "));
    cw_quote_shown(out, s->program.n ? s->program : s->url);
    for (const cw_json *v = s->program.n ? s->first_arg : NULL; v; v = cw_json_next(v)) {
        cw_buf_add_char(out, ' ');
        cw_quote_shown(out, text_of(v));
    }
    cw_buf_add_char(out, '\n');
    add_names(out, "    variables: ", &s->variables);
    add_names(out, "    headers: ", &s->headers);
}

static int show(const collection *c, size_t *ret_n)
{
    cw_buf out;
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    *ret_n = 0;
    for (size_t i = 0; i < c->n; i++) {
        add_server(&out, &c->items[i]);
        *ret_n += !c->items[i].skipped;
    }
    if (c->is_full)
        cw_buf_printf(&out, "and more; %u are shown\n", SERVERS_MAX);
    if (*ret_n == 0)
        cw_buf_add(&out, CW_STR("No MCP server to copy in the files of MCP clients.\n"));
    return cw_cli_print_buf(&out);
}

static bool confirm(size_t n)
{
    char answer[16] = "";
    fprintf(stderr, "Write the files of %zu sources? Nothing is started or exposed. [y/N] ", n);
    return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

/* ---- writing ---- */

/* Create a file; one that exists stays. */
static cw_code create(const char *path, cw_str text, mode_t mode, cw_err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0)
        return cw_fail_errno(err, errno, "'%s'", path);
    ssize_t n = write(fd, text.p, text.n);
    int errnum = n < 0 ? errno : ENOSPC;
    bool is_whole = close(fd) == 0 && n >= 0 && (size_t)n == text.n;
    if (is_whole)
        return CW_OK;
    unlink(path);
    return cw_fail_errno(err, errnum, "'%s'", path);
}

/* A value of the kind ${NAME} is not the secret: the client would have replaced it. The entry names
 * a file that does not exist, which `config check` reports. */
static bool is_placeholder(cw_str value)
{
    return memmem(value.p, value.n, "${", 2) != NULL;
}

/* Write the values of `from` into files of a folder, and name these. */
static cw_code write_secrets(cw_import *im, const char *folder, const server *s, const pairs *from,
                             cw_config_pairs *ret, cw_err *err)
{
    cw_config_pair *files = cw_arena_calloc(&im->arena, from->n + 1, sizeof *files);
    if (!files)
        return cw_arena_fail(&im->arena, err);
    for (size_t i = 0; i < from->n; i++) {
        const cw_config_pair *p = &from->items[i];
        if (!cw_names_is_variable(p->name) && !cw_names_is_header(p->name))
            return cw_fail(err, CW_PARAMS, "a variable or header has an invalid name");
        char *path =
            cw_arena_printf(&im->arena, "%s/%s.%.*s", folder, s->name.p, CW_STR_ARG(p->name));
        if (!path)
            return cw_arena_fail(&im->arena, err);
        cw_code rc = is_placeholder(p->value) ? CW_OK : create(path, p->value, 0600, err);
        if (rc)
            return rc;
        if (is_placeholder(p->value))
            fprintf(stderr, "%s: write the value of %.*s to %s\n", s->name.p, CW_STR_ARG(p->name),
                    path);
        files[i] = (cw_config_pair){p->name, cw_str_from(path)};
    }
    *ret = (cw_config_pairs){files, from->n};
    return CW_OK;
}

static cw_code fill_command(cw_import *im, const server *s, cw_err *err)
{
    size_t n = 0;
    for (const cw_json *v = s->first_arg; v; v = cw_json_next(v))
        n++;
    cw_str *words = cw_arena_calloc(&im->arena, n + 1, sizeof *words);
    if (!words)
        return cw_arena_fail(&im->arena, err);
    words[0] = s->program;
    n = 1;
    for (const cw_json *v = s->first_arg; v; v = cw_json_next(v))
        words[n++] = text_of(v);
    im->config.command = (cw_config_strings){words, n};
    return CW_OK;
}

static cw_code write_source(cw_import *im, const char *folder, const char *secrets, const server *s,
                            cw_err *err)
{
    const cw_str overlay =
        CW_STR("# Methods of an MCP server. None of them can be used before it is listed here.\n"
               "# `causeway source check` shows what the server offers.\n"
               "methods: []\n");
    im->config = cw_config_default_remote;
    im->config.name = s->name;
    im->config.preset = CW_STR("mcp");
    /* The client starts servers of a project in its folder. */
    im->config.folder = s->program.n ? (s->folder.n ? s->folder : s->project) : CW_STR("");
    im->config.url = s->program.n ? CW_STR("") : s->url;
    char *path = cw_arena_printf(&im->arena, "%s/%s.overlay.yaml", folder, s->name.p);
    cw_code rc = path ? create(path, overlay, 0644, err) : cw_arena_fail(&im->arena, err);
    im->overlay = cw_str_from(path ? path : "");
    if (!rc && s->program.n)
        rc = fill_command(im, s, err);
    if (!rc && s->program.n)
        rc = write_secrets(im, secrets, s, &s->variables, &im->config.environment_files, err);
    if (!rc && !s->program.n)
        rc = write_secrets(im, secrets, s, &s->headers, &im->config.header_files, err);
    return rc;
}

/* Write all sources, and print their entries. One that fails does not stop the others. */
static int write_all(cw_import *im, const collection *c)
{
    cw_buf out;
    int code = 0;
    cw_str folder = cw_import_absolute(im, im->output ? im->output : ".");
    char *secrets = folder.p ? cw_arena_printf(&im->arena, "%s/secrets", folder.p) : NULL;
    if (!secrets)
        return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
    if ((mkdir(folder.p, 0755) != 0 && errno != EEXIST) ||
        (mkdir(secrets, 0700) != 0 && errno != EEXIST))
        return cw_cli_failure("'%s': %s", secrets, strerror(errno));
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    cw_buf_add(&out, CW_STR("For the configuration:\n\nsources:\n"));
    for (size_t i = 0; i < c->n; i++) {
        cw_err err = {0};
        const server *s = &c->items[i];
        if (s->skipped)
            continue;
        if (write_source(im, folder.p, secrets, s, &err) == CW_OK)
            cw_import_add_item(im, &out);
        else
            code = cw_cli_failure("%s is left out: %s", s->name.p, err.msg);
    }
    int printed = cw_cli_print_buf(&out);
    return code ? code : printed;
}

int cw_import_from_clients(cw_import *im, bool is_sure)
{
    collection c = {.im = im, .items = cw_arena_calloc(&im->arena, SERVERS_MAX, sizeof(server))};
    size_t n = 0;
    if (!c.items)
        return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
    for (const cw_product *p = cw_products; p->name; p++)
        read_client(&c, p);
    for (size_t i = 0; i < c.n; i++) {
        c.items[i].skipped = skip_reason(&c.items[i]);
        if (!c.items[i].skipped && choose_name(&c, &c.items[i]))
            return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
    }
    int code = show(&c, &n);
    if (code || n == 0)
        return code;
    if (!is_sure && !isatty(STDIN_FILENO))
        return cw_cli_usage("without a terminal, --from-clients needs --yes to write files");
    if (!is_sure && !confirm(n))
        return cw_cli_failure("nothing was written");
    return write_all(im, &c);
}
