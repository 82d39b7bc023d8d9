/* SPDX-License-Identifier: GPL-2.0-or-later */
/* main.c - the options of causeway-plugin-host. */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"
#include "host/exec.h"
#include "host/serve.h"

#define USAGE_ERROR 2

static const char help[] =
    "Usage: causeway-plugin-host --check FILE.so\n"
    "       causeway-plugin-host --call METHOD FILE.so [PARAMS]\n"
    "       causeway-plugin-host --serve --name=NAME [--memory=BYTES] [--files=N] [--frame=BYTES]\n"
    "       causeway-plugin-host --exec --parent=PID [OPTION]... -- PROGRAM [ARGUMENT]...\n"
    "\n"
    "Runs one Causeway plugin, or the program of a source. The server starts this program; plugin\n"
    "authors use --check and --call.\n"
    "\n"
    "  --check           print what the plugin publishes (OpenRPC), or its errors\n"
    "  --partial         with --check: if the plugin has errors, also print the valid parts\n"
    "  --call METHOD     run one method and print its result or error as JSON; PARAMS is a\n"
    "                    JSON object, or an array in the order of the declaration. METHOD may\n"
    "                    also be the URI of a resource or the name of a prompt. Content and\n"
    "                    questions to the client are printed as JSON\n"
    "  --caller=JSON     with --call: the caller, such as\n"
    "                    {\"id\":\"7\",\"name\":\"eve\",\"permissions\":[\"access "
    "content\"],\"language\":\"de\"}\n"
    "  --with=JSON       with --call: further members of the call, such as answers to questions,\n"
    "                    "
    "{\"answers\":{\"name\":{\"action\":\"accept\",\"content\":{}}},\"state\":\"1\"}\n"
    "                    or {\"complete\":{\"argument\":\"name\",\"value\":\"a\"}}\n"
    "  --serve           serve the socket at descriptor 3 with the plugin at descriptor 4\n"
    "  --name=NAME       name of the plugin in messages; default: the name of the file\n"
    "  --exec            run PROGRAM without privileges, and kill all that it starts when it ends\n"
    "  --parent=PID      with --exec: the server; the program ends with it\n"
    "  --memory=BYTES    maximum address space of the process; with --exec: of its data\n"
    "  --files=N         maximum number of open descriptors\n"
    "  --processes=N     with --exec: maximum number of processes of the user\n"
    "  --frame=BYTES     maximum size of a message; default: 16777216\n"
    "  --hide=PATH       a file or directory that cannot be used (Landlock); may be repeated\n"
    "  --read=PATH, --write=PATH\n"
    "                    with --exec: only these, and directories of the system, can be used; may\n"
    "                    be repeated\n"
    "  --help, --version\n"
    "\n"
    "Exit status: 0 on success, 1 if the plugin has errors or the method reports an error, 2 for "
    "a\n"
    "wrong command line.\n";

typedef enum host_mode {
    MODE_NONE,
    MODE_SERVE,
    MODE_CHECK,
    MODE_CALL,
    MODE_EXEC,
} host_mode;

enum {
    OPT_SERVE = 256,
    OPT_CHECK,
    OPT_CALL,
    OPT_CALLER,
    OPT_WITH,
    OPT_PARTIAL,
    OPT_NAME,
    OPT_MEMORY,
    OPT_FILES,
    OPT_FRAME,
    OPT_EXEC,
    OPT_PARENT,
    OPT_PROCESSES,
    OPT_HIDE,
    OPT_READ,
    OPT_WRITE,
    OPT_HELP,
    OPT_VERSION
};

static const struct option options[] = {
    {"serve", no_argument, NULL, OPT_SERVE},
    {"check", no_argument, NULL, OPT_CHECK},
    {"call", required_argument, NULL, OPT_CALL},
    {"caller", required_argument, NULL, OPT_CALLER},
    {"with", required_argument, NULL, OPT_WITH},
    {"partial", no_argument, NULL, OPT_PARTIAL},
    {"name", required_argument, NULL, OPT_NAME},
    {"memory", required_argument, NULL, OPT_MEMORY},
    {"files", required_argument, NULL, OPT_FILES},
    {"frame", required_argument, NULL, OPT_FRAME},
    {"exec", no_argument, NULL, OPT_EXEC},
    {"parent", required_argument, NULL, OPT_PARENT},
    {"processes", required_argument, NULL, OPT_PROCESSES},
    {"hide", required_argument, NULL, OPT_HIDE},
    {"read", required_argument, NULL, OPT_READ},
    {"write", required_argument, NULL, OPT_WRITE},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {0},
};

static int usage(const char *text)
{
    fprintf(stderr, "causeway-plugin-host: %s; try --help\n", text);
    return USAGE_ERROR;
}

static int print(const char *text)
{
    return fputs(text, stdout) < 0 || fflush(stdout) ? 1 : 0;
}

/* "articles" of "plugins/articles.so". */
static const char *stem_of(const char *path)
{
    static char name[NAME_MAX + 1];
    const char *slash = strrchr(path, '/');
    snprintf(name, sizeof(name), "%s", slash ? slash + 1 : path);
    char *dot = strrchr(name, '.');
    if (dot && dot > name)
        *dot = '\0';
    return name;
}

/* dlopen looks for a name without a slash among the system's libraries. */
static const char *path_of(const char *file)
{
    static char path[PATH_MAX];
    if (strchr(file, '/'))
        return file;
    snprintf(path, sizeof(path), "./%s", file);
    return path;
}

