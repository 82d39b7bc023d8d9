/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin: the commands for plugins. List, enable and disable work on the plugin directory, which a
 * running server watches: renaming a file enables or disables a plugin. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/lib/audit_record.h"
#include "cli/lib/table.h"
#include "cli/plugin/plugin.h"
#include "config/syntax/quote.h"
#include "server/files/plugin_host_path.h"

#define PATH_BYTES 4096u
#define OUTPUT_MAX_BYTES (64u * 1024u * 1024u)
#define PLUGINS_MAX 10000u
#define NEAR_MAX 2u

/* ---- what the commands share ---- */

/* A configuration with a plugin directory. Returns -1 with one, else the exit code. */
static int load_folder(const char *option, cw_config **ret)
{
    int code = cw_cli_load_config(option, ret);
    if (code >= 0 || (*ret)->plugins.directory.n)
        return code;
    cw_config_unref(*ret);
    *ret = NULL;
    cw_cli_usage("the configuration has no plugins.directory; name another configuration with "
                 "--config");
    return CW_EXIT_USAGE;
}

/* ---- the folder ---- */

typedef struct plugin {
    char *name;
    bool is_on;
    bool is_broken;
    size_t n_methods, n_tools;
    char *version, *problems;
} plugin;

typedef struct plugins {
    plugin *items;
    size_t n;
} plugins;

static void plugins_done(plugins *all)
{
    for (size_t i = 0; i < all->n; i++) {
        free(all->items[i].name);
        free(all->items[i].version);
        free(all->items[i].problems);
    }
    free(all->items);
}

static int by_name(const void *a, const void *b)
{
    const plugin *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : y->is_on - x->is_on;
}

static cw_code add_plugin(plugins *all, cw_str name, bool is_on, cw_err *err)
{
    if (all->n == PLUGINS_MAX)
        return cw_fail(err, CW_LIMIT, "more than %u plugins", PLUGINS_MAX);
    plugin *items = realloc(all->items, (all->n + 1) * sizeof *items);
    if (!items)
        return cw_fail_nomem(err);
    all->items = items;
    char *copy = strndup(name.p, name.n);
    if (!copy)
        return cw_fail_nomem(err);
    items[all->n++] = (plugin){.name = copy, .is_on = is_on};
    return CW_OK;
}

/* Whether a server would load it: a pipe or a directory with that name is no plugin. */
static bool is_file(const char *folder, const char *file)
{
    char path[PATH_BYTES];
    struct stat st;
    int n = snprintf(path, sizeof path, "%s/%s", folder, file);
    return n > 0 && (size_t)n < sizeof path && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static cw_code add_file(plugins *all, const char *folder, const char *file, cw_err *err)
{
    static const struct {
        cw_str suffix;
        bool is_on;
    } kinds[] = {{CW_STR_INIT(CW_PLUGIN_SUFFIX), true}, {CW_STR_INIT(CW_PLUGIN_OFF_SUFFIX), false}};
    cw_str name = cw_str_from(file);
    for (size_t i = 0; i < CW_COUNT(kinds) && file[0] != '.'; i++) {
        if (cw_str_ends(name, kinds[i].suffix) && is_file(folder, file))
            return add_plugin(all, cw_str_make(name.p, name.n - kinds[i].suffix.n), kinds[i].is_on,
                              err);
    }
    return CW_OK;
}

static cw_code read_plugins(const char *folder, plugins *all, cw_err *err)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return cw_fail_errno(err, errno, "plugin directory '%s'", folder);
    cw_code rc = CW_OK;
    for (const struct dirent *e = readdir(dir); e && !rc; e = readdir(dir))
        rc = add_file(all, folder, e->d_name, err);
    closedir(dir);
    if (all->n)
        qsort(all->items, all->n, sizeof *all->items, by_name);
    return rc;
}

static bool path_of(char *out, const char *folder, const char *name, bool is_on)
{
    int n = snprintf(out, PATH_BYTES, "%s/%s%s", folder, name,
                     is_on ? CW_PLUGIN_SUFFIX : CW_PLUGIN_OFF_SUFFIX);
    return n > 0 && (size_t)n < PATH_BYTES;
}

/* ---- list ---- */

