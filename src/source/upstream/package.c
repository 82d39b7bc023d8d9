/* SPDX-License-Identifier: GPL-2.0-or-later */
/* package.c - finds the package in the command line of a package runner, and its version. */
#include "source/upstream/package.h"

#include <string.h>

#include "base/ascii.h"

/* A runner, its sub-command and its options that have a value. */
typedef struct runner {
    const char *program, *word, *more; /* words after the program, or NULL */
    const char *package_options;       /* of these the value is the package */
    const char *value_options;
    bool is_python;
} runner;

#define NPM "-p --package", "-c --call --cache --registry --userconfig --prefix"
#define UV                                                                                         \
    "--from",                                                                                      \
        "-p --python -w --with --with-requirements --index --index-url -i --default-index "        \
        "--extra-index-url -f --find-links -c --constraints --cache-dir --directory --env-file"

static const runner runners[] = {
    {"npx", NULL, NULL, NPM, false},
    {"pnpx", NULL, NULL, NPM, false},
    {"npm", "exec", NULL, NPM, false},
    {"npm", "x", NULL, NPM, false},
    {"pnpm", "dlx", NULL, NPM, false},
    {"yarn", "dlx", NULL, NPM, false},
    {"bunx", NULL, NULL, NPM, false},
    {"bun", "x", NULL, NPM, false},
    {"uvx", NULL, NULL, UV, true},
    {"uv", "tool", "run", UV, true},
    {"pipx", "run", NULL, "--spec", "--python --index-url --pip-args", true},
};

static cw_str item(const cw_config_strings *command, size_t i)
{
    return i < command->n ? command->items[i] : CW_STR("");
}

static cw_str base_name(cw_str path)
{
    const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
    return slash ? cw_str_make(slash + 1, path.n - (size_t)(slash + 1 - path.p)) : path;
}

/* The runner of a command, and where its arguments begin; NULL: it is none. */
static const runner *find_runner(const cw_config_strings *command, size_t *ret_at)
{
    cw_str program = base_name(item(command, 0));
    for (size_t i = 0; i < CW_COUNT(runners); i++) {
        const runner *r = &runners[i];
        if (!cw_str_is(program, r->program) || (r->word && !cw_str_is(item(command, 1), r->word)) ||
            (r->more && !cw_str_is(item(command, 2), r->more)))
            continue;
        *ret_at = 1 + (r->word != NULL) + (r->more != NULL);
        return r;
    }
    return NULL;
}

static bool has_word(const char *words, cw_str word)
{
    for (cw_str rest = cw_str_from(words); rest.p;) {
        if (cw_str_eq(cw_str_cut(rest, ' ', &rest), word))
            return true;
    }
    return false;
}

/* The package: the value of an option that names it, else the first argument. */
static cw_str find_package(const runner *r, const cw_config_strings *command, size_t at)
{
    for (; at < command->n; at++) {
        cw_str value, arg = command->items[at];
        if (cw_str_is(arg, "--"))
            return item(command, at + 1);
        if (arg.n == 0 || arg.p[0] != '-')
            return arg;
        cw_str name = cw_str_cut(arg, '=', &value);
        if (has_word(r->package_options, name))
            return value.p ? value : item(command, at + 1);
        if (!value.p && has_word(r->value_options, name))
            at++;
    }
    return CW_STR("");
}

/* How many numbers a text begins with: 3 of "1.2.3-beta", 2 of "1.2.x", 0 of "latest" and "^1.2". */
static unsigned count_numbers(cw_str text)
{
    unsigned n = 0;
    for (cw_str rest = text; rest.p; n++) {
        cw_str part = cw_str_cut(rest, '.', &rest);
        if (part.n == 0 || !cw_is_digit(part.p[0]))
            break;
    }
    return n;
}

/* For npm a version with fewer than three numbers is a range, and so is one with a space or a star. */
static bool is_version(cw_str text, bool is_python)
{
    bool is_range = memchr(text.p, ' ', text.n) || memchr(text.p, '*', text.n);
    return !is_range && count_numbers(text) >= (is_python ? 1 : 3);
}

/* Files and commits do not change under their name. */
static bool is_fixed_place(cw_str package)
{
    if (package.p[0] == '.' || package.p[0] == '/' || cw_str_starts(package, CW_STR("file:")))
        return true;
    return memchr(package.p, '#', package.n) != NULL ||
           (cw_str_starts(package, CW_STR("git+")) && memrchr(package.p, '@', package.n));
}

static bool is_pinned(const runner *r, cw_str package)
{
    if (is_fixed_place(package))
        return true;
    const char *equals = r->is_python ? memmem(package.p, package.n, "==", 2) : NULL;
    const char *at = memrchr(package.p, '@', package.n);
    const char *version = equals ? equals + 2 : at && at > package.p ? at + 1 : NULL;
    return version && is_version(cw_str_make(version, (size_t)(package.p + package.n - version)),
                                 r->is_python);
}

cw_str cw_package_unpinned(const cw_config_strings *command)
{
    size_t at = 0;
    const runner *r = find_runner(command, &at);
    cw_str package = r ? find_package(r, command, at) : CW_STR("");
    return package.n && !is_pinned(r, package) ? package : CW_STR("");
}
