/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench_json.c - reading and writing JSON, next to cJSON and jansson.
 *
 *     bench_json              a table
 *     bench_json --json       the same as one JSON object
 *     bench_json --callgrind DOC N
 *                             N reads of one document, for instructions.sh
 *
 * "read" builds a document and frees it; "round" reads, writes it back compactly
 * from the tape (or tree) and frees both. Ours checks UTF-8 and duplicate keys.
 * Every round gives each library SLICES slices of about SLICE_NS, in turn, so that
 * a change of the machine's speed meets all of them; the median of ROUNDS counts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef HAVE_CJSON
#include <cjson/cJSON.h>
#endif
#ifdef HAVE_JANSSON
#include <jansson.h>
#endif

#include "docs.h"
#include "json/write.h"

#define ROUNDS 9
#define SLICES 10
#define SLICE_NS 2000000.0
#define OURS 0

typedef void (*bench_fn)(cw_str doc);

typedef struct library {
    const char *name;
    bench_fn read;
    bench_fn round;
} library;

static cw_arena arena;
static cw_buf output;

static void give_up(const char *what)
{
    fprintf(stderr, "bench_json: %s\n", what);
    exit(1);
}

static const cw_json *read_ours(cw_str doc)
{
    static cw_err err; /* a quarter of a kilobyte that some builds would clear on every call */
    const cw_json *root;
    if (cw_json_read(doc, NULL, &arena, &root, NULL, &err))
        give_up(err.msg);
    return root;
}

static void ours_read(cw_str doc)
{
    read_ours(doc);
    cw_arena_reset(&arena);
}

static void ours_round(cw_str doc)
{
    cw_json_writer w;
    cw_json_writer_init(&w, &output, CW_JSON_COMPACT);
    cw_json_add_value(&w, read_ours(doc));
    if (cw_json_writer_end(&w, NULL))
        give_up("cannot write");
    /* Like the others, which hand out a new string each time. */
    cw_buf_release(&output);
    cw_arena_reset(&arena);
}

#ifdef HAVE_CJSON
static void cjson_read(cw_str doc)
{
    cJSON *root = cJSON_ParseWithLength(doc.p, doc.n);
    if (!root)
        give_up("cJSON failed");
    cJSON_Delete(root);
}

static void cjson_round(cw_str doc)
{
    cJSON *root = cJSON_ParseWithLength(doc.p, doc.n);
    char *text = cJSON_PrintUnformatted(root);
    if (!text)
        give_up("cJSON failed");
    free(text);
    cJSON_Delete(root);
}
#endif

#ifdef HAVE_JANSSON
static void jansson_read(cw_str doc)
{
    json_t *root = json_loadb(doc.p, doc.n, JSON_REJECT_DUPLICATES, NULL);
    if (!root)
        give_up("jansson failed");
    json_decref(root);
}

static void jansson_round(cw_str doc)
{
    json_t *root = json_loadb(doc.p, doc.n, JSON_REJECT_DUPLICATES, NULL);
    char *text = json_dumps(root, JSON_COMPACT);
    if (!text)
        give_up("jansson failed");
    free(text);
    json_decref(root);
}
#endif

static const library libraries[] = {
    {"causeway", ours_read, ours_round},
#ifdef HAVE_CJSON
    {"cJSON", cjson_read, cjson_round},
#endif
#ifdef HAVE_JANSSON
    {"jansson", jansson_read, jansson_round},
#endif
};
#define LIBRARIES CW_COUNT(libraries)

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double time_batch(bench_fn fn, cw_str doc, unsigned n)
{
    double start = cpu_ns();
    for (unsigned i = 0; i < n; i++)
        fn(doc);
    return (cpu_ns() - start) / n;
}

