/* SPDX-License-Identifier: GPL-2.0-or-later */
/* install: registers this server with MCP clients on this machine, or removes it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/file.h"
#include "cli/install/products.h"
#include "cli/plugin/plugin.h"
#include "config/toolset_path.h"
#include "server/options/database.h"
#include "store/db.h"

#define DEFAULT_NAME "causeway"
#define BACKUP_SUFFIX ".causeway-backup"
#define MADE_SUFFIX ".causeway-made"
#define NAME_MAX_BYTES 64u
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
#define MAX_ARGS 16u
#define MAX_VARIABLES 64u
#define MASK "********"
#define BUSY_MS 2000u
#define CONTEXT_LINES 2u
#define ACCOUNT_MAX_BYTES 65536u
#define SIDE_FILE_BYTES (CW_PRODUCT_PATH_BYTES + sizeof BACKUP_SUFFIX + NAME_MAX_BYTES + 1)

/* The command line. */
typedef struct order {
    const char *name, *config, *plugin, *account, *token_file, *tool_names, *toolset, *url,
        *token_env;
    bool is_all, is_print, is_dry, is_sure, is_undo, copies_env;
    cw_config *loaded; /* the configuration; or NULL */
    /* Variables that it reads, with their values where these are copied. */
    cw_product_variable variables[MAX_VARIABLES];
    size_t n_variables;
} order;

/* The change of one file. */
typedef struct job {
    const order *order;
    const cw_product *product;
    cw_install_place at;
    char path[CW_PRODUCT_PATH_BYTES];
    char backup[SIDE_FILE_BYTES]; /* the file before the entry was added */
    char made[SIDE_FILE_BYTES];   /* exists if `install` made the file */
    cw_arena arena;
    cw_buf old_text, new_text, kept; /* kept: the backup */
    bool has_file, has_backup, is_made;
    bool has_entry;
    bool removes_file;
} job;

/* ---- files of other programs ---- */

/* All of a file; *ret_exists is false without one. */
static cw_code load_file(const char *path, cw_buf *out, bool *ret_exists, cw_err *err)
{
    struct stat st;
    *ret_exists = stat(path, &st) == 0;
    if (!*ret_exists && errno != ENOENT)
        return cw_fail_errno(err, errno, "'%s'", path);
    return *ret_exists ? cw_file_read(path, CW_FILE_PLAIN, out, err) : CW_OK;
}

/* Make the directories of a file. */
static cw_code make_folders(const char *path, cw_err *err)
{
    char folder[CW_PRODUCT_PATH_BYTES];
    int n = snprintf(folder, sizeof folder, "%s", path);
    if (n < 0 || (size_t)n >= sizeof folder)
        return cw_fail(err, CW_LIMIT, "the path is too long");
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0700) != 0 && errno != EEXIST)
            return cw_fail_errno(err, errno, "'%s'", folder);
        *slash = '/';
    }
    return CW_OK;
}

