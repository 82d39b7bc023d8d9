/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exposition.c - all metrics as text: Prometheus 0.0.4, or OpenMetrics 1.0 with exemplars. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/hex.h"
#include "metrics/families.h"
#include "metrics/process.h"

#define ROW_CELLS_MAX 2048u
#define LABELS_MAX 2048u /* bytes of the labels of one series */

typedef struct writer {
    cw_buf *out;
    bool is_open; /* OpenMetrics */
    cw_metric metric;
    const cw_family *family;
    uint32_t values[CW_FAMILY_LABELS];
    uint64_t cells[ROW_CELLS_MAX];  /* of a row, summed */
    uint64_t newest[ROW_CELLS_MAX]; /* exemplars, at the places of their cells */
    cw_buf labels;                  /* of the series, without braces; cleared for each */
    uint64_t wall_offset_ns;        /* from the monotonic clock to that since 1970 */
} writer;

/* ---- names and labels ---- */

static cw_str family_name(const writer *w)
{
    cw_str name = cw_str_from(w->family->name);
    /* OpenMetrics names the family without the suffix of its samples. */
    if (w->is_open && w->family->type == CW_FAMILY_COUNTER)
        name.n -= strlen("_total");
    return name;
}

static void add_line(const writer *w, const char *keyword, cw_str text)
{
    cw_buf_add(w->out, CW_STR("# "));
    cw_buf_add(w->out, cw_str_from(keyword));
    cw_buf_add_char(w->out, ' ');
    cw_buf_add(w->out, family_name(w));
    cw_buf_add_char(w->out, ' ');
    cw_buf_add(w->out, text);
    cw_buf_add_char(w->out, '\n');
}

static void add_head(const writer *w)
{
    static const char *const types[] = {"counter", "gauge", "histogram"};
    static const char *const units[] = {"seconds", "bytes"};
    if (w->family->continues)
        return;
    add_line(w, "HELP", cw_str_from(w->family->help));
    add_line(w, "TYPE", cw_str_from(types[w->family->type]));
    for (size_t i = 0; w->is_open && i < CW_COUNT(units); i++) {
        if (cw_str_ends(family_name(w), cw_str_from(units[i])))
            add_line(w, "UNIT", cw_str_from(units[i]));
    }
}

static void add_escaped(cw_buf *b, cw_str value)
{
    for (size_t i = 0; i < value.n; i++) {
        char c = value.p[i];
        if (c == '\n') {
            cw_buf_add(b, CW_STR("\\n"));
            continue;
        }
        if (c == '\\' || c == '"')
            cw_buf_add_char(b, '\\');
        cw_buf_add_char(b, c);
    }
}

static cw_str value_of(const cw_label *label, uint32_t value)
{
    return label->values ? cw_str_from(label->values[value])
                         : cw_metrics_slot_name((cw_metrics_kind)label->kind, value);
}

/* The labels of the series w->values, each with a comma behind it but for the last. */
static void set_labels(writer *w)
{
    cw_buf *b = &w->labels;
    cw_buf_clear(b);
    if (w->family->constant)
        cw_buf_add(b, cw_str_from(w->family->constant));
    for (size_t i = 0; i < CW_FAMILY_LABELS && w->family->labels[i].name; i++) {
        const cw_label *label = &w->family->labels[i];
        if (label->omits_first && w->values[i] == 0)
            continue;
        if (b->n)
            cw_buf_add_char(b, ',');
        cw_buf_add(b, cw_str_from(label->name));
        cw_buf_add(b, CW_STR("=\""));
        add_escaped(b, value_of(label, w->values[i]));
        cw_buf_add_char(b, '"');
    }
}

/* ---- numbers ---- */

/* value / scale, with as many decimals as are needed. */
static void add_number(cw_buf *b, uint64_t value, uint64_t scale, bool is_signed)
{
    if (is_signed && (int64_t)value < 0) {
        cw_buf_add_char(b, '-');
        value = 0 - value;
    }
    if (scale <= 1) {
        cw_buf_add_u64(b, value);
        return;
    }
    cw_buf_add_u64(b, value / scale);
    uint64_t rest = value % scale;
    if (rest)
        cw_buf_add_char(b, '.');
    for (; rest; rest %= scale) {
        rest *= 10;
        cw_buf_add_char(b, (char)('0' + rest / scale));
    }
}

/* ---- samples ---- */

