/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cells.c - the cells of each thread: counting, and sums over all threads.
 *
 *     thread ─► block ─► rows[metric][row] ─► cells
 *
 * Only its thread writes to a block, with a relaxed load and store. The first block is shared: it
 * has the gauges that are set, and the counts of threads that could not get a block. Its cells are
 * changed with atomic additions.
 */
#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "metrics/families.h"
#include "metrics/keep.h"

typedef _Atomic(cw_metrics_cell *) row_pointer;

struct cw_metrics_block {
    _Atomic(cw_metrics_block *) next;
    atomic_bool is_used; /* by a thread that runs */
    row_pointer rows[];  /* of all metrics, one after the other */
};

/* Where the rows and cells of a metric are. */
typedef struct layout {
    uint32_t first_row; /* in the block */
    uint32_t n_rows;
    uint32_t n_values[CW_FAMILY_LABELS]; /* 1 for a label that is not there */
    uint32_t series_cells, row_cells;
    uint32_t row_labels;
    uint32_t n_bounds;
} layout;

static atomic_bool is_on;
static layout layouts[CW_METRIC_N];
static uint32_t n_rows_total;
static cw_metrics_block *shared; /* NULL: nothing was counted yet */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_thread_end;
static _Thread_local cw_metrics_block *mine;
static pthread_mutex_t probes_lock = PTHREAD_MUTEX_INITIALIZER;
static cw_metrics_probe *probes;

/* ---- blocks ---- */

static cw_metrics_block *new_block(void)
{
    cw_metrics_block *block = cw_metrics_keep(sizeof *block + n_rows_total * sizeof *block->rows);
    if (block)
        atomic_init(&block->is_used, true);
    return block;
}

static void on_thread_end(void *block)
{
    atomic_store(&((cw_metrics_block *)block)->is_used, false);
}

static void lay_out(void)
{
    for (size_t i = 0; i < CW_METRIC_N; i++) {
        const cw_family *f = &cw_families[i];
        layout *l = &layouts[i];
        l->first_row = n_rows_total;
        l->n_rows = cw_family_rows(f);
        for (size_t k = 0; k < CW_FAMILY_LABELS; k++)
            l->n_values[k] = f->labels[k].name ? f->labels[k].n : 1;
        l->series_cells = cw_family_series_cells(f);
        l->row_cells = l->series_cells * cw_family_row_series(f);
        l->row_labels = f->n_row_labels;
        l->n_bounds = f->buckets ? f->buckets->n : 0;
        n_rows_total += l->n_rows;
    }
    pthread_key_create(&at_thread_end, on_thread_end);
    shared = new_block();
}

/* A block that its thread has left, or a new one; the shared one without memory. */
static CW_NOINLINE cw_metrics_block *take_block(void)
{
    pthread_once(&once, lay_out);
    if (!shared)
        return NULL;
    cw_metrics_block *block = atomic_load(&shared->next);
    for (; block; block = atomic_load(&block->next)) {
        bool is_free = false;
        if (atomic_compare_exchange_strong(&block->is_used, &is_free, true))
            break;
    }
    if (!block) {
        block = new_block();
        if (!block)
            return shared;
        cw_metrics_block *first = atomic_load(&shared->next);
        do
            atomic_store(&block->next, first);
        while (!atomic_compare_exchange_weak(&shared->next, &first, block));
    }
    if (pthread_setspecific(at_thread_end, block))
        atomic_store(&block->is_used, true); /* stays with this thread for ever */
    mine = block;
    return block;
}

static CW_NOINLINE cw_metrics_cell *new_row(row_pointer *at, uint32_t n)
{
    cw_metrics_cell *cells = cw_metrics_keep(n * sizeof *cells), *other = NULL;
    if (cells && !atomic_compare_exchange_strong(at, &other, cells))
        return other; /* another thread was first, in the shared block */
    return cells;
}

