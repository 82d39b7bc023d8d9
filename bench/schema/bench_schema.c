/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench_schema.c - validating, reading and validating, and compiling.
 *
 *     bench_schema              a table
 *     bench_schema --json       the same as one JSON object
 *     bench_schema --write DIR  schemas and instances as files, for the peers
 *     bench_schema --callgrind WHAT DOC N
 *                               WHAT ("validate", "both", "compile") N times, for instructions.sh
 *
 * Validation goes round COPIES documents that were read before, as the peers do.
 * The best of BATCHES batches counts: the machine has a slower state, and a batch
 * is short enough to fit into the faster one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "docs.h"
#include "json/write.h"
#include "schema/schema.h"

#define COPIES 64
#define BATCHES 300
#define BATCH_NS 1000000.0

typedef struct bench {
    cw_schema *schema;
    cw_str schema_text;
    cw_buf text;
    const cw_json *copies[COPIES];
    cw_arena arena;  /* the copies */
    cw_arena reused; /* for reading */
    cw_schema_scratch scratch;
} bench;

typedef void (*bench_fn)(bench *b, unsigned i);

static void give_up(const char *what)
{
    fprintf(stderr, "bench_schema: %s\n", what);
    exit(1);
}

static const cw_json *read_instance(bench *b, cw_arena *arena)
{
    static cw_err err; /* a quarter of a kilobyte that some builds would clear on every call */
    const cw_json *root;
    if (cw_json_read(cw_buf_str(&b->text), NULL, arena, &root, NULL, &err))
        give_up(err.msg);
    return root;
}

static void validate(bench *b, unsigned i)
{
    if (cw_schema_validate(b->schema, b->copies[i % COPIES], &b->scratch))
        give_up("an instance is not valid");
}

static void read_and_validate(bench *b, unsigned i)
{
    (void)i;
    if (cw_schema_validate(b->schema, read_instance(b, &b->reused), &b->scratch))
        give_up("an instance is not valid");
    cw_arena_reset(&b->reused);
}

static void compile(bench *b, unsigned i)
{
    (void)i;
    static cw_err err;
    cw_schema *s;
    if (cw_schema_compile_text(b->schema_text, NULL, &s, &err))
        give_up(err.msg);
    cw_schema_unref(s);
}

static const struct {
    const char *name;
    bench_fn fn;
} kinds[] = {{"validate", validate}, {"both", read_and_validate}, {"compile", compile}};

static void bench_init(bench *b, bench_doc which)
{
    cw_err err = {0};
    cw_arena_init(&b->arena, (size_t)1 << 30);
    cw_arena_init(&b->reused, 64u << 20);
    cw_schema_scratch_init(&b->scratch);
    cw_buf_init(&b->text, 16u << 20);
    bench_doc_write(which, &b->text);
    b->schema_text = cw_str_from(bench_doc_schema(which));
    if (cw_schema_compile_text(b->schema_text, NULL, &b->schema, &err))
        give_up(err.msg);
    for (int i = 0; i < COPIES; i++)
        b->copies[i] = read_instance(b, &b->arena);
}

static void bench_done(bench *b)
{
    cw_schema_unref(b->schema);
    cw_schema_scratch_done(&b->scratch);
    cw_buf_done(&b->text);
    cw_arena_done(&b->arena);
    cw_arena_done(&b->reused);
}

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double time_batch(bench *b, bench_fn fn, unsigned n)
{
    double start = cpu_ns();
    for (unsigned i = 0; i < n; i++)
        fn(b, i);
    return (cpu_ns() - start) / n;
}

static double best(bench *b, bench_fn fn)
{
    unsigned n = 1;
    while (n < 1u << 24 && time_batch(b, fn, n) * n < BATCH_NS)
        n *= 2;
    double least = time_batch(b, fn, n);
    for (int i = 0; i < BATCHES; i++) {
        double ns = time_batch(b, fn, n);
        least = ns < least ? ns : least;
    }
    return least;
}

static void run_all(bool json)
{
    cw_buf out;
    cw_buf_init(&out, 1u << 20);
    cw_json_writer w;
    cw_json_writer_init(&w, &out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    for (bench_doc d = 0; d < BENCH_DOCS; d++) {
        bench b;
        bench_init(&b, d);
        cw_json_add_key(&w, cw_str_from(bench_doc_names[d]));
        cw_json_open_object(&w);
        cw_json_add_i64_member(&w, CW_STR("bytes"), (int64_t)b.text.n);
        cw_json_add_i64_member(&w, CW_STR("schema_bytes"), (int64_t)b.schema_text.n);
        for (size_t k = 0; k < CW_COUNT(kinds); k++) {
            double ns = best(&b, kinds[k].fn);
            cw_json_add_key(&w, cw_str_from(kinds[k].name));
            cw_json_add_double(&w, ns);
            if (!json)
                printf("%-8s %6zu B / %4zu B  %-8s %10.1f ns\n", bench_doc_names[d], b.text.n,
                       b.schema_text.n, kinds[k].name, ns);
        }
        cw_json_close(&w);
        bench_done(&b);
    }
    cw_json_close(&w);
    if (cw_json_writer_end(&w, NULL))
        give_up("cannot write");
    if (json)
        printf("%.*s\n", CW_STR_ARG(cw_buf_str(&out)));
    cw_buf_done(&out);
}

static void write_file(const char *folder, const char *name, const char *what, cw_str text)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%s.json", folder, name, what);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(text.p, 1, text.n, f) != text.n || fclose(f) != 0)
        give_up("cannot write a file");
}

static void write_all(const char *folder)
{
    for (bench_doc d = 0; d < BENCH_DOCS; d++) {
        cw_buf text;
        cw_buf_init(&text, 16u << 20);
        bench_doc_write(d, &text);
        write_file(folder, bench_doc_names[d], "schema", cw_str_from(bench_doc_schema(d)));
        write_file(folder, bench_doc_names[d], "instance", cw_buf_str(&text));
        cw_buf_done(&text);
    }
}

static void run_counted(const char *what, const char *doc, unsigned n)
{
    for (bench_doc d = 0; d < BENCH_DOCS; d++) {
        for (size_t k = 0; k < CW_COUNT(kinds); k++) {
            if (strcmp(bench_doc_names[d], doc) != 0 || strcmp(kinds[k].name, what) != 0)
                continue;
            bench b;
            bench_init(&b, d);
            for (unsigned i = 0; i < n; i++)
                kinds[k].fn(&b, i);
            bench_done(&b);
            return;
        }
    }
    give_up("no such document or measurement");
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "--callgrind") == 0)
        run_counted(argv[2], argv[3], (unsigned)strtoul(argv[4], NULL, 10));
    else if (argc == 3 && strcmp(argv[1], "--write") == 0)
        write_all(argv[2]);
    else
        run_all(argc == 2 && strcmp(argv[1], "--json") == 0);
    return 0;
}
