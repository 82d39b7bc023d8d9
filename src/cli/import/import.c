/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import: find out what a service offers, and write an overlay with all of it and nothing exposed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file_replace.h"
#include "cli/import/import.h"
#include "cli/lib/cli.h"
#include "cli/lib/table.h"
#include "config/syntax/names.h"
#include "config/syntax/quote.h"

#define ARENA_MAX ((size_t)1 << 30)
#define NAME_MAX_BYTES 64u

/* ---- names ---- */

/* Letters, digits and dashes of a text, as the name of a source; empty where there are none, .p is
 * NULL without memory. */
static cw_str slug(cw_import *im, cw_str text)
{
    char *out = cw_arena_alloc(&im->arena, NAME_MAX_BYTES + 1);
    size_t n = 0;
    for (size_t i = 0; i < text.n && n < NAME_MAX_BYTES && out; i++) {
        char c = text.p[i];
        if (c >= 'A' && c <= 'Z')
            c = (char)(c | 0x20);
        bool is_good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (is_good)
            out[n++] = c;
        else if (n && out[n - 1] != '-')
            out[n++] = '-';
    }
    while (n && out[n - 1] == '-')
        n--;
    if (!out)
        return (cw_str){NULL, 0};
    out[n] = 0;
    return cw_str_make(out, n);
}

static cw_str base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    cw_str rest, base = cw_str_from(slash ? slash + 1 : path);
    return cw_str_cut(base, '.', &rest);
}

/* "host:80" of "http://host:80/path", the whole of what has no host. */
static cw_str host_of(cw_str url)
{
    cw_str rest;
    const char *p = memmem(url.p, url.n, "://", 3);
    if (!p)
        return url;
    cw_str after = cw_str_make(p + 3, url.n - (size_t)(p + 3 - url.p));
    return cw_str_cut(after, '/', &rest);
}

cw_str cw_import_own_name(const cw_import *im)
{
    if (im->name)
        return cw_str_from(im->name);
    if (im->command.n) {
        const char *path = im->command.items[0].p, *slash = strrchr(path, '/');
        return cw_str_from(slash ? slash + 1 : path);
    }
    return im->is_file ? cw_str_from(im->target) : host_of(im->config.url);
}

static cw_code choose_name(cw_import *im)
{
    cw_str name = im->name ? cw_str_from(im->name) : im->config.preset;
    if (name.n == 0 && im->is_file)
        name = slug(im, base_name(im->target));
    if (name.n == 0 && im->command.n)
        name = slug(im, base_name(im->command.items[0].p));
    if (!name.p)
        return CW_NOMEM;
    im->config.name = name.n ? name : CW_STR("service");
    return CW_OK;
}

cw_str cw_import_absolute(cw_import *im, const char *path)
{
    if (path[0] == '/')
        return cw_arena_dup_str(&im->arena, cw_str_from(path));
    char *folder = getcwd(NULL, 0);
    char *whole = folder ? cw_arena_printf(&im->arena, "%s/%s", folder, path) : NULL;
    free(folder);
    return whole ? cw_str_from(whole) : (cw_str){NULL, 0};
}

/* The absolute path of the overlay, so that any configuration can name it. */
static cw_code choose_output(cw_import *im, cw_err *err)
{
    const char *path = im->output;
    if (!path)
        path = cw_arena_printf(&im->arena, "%s.overlay.yaml", im->config.name.p);
    if (!path)
        return cw_arena_fail(&im->arena, err);
    errno = ENOMEM; /* unless it is the folder */
    im->overlay = cw_import_absolute(im, path);
    return im->overlay.p ? CW_OK : cw_fail_errno(err, errno, "the current folder");
}

static int check_output(const cw_import *im, const char *path)
{
    char exposed[CW_EXCERPT_SIZE];
    if (im->force || access(path, F_OK) != 0)
        return -1;
    return cw_cli_failure("%s is there already; --force replaces it",
                          cw_excerpt(cw_str_from(path), exposed));
}

/* ---- what was found ---- */

static int write_overlay(cw_import *im)
{
    cw_err err = {0};
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_CLI_OUTPUT_MAX);
    cw_code rc = choose_output(im, &err);
    if (rc)
        return cw_cli_failure("%s", err.msg);
    int code = check_output(im, im->overlay.p);
    if (code >= 0)
        return code;
    cw_import_write_overlay(im, &text);
    rc = text.code
             ? cw_fail(&err, text.code, "%s", cw_code_text(text.code))
             : cw_file_replace(im->overlay.p, cw_buf_str(&text), 0644, CW_FILE_REPLACE_SYNC, &err);
    return rc ? cw_cli_failure("%s", err.msg) : -1;
}

static void print_warnings(const cw_import *im)
{
    for (cw_str rest = im->warnings; rest.p && im->warnings.n;) {
        CW_CLEANUP(cw_buf_done) cw_buf line;
        cw_buf_init(&line, CW_CLI_OUTPUT_MAX);
        cw_quote_shown(&line, cw_str_cut(rest, '\n', &rest));
        if (line.code)
            cw_cli_failure("a warning is not shown: %s", cw_code_text(line.code));
        else if (line.n)
            fprintf(stderr, "warning: %.*s\n", (int)line.n, line.p);
    }
}