/* The cells of a series; NULL without memory: the count is lost. */
static cw_metrics_cell *find(cw_metrics_block *block, cw_metric metric, uint32_t a, uint32_t b,
                             uint32_t c)
{
    const layout *l = &layouts[metric];
    uint32_t row = 0, series;
    if (CW_UNLIKELY(a >= l->n_values[0] || b >= l->n_values[1] || c >= l->n_values[2]))
        return NULL;
    if (l->row_labels == 1) {
        row = a;
        series = b * l->n_values[2] + c;
    } else if (l->row_labels == 2) {
        row = a * l->n_values[1] + b;
        series = c;
    } else {
        series = (a * l->n_values[1] + b) * l->n_values[2] + c;
    }
    row_pointer *at = &block->rows[l->first_row + row];
    cw_metrics_cell *cells = atomic_load_explicit(at, memory_order_acquire);
    if (CW_UNLIKELY(!cells))
        cells = new_row(at, l->row_cells);
    return cells ? cells + series * l->series_cells : NULL;
}

/* ---- counting ---- */

static void add_to(const cw_metrics_block *block, cw_metrics_cell *cell, uint64_t n)
{
    if (CW_UNLIKELY(block == shared))
        atomic_fetch_add_explicit(cell, n, memory_order_relaxed);
    else
        atomic_store_explicit(cell, atomic_load_explicit(cell, memory_order_relaxed) + n,
                              memory_order_relaxed);
}

void cw_metrics_enable(bool on)
{
    pthread_once(&once, lay_out);
    atomic_store(&is_on, on);
}

bool cw_metrics_is_on(void)
{
    return atomic_load_explicit(&is_on, memory_order_relaxed);
}

void cw_metrics_add(cw_metric metric, uint32_t a, uint32_t b, uint32_t c, int64_t n)
{
    if (CW_UNLIKELY(!atomic_load_explicit(&is_on, memory_order_relaxed)))
        return;
    cw_metrics_block *block = CW_LIKELY(mine) ? mine : take_block();
    cw_metrics_cell *cell = block ? find(block, metric, a, b, c) : NULL;
    if (CW_LIKELY(cell))
        add_to(block, cell, (uint64_t)n);
}

void cw_metrics_set(cw_metric metric, uint32_t a, uint32_t b, uint32_t c, int64_t value)
{
    if (!atomic_load_explicit(&is_on, memory_order_relaxed) || !shared)
        return;
    cw_metrics_cell *cell = find(shared, metric, a, b, c);
    if (cell)
        atomic_store_explicit(cell, (uint64_t)value, memory_order_relaxed);
}

const cw_metrics_exemplar *cw_metrics_exemplar_of(const cw_ids *ids, cw_metrics_exemplar *out)
{
    if (!ids || !ids->has_trace || !(ids->flags & 1))
        return NULL;
    memcpy(out->trace_id, ids->trace_id, sizeof out->trace_id);
    memcpy(out->span_id, ids->span_id, sizeof out->span_id);
    return out;
}

