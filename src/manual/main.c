/* SPDX-License-Identifier: GPL-2.0-or-later */
/* main.c - causeway-manual, a program of the build: writes the manual pages whose paths it gets.
 *
 *     causeway-manual man/causeway.1 man/causeway-serve.1 man/causeway.yaml.5
 *
 * It fails if a command of the program has no page among them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "manual/manual.h"

#define PAGE_MAX_BYTES (4u << 20)

typedef struct pages {
    char **paths;
    int n;
    bool is_missing;
} pages;

static cw_str name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return cw_str_from(slash ? slash + 1 : path);
}

static void find_page(const char *name, void *ctx)
{
    pages *p = ctx;
    char file[80];
    snprintf(file, sizeof file, "causeway-%s.1", name);
    for (int i = 0; i < p->n; i++)
        if (cw_str_is(name_of(p->paths[i]), file))
            return;
    fprintf(stderr, "causeway-manual: add '%s' to the list in src/manual/meson.build\n", name);
    p->is_missing = true;
}

/* Append the page of a file. Returns false if no page has this name. */
static bool make_page(cw_str file, cw_buf *out)
{
    static const cw_str prefix = CW_STR_INIT("causeway-"), suffix = CW_STR_INIT(".1");
    if (cw_str_is(file, "causeway.1")) {
        cw_manual_program(out);
        return true;
    }
    if (cw_str_is(file, "causeway.yaml.5")) {
        cw_manual_configuration(out);
        return true;
    }
    if (!cw_str_starts(file, prefix) || !cw_str_ends(file, suffix))
        return false;
    return cw_manual_command(cw_str_make(file.p + prefix.n, file.n - prefix.n - suffix.n), out);
}

static bool write_file(const char *path, const cw_buf *page)
{
    FILE *file = fopen(path, "w");
    bool is_written = file && fwrite(page->p, 1, page->n, file) == page->n;
    if (file && fclose(file))
        is_written = false;
    if (!is_written)
        perror(path);
    return is_written;
}

static bool write_page(const char *path)
{
    CW_CLEANUP(cw_buf_done) cw_buf page;
    cw_buf_init(&page, PAGE_MAX_BYTES);
    if (!make_page(name_of(path), &page) || page.code || !page.n) {
        fprintf(stderr, "causeway-manual: %s: no such page\n", path);
        return false;
    }
    return write_file(path, &page);
}

int main(int argc, char **argv)
{
    pages all = {argv + 1, argc - 1, false};
    cw_manual_each_command(find_page, &all);
    bool is_written = !all.is_missing;
    for (int i = 1; i < argc && is_written; i++)
        is_written = write_page(argv[i]);
    return is_written ? EXIT_SUCCESS : EXIT_FAILURE;
}