static bool write_all(int fd, cw_str text)
{
    while (text.n) {
        ssize_t n = write(fd, text.p, text.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        text.p += n;
        text.n -= (size_t)n;
    }
    return fsync(fd) == 0;
}

/* As the file was; a new one may hold secrets later and is its owner's alone. */
static void take_over(int fd, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return;
    (void)!fchown(fd, st.st_uid, st.st_gid); /* root's business; others keep what they own */
    (void)!fchmod(fd, st.st_mode & 07777);
}

static cw_code replace(const char *path, cw_str text, cw_err *err)
{
    char half[CW_PRODUCT_PATH_BYTES];
    int n = snprintf(half, sizeof half, "%s.causeway-XXXXXX", path);
    if (n < 0 || (size_t)n >= sizeof half)
        return cw_fail(err, CW_LIMIT, "the path is too long");
    int fd = mkostemp(half, O_CLOEXEC);
    if (fd < 0)
        return cw_fail_errno(err, errno, "'%s'", half);
    take_over(fd, path);
    bool is_written = write_all(fd, text);
    is_written = close(fd) == 0 && is_written;
    if (is_written && rename(half, path) == 0)
        return CW_OK;
    cw_code rc = cw_fail_errno(err, errno, "'%s'", path);
    unlink(half);
    return rc;
}

/* Replace a file as a whole, or make it; mode and owner stay. Links are followed. */
static cw_code write_file(const char *path, cw_str text, cw_err *err)
{
    char *real = realpath(path, NULL);
    cw_code rc = replace(real ? real : path, text, err);
    free(real);
    return rc;
}

/* ---- the change of a file, as it is shown ---- */

static cw_str line_at(cw_str text, size_t at)
{
    const char *end = memchr(text.p + at, '\n', text.n - at);
    return cw_str_make(text.p + at, end ? (size_t)(end - text.p) + 1 - at : text.n - at);
}

static void add_lines(cw_buf *out, cw_str text, char mark)
{
    for (size_t at = 0; at < text.n;) {
        cw_str line = line_at(text, at);
        cw_buf_add_char(out, mark);
        cw_buf_add(out, line);
        if (line.p[line.n - 1] != '\n')
            cw_buf_add_char(out, '\n');
        at += line.n;
    }
}

/* Bytes of whole lines that both texts begin with. */
static size_t same_begin(cw_str a, cw_str b)
{
    size_t at = 0;
    while (at < a.n && at < b.n) {
        cw_str x = line_at(a, at), y = line_at(b, at);
        if (!cw_str_eq(x, y))
            break;
        at += x.n;
    }
    return at;
}

static size_t same_end(cw_str a, cw_str b)
{
    size_t n = 0;
    while (n < a.n && n < b.n && a.p[a.n - 1 - n] == b.p[b.n - 1 - n])
        n++;
    /* Up to the begin of a line of both. */
    while (n && ((n < a.n && a.p[a.n - n - 1] != '\n') || (n < b.n && b.p[b.n - n - 1] != '\n')))
        n--;
    return n;
}

static size_t lines_back(cw_str text, size_t at)
{
    for (unsigned lines = 0; at > 0; at--) {
        if (text.p[at - 1] == '\n' && lines++ == CONTEXT_LINES)
            break;
    }
    return at;
}

static size_t lines_on(cw_str text, size_t at)
{
    for (unsigned lines = 0; at < text.n && lines < CONTEXT_LINES; lines++)
        at += line_at(text, at).n;
    return at;
}

/* Append the lines that differ, with a few around them, as in a diff. */
static void add_diff(cw_buf *out, cw_str old_text, cw_str new_text)
{
    size_t begin = same_begin(old_text, new_text);
    cw_str a = cw_str_make(old_text.p + begin, old_text.n - begin);
    cw_str b = cw_str_make(new_text.p + begin, new_text.n - begin);
    size_t end = same_end(a, b);
    size_t from = lines_back(old_text, begin), behind = old_text.n - end;
    add_lines(out, cw_str_make(old_text.p + from, begin - from), ' ');
    add_lines(out, cw_str_make(a.p, a.n - end), '-');
    add_lines(out, cw_str_make(b.p, b.n - end), '+');
    add_lines(out, cw_str_make(old_text.p + behind, lines_on(old_text, behind) - behind), ' ');
}

/* ---- the entry ---- */

typedef struct arguments {
    const char *items[MAX_ARGS];
    size_t n;
} arguments;

/* Add an option with a file, as an absolute path. */
static cw_code add_file(job *j, arguments *args, const char *option, const char *path, cw_err *err)
{
    if (!path)
        return CW_OK;
    char *real = realpath(path, NULL);
    if (!real)
        return cw_fail_errno(err, errno, "'%s'", path);
    const char *copy = cw_arena_dup(&j->arena, real, strlen(real));
    free(real);
    if (!copy)
        return cw_arena_fail(&j->arena, err);
    args->items[args->n++] = option;
    args->items[args->n++] = copy;
    return CW_OK;
}

/* The arguments of `causeway stdio`. */
static cw_code make_arguments(job *j, arguments *args, cw_err *err)
{
    const order *o = j->order;
    args->items[args->n++] = "stdio";
    cw_code rc = add_file(j, args, "--config", o->config, err);
    if (!rc)
        rc = add_file(j, args, "--plugin", o->plugin, err);
    if (o->account) {
        args->items[args->n++] = "--as";
        args->items[args->n++] = o->account;
    }
    if (o->tool_names) {
        args->items[args->n++] = "--tool-names";
        args->items[args->n++] = o->tool_names;
    }
    if (o->toolset) {
        args->items[args->n++] = "--toolset";
        args->items[args->n++] = o->toolset;
    }
    return rc ? rc : add_file(j, args, "--token-file", o->token_file, err);
}

static cw_code make_entry(job *j, const cw_json **ret, cw_err *err)
{
    char program[CW_PRODUCT_PATH_BYTES];
    arguments args = {0};
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n < 0)
        return cw_fail_errno(err, errno, "/proc/self/exe");
    program[n] = '\0';
    const char *url = j->order->url;
    cw_code rc = url ? CW_OK : make_arguments(j, &args, err);
    if (!rc && url && j->order->toolset) {
        size_t length = strlen(url);
        url = cw_arena_printf(&j->arena, "%.*s" CW_CONFIG_TOOLSET_PATH "%s",
                              (int)(length - (url[length - 1] == '/')), url, j->order->toolset);
        rc = url ? CW_OK : cw_arena_fail(&j->arena, err);
    }
    if (rc)
        return rc;
    bool has_env = !j->product->copies_env || j->order->copies_env;
    const cw_product_entry entry = {.name = j->order->name,
                                    .command = program,
                                    .url = url,
                                    .token = j->order->token_env,
                                    .args = args.items,
                                    .variables = j->order->variables,
                                    .n_variables = has_env ? j->order->n_variables : 0};
    return cw_product_make_entry(j->product, &entry, &j->arena, ret, err);
}

