/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import: detects a service and writes an overlay that lists every method and exposes none. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "access/caller.h"
#include "base/file_replace.h"
#include "cli/import/import.h"
#include "cli/lib/cli.h"
#include "cli/lib/table.h"
#include "cli/tool/cost.h"
#include "cli/tool/tools.h"
#include "config/syntax/check.h"
#include "config/syntax/names.h"
#include "config/syntax/quote.h"

#define NAME_MAX_BYTES 64u
#define WIDTH_MAX 60u
#define LARGEST 3u /* methods whose cost is shown */

static const char *const guess_names[] = {"reads", "changes", "DESTROYS"};

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

static cw_code choose_name(cw_import *im)
{
    cw_str name = im->name ? cw_str_from(im->name) : im->config.preset;
    if (name.n == 0 && im->is_file)
        name = slug(im, base_name(im->target));
    if (name.n == 0 && im->command.n)
        name = slug(im, base_name(im->command.items[0].p));
    if (!name.p)
        return CW_NOMEM;
    bool is_free = name.n && !cw_str_is(name, CW_CONFIG_BUILTIN_SOURCE);
    im->config.name = is_free ? name : CW_STR("service");
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
    return cw_cli_failure("%s exists already; --force replaces it",
                          cw_excerpt(cw_str_from(path), exposed));
}

/* ---- the overlay ---- */

