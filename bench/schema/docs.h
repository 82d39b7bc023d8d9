/* SPDX-License-Identifier: GPL-2.0-or-later */
/* docs.h - the four pairs of schema and instance that validation is measured with, the same bytes
 * on every run. */
#ifndef BENCH_SCHEMA_DOCS_H
#define BENCH_SCHEMA_DOCS_H

#include "base/buf.h"

typedef enum bench_doc {
    BENCH_FLAT5,   /* a tool with five parameters */
    BENCH_NESTED3, /* three levels, references, patterns, oneOf */
    BENCH_UNEVAL,  /* allOf, if and unevaluatedProperties */
    BENCH_ARR1000, /* 1000 small objects */
    BENCH_DOCS,
} bench_doc;

extern const char *const bench_doc_names[BENCH_DOCS];

const char *bench_doc_schema(bench_doc which);
/* Append the instance to `out`. */
void bench_doc_write(bench_doc which, cw_buf *out);

#endif