static cw_code inspect(const cw_config *config, const char *host, plugin *p, cw_err *err)
{
    char path[PATH_BYTES];
    if (!path_of(path, config->plugins.directory.p, p->name, p->is_on))
        return cw_fail(err, CW_LIMIT, "the path of '%s' is too long", p->name);
    cw_plugin_report r;
    cw_code rc = cw_plugin_inspect(config, host, path, &r, err);
    if (!rc) {
        p->is_broken = r.problems.n > 0;
        cw_plugin_report_count(&r, &p->n_methods, &p->n_tools);
        p->version = strndup(r.version.p, r.version.n);
        p->problems = strndup(r.problems.p, r.problems.n);
        if (!p->version || !p->problems)
            rc = cw_fail_nomem(err);
    }
    cw_plugin_report_done(&r);
    return rc;
}

static const char *state_of(const plugin *p)
{
    if (!p->is_on)
        return "disabled";
    return p->is_broken ? "broken" : "enabled";
}

/* As it is where a terminal would only show it, else quoted. */
static const char *exposed(const char *text, char out[CW_EXCERPT_SIZE])
{
    cw_excerpt(cw_str_from(text), out);
    size_t n = strlen(text);
    return strlen(out) == n + 2 && memcmp(out + 1, text, n) == 0 ? text : out;
}

static int print_text(const plugins *all)
{
    cw_buf out;
    cw_buf_init(&out, OUTPUT_MAX_BYTES);
    int width = 4;
    char name[CW_EXCERPT_SIZE];
    for (size_t i = 0; i < all->n; i++) {
        int n = (int)strlen(exposed(all->items[i].name, name));
        width = n > width ? n : width;
    }
    cw_buf_printf(&out, "%s%-*s  %-8s  %-10s  %7s  %5s%s\n",
                  cw_cli_escape(STDOUT_FILENO, CW_CLI_BOLD), width, "NAME", "STATE", "VERSION",
                  "METHODS", "TOOLS", cw_cli_escape(STDOUT_FILENO, CW_CLI_PLAIN));
    for (size_t i = 0; i < all->n; i++) {
        const plugin *p = &all->items[i];
        char version[CW_EXCERPT_SIZE];
        cw_buf_printf(&out, "%-*s  %-8s  %-10s  ", width, exposed(p->name, name), state_of(p),
                      p->version[0] ? exposed(p->version, version) : "-");
        if (p->is_broken)
            cw_buf_printf(&out, "%7s  %5s\n", "-", "-");
        else
            cw_buf_printf(&out, "%7zu  %5zu\n", p->n_methods, p->n_tools);
    }
    int code = cw_cli_print_buf(&out);
    for (size_t i = 0; i < all->n; i++) {
        if (all->items[i].is_broken)
            cw_plugin_print_problems(cw_str_from(all->items[i].problems));
    }
    return code;
}

static int print_json(const plugins *all)
{
    cw_buf out;
    cw_buf_init(&out, OUTPUT_MAX_BYTES);
    cw_json_writer w;
    cw_json_writer_init(&w, &out, CW_JSON_INDENT);
    cw_json_open_array(&w);
    for (size_t i = 0; i < all->n; i++) {
        const plugin *p = &all->items[i];
        cw_json_open_object(&w);
        cw_json_add_string_member(&w, CW_STR("name"), cw_str_from(p->name));
        cw_json_add_string_member(&w, CW_STR("state"), cw_str_from(state_of(p)));
        cw_json_add_string_member(&w, CW_STR("version"), cw_str_from(p->version));
        cw_json_add_i64_member(&w, CW_STR("methods"), (int64_t)p->n_methods);
        cw_json_add_i64_member(&w, CW_STR("tools"), (int64_t)p->n_tools);
        cw_plugin_write_problems(&w, CW_STR("problems"), cw_str_from(p->problems));
        cw_json_close(&w);
    }
    cw_json_close(&w);
    cw_cli_end_json(&w);
    return cw_cli_print_buf(&out);
}

static int list_folder(const cw_config *config, bool json)
{
    cw_err err = {0};
    plugins all = {0};
    char *host = NULL;
    cw_code rc = read_plugins(config->plugins.directory.p, &all, &err);
    if (!rc)
        rc = cw_plugin_host_find(config, /* is_needed= */ all.n > 0, &host, &err);
    for (size_t i = 0; i < all.n && !rc; i++)
        rc = inspect(config, host, &all.items[i], &err);
    int code = CW_EXIT_OK;
    if (rc)
        code = cw_cli_failure("%s", err.msg);
    else
        code = json ? print_json(&all) : print_text(&all);
    plugins_done(&all);
    free(host);
    return code;
}