/* ---- the new text ---- */

/* The content of a file that has none. */
static cw_str head_of(const job *j)
{
    return cw_str_from(j->product->head);
}

static cw_code add_entry(job *j, cw_str text, cw_err *err)
{
    const cw_json *value = NULL;
    cw_code rc = make_entry(j, &value, err);
    if (rc)
        return rc;
    return cw_install_put(j->product->format, cw_install_is_blank(text) ? head_of(j) : text, &j->at,
                          value, &j->arena, &j->new_text, err);
}

/* Whether the file is still this text with our entry. */
static bool is_from(job *j, cw_str base)
{
    if (cw_install_is_blank(base))
        base = head_of(j);
    return cw_install_is_from(j->product->format, cw_buf_str(&j->old_text), base, &j->at,
                              &j->arena);
}

/* Restore the entry of the backup, or remove ours. Later changes of the rest are kept. */
static cw_code revert_entry(job *j, cw_err *err)
{
    cw_install_found before = {0};
    const cw_install_format *format = j->product->format;
    cw_str text = cw_buf_str(&j->old_text);
    cw_code rc = CW_OK;
    if (j->has_backup)
        rc = format->find(cw_buf_str(&j->kept), &j->at, &j->arena, NULL, &before, err);
    if (rc)
        return cw_wrap(err, rc, "'%s'", j->backup);
    if (before.entry.p)
        return cw_install_restore(format, text, &j->at, before.entry, &j->arena, &j->new_text, err);
    bool is_ours = (j->has_backup || j->is_made) && !before.has_section;
    return cw_install_remove(format, text, &j->at, is_ours, &j->arena, &j->new_text, err);
}

/* An unchanged file becomes the backup, byte for byte. */
static cw_code revert(job *j, cw_err *err)
{
    if (j->has_backup && is_from(j, cw_buf_str(&j->kept)))
        cw_buf_add(&j->new_text, cw_buf_str(&j->kept));
    else if (j->is_made && is_from(j, head_of(j)))
        j->removes_file = true;
    else
        return revert_entry(j, err);
    return j->new_text.code ? cw_fail_nomem(err) : CW_OK;
}

static bool exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

static cw_code load(job *j, cw_err *err)
{
    bool is_default = strcmp(j->order->name, DEFAULT_NAME) == 0;
    cw_code rc = cw_product_path(j->product, j->path, err);
    if (rc)
        return rc;
    snprintf(j->backup, sizeof j->backup, "%s" BACKUP_SUFFIX "%s%s", j->path, is_default ? "" : "-",
             is_default ? "" : j->order->name);
    snprintf(j->made, sizeof j->made, "%s" MADE_SUFFIX, j->path);
    rc = load_file(j->path, &j->old_text, &j->has_file, err);
    if (!rc)
        rc = load_file(j->backup, &j->kept, &j->has_backup, err);
    j->is_made = j->has_file && exists(j->made);
    return rc;
}

