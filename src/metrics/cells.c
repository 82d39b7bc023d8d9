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

#define VALUE_BITS 64u /* of a duration */

/* Where the rows and cells of a metric are. */
typedef struct layout {
    const uint64_t *bounds; /* n_bounds of them */
    uint32_t first_row;     /* in the block */
    uint32_t n_rows, row_cells;
    uint32_t n_values[CW_FAMILY_LABELS]; /* 1 for a label that is not there */
    /* Rows, and cells within a row, from one value of a label to the next. */
    uint32_t row_steps[CW_FAMILY_LABELS], cell_steps[CW_FAMILY_LABELS];
    uint32_t n_bounds;
    bool has_exemplars;
    /* The first bucket for durations with so many bits. */
    uint8_t first_bucket[VALUE_BITS + 1];
} layout;

static atomic_bool is_on;
static layout layouts[CW_METRIC_N];
static uint32_t n_rows_total;
static cw_metrics_block *shared; /* NULL: nothing was counted yet */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_thread_end;
CW_METRICS_THREAD_LOCAL cw_metrics_block *mine;
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

/* The first labels select the row, the others the series within it. */
static void lay_out_labels(layout *l, const cw_family *f)
{
    uint32_t rows = 1, cells = cw_family_series_cells(f);
    for (size_t k = CW_FAMILY_LABELS; k-- > 0;) {
        l->n_values[k] = f->labels[k].name ? f->labels[k].n : 1;
        bool is_row = k < f->n_row_labels;
        l->row_steps[k] = is_row ? rows : 0;
        l->cell_steps[k] = is_row ? 0 : cells;
        *(is_row ? &rows : &cells) *= l->n_values[k];
    }
}

static void lay_out_buckets(layout *l, const cw_buckets *buckets)
{
    uint8_t low = 0;
    l->n_bounds = buckets->n;
    l->bounds = buckets->ns;
    for (unsigned bits = 1; bits <= VALUE_BITS; bits++) {
        while (low < buckets->n && buckets->ns[low] < UINT64_C(1) << (bits - 1))
            low++;
        l->first_bucket[bits] = low;
    }
}

