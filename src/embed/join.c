/* SPDX-License-Identifier: GPL-2.0-or-later */
/* join.c - puts modules of JavaScript into one file. */
#include "embed/join.h"

#include <string.h>

static bool add(cw_joined *j, const char *text, size_t n)
{
    if (n > j->room - j->n)
        return false;
    memcpy(j->out + j->n, text, n);
    j->n += n;
    return true;
}

static bool add_text(cw_joined *j, const char *text)
{
    return add(j, text, strlen(text));
}

static bool starts(const char *text, size_t n, const char *with)
{
    return n >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

/* ---- imports ---- */

/* `b as c` of an import: `const c = b;`. A name without another one needs nothing. */
static bool add_alias(cw_joined *j, const char *name, size_t n)
{
    static const char as[] = " as ";
    const char *found = memmem(name, n, as, sizeof as - 1);
    if (!found)
        return true;
    const char *own = found + sizeof as - 1;
    return add_text(j, "const ") && add(j, own, n - (size_t)(own - name)) && add_text(j, " = ") &&
           add(j, name, (size_t)(found - name)) && add_text(j, ";\n");
}

/* import {a, b as c} from "./dom.mjs"; */
static bool add_import(cw_joined *j, const char *line, size_t n)
{
    const char *names = line + strlen("import {");
    const char *end = memchr(line, '}', n);
    if (!starts(line, n, "import {") || !end ||
        !starts(end, n - (size_t)(end - line), "} from \"./"))
        return false;
    while (names < end) {
        const char *comma = memchr(names, ',', (size_t)(end - names));
        const char *next = comma ? comma : end;
        while (*names == ' ')
            names++;
        if (!add_alias(j, names, (size_t)(next - names)))
            return false;
        names = next + 1;
    }
    return true;
}

/* ---- exports ---- */

/* The name that `export const x = 1;` declares; its size, 0: the line has another form. */
static size_t find_export(const char *line, size_t n, const char **ret)
{
    static const char *const kinds[] = {"const ", "function ", "async function ",
                                        "async function* ", "class "};
    const char *declared = line + strlen("export ");
    size_t left = n - strlen("export ");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t kind = strlen(kinds[i]), name = 0;
        if (!starts(declared, left, kinds[i]))
            continue;
        while (kind + name < left && !strchr(" (=", declared[kind + name]))
            name++;
        *ret = declared + kind;
        return name;
    }
    return 0;
}

static bool is_taken(const cw_joined *j, const char *name, size_t n)
{
    for (size_t i = 0; i < j->n_exports; i++) {
        if (j->exports[i].n == n && memcmp(j->exports[i].text, name, n) == 0)
            return true;
    }
    return false;
}

static bool add_name(cw_joined *j, const char *line, size_t n)
{
    const char *name;
    size_t size = find_export(line, n, &name);
    if (!size || is_taken(j, name, size) || j->n_exports == CW_JOIN_EXPORTS)
        return false;
    j->exports[j->n_exports].text = j->out + j->n;
    j->exports[j->n_exports++].n = size;
    return add(j, name, size) && add_text(j, ", ");
}

/* ---- lines ---- */

static bool add_line(cw_joined *j, const char *line, size_t n)
{
    if (starts(line, n, "import "))
        return add_import(j, line, n);
    if (starts(line, n, "export "))
        return add(j, line + strlen("export "), n - strlen("export "));
    return add(j, line, n);
}

static bool add_name_of_export(cw_joined *j, const char *line, size_t n)
{
    return !starts(line, n, "export ") || add_name(j, line, n);
}

static bool each_line(cw_joined *j, const char *text, size_t size,
                      bool (*fn)(cw_joined *j, const char *line, size_t n))
{
    while (size) {
        const char *end = memchr(text, '\n', size);
        size_t line = end ? (size_t)(end - text) + 1 : size;
        if (!fn(j, text, line))
            return false;
        text += line;
        size -= line;
    }
    return true;
}

bool cw_join_module(cw_joined *to, const char *text, size_t size)
{
    size_t first = to->n_exports;
    bool is_good = add_text(to, "const { ") && each_line(to, text, size, add_name_of_export) &&
                   add_text(to, "} = (() => {\n") && each_line(to, text, size, add_line) &&
                   add_text(to, "return { ");
    for (size_t i = first; i < to->n_exports && is_good; i++)
        is_good = add(to, to->exports[i].text, to->exports[i].n) && add_text(to, ", ");
    return is_good && add_text(to, "};\n})();\n");
}
