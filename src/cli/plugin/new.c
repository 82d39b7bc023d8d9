/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin new: writes the skeleton of a plugin, with a build file and a test. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/plugin/plugin.h"
#include "config/syntax/quote.h"
#include "server/files/own_path.h"
#include "server/files/plugin_host_path.h"
#include "server/paths.h"

#define NAME_MAX_BYTES 64u
#define PATH_BYTES 4096u
#define TEXT_MAX_BYTES 65536u

/* ---- the files: @NAME@, @INCLUDE@ and @HOST@ are filled in ---- */

static const char source_text[] =
    "/* @NAME@ - a plugin for Causeway: each method below is called by its id. */\n"
    "#include <causeway/plugin.h>\n"
    "\n"
    "CW_PLUGIN(\"@NAME@\", \"0.1.0\");\n"
    "\n"
    "static void greet(cw_call *call)\n"
    "{\n"
    "    cw_result_format(call, \"Hello, %s!\", cw_arg_text(call, \"name\", \"world\"));\n"
    "}\n"
    "CW_METHOD(greet, \"@NAME@.greet\", .usage = \"Greets a person.\",\n"
    "          .params = {{\"name\", .schema = CW_JSON({\"type\": \"string\"}),\n"
    "                      .description = \"Who is greeted\"}},\n"
    "          .output = CW_JSON({\"type\": \"string\"}),\n"
    "          .permissions = {\"access content\"});\n"
    "/* Without this line the method can be called, but is no tool. */\n"
    "CW_TOOL(greet, .title = \"Greet\", .annotations = CW_JSON({\"readOnlyHint\": true}));\n";

static const char makefile_text[] =
    "# make        builds @NAME@.so; copy it into the plugin directory\n"
    "# make test   builds it and calls it\n"
    "\n"
    "# The folder of causeway/plugin.h; empty: pkg-config is asked (causeway-plugin).\n"
    "CAUSEWAY_INCLUDE ?= @INCLUDE@\n"
    "CAUSEWAY_HOST ?= @HOST@\n"
    "CFLAGS ?= -O2 -g -Wall -Wextra\n"
    "SDK := $(if $(CAUSEWAY_INCLUDE),-I$(CAUSEWAY_INCLUDE),"
    "$(shell pkg-config --cflags causeway-plugin))\n"
    "\n"
    "# Moved into place as a whole: a server that watches the folder never meets half a file.\n"
    "@NAME@.so: @NAME@.c\n"
    "\t$(CC) -std=c11 $(CFLAGS) $(SDK) -shared -fPIC -fvisibility=hidden -o .$@.new $< $(LDLIBS)\n"
    "\tmv .$@.new $@\n"
    "\n"
    ".PHONY: test clean\n"
    "test: @NAME@.so\n"
    "\t@CAUSEWAY_HOST=\"$(CAUSEWAY_HOST)\" sh test.sh\n"
    "\n"
    "clean:\n"
    "\trm -f @NAME@.so\n";

static const char test_text[] =
    "#!/bin/sh\n"
    "# Calls methods of @NAME@.so as Causeway does and compares what they return.\n"
    "set -eu\n"
    "cd \"$(dirname \"$0\")\"\n"
    "\n"
    "expect() { # expect METHOD PARAMS RESULT\n"
    "    got=$(\"${CAUSEWAY_HOST:-@HOST@}\" --call \"$1\" ./@NAME@.so \"$2\")\n"
    "    if [ \"$got\" != \"$3\" ]; then\n"
    "        echo \"FAIL $1 $2: expected $3, got $got\"\n"
    "        exit 1\n"
    "    fi\n"
    "    echo \"ok   $1 $2\"\n"
    "}\n"
    "\n"
    "expect @NAME@.greet '{\"name\":\"Ada\"}' '\"Hello, Ada!\"'\n"
    "expect @NAME@.greet '{}' '\"Hello, world!\"'\n";

typedef struct values {
    const char *name, *include, *host;
} values;

static void add_filled(cw_buf *out, const char *text, const values *v)
{
    const struct {
        cw_str mark;
        const char *value;
    } marks[] = {{CW_STR_INIT("@NAME@"), v->name},
                 {CW_STR_INIT("@INCLUDE@"), v->include},
                 {CW_STR_INIT("@HOST@"), v->host}};
    while (*text) {
        size_t i = 0;
        while (i < CW_COUNT(marks) && strncmp(text, marks[i].mark.p, marks[i].mark.n) != 0)
            i++;
        if (i < CW_COUNT(marks)) {
            cw_buf_add(out, cw_str_from(marks[i].value));
            text += marks[i].mark.n;
        } else {
            cw_buf_add_char(out, *text++);
        }
    }
}

/* ---- where things are ---- */

/* Whether a path means the same in a Makefile and in a shell. */
static bool is_plain_path(const char *path)
{
    for (; *path; path++) {
        if (!isalnum((unsigned char)*path) && !strchr("/._+-", *path))
            return false;
    }
    return true;
}

/* The folder of causeway/plugin.h: of the tree that this program was built in, or where it is
 * installed. Empty: pkg-config will know. */