static void begin_sample(const writer *w, const char *suffix, const char *bound)
{
    cw_buf *b = w->out;
    cw_buf_add(b, cw_str_from(w->family->name));
    cw_buf_add(b, cw_str_from(suffix));
    if (w->labels.n || bound) {
        cw_buf_add_char(b, '{');
        cw_buf_add(b, cw_buf_str(&w->labels));
        if (bound) {
            cw_buf_add(b, w->labels.n ? CW_STR(",le=\"") : CW_STR("le=\""));
            cw_buf_add(b, cw_str_from(bound));
            cw_buf_add_char(b, '"');
        }
        cw_buf_add_char(b, '}');
    }
    cw_buf_add_char(b, ' ');
}

static void add_hex(cw_buf *b, const uint64_t *words, size_t n)
{
    char text[33];
    cw_hex_write(text, (const unsigned char *)words, n * sizeof *words);
    cw_buf_add_bytes(b, text, n * 16);
}

/* words: ns, wall clock in ms, trace id, span id. */
static void add_exemplar(cw_buf *b, const uint64_t *words, uint64_t wall_offset_ns)
{
    cw_buf_add(b, CW_STR(" # {trace_id=\""));
    add_hex(b, words + 2, 2);
    cw_buf_add(b, CW_STR("\",span_id=\""));
    add_hex(b, words + 4, 1);
    cw_buf_add(b, CW_STR("\"} "));
    add_number(b, words[0], UINT64_C(1000000000), false);
    cw_buf_add_char(b, ' ');
    add_number(b, (words[1] + wall_offset_ns) / 1000000, 1000, false);
}

static void add_histogram(writer *w, const uint64_t *cells, const uint64_t *exemplar)
{
    const cw_buckets *buckets = w->family->buckets;
    uint64_t total = 0;
    set_labels(w);
    for (unsigned i = 0; i <= buckets->n; i++) {
        total += cells[i];
        begin_sample(w, "_bucket", i < buckets->n ? buckets->texts[i] : "+Inf");
        cw_buf_add_u64(w->out, total);
        bool is_here =
            exemplar && exemplar[1] && (i == buckets->n || exemplar[0] <= buckets->ns[i]);
        if (is_here && w->is_open)
            add_exemplar(w->out, exemplar, w->wall_offset_ns);
        if (is_here)
            exemplar = NULL;
        cw_buf_add_char(w->out, '\n');
    }
    begin_sample(w, "_sum", NULL);
    add_number(w->out, cells[buckets->n + 1], UINT64_C(1000000000), false);
    cw_buf_add_char(w->out, '\n');
    begin_sample(w, "_count", NULL);
    cw_buf_add_u64(w->out, total);
    cw_buf_add_char(w->out, '\n');
}

static void add_value(writer *w, uint64_t value)
{
    set_labels(w);
    begin_sample(w, "", NULL);
    add_number(w->out, value, w->family->scale, w->family->type == CW_FAMILY_GAUGE);
    cw_buf_add_char(w->out, '\n');
}

/* ---- rows ---- */

/* A copy that no write interrupted; false: none. */
static bool read_exemplar(const cw_metrics_cell *at, uint64_t words[CW_EXEMPLAR_CELLS - 1])
{
    uint64_t before = atomic_load_explicit(at, memory_order_acquire);
    for (size_t i = 0; i < CW_EXEMPLAR_CELLS - 1; i++)
        words[i] = atomic_load_explicit(&at[i + 1], memory_order_acquire);
    return before && !(before & 1) && before == atomic_load_explicit(at, memory_order_relaxed);
}

static void take_exemplar(writer *w, const cw_metrics_cell *cells, uint32_t at)
{
    uint64_t words[CW_EXEMPLAR_CELLS - 1];
    if (read_exemplar(&cells[at], words) && words[1] > w->newest[at + 1])
        memcpy(&w->newest[at], words, sizeof words);
}

