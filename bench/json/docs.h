/* SPDX-License-Identifier: GPL-2.0-or-later */
/* docs.h - the four documents that JSON is measured with, the same bytes on every run. */
#ifndef BENCH_JSON_DOCS_H
#define BENCH_JSON_DOCS_H

#include "base/buf.h"

typedef enum bench_doc {
    BENCH_CALL,     /* 269 B: a tools/call request */
    BENCH_RESPONSE, /* 2 kB: a tools/call result, mostly one text */
    BENCH_LIST,     /* 30 kB: a tools/list page of 50 tools */
    BENCH_ARRAY,    /* 1 MB: 5257 small objects */
    BENCH_DOCS,
} bench_doc;

extern const char *const bench_doc_names[BENCH_DOCS];

/* Append the document to `out`. */
void bench_doc_write(bench_doc which, cw_buf *out);

#endif