static void find_include(const char *host, char *out, size_t n)
{
    /* From TREE/build/VARIANT/src/host and from PREFIX/libexec/causeway. */
    static const char *const above[] = {"/../../../../include", "/../../include"};
    const char *slash = strrchr(host, '/');
    int length = slash ? (int)(slash - host) : 0;
    char path[2 * PATH_BYTES], folder[PATH_BYTES];
    for (size_t i = 0; i <= CW_COUNT(above); i++) {
        if (i < CW_COUNT(above))
            snprintf(path, sizeof path, "%.*s%s", length, host, above[i]);
        else
            cw_own_path_installed(CW_INCLUDE_BELOW, path, sizeof path);
        if (!realpath(path, folder) || !is_plain_path(folder))
            continue;
        snprintf(path, sizeof path, "%s/causeway/plugin.h", folder);
        if (access(path, R_OK) == 0) {
            snprintf(out, n, "%s", folder);
            return;
        }
    }
    out[0] = '\0';
}

/* ---- writing ---- */

static const struct {
    const char *file; /* NULL: NAME.c */
    const char *text;
    mode_t mode;
} files[] = {
    {NULL, source_text, 0666}, {"Makefile", makefile_text, 0666}, {"test.sh", test_text, 0777}};

static void name_file(char *out, size_t i, const char *name)
{
    if (files[i].file)
        snprintf(out, PATH_BYTES, "%s/%s", name, files[i].file);
    else
        snprintf(out, PATH_BYTES, "%s/%s.c", name, name);
}

static cw_code write_file(const char *path, mode_t mode, cw_str text, cw_err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0)
        return cw_fail_errno(err, errno, "'%s'", path);
    ssize_t n = write(fd, text.p, text.n);
    int errnum = n < 0 ? errno : ENOSPC;
    bool ok = n == (ssize_t)text.n;
    if (close(fd) != 0 && ok) {
        errnum = errno;
        ok = false;
    }
    return ok ? CW_OK : cw_fail_errno(err, errnum, "write '%s'", path);
}

static cw_code write_files(const values *v, cw_err *err)
{
    cw_code rc = CW_OK;
    for (size_t i = 0; i < CW_COUNT(files) && !rc; i++) {
        char path[PATH_BYTES];
        name_file(path, i, v->name);
        cw_buf text;
        cw_buf_init(&text, TEXT_MAX_BYTES);
        add_filled(&text, files[i].text, v);
        rc = text.code ? cw_fail(err, text.code, "%s", cw_code_text(text.code))
                       : write_file(path, files[i].mode, cw_buf_str(&text), err);
        cw_buf_done(&text);
    }
    return rc;
}

/* Half a skeleton is worse than none. */
static void remove_files(const char *name)
{
    for (size_t i = 0; i < CW_COUNT(files); i++) {
        char path[PATH_BYTES];
        name_file(path, i, name);
        unlink(path);
    }
    rmdir(name);
}

/* ---- the command ---- */

static bool is_name(const char *name)
{
    size_t n = strlen(name);
    if (n == 0 || n > NAME_MAX_BYTES || name[0] < 'a' || name[0] > 'z')
        return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == n;
}

static int print_next(const char *name)
{
    cw_buf out;
    cw_buf_init(&out, TEXT_MAX_BYTES);
    cw_buf_printf(&out,
                  "%s: written. To build and test it, and to see what it would publish:\n\n"
                  "  make -C %s test\n"
                  "  causeway plugin check %s/%s.so\n\n"
                  "Then copy %s.so into the plugin directory: a running server loads it at once.\n",
                  name, name, name, name, name);
    return cw_cli_print_buf(&out);
}

static int write_skeleton(const char *name)
{
    cw_err err = {0};
    cw_config *config = NULL;
    int code = cw_cli_load_config(NULL, &config);
    if (code >= 0)
        return code;
    char include[PATH_BYTES];
    char *host = NULL;
    cw_code rc = cw_plugin_host_find(config, /* is_needed= */ false, &host, &err);
    cw_config_unref(config);
    if (rc)
        return cw_cli_failure("%s", err.msg);
    find_include(host, include, sizeof include);
    const values v = {name, include, is_plain_path(host) ? host : "causeway-plugin-host"};
    if (mkdir(name, 0777) != 0) {
        free(host);
        return errno == EEXIST ? cw_cli_failure("'%s' exists already", name)
                               : cw_cli_failure("create directory '%s': %s", name, strerror(errno));
    }
    rc = write_files(&v, &err);
    if (rc)
        remove_files(name);
    free(host);
    return rc ? cw_cli_failure("%s", err.msg) : print_next(name);
}

int cw_cli_plugin_new(int argc, char **argv)
{
    const cw_cli_spec spec = {
        .name = "plugin new",
        .args = "NAME",
        .about = "Create a directory NAME with the source of a working plugin, a Makefile and a\n"
                 "test. NAME starts with a letter and contains only a-z, 0-9, '_' and '-'.",
        .max_args = 1,
    };
    cw_cli_args args;
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    if (args.n == 0)
        return cw_cli_usage("name the plugin to write");
    char exposed[CW_EXCERPT_SIZE];
    if (!is_name(args.items[0]))
        return cw_cli_usage("not a name for a plugin: %s (a-z, 0-9, '_' and '-', a letter first, "
                            "at most %u)",
                            cw_excerpt(cw_str_from(args.items[0]), exposed), NAME_MAX_BYTES);
    return write_skeleton(args.items[0]);
}
