/* SPDX-License-Identifier: GPL-2.0-or-later */
/* join.c - puts modules of JavaScript into one file. */
#include "embed/join.h"

#include <stdbool.h>
#include <string.h>

typedef struct joiner {
    char *out;
    size_t n, room;
    struct {
        const char *text;
        size_t n;
    } exports[CW_JOIN_EXPORTS];
    size_t n_exports;
    bool is_bad;
} joiner;

static void add(joiner *j, const char *text, size_t n)
{
    if (n > j->room - j->n) {
        j->is_bad = true;
        return;
    }
    memcpy(j->out + j->n, text, n);
    j->n += n;
}

static void add_text(joiner *j, const char *text)
{
    add(j, text, strlen(text));
}

/* "dom.mjs" as a name: "dom_mjs". */
static void add_module_name(joiner *j, const char *name, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add(j, name[i] == '.' || name[i] == '-' ? "_" : &name[i], 1);
}

static bool starts(const char *text, size_t n, const char *with)
{
    return n >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

/* `{ a, b as c }` of an import, as a pattern: `{ a, b: c }`. */
static void add_pattern(joiner *j, const char *names, size_t n)
{
    static const char as[] = " as ";
    while (n) {
        const char *found = memmem(names, n, as, sizeof as - 1);
        size_t before = found ? (size_t)(found - names) : n;
        add(j, names, before);
        if (!found)
            return;
        add_text(j, ": ");
        names += before + sizeof as - 1;
        n -= before + sizeof as - 1;
    }
}

/* import { … } from "./dom.mjs"; */
static void add_import(joiner *j, const char *line, size_t n)
{
    static const char from[] = " from \"./";
    const char *names = line + strlen("import ");
    size_t left = n - strlen("import ");
    const char *found = memmem(names, left, from, sizeof from - 1);
    const char *module = found ? found + sizeof from - 1 : NULL;
    const char *end = module ? memchr(module, '"', n - (size_t)(module - line)) : NULL;
    if (!end || *names != '{') {
        j->is_bad = true;
        return;
    }
    add_text(j, "const ");
    add_pattern(j, names, (size_t)(found - names));
    add_text(j, "=");
    add_module_name(j, module, (size_t)(end - module));
    add_text(j, ";\n");
}

static void add_export(joiner *j, const char *line, size_t n)
{
    static const char *const kinds[] = {"const ", "function ", "async function ",
                                        "async function* ", "class "};
    static const char ends[] = " (=";
    const char *declared = line + strlen("export ");
    size_t left = n - strlen("export ");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t kind = strlen(kinds[i]), name = 0;
        if (!starts(declared, left, kinds[i]))
            continue;
        while (kind + name < left && !strchr(ends, declared[kind + name]))
            name++;
        if (j->n_exports == CW_JOIN_EXPORTS)
            break;
        j->exports[j->n_exports].text = declared + kind;
        j->exports[j->n_exports++].n = name;
        add(j, declared, left);
        return;
    }
    j->is_bad = true;
}

static void add_line(joiner *j, const char *line, size_t n)
{
    if (starts(line, n, "import "))
        add_import(j, line, n);
    else if (starts(line, n, "export "))
        add_export(j, line, n);
    else
        add(j, line, n);
}

size_t cw_join_module(const char *name, const char *text, size_t size, char *out, size_t n,
                      size_t room)
{
    joiner j = {.n = n, .room = room};
    j.out = out;
    add_text(&j, "const ");
    add_module_name(&j, name, strlen(name));
    add_text(&j, " = (() => {\n");
    while (size) {
        const char *end = memchr(text, '\n', size);
        size_t line = end ? (size_t)(end - text) + 1 : size;
        add_line(&j, text, line);
        text += line;
        size -= line;
    }
    add_text(&j, "return { ");
    for (size_t i = 0; i < j.n_exports; i++) {
        add(&j, j.exports[i].text, j.exports[i].n);
        add_text(&j, ", ");
    }
    add_text(&j, "};\n})();\n");
    return j.is_bad ? 0 : j.n;
}