/* What the options say. */
typedef struct command_line {
    host_mode mode;
    cw_host_opts host;
    cw_host_program program;
} command_line;

/* Set a number; false when it is none. */
static bool set_number(command_line *line, int option)
{
    uint64_t n;
    if (!cw_str_to_u64(cw_str_from(optarg), &n))
        return false;
    if (option == OPT_MEMORY)
        line->host.memory = line->program.memory = n;
    else if (option == OPT_FILES)
        line->host.files = line->program.files = n;
    else if (option == OPT_PARENT)
        line->program.parent = n;
    else if (option == OPT_PROCESSES)
        line->program.processes = n;
    else if (n < 1024 || n > CW_HOST_FRAME_MAX)
        return false;
    else
        line->host.frame = (size_t)n;
    return true;
}

/* The list of paths that an option extends; NULL: it takes no path. */
static cw_landlock_list *list_of(command_line *line, int option)
{
    cw_landlock *l = &line->program.landlock;
    if (option == OPT_HIDE)
        return &l->hidden;
    if (option == OPT_READ)
        return &l->readable;
    return option == OPT_WRITE ? &l->writable : NULL;
}

/* The options with a text, and those that choose a mode. False: it is another one. */
static bool set_text(command_line *line, int option)
{
    static const host_mode modes[] = {[0] = MODE_SERVE /* OPT_SERVE */,
                                      [OPT_CHECK - OPT_SERVE] = MODE_CHECK,
                                      [OPT_CALL - OPT_SERVE] = MODE_CALL};
    cw_host_opts *o = &line->host;
    if (option == OPT_EXEC)
        line->mode = MODE_EXEC;
    else if (option <= OPT_CALL)
        line->mode = modes[option - OPT_SERVE];
    if (option == OPT_CALL)
        o->method = optarg;
    else if (option == OPT_CALLER)
        o->caller = optarg;
    else if (option == OPT_WITH)
        o->with = optarg;
    else if (option == OPT_PARTIAL)
        o->partial = true;
    else if (option == OPT_NAME)
        o->name = optarg;
    else
        return option <= OPT_CHECK || option == OPT_EXEC;
    return true;
}

/* Returns 0, or an exit status. */
static int set_option(command_line *line, int option)
{
    cw_landlock_list *paths = list_of(line, option);
    if (paths && paths->n == CW_LANDLOCK_PATHS)
        return usage("too many paths");
    if (paths)
        paths->items[paths->n++] = optarg;
    else if (!set_text(line, option) && !set_number(line, option))
        return usage("a size must be a number in its range");
    return 0;
}

/* The rest of the command line: files and params. */
static int take_operands(host_mode mode, cw_host_opts *opts, int n, char **args)
{
    int wanted = mode == MODE_SERVE ? 0 : 1;
    if (n < wanted || n > wanted + (mode == MODE_CALL))
        return usage(n < wanted ? "which file?" : "too many arguments");
    opts->file = mode == MODE_SERVE ? "/proc/self/fd/4" : path_of(args[0]);
    opts->params = n > 1 ? args[1] : NULL;
    if (!opts->name && mode == MODE_SERVE)
        return usage("--serve needs --name");
    if (!opts->name)
        opts->name = stem_of(args[0]);
    return 0;
}

/* Causeway tells a plugin where its file is and where it may keep others; so do we, for --check and
 * --call. */
static void tell_folder(const char *file)
{
    char *path = realpath(file, NULL);
    char *slash = path ? strrchr(path, '/') : NULL;
    if (slash) {
        *slash = '\0';
        setenv("CAUSEWAY_PLUGIN_DIR", path, 1);
        setenv("CAUSEWAY_PLUGIN_DATA", path, 0);
    }
    free(path);
}

static int run(host_mode mode, const cw_host_opts *opts)
{
    if (mode != MODE_SERVE)
        tell_folder(opts->file);
    if (mode == MODE_CHECK)
        return cw_host_check(opts);
    if (mode == MODE_CALL)
        return cw_host_call(opts);
    int status = cw_host_confine(opts);
    return status ? status : cw_host_serve(opts);
}

static int run_program(cw_host_program *p, int n, char **args)
{
    if (n == 0 || p->parent == 0)
        return usage(n ? "--exec needs --parent" : "--exec needs a program");
    p->argv = args;
    return cw_host_exec(p);
}

int main(int argc, char **argv)
{
    static command_line line = {.host = {.frame = CW_HOST_FRAME}};
    int status = 0;
    line.host.landlock = &line.program.landlock;
    /* '+': what comes behind the first operand is never an option. */
    for (int c; !status && (c = getopt_long(argc, argv, "+", options, NULL)) != -1;) {
        if (c == OPT_HELP)
            return print(help);
        if (c == OPT_VERSION)
            return print("causeway-plugin-host " CW_VERSION "\n");
        status = c == '?' ? USAGE_ERROR : set_option(&line, c);
    }
    if (!status && line.mode == MODE_NONE)
        status = usage("one of --check, --call, --serve and --exec is needed");
    if (!status && line.mode == MODE_EXEC)
        return run_program(&line.program, argc - optind, argv + optind);
    if (!status)
        status = take_operands(line.mode, &line.host, argc - optind, argv + optind);
    return status ? status : run(line.mode, &line.host);
}