static cw_code prepare(job *j, cw_err *err)
{
    cw_install_found found = {0};
    cw_code rc = load(j, err);
    if (rc)
        return rc;
    cw_str text = cw_buf_str(&j->old_text);
    rc = text.n > CW_INSTALL_MAX_BYTES
             ? cw_fail(err, CW_PARAMS, "it is larger than %zu bytes", CW_INSTALL_MAX_BYTES)
             : j->product->format->find(text, &j->at, &j->arena, NULL, &found, err);
    j->has_entry = found.entry.p;
    if (!rc && !j->order->is_undo)
        rc = add_entry(j, text, err);
    else if (!rc && j->has_entry)
        rc = revert(j, err);
    return rc == CW_PARSE || rc == CW_PARAMS || rc == CW_LIMIT
               ? cw_wrap(err, rc, "'%s' is left unchanged", j->path)
               : rc;
}

/* ---- confirmation and writing ---- */

/* Values of variables in the entry, as JSON without quotes: they are not shown. */
typedef struct masked {
    cw_str name;
    cw_str values[MAX_VARIABLES];
    size_t n;
} masked;

static void on_member(void *ctx, cw_str entry, const cw_str *path, size_t n, const cw_json *value)
{
    masked *m = ctx;
    if (!cw_str_eq(entry, m->name) || n != 1 || !cw_str_is(path[0], "env") ||
        !cw_json_is(value, CW_JSON_OBJECT))
        return;
    for (const cw_json *k = cw_json_first(value); k; k = cw_json_next_key(k)) {
        cw_str text = cw_json_span(cw_json_value(k));
        if (m->n < MAX_VARIABLES && text.n > 2 && text.p[0] == '"')
            m->values[m->n++] = cw_str_make(text.p + 1, text.n - 2);
    }
}

/* Append a text with the mask in place of the values. */
static void add_masked(cw_buf *out, cw_str text, const masked *m)
{
    for (size_t at = 0; at < text.n;) {
        size_t i = 0;
        cw_str rest = cw_str_make(text.p + at, text.n - at);
        while (i < m->n && !cw_str_starts(rest, m->values[i]))
            i++;
        if (i < m->n)
            cw_buf_add(out, CW_STR(MASK));
        else
            cw_buf_add_char(out, text.p[at]);
        at += i < m->n ? m->values[i].n : 1;
    }
}

static void add_shown_diff(job *j, cw_buf *out)
{
    const cw_install_format *format = j->product->format;
    cw_str old_text = cw_buf_str(&j->old_text), new_text = cw_buf_str(&j->new_text);
    masked m = {.name = cw_str_from(j->order->name)};
    cw_buf text;
    if (!j->product->copies_env || !format->each) {
        add_diff(out, old_text, new_text);
        return;
    }
    if (old_text.n)
        (void)!format->each(old_text, j->product->section, &j->arena, on_member, &m, NULL);
    if (new_text.n)
        (void)!format->each(new_text, j->product->section, &j->arena, on_member, &m, NULL);
    cw_buf_init(&text, 2 * CW_INSTALL_MAX_BYTES);
    add_diff(&text, old_text, new_text);
    add_masked(out, cw_buf_str(&text), &m);
    if (text.code)
        out->code = text.code;
    cw_buf_done(&text);
}

static int show(job *j)
{
    cw_buf text;
    cw_buf_init(&text, 2 * CW_INSTALL_MAX_BYTES);
    cw_buf_printf(&text, "%s%s%s%s\n", cw_cli_escape(STDOUT_FILENO, CW_CLI_BOLD), j->path,
                  cw_cli_escape(STDOUT_FILENO, CW_CLI_PLAIN),
                  j->removes_file ? " (removed)" : (j->has_file ? "" : " (new)"));
    add_shown_diff(j, &text);
    return cw_cli_print_buf(&text);
}