static int run_list(int argc, char **argv)
{
    const char *path = NULL;
    bool json = false;
    const cw_cli_option options[] = {CW_CLI_CONFIG_OPTION(&path), CW_CLI_JSON_OPTION(&json), {0}};
    const cw_cli_spec spec = {
        "plugin list", "",
        "List the plugins in the plugin directory with their state (enabled, disabled or\n"
        "broken), version, methods and tools. Each plugin is loaded in a separate\n"
        "process.",
        options, 0};
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    if (code >= 0)
        return code;
    cw_config *config;
    code = load_folder(path, &config);
    if (code >= 0)
        return code;
    code = list_folder(config, json);
    cw_config_unref(config);
    return code;
}

/* ---- enable and disable ---- */

static int unknown_plugin(const char *folder, const char *name)
{
    cw_err err = {0};
    plugins all = {0};
    char exposed[CW_EXCERPT_SIZE];
    cw_excerpt(cw_str_from(name), exposed);
    const char *nearest = NULL;
    unsigned best = NEAR_MAX + 1;
    if (read_plugins(folder, &all, &err)) {
        plugins_done(&all);
        return cw_cli_failure("%s", err.msg);
    }
    for (size_t i = 0; i < all.n; i++) {
        unsigned distance =
            cw_str_distance_within(cw_str_from(name), cw_str_from(all.items[i].name), NEAR_MAX);
        if (distance < best) {
            best = distance;
            nearest = all.items[i].name;
        }
    }
    int code = nearest ? cw_cli_failure("no plugin %s; did you mean \"%s\"?", exposed, nearest)
                       : cw_cli_failure("no plugin %s in '%s'", exposed, folder);
    plugins_done(&all);
    return code;
}

static int switch_plugin(const char *folder, const char *name, bool on)
{
    char from[PATH_BYTES], to[PATH_BYTES];
    if (strchr(name, '/') || name[0] == '.' || !path_of(from, folder, name, !on) ||
        !path_of(to, folder, name, on))
        return cw_cli_usage("not the name of a plugin: %s", name);
    const char *state = on ? "enabled" : "disabled";
    /* Neither is overwritten: a file that came meanwhile is not ours to remove. */
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) {
        cw_buf out;
        cw_buf_init(&out, OUTPUT_MAX_BYTES);
        cw_buf_printf(&out, "%s: %s\n", name, state);
        return cw_cli_print_buf(&out);
    }
    int errnum = errno;
    if (errnum == EEXIST)
        return cw_cli_failure("'%s' exists already; remove one of it and '%s'", to, from);
    if (errnum == ENOENT && access(to, F_OK) == 0)
        return cw_cli_failure("%s is %s already", name, state);
    if (errnum == ENOENT)
        return unknown_plugin(folder, name);
    return cw_cli_failure("rename '%s': %s", from, strerror(errnum));
}

static int run_switch(int argc, char **argv, bool on)
{
    const char *path = NULL;
    const cw_cli_option options[] = {CW_CLI_CONFIG_OPTION(&path), {0}};
    const cw_cli_spec spec = {
        on ? "plugin enable" : "plugin disable", "PLUGIN",
        on ? "Enable a plugin: rename PLUGIN.so.disabled to PLUGIN.so. A running server\n"
             "loads it."
           : "Disable a plugin: rename PLUGIN.so to PLUGIN.so.disabled. A running server\n"
             "unloads it after its running calls.",
        options, 1};
    cw_cli_args args;
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    if (args.n == 0)
        return cw_cli_usage("name the plugin to %s", on ? "enable" : "disable");
    cw_config *config;
    code = load_folder(path, &config);
    if (code >= 0)
        return code;
    code = switch_plugin(config->plugins.directory.p, args.items[0], on);
    cw_cli_record(config, spec.name, cw_str_from(args.items[0]), code == CW_EXIT_OK);
    cw_config_unref(config);
    return code;
}

static int run_enable(int argc, char **argv)
{
    return run_switch(argc, argv, true);
}

static int run_disable(int argc, char **argv)
{
    return run_switch(argc, argv, false);
}

static const cw_cli_command commands[] = {
    {"new", "create the skeleton of a plugin", cw_cli_plugin_new},
    {"check", "print what a plugin publishes", cw_cli_plugin_check},
    {"list", "list the plugins in the plugin directory", run_list},
    {"enable", "enable a plugin", run_enable},
    {"disable", "disable a plugin", run_disable},
    {0},
};

int cw_cli_plugin(int argc, char **argv)
{
    static const cw_cli_group group = {
        "causeway plugin",
        "Create, check, list, enable and disable plugins.",
        "\"causeway help plugin COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