/* Sum a row of all threads; false: no thread has it. */
static bool sum_row(writer *w, uint32_t row)
{
    uint32_t n_series = cw_family_row_series(w->family), size = cw_family_series_cells(w->family);
    uint32_t n_summed = w->family->buckets ? w->family->buckets->n + 2 : 1;
    bool is_any = false;
    for (const cw_metrics_block *b = cw_metrics_next_block(NULL); b; b = cw_metrics_next_block(b)) {
        const cw_metrics_cell *cells = cw_metrics_row(b, w->metric, row);
        if (!cells)
            continue;
        if (!is_any) {
            memset(w->cells, 0, n_series * size * sizeof *w->cells);
            memset(w->newest, 0, n_series * size * sizeof *w->newest);
        }
        is_any = true;
        for (uint32_t s = 0; s < n_series; s++) {
            uint32_t from = s * size;
            for (uint32_t i = from; i < from + n_summed; i++)
                w->cells[i] += atomic_load_explicit(&cells[i], memory_order_relaxed);
            if (w->family->has_exemplars)
                take_exemplar(w, cells, from + n_summed);
        }
    }
    return is_any;
}

static bool has_any(const uint64_t *cells, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (cells[i])
            return true;
    }
    return false;
}

/* The series of one row. The last label is the fastest; a group has all of its values. */
static void add_row(writer *w, bool is_forced)
{
    const cw_family *f = w->family;
    uint32_t size = cw_family_series_cells(f), n_series = cw_family_row_series(f);
    size_t last = 0;
    while (last + 1 < CW_FAMILY_LABELS && f->labels[last + 1].name)
        last++;
    bool has_last = f->labels[last].name && last >= f->n_row_labels;
    uint32_t n_last = has_last ? f->labels[last].n : 1;
    uint32_t n_summed = f->buckets ? f->buckets->n + 2 : 1;
    for (uint32_t s = 0; s < n_series; s++) {
        uint32_t of_last = s % n_last, group = s - of_last;
        if (has_last)
            w->values[last] = of_last;
        if (last > f->n_row_labels)
            w->values[last - 1] = s / n_last % f->labels[last - 1].n;
        if (last > f->n_row_labels + 1)
            w->values[last - 2] = s / n_last / f->labels[last - 1].n;
        bool is_used = is_forced || has_any(&w->cells[group * size], n_last * size);
        bool is_zero_wanted = of_last < 32 && (f->zeros >> of_last & 1) && is_used;
        const uint64_t *cells = &w->cells[s * size];
        if (!is_zero_wanted && !f->is_set && !has_any(cells, n_summed))
            continue;
        if (f->buckets)
            add_histogram(w, cells, f->has_exemplars ? &w->newest[s * size + n_summed] : NULL);
        else
            add_value(w, cells[0]);
    }
}

/* Slots beyond those in use have no row. */
static uint32_t rows_in_use(const cw_family *f)
{
    const cw_label *first = &f->labels[0];
    uint32_t n = cw_family_rows(f);
    if (!f->n_row_labels || first->values)
        return n;
    return n / first->n * cw_metrics_slots((cw_metrics_kind)first->kind);
}

static void add_family(writer *w, cw_metric metric)
{
    const cw_family *f = &cw_families[metric];
    w->metric = metric;
    w->family = f;
    memset(w->values, 0, sizeof w->values);
    add_head(w);
    /* The series that alerts need exist from the start: those of the row `_OTHER`. */
    bool is_forced = f->zeros && !f->is_set;
    for (uint32_t row = 0, n = rows_in_use(f); row < n; row++) {
        bool is_first =
            row == 0 && is_forced && (f->n_row_labels == 0 || metric == CW_METRIC_CALLS);
        bool is_any = sum_row(w, row);
        if (!is_any && !is_first)
            continue;
        if (!is_any)
            memset(w->cells, 0, sizeof w->cells);
        if (f->n_row_labels == 1)
            w->values[0] = row;
        if (f->n_row_labels == 2) {
            w->values[0] = row / f->labels[1].n;
            w->values[1] = row % f->labels[1].n;
        }
        /* A name has its zeros as soon as it has a row. */
        add_row(w, is_first || (f->n_row_labels == 1 && f->zeros == UINT32_MAX));
    }
}

void cw_metrics_write(cw_metrics_form form, cw_buf *out)
{
    writer w = {.out = out,
                .is_open = form == CW_METRICS_OPENMETRICS,
                .wall_offset_ns = (uint64_t)cw_clock_wall_ms() * 1000000 - cw_clock_ns()};
    cw_buf_init(&w.labels, LABELS_MAX);
    cw_metrics_set_process();
    cw_metrics_run_probes();
    for (int i = 0; i < CW_METRIC_N; i++)
        add_family(&w, (cw_metric)i);
    if (w.is_open)
        cw_buf_add(out, CW_STR("# EOF\n"));
    cw_buf_done(&w.labels);
}
