/* SPDX-License-Identifier: GPL-2.0-or-later */
/* families.h - the table of metrics: names, help texts, labels, buckets.
 *
 * The cells of a metric are in rows. A row belongs to one name (or one route and method); a thread
 * allocates it at the first count. The other labels are indices within the row. A metric without
 * names has one row.
 *
 * Threads: the table is constant; any thread may read cells (cells.c has the rules of writing).
 */
#ifndef CW_METRICS_FAMILIES_H
#define CW_METRICS_FAMILIES_H

#include "metrics/metrics.h"
#include "metrics/names.h"

#define CW_FAMILY_LABELS 3u

typedef enum cw_family_type {
    CW_FAMILY_COUNTER,
    CW_FAMILY_GAUGE,
    CW_FAMILY_HISTOGRAM
} cw_family_type;

/* The values of a label: a fixed list, or the names of a kind. */
typedef struct cw_label {
    const char *name; /* NULL: no label */
    const char *const *values;
    uint32_t n;       /* values, or the maximum of names */
    int kind;         /* cw_metrics_kind, with `values` NULL */
    bool omits_first; /* the first value is empty: the label is left out */
} cw_label;

typedef struct cw_buckets {
    const uint64_t *ns;
    const char *const *texts; /* canonical numbers in seconds */
    unsigned n;
} cw_buckets;

typedef struct cw_family {
    const char *name; /* a counter's ends in _total */
    const char *help;
    const cw_buckets *buckets;
    uint64_t scale;       /* values are divided by this; 0: 1 */
    const char *constant; /* a label with the same value in all series, as it is written; or NULL */
    cw_label labels[CW_FAMILY_LABELS];
    cw_family_type type;
    unsigned n_row_labels; /* the first labels that select the row */
    uint32_t zeros; /* values of the last label that are written although they are 0, as bits */
    bool continues; /* the metric before has the same name */
    bool has_exemplars;
    bool is_set; /* set, not added: its cells are shared */
} cw_family;

extern const cw_family cw_families[CW_METRIC_N];

/* Cells of one series, and of a row; rows. */
uint32_t cw_family_series_cells(const cw_family *f);
uint32_t cw_family_row_series(const cw_family *f);
uint32_t cw_family_rows(const cw_family *f);

/* cells.c: the cells of a row in the memory of one thread after the other. Start with *at NULL; NULL at the end. */
typedef _Atomic uint64_t cw_metrics_cell;
typedef struct cw_metrics_block cw_metrics_block;
const cw_metrics_block *cw_metrics_next_block(const cw_metrics_block *at);
const cw_metrics_cell *cw_metrics_row(const cw_metrics_block *block, cw_metric metric,
                                      uint32_t row);

/* Where the parts of a histogram's series are: buckets, the one without a bound, the sum; then an
 * exemplar. */
#define CW_EXEMPLAR_CELLS 6u /* a sequence, ns, wall clock in ms, trace id (2), span id */

#endif