static bool confirm(void)
{
    char answer[16] = "";
    fputs("Write this change? [y/N] ", stderr);
    return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

/* The client may have written its file while the change was being confirmed. */
static cw_code check_unchanged(const job *j, cw_err *err)
{
    cw_buf now;
    bool exists_now = false;
    cw_buf_init(&now, CW_INSTALL_MAX_BYTES);
    cw_code rc = load_file(j->path, &now, &exists_now, err);
    if (!rc &&
        (exists_now != j->has_file || !cw_str_eq(cw_buf_str(&now), cw_buf_str(&j->old_text))))
        rc = cw_fail(err, CW_PARAMS, "'%s' has changed meanwhile: run the command again", j->path);
    cw_buf_done(&now);
    return rc;
}

static cw_code write_entry(const job *j, cw_err *err)
{
    cw_code rc = make_folders(j->path, err);
    /* An entry of ours must not become the earlier one that --undo restores. */
    bool is_ours = j->has_entry && (j->has_backup || j->is_made);
    if (!rc && j->has_file && !is_ours)
        rc = write_file(j->backup, cw_buf_str(&j->old_text), err);
    else if (!rc && !j->has_file)
        rc = write_file(j->made, CW_STR(""), err);
    if (rc)
        return rc;
    rc = write_file(j->path, cw_buf_str(&j->new_text), err);
    if (rc && !j->has_file)
        unlink(j->made);
    return rc;
}

static cw_code write_reverted(const job *j, cw_err *err)
{
    cw_code rc = CW_OK;
    if (!j->removes_file)
        rc = write_file(j->path, cw_buf_str(&j->new_text), err);
    else if (unlink(j->path) != 0)
        rc = cw_fail_errno(err, errno, "'%s'", j->path);
    if (rc)
        return rc;
    if (j->has_backup)
        unlink(j->backup);
    if (j->is_made)
        unlink(j->made); /* a file that stays has content of others */
    return CW_OK;
}

static int report(const job *j, const char *what)
{
    cw_buf text;
    cw_buf_init(&text, 2 * SIDE_FILE_BYTES);
    cw_buf_printf(&text, "%s: %s", j->product->title, what);
    return cw_cli_print_buf(&text);
}

static int report_written(const job *j)
{
    cw_buf text;
    bool has_backup = !j->order->is_undo && exists(j->backup);
    cw_buf_init(&text, 2 * SIDE_FILE_BYTES);
    cw_buf_printf(&text, "%s: entry %s. Restart %s to use the change.%s%s\n", j->product->title,
                  j->order->is_undo ? "removed" : "written", j->product->title,
                  has_backup ? " Backup: " : "", has_backup ? j->backup : "");
    return cw_cli_print_buf(&text);
}

static int finish(job *j)
{
    const order *o = j->order;
    cw_err err = {0};
    if (cw_str_eq(cw_buf_str(&j->old_text), cw_buf_str(&j->new_text)) && !j->removes_file)
        return report(j, "no change is needed.\n");
    int code = show(j);
    if (code != CW_EXIT_OK || o->is_dry)
        return code;
    if (!o->is_sure && !confirm())
        return cw_cli_failure("nothing was changed");
    cw_code rc = check_unchanged(j, &err);
    if (!rc)
        rc = o->is_undo ? write_reverted(j, &err) : write_entry(j, &err);
    return rc ? cw_cli_failure("%s", err.msg) : report_written(j);
}

/* ---- one product ---- */

/* Print the entry in a file of its own. */
static int print(job *j)
{
    cw_err err = {0};
    if (add_entry(j, CW_STR(""), &err))
        return cw_cli_failure("%s", err.msg);
    return cw_cli_print(cw_buf_str(&j->new_text));
}

/* A file that is not edited: print the entry, so that it can be added by hand. */
static int print_instead(job *j, const cw_err *problem)
{
    int code = cw_cli_failure("%s", problem->msg);
    if (problem->code == CW_NOMEM || j->order->is_undo)
        return code;
    cw_buf_clear(&j->new_text);
    (void)cw_cli_print(CW_STR("The entry, for a file that you edit yourself:\n"));
    (void)print(j);
    return code;
}

static int change(job *j)
{
    cw_err err = {0};
    if (prepare(j, &err))
        return print_instead(j, &err);
    if (!j->order->is_undo || j->has_entry)
        return finish(j);
    if (j->order->is_all)
        return report(j, "no entry.\n");
    return cw_cli_failure("'%s' has no entry \"%s\"", j->path, j->order->name);
}

/* A client starts this server with an environment of its own, not with that of the terminal. */
static void warn_of_variables(const order *o, const cw_product *p)
{
    for (size_t i = 0; i < o->n_variables; i++) {
        const char *name = o->variables[i].name;
        if (p->copies_env && o->copies_env)
            continue;
        if (p->copies_env)
            fprintf(
                stderr,
                "warning: the configuration reads the variable %s: give --copy-env to write its "
                "value into the entry, or keep the secret in a file\n",
                name);
        else
            fprintf(stderr,
                    "warning: the configuration reads the variable %s: the client must have it in "
                    "its environment (the entry refers to it), or the secret must be in a file\n",
                    name);
    }
}

static int run(const order *o, const cw_product *p)
{
    warn_of_variables(o, p);
    job j = {.order = o, .product = p};
    j.at = (cw_install_place){.section = p->section, .name = o->name, .is_list = p->is_list};
    cw_arena_init(&j.arena, 64 * CW_INSTALL_MAX_BYTES);
    cw_buf_init(&j.old_text, CW_INSTALL_MAX_BYTES);
    cw_buf_init(&j.new_text, 2 * CW_INSTALL_MAX_BYTES);
    cw_buf_init(&j.kept, CW_INSTALL_MAX_BYTES);
    int code = o->is_print ? print(&j) : change(&j);
    cw_buf_done(&j.old_text);
    cw_buf_done(&j.new_text);
    cw_buf_done(&j.kept);
    cw_arena_done(&j.arena);
    return code;
}

/* ---- all products ---- */

/* The reason why a product cannot have such an entry, or NULL. */
static const char *find_obstacle(const order *o, const cw_product *p)
{
    if (o->is_undo)
        return NULL;
    if (o->url && !p->address)
        return "starts its servers itself and cannot use --url";
    if (o->token_env && !p->token)
        return "reads no token from the environment and cannot use --token-env";
    return NULL;
}

static int run_all(const order *o)
{
    cw_buf absent;
    int worst = CW_EXIT_OK, n = 0;
    cw_buf_init(&absent, CW_INSTALL_MAX_BYTES);
    for (const cw_product *p = cw_products; p->name; p++) {
        const char *obstacle = find_obstacle(o, p);
        if (!cw_product_is_there(p)) {
            cw_buf_printf(&absent, "%s%s", absent.n ? ", " : "Not found: ", p->title);
            continue;
        }
        n++;
        int code = CW_EXIT_OK;
        if (obstacle)
            printf("%s %s.\n", p->title, obstacle);
        else
            code = run(o, p);
        worst = code > worst ? code : worst;
    }
    if (absent.n)
        cw_buf_add_char(&absent, '\n');
    int code = cw_cli_print_buf(&absent);
    if (n == 0)
        return cw_cli_failure("no client was found");
    return code > worst ? code : worst;
}

/* ---- the command ---- */

/* `unknown` is NULL where the command line names none, or one too many. */
static int fail_client(const char *unknown)
{
    cw_buf names;
    cw_buf_init(&names, CW_INSTALL_MAX_BYTES);
    for (const cw_product *p = cw_products; p->name; p++)
        cw_buf_printf(&names, "%s%s", names.n ? ", " : "", p->name);
    int code = unknown ? cw_cli_usage("unknown client '%s'; name one client, or give --all: %.*s",
                                      unknown, CW_STR_ARG(cw_buf_str(&names)))
                       : cw_cli_usage("name one client, or give --all: %.*s",
                                      CW_STR_ARG(cw_buf_str(&names)));
    cw_buf_done(&names);
    return code;
}

static int check_caller(const order *o)
{
    if (o->url && (o->config || o->plugin || o->account || o->token_file || o->tool_names))
        return cw_cli_usage("--url is the address of a running server: leave out --config, "
                            "--plugin, --as, --token-file and --tool-names");
    if (o->tool_names && strcmp(o->tool_names, "portable") != 0 &&
        strcmp(o->tool_names, "exact") != 0)
        return cw_cli_usage("--tool-names is portable or exact, not %s", o->tool_names);
    if (o->url && strncmp(o->url, "http://", 7) != 0 && strncmp(o->url, "https://", 8) != 0)
        return cw_cli_usage("not an http:// or https:// address: %s", o->url);
    if (o->token_env && !o->url)
        return cw_cli_usage("--token-env needs --url");
    if (o->copies_env && (o->url || o->plugin))
        return cw_cli_usage("--copy-env needs a configuration: leave out --url and --plugin");
    if (o->token_env && (cw_is_digit(o->token_env[0]) || !o->token_env[0] ||
                         strspn(o->token_env, NAME_CHARACTERS) != strlen(o->token_env) ||
                         strchr(o->token_env, '-')))
        return cw_cli_usage("not the name of an environment variable: %s", o->token_env);
    if (o->plugin && (o->config || o->account || o->token_file || o->toolset))
        return cw_cli_usage("--plugin needs no --config, --as, --token-file and --toolset");
    cw_str name;
    bool is_read_only;
    if (o->toolset && !cw_config_toolset_path_split(cw_str_from(o->toolset), &name, &is_read_only))
        return cw_cli_usage("a toolset is NAME or NAME/readonly, not %s", o->toolset);
    if (o->account && o->token_file)
        return cw_cli_usage("--as and --token-file both select the caller: give one of them");
    return -1;
}

/* Returns -1, or the exit code. */
static int check(const order *o, const cw_product *p, const cw_cli_args *args)
{
    if (o->is_all ? args->n != 0 : !p)
        return fail_client(args->n && !p ? args->items[0] : NULL);
    int code = check_caller(o);
    if (code >= 0)
        return code;
    const char *obstacle = o->is_all ? NULL : find_obstacle(o, p);
    if (obstacle)
        return cw_cli_usage("%s %s", p->title, obstacle);
    if (o->is_print && (o->is_all || o->is_undo || o->is_sure || o->is_dry))
        return cw_cli_usage("--print excludes --all, --undo, --yes and --dry-run");
    if (o->is_dry && o->is_sure)
        return cw_cli_usage("--dry-run and --yes exclude each other");
    size_t n = strlen(o->name);
    if (n == 0 || n > NAME_MAX_BYTES || strspn(o->name, NAME_CHARACTERS) != n)
        return cw_cli_usage("a name has 1 to %u letters, digits, '-' and '_'", NAME_MAX_BYTES);
    if (!o->is_print && !o->is_dry && !o->is_sure && !isatty(STDIN_FILENO))
        return cw_cli_usage("standard input is not a terminal: give --yes or --dry-run");
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

static bool is_listed(const order *o, const char *name)
{
    for (size_t i = 0; i < o->n_variables; i++) {
        if (strcmp(o->variables[i].name, name) == 0)
            return true;
    }
    return false;
}

/* List the variables. Returns -1, or the exit code. */
static int find_variables(order *o, const cw_config *config)
{
    const char *name;
    for (size_t i = 0; (name = variable_at(config, i)); i++) {
        if (!name[0] || is_listed(o, name))
            continue;
        const char *value = o->copies_env ? getenv(name) : NULL;
        if (o->copies_env && !value)
            return cw_cli_usage("--copy-env: the variable %s is not set", name);
        if (o->n_variables == MAX_VARIABLES)
            return cw_cli_usage("the configuration reads more than %u variables", MAX_VARIABLES);
        o->variables[o->n_variables++] = (cw_product_variable){name, value};
    }
    return -1;
}

/* Returns -1, or the exit code. */
static int check_account(const order *o, const cw_config *config)
{
    cw_err err = {0};
    cw_db *db = NULL;
    cw_account *account = NULL;
    cw_db_opts opts = cw_database_opts(config, BUSY_MS);
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_arena_init(&arena, ACCOUNT_MAX_BYTES);
    cw_code rc = cw_db_open(&opts, &db, &err);
    if (!rc)
        rc = cw_db_find_account(db, cw_str_from(o->account), &arena, &account, &err);
    if (!rc && !account)
        rc = cw_fail(&err, CW_NOTFOUND,
                     "account '%s' does not exist: add it with causeway account add", o->account);
    else if (!rc && account->is_blocked)
        rc = cw_fail(&err, CW_NOTFOUND, "the account '%s' is blocked", o->account);
    cw_db_close(db);
    return rc ? cw_cli_failure("%s", err.msg) : -1;
}

/* Reject options that stdio would reject, before anything is written. Returns -1, or the exit code.
 */
static int check_config(order *o)
{
    cw_config *config = NULL;
    if (o->url || o->plugin || o->is_undo)
        return -1;
    int code = o->config ? cw_cli_load_checked(o->config, &config) : -1;
    if (code >= 0)
        return code;
    bool has_store = config && cw_config_store(config).n > 0;
    if (o->account && !has_store)
        code = cw_cli_usage("--as needs a database: set store.path in the configuration");
    else if (o->token_file && !has_store && !(config && config->access.issuers.n))
        code = cw_cli_usage("a token cannot be checked: set store.path or access.issuers in the "
                            "configuration");
    else if (o->account)
        code = check_account(o, config);
    if (code < 0 && o->toolset)
        code = cw_cli_check_toolset(config, o->toolset);
    if (code < 0 && config)
        code = find_variables(o, config);
    o->loaded = config;
    return code;
}

int cw_cli_install(int argc, char **argv)
{
    order o = {.name = DEFAULT_NAME};
    const char *name = NULL;
    const cw_cli_option options[] = {
        {"all", 0, CW_CLI_FLAG, &o.is_all, NULL, "configure every client found on this machine"},
        {"name", 0, CW_CLI_TEXT, &name, "NAME", "name of the entry; default: \"causeway\""},
        CW_CLI_CONFIG_OPTION(&o.config),
        {"plugin", 'p', CW_CLI_TEXT, &o.plugin, "FILE.so", "serve only this plugin"},
        {"as", 0, CW_CLI_TEXT, &o.account, "ACCOUNT", "act as this account of the database"},
        {"token-file", 0, CW_CLI_TEXT, &o.token_file, "FILE",
         "act as the owner of the token in FILE, with its\n"
         "scopes"},
        CW_CLI_TOOL_NAMES_OPTION(&o.tool_names),
        CW_CLI_TOOLSET_OPTION(&o.toolset),
        {"url", 0, CW_CLI_TEXT, &o.url, "URL", "use a running server instead of starting one"},
        {"token-env", 0, CW_CLI_TEXT, &o.token_env, "VARIABLE",
         "send the token in this environment variable of the\n"
         "client; needs --url"},
        {"copy-env", 0, CW_CLI_FLAG, &o.copies_env, NULL,
         "write the values of variables that the configuration\n"
         "reads into the entry, for clients that cannot refer\n"
         "to variables: claude-desktop, lm-studio, zed"},
        {"print", 0, CW_CLI_FLAG, &o.is_print, NULL,
         "print the entry; read and write no file. Without\n"
         "CLIENT: in the form that most clients read"},
        {"dry-run", 'n', CW_CLI_FLAG, &o.is_dry, NULL, "print the change without writing it"},
        {"yes", 'y', CW_CLI_FLAG, &o.is_sure, NULL, "write without confirmation"},
        {"undo", 0, CW_CLI_FLAG, &o.is_undo, NULL, "remove the entry"},
        {0},
    };
    const cw_cli_spec spec = {
        "install", "CLIENT | --all",
        "Add this server to the configuration file of an MCP client: claude-code,\n"
        "claude-desktop, codex, continue, cursor, gemini, goose, lm-studio, opencode,\n"
        "qwen, vscode, windsurf or zed. The change is printed first. Other entries,\n"
        "comments and their order are kept, and the old file is saved as a backup.",
        options, 1};
    cw_cli_args args;
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    if (name)
        o.name = name;
    const cw_product *p = args.n ? cw_product_find(args.items[0]) : NULL;
    if (!args.n && o.is_print && !o.is_all)
        p = &cw_product_other;
    if (!o.url && !o.plugin)
        o.config = cw_cli_config_path(o.config);
    code = check(&o, p, &args);
    if (code < 0)
        code = check_config(&o);
    if (code < 0)
        code = p ? run(&o, p) : run_all(&o);
    cw_config_unref(o.loaded);
    return code;
}