/* A plain text where that cannot be read as anything else. */
static void add_scalar(cw_buf *out, cw_str text)
{
    static const char *const words[] = {"null", "true", "false", "yes", "no",
                                        "on",   "off",  "y",     "n"};
    bool is_plain = text.n > 0;
    for (size_t i = 0; i < text.n && is_plain; i++) {
        char c = text.p[i];
        bool is_letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
        bool is_inner = (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '/' || c == '-';
        is_plain = is_letter || (i > 0 && is_inner);
    }
    for (size_t i = 0; i < CW_COUNT(words) && is_plain; i++)
        is_plain = !cw_str_ieq(text, cw_str_from(words[i]));
    if (is_plain)
        cw_buf_add(out, text);
    else
        cw_quote(out, text);
}

/* A name with wildcards would mean others too, and one with control characters cannot be written:
 * both cannot be named in an overlay. */
static bool can_name(cw_str id)
{
    return id.n && cw_check_is_clean(id) && !memchr(id.p, '*', id.n) && !memchr(id.p, '?', id.n);
}

static void add_method(cw_buf *out, const cw_method *m, cw_risk guess, bool with_texts)
{
    if (with_texts && m->usage.n) {
        cw_buf_add(out, CW_STR("  # "));
        cw_tools_add_line(out, m->usage);
        cw_buf_add_char(out, '\n');
    }
    if (guess == CW_RISK_DESTROYS)
        cw_buf_add(out, CW_STR("  # looks destructive\n"));
    if (!can_name(m->id)) {
        cw_buf_add(out, CW_STR("  # cannot be named here: "));
        cw_quote(out, m->id);
        cw_buf_add_char(out, '\n');
        return;
    }
    cw_buf_add(out, CW_STR("  - method: "));
    add_scalar(out, m->id);
    cw_buf_add(out, CW_STR("\n    tool: false\n"));
    if (guess == CW_RISK_READS)
        cw_buf_add(out, CW_STR("    read_only: true\n"));
}

/* Resources, templates and prompts of an MCP server; wildcards in a template fit the template itself. */
static void add_exposed(const cw_import *im, cw_buf *out, cw_exposed_kind kind, bool with_texts)
{
    static const char *const lists[] = {"resources", "templates", "prompts"};
    static const char *const keys[] = {"uri", "uri_template", "prompt"};
    bool is_first = true;
    for (size_t i = 0; i < im->n; i++) {
        const cw_method *m = &im->methods[i];
        if (!m->exposed || m->exposed->kind != kind || !cw_check_is_clean(m->exposed->address))
            continue;
        if (is_first)
            cw_buf_printf(out, "%s: # none is exposed until it has `expose: true`\n", lists[kind]);
        is_first = false;
        if (with_texts && m->usage.n) {
            cw_buf_add(out, CW_STR("  # "));
            cw_tools_add_line(out, m->usage);
            cw_buf_add_char(out, '\n');
        }
        cw_buf_printf(out, "  - %s: ", keys[kind]);
        add_scalar(out, m->exposed->address);
        cw_buf_add(out, CW_STR("\n    expose: false\n"));
    }
}

static void add_methods(const cw_import *im, cw_buf *out, bool with_texts)
{
    size_t n_named = 0;
    for (size_t i = 0; i < im->n; i++)
        n_named += !im->methods[i].exposed && can_name(im->methods[i].id);
    cw_buf_printf(out, "# Methods of %s. None is exposed until it has `tool: true`.\n",
                  im->config.name.p);
    cw_buf_add(out,
               CW_STR("# `read_only` is a guess by the service's hints, or by the names of methods "
                      "without parameters.\n"
                      "# Such calls may be repeated, merged and sent by GET. Check it.\n"));
    if (im->is_partial)
        cw_buf_add(out, CW_STR("# warning: the site does not show its list of tools to these "
                               "credentials. Scopes are not known:\n"
                               "# set `scopes` or `permissions` for methods that need them.\n"));
    cw_buf_printf(out, "methods:%s\n", n_named ? "" : " []");
    for (size_t i = 0; i < im->n; i++) {
        if (!im->methods[i].exposed)
            add_method(out, &im->methods[i], im->guesses[i], with_texts);
    }
    for (unsigned kind = 0; kind < CW_EXPOSED_KINDS; kind++)
        add_exposed(im, out, (cw_exposed_kind)kind, with_texts);
}

/* Append the overlay: every method, none of them a tool. */
static void add_overlay(const cw_import *im, cw_buf *out)
{
    add_methods(im, out, /* with_texts= */ true);
    if (out->code || out->n <= CW_CONFIG_MAX_BYTES)
        return;
    /* Files have a ceiling; comments can go. */
    cw_buf_clear(out);
    add_methods(im, out, /* with_texts= */ false);
}

/* ---- the entry ---- */

static void add_member(cw_buf *out, const char *key, cw_str value)
{
    if (value.n == 0)
        return;
    cw_buf_printf(out, "    %s: ", key);
    add_scalar(out, value);
    cw_buf_add_char(out, '\n');
}

static void add_command(cw_buf *out, const cw_config_strings *command)
{
    if (command->n == 0)
        return;
    cw_buf_add(out, CW_STR("    command: ["));
    for (size_t i = 0; i < command->n; i++) {
        if (i)
            cw_buf_add(out, CW_STR(", "));
        cw_quote(out, command->items[i]);
    }
    cw_buf_add(out, CW_STR("]\n"));
}

static void add_inner(cw_buf *out, const char *key, cw_str value)
{
    if (value.n)
        cw_buf_add(out, CW_STR("  "));
    add_member(out, key, value);
}

static void add_secret(cw_buf *out, const cw_import *im)
{
    const cw_config_remote *c = &im->config;
    if (c->secret.file.n == 0 && c->secret.environment.n == 0)
        return;
    cw_buf_add(out, CW_STR("    secret:\n"));
    add_inner(out, "as", cw_import_secret_word(im));
    add_inner(out, "name", c->secret.name);
    add_inner(out, "file", c->secret.file);
    add_inner(out, "environment", c->secret.environment);
}

/* Append `roles` of a configuration that allow anonymous callers to use the tools. */
static void add_roles(cw_buf *out)
{
    cw_buf_printf(out,
                  "roles: # accounts have the permissions of anonymous, too\n"
                  "  anonymous: [%s, %s]\n",
                  CW_PERMISSION_DISCOVER.p, CW_PERMISSION_CALL.p);
}

static void add_files(cw_buf *out, const char *key, const cw_config_pairs *files)
{
    if (files->n)
        cw_buf_printf(out, "    %s:\n", key);
    for (size_t i = 0; i < files->n; i++) {
        cw_buf_add(out, CW_STR("      "));
        add_scalar(out, files->items[i].name);
        cw_buf_add(out, CW_STR(": "));
        add_scalar(out, files->items[i].value);
        cw_buf_add_char(out, '\n');
    }
}

void cw_import_add_entry(const cw_import *im, cw_buf *out)
{
    cw_buf_add(out, CW_STR("sources:\n"));
    cw_import_add_item(im, out);
}

void cw_import_add_item(const cw_import *im, cw_buf *out)
{
    const cw_config_remote *c = &im->config;
    cw_buf_add(out, CW_STR("  - name: "));
    add_scalar(out, c->name);
    cw_buf_add_char(out, '\n');
    add_member(out, "preset", c->preset);
    if (im->lacks_url)
        cw_buf_add(out, CW_STR("    # the description has no address of the service\n"));
    add_member(out, "url", c->url);
    add_command(out, &c->command);
    add_member(out, "working_directory", c->folder);
    add_files(out, "environment_files", &c->environment_files);
    add_files(out, "header_files", &c->header_files);
    add_member(out, "framing", c->preset.n ? CW_STR("") : c->framing);
    add_member(out, "params", c->params);
    add_member(out, "discovery", c->describe);
    add_member(out, "openrpc", c->openrpc);
    add_secret(out, im);
    add_member(out, "overlay", im->overlay);
}

/* ---- the table ---- */

static void add_params(cw_buf *out, const cw_method *m)
{
    for (size_t i = 0; i < m->n_params; i++) {
        cw_buf_printf(out, "%s", i ? ", " : "");
        cw_quote_shown(out, m->params[i].name);
        if (!m->params[i].is_required)
            cw_buf_add_char(out, '?');
    }
}

static void add_padding(cw_buf *out, size_t from, size_t width)
{
    while (!out->code && out->n - from < width)
        cw_buf_add_char(out, ' ');
    cw_buf_add(out, CW_STR("  "));
}

static void measure(const cw_import *im, cw_buf *out, size_t *ret_name, size_t *ret_params)
{
    *ret_name = sizeof "METHOD" - 1;
    *ret_params = sizeof "PARAMS" - 1;
    for (size_t i = 0; i < im->n; i++) {
        CW_CLEANUP(cw_buf_done) cw_buf text;
        cw_buf_init(&text, CW_CLI_OUTPUT_MAX);
        add_params(&text, &im->methods[i]);
        if (text.code && !out->code)
            out->code = text.code;
        if (text.n > *ret_params)
            *ret_params = text.n;
        if (im->methods[i].id.n > *ret_name)
            *ret_name = im->methods[i].id.n;
    }
    if (*ret_name > WIDTH_MAX)
        *ret_name = WIDTH_MAX;
    if (*ret_params > WIDTH_MAX / 2)
        *ret_params = WIDTH_MAX / 2;
}

/* Append a line for each method; or everything as JSON. */
static void add_table(const cw_import *im, cw_buf *out)
{
    size_t name_width, params_width;
    measure(im, out, &name_width, &params_width);
    cw_buf_add(out, cw_str_from(cw_cli_escape(STDOUT_FILENO, CW_CLI_BOLD)));
    cw_buf_printf(out, "%-*s  %-*s  GUESS     DESCRIPTION", (int)name_width, "METHOD",
                  (int)params_width, "PARAMS");
    cw_buf_printf(out, "%s\n", cw_cli_escape(STDOUT_FILENO, CW_CLI_PLAIN));
    for (size_t i = 0; i < im->n; i++) {
        const cw_method *m = &im->methods[i];
        bool destroys = im->guesses[i] == CW_RISK_DESTROYS;
        cw_cli_add_column(out, m->id, name_width);
        size_t from = out->n;
        add_params(out, m);
        add_padding(out, from, params_width);
        cw_buf_printf(out, "%s%-8s%s  ", destroys ? cw_cli_escape(STDOUT_FILENO, CW_CLI_RED) : "",
                      guess_names[im->guesses[i]],
                      destroys ? cw_cli_escape(STDOUT_FILENO, CW_CLI_PLAIN) : "");
        cw_tools_add_line(out, m->usage);
        while (out->n && out->p[out->n - 1] == ' ')
            out->n--;
        cw_buf_add_char(out, '\n');
    }
}

static void add_json_method(cw_json_writer *w, const cw_method *m, cw_risk guess)
{
    static const char *const names[] = {"reads", "changes", "destroys"};
    cw_json_open_object(w);
    static const char *const kinds[] = {"resource", "template", "prompt"};
    cw_json_add_string_member(w, CW_STR("name"), m->id);
    if (m->exposed)
        cw_json_add_string_member(w, CW_STR("kind"), cw_str_from(kinds[m->exposed->kind]));
    cw_json_add_string_member(w, CW_STR("guess"), cw_str_from(names[guess]));
    cw_json_add_string_member(w, CW_STR("description"), m->usage);
    cw_json_add_key(w, CW_STR("tokens"));
    cw_json_add_u64(w, cw_tools_estimate(m));
    cw_json_add_key(w, CW_STR("params"));
    cw_json_open_array(w);
    for (size_t i = 0; i < m->n_params; i++) {
        cw_json_open_object(w);
        cw_json_add_string_member(w, CW_STR("name"), m->params[i].name);
        cw_json_add_bool_member(w, CW_STR("required"), m->params[i].is_required);
        cw_json_close(w);
    }
    cw_json_close(w);
    cw_json_close(w);
}

static void add_json(const cw_import *im, cw_buf *out)
{
    CW_CLEANUP(cw_buf_done) cw_buf entry;
    cw_json_writer w;
    cw_buf_init(&entry, CW_CLI_OUTPUT_MAX);
    cw_import_add_entry(im, &entry);
    cw_json_writer_init(&w, out, CW_JSON_INDENT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("name"), im->config.name);
    cw_json_add_string_member(&w, CW_STR("preset"), im->config.preset);
    cw_json_add_string_member(&w, CW_STR("describe"), cw_str_from(im->describer));
    cw_json_add_string_member(&w, CW_STR("overlay"), im->overlay);
    cw_json_add_string_member(&w, CW_STR("configuration"), cw_buf_str(&entry));
    cw_json_add_key(&w, CW_STR("methods"));
    cw_json_open_array(&w);
    for (size_t i = 0; i < im->n; i++)
        add_json_method(&w, &im->methods[i], im->guesses[i]);
    cw_json_close(&w);
    cw_json_close(&w);
    (void)!cw_json_writer_end(&w, NULL); /* sticky in the buffer */
    if (entry.code && !out->code)
        out->code = entry.code;
    cw_buf_add_char(out, '\n');
}

/* ---- what it would cost ---- */

/* The methods that cost most, the first one most of all. */
static size_t find_largest(const cw_import *im, const cw_method *largest[LARGEST])
{
    size_t n = 0;
    for (size_t i = 0; i < im->n; i++) {
        size_t tokens = cw_tools_estimate(&im->methods[i]), at = n;
        while (at && cw_tools_estimate(largest[at - 1]) < tokens)
            at--;
        if (at == LARGEST)
            continue;
        n += n < LARGEST;
        memmove(largest + at + 1, largest + at, (n - at - 1) * sizeof *largest);
        largest[at] = &im->methods[i];
    }
    return n;
}

/* Resources and prompts are in other lists. */
static size_t count_tools(const cw_import *im, size_t *ret_tokens)
{
    size_t n = 0;
    *ret_tokens = 0;
    for (size_t i = 0; i < im->n; i++) {
        if (im->methods[i].exposed)
            continue;
        *ret_tokens += cw_tools_estimate(&im->methods[i]);
        n++;
    }
    return n;
}

static void add_cost(const cw_import *im, cw_buf *out)
{
    const cw_method *largest[LARGEST];
    size_t tokens, n_tools = count_tools(im, &tokens), n = find_largest(im, largest);
    cw_buf_printf(out,
                  "\nAs tools, all of them would cost about %zu tokens in a list (bytes / 4).\n",
                  tokens);
    for (size_t i = 0; i < n; i++) {
        cw_buf_add(out, i ? CW_STR(", ") : CW_STR("The largest: "));
        cw_cli_add_text(out, largest[i]->id);
        cw_buf_printf(out, " (%zu)", cw_tools_estimate(largest[i]));
    }
    if (n)
        cw_buf_add(out, CW_STR(".\n"));
    const char *problem = cw_tools_count_problem(n_tools);
    if (problem)
        cw_buf_printf(out, "Do not expose all of them at one address: %s.\n", problem);
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
    add_overlay(im, &text);
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
        add_json(im, &out);
        return cw_cli_print_buf(&out);
    }
    add_table(im, &out);
    add_cost(im, &out);
    cw_buf_printf(&out, "\n%zu method%s, found by %s; wrote ", im->n, im->n == 1 ? "" : "s",
                  im->describer);
    cw_cli_add_text(&out, im->overlay);
    cw_buf_add(&out, CW_STR(": select the tools there.\n"
                            "For the configuration, with all callers allowed to use them:\n\n"));
    add_roles(&out);
    cw_import_add_entry(im, &out);
    return cw_cli_print_buf(&out);
}