/* How many calls fill a slice; also warms up. */
static unsigned calibrate(bench_fn fn, cw_str doc)
{
    unsigned n = 1;
    while (n < 1u << 24 && time_batch(fn, doc, n) * n < SLICE_NS)
        n *= 2;
    return (unsigned)(SLICE_NS / time_batch(fn, doc, n)) + 1;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of ROUNDS rounds for each library, taken in turn. */
static void measure(cw_str doc, bool round, double ret_ns[LIBRARIES])
{
    double times[LIBRARIES][ROUNDS] = {0};
    unsigned n[LIBRARIES];
    bench_fn fn[LIBRARIES];
    for (size_t l = 0; l < LIBRARIES; l++) {
        fn[l] = round ? libraries[l].round : libraries[l].read;
        n[l] = calibrate(fn[l], doc);
    }
    for (size_t i = 0; i < (size_t)ROUNDS * SLICES; i++) {
        for (size_t l = 0; l < LIBRARIES; l++)
            times[l][i / SLICES] += time_batch(fn[l], doc, n[l]) / SLICES;
    }
    for (size_t l = 0; l < LIBRARIES; l++) {
        qsort(times[l], ROUNDS, sizeof times[l][0], compare_doubles);
        ret_ns[l] = times[l][ROUNDS / 2];
    }
}

static void print_row(const char *doc, size_t bytes, const char *what, const double *ns)
{
    printf("%-9s %8zu  %-6s", doc, bytes, what);
    for (size_t l = 0; l < LIBRARIES; l++)
        printf("  %11.0f ns %6.0f MB/s", ns[l], (double)bytes * 1e3 / ns[l]);
    for (size_t l = 1; l < LIBRARIES; l++)
        printf("  %5.1fx %s", ns[l] / ns[OURS], libraries[l].name);
    printf("\n");
    fflush(stdout);
}

static void add_result(cw_json_writer *w, const char *doc, size_t bytes, const char *what,
                       const double *ns)
{
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("document"), cw_str_from(doc));
    cw_json_add_i64_member(w, CW_STR("bytes"), (int64_t)bytes);
    cw_json_add_string_member(w, CW_STR("what"), cw_str_from(what));
    cw_json_add_key(w, CW_STR("median_ns"));
    cw_json_open_object(w);
    for (size_t l = 0; l < LIBRARIES; l++)
        cw_json_add_i64_member(w, cw_str_from(libraries[l].name), (int64_t)ns[l]);
    cw_json_close(w);
    cw_json_add_key(w, CW_STR("times_as_fast"));
    cw_json_open_object(w);
    for (size_t l = 1; l < LIBRARIES; l++) {
        cw_json_add_key(w, cw_str_from(libraries[l].name));
        cw_json_add_double(w, (double)(int64_t)(ns[l] / ns[OURS] * 100) / 100);
    }
    cw_json_close(w);
    cw_json_close(w);
}

static void make_doc(bench_doc which, cw_buf *ret)
{
    cw_buf_init(ret, 4u << 20);
    bench_doc_write(which, ret);
    if (ret->code)
        give_up("cannot make the documents");
}

static void run(bool as_json)
{
    cw_buf results;
    cw_buf_init(&results, 1u << 20);
    cw_json_writer w;
    cw_json_writer_init(&w, &results, CW_JSON_INDENT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("benchmark"), CW_STR("json"));
    cw_json_add_i64_member(&w, CW_STR("rounds"), ROUNDS);
    cw_json_add_key(&w, CW_STR("results"));
    cw_json_open_array(&w);
    if (!as_json) {
        printf("document     bytes  what  ");
        for (size_t l = 0; l < LIBRARIES; l++)
            printf("  %25s", libraries[l].name);
        printf("  as fast as\n");
    }
    for (int round = 0; round < 2; round++) {
        const char *what = round ? "round" : "read";
        for (int d = 0; d < BENCH_DOCS; d++) {
            cw_buf doc;
            make_doc((bench_doc)d, &doc);
            double ns[LIBRARIES];
            measure(cw_buf_str(&doc), round, ns);
            if (!as_json)
                print_row(bench_doc_names[d], doc.n, what, ns);
            add_result(&w, bench_doc_names[d], doc.n, what, ns);
            cw_buf_done(&doc);
        }
    }
    cw_json_close(&w);
    cw_json_close(&w);
    if (cw_json_writer_end(&w, NULL))
        give_up("cannot write the results");
    if (as_json)
        printf("%.*s\n", CW_STR_ARG(cw_buf_str(&results)));
    cw_buf_done(&results);
}

static void run_callgrind(const char *name, const char *count)
{
    for (int d = 0; d < BENCH_DOCS; d++) {
        if (strcmp(name, bench_doc_names[d]) != 0)
            continue;
        cw_buf doc;
        make_doc((bench_doc)d, &doc);
        unsigned long n = strtoul(count, NULL, 10);
        for (unsigned long i = 0; i < n; i++)
            ours_read(cw_buf_str(&doc));
        printf("%zu\n", doc.n);
        cw_buf_done(&doc);
        return;
    }
    give_up("no such document");
}

int main(int argc, char **argv)
{
    cw_arena_init(&arena, 64u << 20);
    cw_buf_init(&output, 8u << 20);
    if (argc == 4 && strcmp(argv[1], "--callgrind") == 0)
        run_callgrind(argv[2], argv[3]);
    else if (argc == 1 || (argc == 2 && strcmp(argv[1], "--json") == 0))
        run(argc == 2);
    else
        give_up("usage: bench_json [--json | --callgrind call|response|list|array N]");
    cw_buf_done(&output);
    cw_arena_done(&arena);
    return 0;
}