static int print_found(const cw_import *im)
{
    cw_buf out;
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    print_warnings(im);
    if (im->json) {
        cw_import_write_json(im, &out);
        return cw_cli_print_buf(&out);
    }
    cw_import_write_table(im, &out);
    cw_buf_printf(&out, "\n%zu methods, found by %s; wrote ", im->n, im->describer);
    cw_cli_add_text(&out, im->overlay);
    cw_buf_add(&out, CW_STR(": say there which are tools.\n"
                            "For the configuration, with everybody allowed to use them:\n\n"));
    cw_import_write_roles(&out);
    cw_import_write_entry(im, &out);
    return cw_cli_print_buf(&out);
}

static int import(cw_import *im)
{
    /* Better now than when everything was asked. */
    int code = im->output ? check_output(im, im->output) : -1;
    if (code < 0)
        code = cw_import_try(im);
    if (code >= 0)
        return code;
    if (choose_name(im))
        return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
    code = write_overlay(im);
    return code >= 0 ? code : print_found(im);
}

/* ---- the command ---- */

/* The words after --exec are the program and its arguments, even if they look like options. Returns
 * the number of words before them. */
static int cut_command(int argc, char **argv, char ***ret, size_t *ret_n)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0)
            break;
        if (strcmp(argv[i], "--exec") != 0)
            continue;
        int from = i + 1 < argc && strcmp(argv[i + 1], "--") == 0 ? i + 2 : i + 1;
        *ret = argv + from;
        *ret_n = (size_t)(argc - from);
        return i + 1;
    }
    return argc;
}

static int check_words(const cw_import *im, const cw_cli_args *args, bool has_exec, size_t n_exec)
{
    char exposed[CW_EXCERPT_SIZE];
    if (has_exec && (n_exec == 0 || args->n))
        return cw_cli_usage(n_exec ? "name a URL, a file or --exec PROGRAM, one of them"
                                   : "--exec needs a program");
    if (!has_exec && args->n == 0)
        return cw_cli_usage("say what to import: a URL, a file or --exec PROGRAM");
    if (im->secret_env && im->secret_file)
        return cw_cli_usage("one of --secret-env and --secret-file is enough");
    if (im->name && !cw_names_is_source(cw_str_from(im->name)))
        return cw_cli_usage("not the name of a source: %s; it has 1 to 64 of a-z, 0-9, '_' and '-'",
                            cw_excerpt(cw_str_from(im->name), exposed));
    return -1;
}

int cw_cli_import(int argc, char **argv)
{
    cw_import im = {0};
    bool has_exec = false;
    char **exec = NULL;
    size_t n_exec = 0;
    const cw_cli_option options[] = {
        {"exec", 0, CW_CLI_FLAG, &has_exec, NULL,
         "the rest of the line is a program with arguments,\n"
         "which speaks on standard input and output"},
        {"preset", 'p', CW_CLI_TEXT, &im.preset, "KIND",
         "the kind of service; do not probe for others"},
        {"name", 0, CW_CLI_TEXT, &im.name, "NAME", "name of the source"},
        {"secret-env", 0, CW_CLI_TEXT, &im.secret_env, "VARIABLE",
         "send the secret in this environment variable"},
        {"secret-file", 0, CW_CLI_TEXT, &im.secret_file, "FILE", "send the secret in FILE"},
        {"secret-as", 0, CW_CLI_TEXT, &im.secret_as, "HOW",
         "bearer, basic, header:NAME, first_param or\n"
         "param:NAME; default: from the preset, or basic\n"
         "if it has a colon"},
        {"output", 'o', CW_CLI_TEXT, &im.output, "FILE",
         "write the overlay to FILE; default: NAME.overlay.yaml"},
        {"force", 0, CW_CLI_FLAG, &im.force, NULL, "overwrite an existing file"},
        CW_CLI_JSON_OPTION(&im.json),
        {0},
    };
    const cw_cli_spec spec = {
        "import", "URL|FILE|--exec PROGRAM [ARGUMENT...]",
        "Detect the service at a URL (http://, https://, tcp://, ws://, wss://,\n"
        "unix:SOCKET or unix:SOCKET:/PATH), at HOST:PORT (HTTP, then lines), in a\n"
        "program, or in a description (OpenRPC or a manifest). Print a table of its\n"
        "methods, and write an overlay that lists every method and exposes none. Only\n"
        "calls that describe the service are made.",
        options, 1};
    cw_cli_args args = {0};
    int own = cut_command(argc, argv, &exec, &n_exec);
    int code = cw_cli_parse(&spec, own, argv, &args);
    if (code < 0)
        code = check_words(&im, &args, has_exec, n_exec);
    if (code >= 0)
        return code;
    im.target = args.n ? args.items[0] : NULL;
    cw_str *words = calloc(n_exec + 1, sizeof *words);
    if (!words)
        return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
    for (size_t i = 0; i < n_exec; i++)
        words[i] = cw_str_from(exec[i]);
    im.command = (cw_config_strings){words, n_exec};
    cw_arena_init(&im.arena, ARENA_MAX);
    code = import(&im);
    cw_arena_done(&im.arena);
    free(words);
    return code;
}