int cw_import_service(cw_import *im)
{
    /* Better now than when everything was asked. */
    int code = im->output ? check_output(im, im->output) : -1;
    if (code < 0)
        code = cw_import_try(im);
    if (code >= 0)
        return code;
    if (choose_name(im))
        return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
    return write_overlay(im);
}

static int import(cw_import *im)
{
    int code = cw_import_service(im);
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
        return cw_cli_usage(n_exec ? "a URL or file cannot be combined with --exec"
                                   : "--exec needs a program");
    if (!has_exec && args->n == 0)
        return cw_cli_usage("name a URL, a file or --exec PROGRAM to import");
    if (im->secret_env && im->secret_file)
        return cw_cli_usage("--secret-env and --secret-file cannot be combined");
    if (im->name && !cw_names_is_source(cw_str_from(im->name)))
        return cw_cli_usage("not the name of a source: %s; it has 1 to 64 of a-z, 0-9, '_' and '-'",
                            cw_excerpt(cw_str_from(im->name), exposed));
    if (im->name && strcmp(im->name, CW_CONFIG_BUILTIN_SOURCE) == 0)
        return cw_cli_usage("\"" CW_CONFIG_BUILTIN_SOURCE
                            "\" is the name of the built-in source; choose another one");
    return -1;
}

