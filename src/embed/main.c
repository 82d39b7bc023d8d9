/* SPDX-License-Identifier: GPL-2.0-or-later */
/* main.c - a program of the build: writes files as a C table, plain and gzipped. Modules become one script
 * (join.h), and scripts and stylesheets lose their comments and white space (squeeze.h).
 *
 *     causeway-embed OUTPUT.c SCRIPT FILE...
 *
 *     causeway-embed OUTPUT.c =SYMBOL FILE
 *
 * SCRIPT is the name of the script of all modules. The table is that of door/page/assets.h. Equal files
 * give equal bytes: gzip's time is zero. The last line of the output has the size of all gzipped files. With
 * =SYMBOL the output has one text, as it is.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/fnv.h"
#include "embed/join.h"
#include "embed/squeeze.h"

#define FILE_MAX 262144u
#define PACKED_MAX (FILE_MAX + 4096u)
#define PER_LINE 24u
#define FILES_MAX 64

static uint64_t hash = CW_FNV1A_START;
static size_t total; /* of the gzipped files */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const char *type_of(const char *name)
{
    static const struct {
        const char *ending, *type;
    } types[] = {
        {".mjs", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".svg", "image/svg+xml"},
        {".html", "text/html; charset=utf-8"},
    };
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(dot, types[i].ending) == 0)
            return types[i].type;
    }
    return NULL;
}

static void add_to_hash(const unsigned char *bytes, size_t n)
{
    hash = cw_fnv1a(hash, cw_str_make((const char *)bytes, n));
}

static int fail(const char *what, const char *name)
{
    fprintf(stderr, "causeway-embed: %s: %s\n", name, what);
    return 1;
}

static size_t read_file(const char *path, unsigned char out[FILE_MAX])
{
    FILE *in = fopen(path, "rb");
    size_t n = in ? fread(out, 1, FILE_MAX, in) : 0;
    if (in)
        fclose(in);
    return n < FILE_MAX ? n : 0;
}

/* 0: it failed. */
static size_t pack(unsigned char *bytes, size_t n, unsigned char out[PACKED_MAX])
{
    z_stream z = {0};
    if (deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 9, Z_DEFAULT_STRATEGY))
        return 0;
    z.next_in = bytes;
    z.avail_in = (uInt)n;
    z.next_out = out;
    z.avail_out = PACKED_MAX;
    int rc = deflate(&z, Z_FINISH);
    size_t packed = z.total_out;
    deflateEnd(&z);
    return rc == Z_STREAM_END ? packed : 0;
}

static void write_bytes(FILE *out, const char *kind, int index, const unsigned char *bytes,
                        size_t n)
{
    fprintf(out, "static const unsigned char %s_%d[] = {", kind, index);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s%u,", i % PER_LINE ? "" : "\n", bytes[i]);
    fprintf(out, "\n};\n");
}

static bool ends(const char *name, const char *with)
{
    const char *dot = strrchr(name, '.');
    return dot && strcmp(dot, with) == 0;
}

static size_t squeeze(const char *name, char *text, size_t n)
{
    if (ends(name, ".mjs"))
        return cw_squeeze_script(text, n);
    return ends(name, ".css") ? cw_squeeze_style(text, n) : n;
}

static int write_file(FILE *out, const char *name, unsigned char *plain, size_t size, int index)
{
    static unsigned char packed[PACKED_MAX];
    size_t n = squeeze(name, (char *)plain, size);
    size_t n_packed = n ? pack(plain, n, packed) : 0;
    if (!n_packed)
        return fail("cannot be read, joined or squeezed, is empty, or is too large", name);
    if (!type_of(name))
        return fail("has no known type", name);
    add_to_hash((const unsigned char *)name, strlen(name) + 1);
    add_to_hash(plain, n);
    write_bytes(out, "plain", index, plain, n);
    write_bytes(out, "gzip", index, packed, n_packed);
    total += n_packed;
    return 0;
}

/* The modules as one script. */
static int write_script(FILE *out, const char *name, int n, char **paths)
{
    static unsigned char module[FILE_MAX], joined[FILE_MAX];
    cw_joined all = {.out = (char *)joined, .room = sizeof joined};
    for (int i = 0; i < n; i++) {
        if (!ends(paths[i], ".mjs"))
            continue;
        size_t read = read_file(paths[i], module);
        if (!read)
            return fail("cannot be read, is empty, or is too large", paths[i]);
        if (!cw_join_module(&all, (char *)module, read))
            return fail(
                "has an import or export that cannot be joined, or a name of another module",
                paths[i]);
    }
    return write_file(out, name, joined, all.n, 0);
}

/* names[0] is the script, and the others are files as they are. */
static int write_files(FILE *out, int n, char **paths, const char **names, int *n_names)
{
    static unsigned char plain[FILE_MAX];
    int status = write_script(out, names[0], n, paths);
    *n_names = 1;
    for (int i = 0; i < n && !status; i++) {
        if (ends(paths[i], ".mjs"))
            continue;
        names[*n_names] = base_name(paths[i]);
        status = write_file(out, names[*n_names], plain, read_file(paths[i], plain), *n_names);
        ++*n_names;
    }
    return status;
}

static void write_table(FILE *out, int n, const char **names)
{
    fprintf(out, "const cw_asset cw_assets[] = {\n");
    for (int i = 0; i < n; i++) {
        const char *name = names[i];
        fprintf(out,
                "    {CW_STR_INIT(\"%s\"), CW_STR_INIT(\"%s\"),\n"
                "     {(const char *)plain_%d, sizeof plain_%d},\n"
                "     {(const char *)gzip_%d, sizeof gzip_%d}},\n",
                name, type_of(name), i, i, i, i);
    }
    fprintf(out, "};\nconst size_t cw_assets_n = %d;\n", n);
    fprintf(out, "const char cw_assets_hash[] = \"%016" PRIx64 "\";\n", hash);
}

/* One file as a cw_str. */
static int write_text(FILE *out, const char *symbol, const char *path)
{
    static unsigned char plain[FILE_MAX];
    size_t n = read_file(path, plain);
    if (!n)
        return fail("cannot be read, is empty, or is too large", path);
    fprintf(out, "#include \"base/str.h\"\nextern const cw_str %s;\n", symbol);
    write_bytes(out, "plain", 0, plain, n);
    fprintf(out, "const cw_str %s = {(const char *)plain_0, sizeof plain_0};\n", symbol);
    return 0;
}

int main(int argc, char **argv)
{
    const char *names[FILES_MAX];
    int n_names;
    if (argc < 4 || argc > FILES_MAX)
        return fail("expected an output, the name of a script, and files", "arguments");
    FILE *out = fopen(argv[1], "wb");
    if (!out)
        return fail("cannot be written", argv[1]);
    int status;
    if (argv[2][0] == '=') {
        status = write_text(out, argv[2] + 1, argv[3]);
    } else {
        fprintf(out, "#include \"door/page/assets.h\"\n");
        names[0] = argv[2];
        status = write_files(out, argc - 3, argv + 3, names, &n_names);
        write_table(out, n_names, names);
        fprintf(out, "/* gzipped: %zu bytes */\n", total);
    }
    if (fclose(out))
        status = fail("cannot be written", argv[1]);
    return status;
}