static uint64_t word_of(const unsigned char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* The sequence is odd while the others change, so a reader can tell. */
static void keep_exemplar(cw_metrics_cell *at, uint64_t ns, const cw_metrics_exemplar *e)
{
    uint64_t sequence = atomic_load_explicit(at, memory_order_relaxed);
    atomic_store_explicit(at, sequence + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    const uint64_t words[] = {ns, (uint64_t)cw_clock_wall_ms(), word_of(e->trace_id),
                              word_of(e->trace_id + 8), word_of(e->span_id)};
    for (size_t i = 0; i < CW_COUNT(words); i++)
        atomic_store_explicit(&at[i + 1], words[i], memory_order_relaxed);
    atomic_store_explicit(at, sequence + 2, memory_order_release);
}

void cw_metrics_observe(cw_metric metric, uint32_t a, uint32_t b, uint32_t c, uint64_t ns,
                        const cw_metrics_exemplar *exemplar)
{
    if (CW_UNLIKELY(!atomic_load_explicit(&is_on, memory_order_relaxed)))
        return;
    cw_metrics_block *block = CW_LIKELY(mine) ? mine : take_block();
    cw_metrics_cell *cells = block ? find(block, metric, a, b, c) : NULL;
    if (CW_UNLIKELY(!cells))
        return;
    const uint64_t *bounds = cw_families[metric].buckets->ns;
    uint32_t low = 0, n = layouts[metric].n_bounds;
    for (uint32_t high = n; low < high;) {
        uint32_t middle = (low + high) / 2;
        if (ns > bounds[middle])
            low = middle + 1;
        else
            high = middle;
    }
    add_to(block, &cells[low], 1);
    add_to(block, &cells[n + 1], ns);
    if (CW_UNLIKELY(exemplar && cw_families[metric].has_exemplars && block != shared))
        keep_exemplar(&cells[n + 2], ns, exemplar);
}

/* ---- sums ---- */

const cw_metrics_block *cw_metrics_next_block(const cw_metrics_block *at)
{
    pthread_once(&once, lay_out);
    return at ? atomic_load(&at->next) : shared;
}

const cw_metrics_cell *cw_metrics_row(const cw_metrics_block *block, cw_metric metric, uint32_t row)
{
    return atomic_load_explicit(&block->rows[layouts[metric].first_row + row],
                                memory_order_acquire);
}

/* Sum n cells of a series. */
static void sum(cw_metric metric, uint32_t a, uint32_t b, uint32_t c, uint64_t *out, uint32_t n)
{
    const layout *l = &layouts[metric];
    memset(out, 0, n * sizeof *out);
    const cw_metrics_block *block = cw_metrics_next_block(NULL);
    uint32_t row = l->row_labels == 0 ? 0 : l->row_labels == 1 ? a : a * l->n_values[1] + b;
    uint32_t series = l->row_labels == 0   ? (a * l->n_values[1] + b) * l->n_values[2] + c
                      : l->row_labels == 1 ? b * l->n_values[2] + c
                                           : c;
    for (; block && row < l->n_rows; block = cw_metrics_next_block(block)) {
        const cw_metrics_cell *cells = cw_metrics_row(block, metric, row);
        for (uint32_t i = 0; cells && i < n; i++)
            out[i] +=
                atomic_load_explicit(&cells[series * l->series_cells + i], memory_order_relaxed);
    }
}

int64_t cw_metrics_read(cw_metric metric, uint32_t a, uint32_t b, uint32_t c)
{
    uint64_t value;
    sum(metric, a, b, c, &value, 1);
    return (int64_t)value;
}

void cw_metrics_summarize(cw_metric metric, uint32_t a, uint32_t b, uint32_t c,
                          cw_metrics_summary *ret)
{
    uint64_t cells[CW_METRICS_BUCKETS_MAX + 2];
    const cw_buckets *buckets = cw_families[metric].buckets;
    *ret = (cw_metrics_summary){.bounds_ns = buckets->ns, .n_bounds = buckets->n};
    sum(metric, a, b, c, cells, buckets->n + 2);
    for (unsigned i = 0; i <= buckets->n; i++)
        ret->count += ret->buckets[i] = cells[i];
    ret->sum_ns = cells[buckets->n + 1];
}

uint64_t cw_metrics_quantile(const cw_metrics_summary *s, double share)
{
    uint64_t rank = (uint64_t)(share * (double)s->count), seen = 0;
    for (unsigned i = 0; i < s->n_bounds && s->count; i++) {
        seen += s->buckets[i];
        if (seen > rank || seen == s->count)
            return s->bounds_ns[i];
    }
    return s->count ? s->bounds_ns[s->n_bounds - 1] : 0;
}

/* ---- probes ---- */

void cw_metrics_probe_add(cw_metrics_probe *probe)
{
    pthread_mutex_lock(&probes_lock);
    probe->next = probes;
    probes = probe;
    pthread_mutex_unlock(&probes_lock);
}

void cw_metrics_probe_remove(cw_metrics_probe *probe)
{
    pthread_mutex_lock(&probes_lock);
    for (cw_metrics_probe **at = &probes; *at; at = &(*at)->next) {
        if (*at == probe) {
            *at = probe->next;
            break;
        }
    }
    pthread_mutex_unlock(&probes_lock);
}

void cw_metrics_run_probes(void)
{
    pthread_mutex_lock(&probes_lock);
    for (cw_metrics_probe *probe = probes; probe; probe = probe->next)
        probe->fn(probe);
    pthread_mutex_unlock(&probes_lock);
}