static int start_from_clients(cw_import *im, bool from_clients, bool is_sure, bool has_target)
{
    if (!from_clients)
        return cw_cli_usage("--yes needs --from-clients");
    if (has_target || im->preset || im->name || im->secret_env || im->secret_file ||
        im->secret_as || im->force || im->json)
        return cw_cli_usage("--from-clients can be combined with --output and --yes only");
    cw_arena_init(&im->arena, CW_IMPORT_ARENA_MAX);
    int code = cw_import_from_clients(im, is_sure);
    cw_arena_done(&im->arena);
    return code;
}

int cw_cli_import(int argc, char **argv)
{
    cw_import im = {0};
    bool has_exec = false, from_clients = false, is_sure = false;
    char **exec = NULL;
    size_t n_exec = 0;
    const cw_cli_option options[] = {
        {"exec", 0, CW_CLI_FLAG, &has_exec, NULL,
         "the rest of the line is a program with arguments,\n"
         "which uses standard input and output"},
        {"preset", 'p', CW_CLI_TEXT, &im.preset, "PRESET",
         "the kind of service; do not probe for others"},
        {"name", 0, CW_CLI_TEXT, &im.name, "NAME", "name of the source"},
        {"secret-env", 0, CW_CLI_TEXT, &im.secret_env, "VARIABLE",
         "send the secret in this environment variable"},
        {"secret-file", 0, CW_CLI_TEXT, &im.secret_file, "FILE", "send the secret in FILE"},
        {"secret-as", 0, CW_CLI_TEXT, &im.secret_as, "HOW",
         "bearer, basic, header:NAME, first_param or\n"
         "param:NAME; default: from the preset, or basic\n"
         "if the secret has a colon"},
        {"output", 'o', CW_CLI_TEXT, &im.output, "FILE",
         "write the overlay to FILE; default: NAME.overlay.yaml"},
        {"force", 0, CW_CLI_FLAG, &im.force, NULL, "overwrite an existing file"},
        {"from-clients", 0, CW_CLI_FLAG, &from_clients, NULL,
         "copy the MCP servers of MCP clients on this machine;\n"
         "-o names a directory. Nothing is started"},
        {"yes", 'y', CW_CLI_FLAG, &is_sure, NULL, "with --from-clients: do not ask"},
        CW_CLI_JSON_OPTION(&im.json),
        {0},
    };
    const cw_cli_spec spec = {
        "import", "[URL|FILE|--exec PROGRAM [ARGUMENT...]]",
        "Detect the service at a URL (http://, https://, tcp://, ws://, wss://,\n"
        "unix:SOCKET or unix:SOCKET:/PATH), at HOST:PORT (HTTP, then lines), in a\n"
        "program, or in a description (OpenRPC or a manifest). Print a table of its\n"
        "methods, and write an overlay that lists every method and exposes none. Only\n"
        "calls that describe the service are made.",
        options, 1};
    cw_cli_args args = {0};
    int own = cut_command(argc, argv, &exec, &n_exec);
    int code = cw_cli_parse(&spec, own, argv, &args);
    if (code < 0 && (from_clients || is_sure))
        return start_from_clients(&im, from_clients, is_sure, has_exec || args.n);
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
    cw_arena_init(&im.arena, CW_IMPORT_ARENA_MAX);
    code = import(&im);
    cw_arena_done(&im.arena);
    free(words);
    return code;
}