static void lay_out(void)
{
    for (size_t i = 0; i < CW_METRIC_N; i++) {
        const cw_family *f = &cw_families[i];
        layout *l = &layouts[i];
        l->first_row = n_rows_total;
        l->n_rows = cw_family_rows(f);
        l->row_cells = cw_family_series_cells(f) * cw_family_row_series(f);
        l->has_exemplars = f->has_exemplars;
        lay_out_labels(l, f);
        if (f->buckets)
            lay_out_buckets(l, f->buckets);
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

typedef struct place {
    uint32_t row, cell; /* the first one of the series */
} place;

/* Most series have one label, or 0 for the others. */
CW_INLINE bool locate(const layout *l, uint32_t a, uint32_t b, uint32_t c, place *ret)
{
    ret->row = a * l->row_steps[0];
    ret->cell = a * l->cell_steps[0];
    if (b | c) {
        ret->row += b * l->row_steps[1] + c * l->row_steps[2];
        ret->cell += b * l->cell_steps[1] + c * l->cell_steps[2];
        if (CW_UNLIKELY(b >= l->n_values[1] || c >= l->n_values[2]))
            return false;
    }
    return CW_LIKELY(a < l->n_values[0]);
}

/* The cells of a series that the thread has counted before; else NULL. */
CW_INLINE cw_metrics_cell *find_known(cw_metrics_block *block, const layout *l, uint32_t a,
                                      uint32_t b, uint32_t c)
{
    place at;
    if (CW_UNLIKELY(!locate(l, a, b, c, &at)))
        return NULL;
    cw_metrics_cell *cells =
        atomic_load_explicit(&block->rows[l->first_row + at.row], memory_order_acquire);
    return CW_LIKELY(cells) ? cells + at.cell : NULL;
}

/* The cells of a series; NULL without memory: the count is lost. */
static cw_metrics_cell *find(cw_metrics_block *block, const layout *l, uint32_t a, uint32_t b,
                             uint32_t c)
{
    place at;
    if (!locate(l, a, b, c, &at))
        return NULL;
    row_pointer *row = &block->rows[l->first_row + at.row];
    cw_metrics_cell *cells = atomic_load_explicit(row, memory_order_acquire);
    if (!cells)
        cells = new_row(row, l->row_cells);
    return cells ? cells + at.cell : NULL;
}

/* ---- counting ---- */

/* To a cell of the thread's own block. */
CW_INLINE void add_own(cw_metrics_cell *cell, uint64_t n)
{
    atomic_store_explicit(cell, atomic_load_explicit(cell, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

static void add_to(const cw_metrics_block *block, cw_metrics_cell *cell, uint64_t n)
{
    if (block == shared)
        atomic_fetch_add_explicit(cell, n, memory_order_relaxed);
    else
        add_own(cell, n);
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

/* The first count of a thread, or of a series in it. */
static CW_NOINLINE void add_first(cw_metric metric, uint32_t a, uint32_t b, uint32_t c, int64_t n)
{
    cw_metrics_block *block = mine ? mine : take_block();
    cw_metrics_cell *cell = block ? find(block, &layouts[metric], a, b, c) : NULL;
    if (cell)
        add_to(block, cell, (uint64_t)n);
}

CW_INLINE void add_in(cw_metrics_block *block, cw_metric metric, uint32_t a, uint32_t b, uint32_t c,
                      int64_t n)
{
    cw_metrics_cell *cell = CW_LIKELY(block) ? find_known(block, &layouts[metric], a, b, c) : NULL;
    if (CW_LIKELY(cell))
        add_own(cell, (uint64_t)n);
    else
        add_first(metric, a, b, c, n);
}

void cw_metrics_add(cw_metric metric, uint32_t a, uint32_t b, uint32_t c, int64_t n)
{
    if (CW_LIKELY(atomic_load_explicit(&is_on, memory_order_relaxed)))
        add_in(mine, metric, a, b, c, n);
}

void cw_metrics_set(cw_metric metric, uint32_t a, uint32_t b, uint32_t c, int64_t value)
{
    if (!atomic_load_explicit(&is_on, memory_order_relaxed) || !shared)
        return;
    cw_metrics_cell *cell = find(shared, &layouts[metric], a, b, c);
    if (cell)
        atomic_store_explicit(cell, (uint64_t)value, memory_order_relaxed);
}

static uint64_t word_of(const unsigned char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* The sequence is odd while the others change, so a reader can tell. Release stores keep the odd
 * sequence before the words; a fence would do it as well, but the thread sanitizer knows none. */
static void keep_exemplar(cw_metrics_cell *at, uint64_t ns, const cw_metrics_exemplar *e)
{
    const cw_ids *ids = e->ids;
    uint64_t sequence = atomic_load_explicit(at, memory_order_relaxed);
    atomic_store_explicit(at, sequence + 1, memory_order_relaxed);
    atomic_store_explicit(at + 1, ns, memory_order_release);
    atomic_store_explicit(at + 2, e->at_ns, memory_order_release);
    atomic_store_explicit(at + 3, word_of(ids->trace_id), memory_order_release);
    atomic_store_explicit(at + 4, word_of(ids->trace_id + 8), memory_order_release);
    atomic_store_explicit(at + 5, word_of(ids->span_id), memory_order_release);
    atomic_store_explicit(at, sequence + 2, memory_order_release);
}

CW_INLINE uint32_t bucket_of(const layout *l, uint64_t ns)
{
    uint32_t low = ns ? l->first_bucket[VALUE_BITS - (unsigned)__builtin_clzll(ns)] : 0;
    while (low < l->n_bounds && ns > l->bounds[low])
        low++;
    return low;
}

/* The first observation of a thread, or of a series in it. */
static CW_NOINLINE void observe_first(cw_metric metric, uint32_t a, uint32_t b, uint32_t c,
                                      uint64_t ns, const cw_metrics_exemplar *exemplar)
{
    const layout *l = &layouts[metric];
    cw_metrics_block *block = mine ? mine : take_block();
    cw_metrics_cell *cells = block ? find(block, l, a, b, c) : NULL;
    if (!cells)
        return;
    add_to(block, &cells[bucket_of(l, ns)], 1);
    add_to(block, &cells[l->n_bounds + 1], ns);
    if (exemplar && l->has_exemplars && block != shared)
        keep_exemplar(&cells[l->n_bounds + 2], ns, exemplar);
}

CW_INLINE void observe_in(cw_metrics_block *block, cw_metric metric, uint32_t a, uint32_t b,
                          uint32_t c, uint64_t ns, const cw_metrics_exemplar *exemplar)
{
    const layout *l = &layouts[metric];
    cw_metrics_cell *cells = CW_LIKELY(block) ? find_known(block, l, a, b, c) : NULL;
    if (CW_UNLIKELY(!cells)) {
        observe_first(metric, a, b, c, ns, exemplar);
        return;
    }
    add_own(&cells[bucket_of(l, ns)], 1);
    add_own(&cells[l->n_bounds + 1], ns);
    if (CW_UNLIKELY(exemplar) && l->has_exemplars)
        keep_exemplar(&cells[l->n_bounds + 2], ns, exemplar);
}

void cw_metrics_observe(cw_metric metric, uint32_t a, uint32_t b, uint32_t c, uint64_t ns,
                        const cw_metrics_exemplar *exemplar)
{
    if (CW_LIKELY(atomic_load_explicit(&is_on, memory_order_relaxed)))
        observe_in(mine, metric, a, b, c, ns, exemplar);
}

/* All counts at once: the block is found once, and the places of the metrics are constants. */
void cw_metrics_end_call(const cw_metrics_call *call, const cw_metrics_exemplar *exemplar)
{
    cw_metrics_block *block = mine;
    if (CW_UNLIKELY(!atomic_load_explicit(&is_on, memory_order_relaxed)))
        return;
    add_in(block, CW_METRIC_RUNNING, call->source, 0, 0, -1);
    add_in(block, CW_METRIC_SOURCE_ATTEMPTS, call->source, call->attempt, 0, 1);
    observe_in(block, CW_METRIC_SOURCE_CALL, call->source, 0, 0, call->ns, exemplar);
    add_in(block, CW_METRIC_CALLS, call->tool, call->door, call->outcome, 1);
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
    place at;
    if (!locate(l, a, b, c, &at))
        return;
    for (; block; block = cw_metrics_next_block(block)) {
        const cw_metrics_cell *cells = cw_metrics_row(block, metric, at.row);
        for (uint32_t i = 0; cells && i < n; i++)
            out[i] += atomic_load_explicit(&cells[at.cell + i], memory_order_relaxed);
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
