/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page_cache.c - a cache of documents with tags and a size limit. */
#include "catalogue/page_cache.h"

#include <openssl/sha.h>
#include <stdlib.h>

#include "base/gzip.h"
#include "metrics/metrics.h"

#define NOT_INTERNED UINT64_MAX
#define ETAG_BYTES 16u

/* ---- tags ---- */

static const cw_str tag_texts[] = {
    [0] = CW_STR_INIT(""),
    [CW_PAGE_CACHE_DISCOVERY] = CW_STR_INIT("jsonrpc_mcp:discovery"),
    [CW_PAGE_CACHE_PERMISSIONS] = CW_STR_INIT("user.permissions"),
    [CW_PAGE_CACHE_ALL_TAGS] = CW_STR_INIT("jsonrpc_mcp:discovery user.permissions"),
};

unsigned cw_page_cache_tag_find(cw_str name)
{
    static const unsigned tags[] = {CW_PAGE_CACHE_DISCOVERY, CW_PAGE_CACHE_PERMISSIONS};
    for (size_t i = 0; i < CW_COUNT(tags); i++) {
        if (cw_str_eq(tag_texts[tags[i]], name))
            return tags[i];
    }
    return 0;
}

cw_str cw_page_cache_tags_text(unsigned tags)
{
    return tag_texts[tags & CW_PAGE_CACHE_ALL_TAGS];
}

/* ---- documents ---- */

void cw_page_unref(void *document)
{
    cw_page *d = document;
    if (!d || --d->refs)
        return;
    cw_buf_done(&d->body);
    cw_buf_done(&d->packed);
    free(d);
}

/* The same bytes have the same tag on every replica and after every restart. */
static void make_etags(cw_page *d, cw_str body)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char hash[SHA256_DIGEST_LENGTH];
    char text[ETAG_BYTES * 2 + 1];
    SHA256((const unsigned char *)body.p, body.n, hash);
    for (size_t i = 0; i < ETAG_BYTES; i++) {
        text[i * 2] = digits[hash[i] >> 4];
        text[i * 2 + 1] = digits[hash[i] & 15];
    }
    size_t n = ETAG_BYTES * 2;
    d->etag[0] = d->packed_etag[0] = '"';
    memcpy(d->etag + 1, text, n);
    memcpy(d->packed_etag + 1, text, n);
    memcpy(d->etag + 1 + n, "\"", 2);
    memcpy(d->packed_etag + 1 + n, "-gz\"", 5);
}

static cw_page *new_document(cw_str key, cw_page_cache_writer write, void *ctx)
{
    cw_page *d = calloc(1, sizeof *d + key.n);
    if (!d)
        return NULL;
    d->refs = 1;
    d->n_key = key.n;
    memcpy(d->key, key.p, key.n);
    cw_buf_init(&d->body, CW_BUF_MAX);
    cw_buf_init(&d->packed, CW_BUF_MAX);
    write(&d->body, ctx);
    if (d->body.code) {
        cw_page_unref(d);
        return NULL;
    }
    return d;
}

cw_str cw_page_etag(cw_page *d)
{
    if (!d->etag[0])
        make_etags(d, cw_buf_str(&d->body));
    return cw_str_from(d->etag);
}

cw_str cw_page_packed_etag(cw_page *d)
{
    if (!d->packed_etag[0])
        make_etags(d, cw_buf_str(&d->body));
    return cw_str_from(d->packed_etag);
}

static size_t weight(const cw_page *d)
{
    return sizeof *d + d->n_key + d->body.cap + d->packed.cap;
}

/* ---- the list, newest first ---- */

static cw_page *page_of(cw_list *node)
{
    return CW_CONTAINER(node, cw_page, node);
}

static void count_bytes(cw_page_cache *c, int64_t n)
{
    c->bytes += (size_t)n;
    cw_metrics_add(CW_METRIC_DOCUMENT_BYTES, 0, 0, 0, n);
}

static void drop_document(cw_page_cache *c, cw_page *d)
{
    cw_list_remove(&d->node);
    count_bytes(c, -(int64_t)weight(d));
    (void)cw_map_remove(&c->documents, cw_str_make(d->key, d->n_key));
    d->cache = NULL;
    cw_page_unref(d);
}

static void shrink(cw_page_cache *c)
{
    while (!cw_list_is_empty(&c->pages) && c->bytes > c->max)
        drop_document(c, page_of(c->pages.prev));
}

/* Without memory or room for it a document is sent and not kept. */
static void keep(cw_page_cache *c, cw_page *d)
{
    if (weight(d) > c->max || cw_map_put(&c->documents, cw_str_make(d->key, d->n_key), d, NULL))
        return;
    d->refs++;
    d->cache = c;
    cw_list_add_first(&c->pages, &d->node);
    count_bytes(c, (int64_t)weight(d));
    shrink(c);
}

/* ---- sets of visible classes ---- */

static void forget_sets(cw_page_cache *c)
{
    for (size_t i = 0; i < c->n_sets; i++)
        free((void *)(uintptr_t)c->sets[i].bits.p);
    c->n_sets = 0;
}

static uint64_t add_set(cw_page_cache *c, const cw_page_cache_set *set)
{
    if (c->n_sets == CW_PAGE_CACHE_MAX_SETS)
        cw_page_cache_clear(c);
    if (c->n_sets == c->cap_sets) {
        size_t cap = c->cap_sets ? c->cap_sets * 2 : 16;
        cw_page_cache_set *sets = realloc(c->sets, cap * sizeof *sets);
        if (!sets)
            return NOT_INTERNED;
        c->sets = sets;
        c->cap_sets = cap;
    }
    char *copy = malloc(set->bits.n + 1);
    if (!copy)
        return NOT_INTERNED;
    memcpy(copy, set->bits.p, set->bits.n);
    c->sets[c->n_sets] = *set;
    c->sets[c->n_sets].bits.p = copy;
    c->sets[c->n_sets].number = ++c->last_number;
    return c->sets[c->n_sets++].number;
}

/* Numbers are never given twice, so one that a view has noted stays right when the sets are
 * forgotten. */
static uint64_t number_of(cw_page_cache *c, cw_view *view)
{
    uint64_t number = cw_view_cache_id(view);
    if (CW_LIKELY(number))
        return number;
    cw_page_cache_set set = {.snapshot = cw_view_snapshot(view),
                             .toolset = cw_view_toolset(view),
                             .bits = cw_view_visibility_key(view)};
    set.hash = cw_hash(set.bits);
    for (size_t i = 0; i < c->n_sets && !number; i++) {
        const cw_page_cache_set *s = &c->sets[i];
        if (s->hash == set.hash && s->snapshot == set.snapshot && s->toolset == set.toolset &&
            cw_str_eq(s->bits, set.bits))
            number = s->number;
    }
    if (!number)
        number = add_set(c, &set);
    if (number != NOT_INTERNED)
        cw_view_set_cache_id(view, number);
    return number;
}

/* ---- keys ---- */

typedef struct key_text {
    size_t n;
    char p[CW_PAGE_CACHE_MAX_KEY];
} key_text;

static void add_part(key_text *k, const void *p, size_t n)
{
    if (n && k->n <= sizeof k->p && n <= sizeof k->p - k->n)
        memcpy(k->p + k->n, p, n);
    k->n += n;
}

/* Each part follows its length, so that no two keys are equal. False: too long, or out of memory.
 */
static bool make_key(cw_page_cache *c, const cw_page_cache_key *key, key_text *ret)
{
    const cw_str parts[] = {key->kind, key->language, key->base, key->name};
    uint64_t number = key->view ? number_of(c, key->view) : 0;
    ret->n = 0;
    add_part(ret, &number, sizeof number);
    for (size_t i = 0; i < CW_COUNT(parts); i++) {
        if (parts[i].n > CW_PAGE_CACHE_MAX_KEY)
            return false;
        uint16_t n = (uint16_t)parts[i].n;
        add_part(ret, &n, sizeof n);
        add_part(ret, parts[i].p, parts[i].n);
    }
    return ret->n <= CW_PAGE_CACHE_MAX_KEY && number != NOT_INTERNED;
}

/* ---- public ---- */

void cw_page_cache_init(cw_page_cache *c)
{
    *c = (cw_page_cache){0};
    cw_list_init(&c->pages);
    cw_map_init(&c->documents, CW_PAGE_CACHE_MAX_DOCUMENTS);
}

void cw_page_cache_done(cw_page_cache *c)
{
    cw_page_cache_clear(c);
    cw_map_done(&c->documents);
    free(c->sets);
    c->sets = NULL;
    c->cap_sets = 0;
}

void cw_page_cache_limit(cw_page_cache *c, size_t max)
{
    c->max = max;
    shrink(c);
}

void cw_page_cache_clear(cw_page_cache *c)
{
    while (!cw_list_is_empty(&c->pages))
        drop_document(c, page_of(c->pages.prev));
    forget_sets(c);
}

void cw_page_cache_drop(cw_page_cache *c, unsigned tags)
{
    CW_LIST_EACH_SAFE (node, &c->pages) {
        if (page_of(node)->tags & tags)
            drop_document(c, page_of(node));
    }
}

cw_code cw_page_cache_get(cw_page_cache *c, const cw_page_cache_key *key,
                          cw_page_cache_writer write, void *ctx, cw_page **ret, bool *ret_hit)
{
    CW_UNINIT key_text text;
    bool is_kept = !key->is_transient && make_key(c, key, &text);
    if (!is_kept)
        text.n = 0;
    cw_page *d = is_kept ? cw_map_find(&c->documents, cw_str_make(text.p, text.n)) : NULL;
    if (ret_hit)
        *ret_hit = d != NULL;
    cw_metrics_count(CW_METRIC_DOCUMENTS, d ? CW_LOOKUP_HIT : CW_LOOKUP_MISS, 0, 0);
    if (CW_LIKELY(d != NULL)) {
        if (c->pages.next != &d->node) {
            cw_list_remove(&d->node);
            cw_list_add_first(&c->pages, &d->node);
        }
        d->refs++;
        *ret = d;
        return CW_OK;
    }
    d = new_document(cw_str_make(text.p, text.n), write, ctx);
    if (!d)
        return CW_NOMEM;
    d->tags = CW_PAGE_CACHE_DISCOVERY | (key->view ? CW_PAGE_CACHE_PERMISSIONS : 0);
    if (is_kept)
        keep(c, d);
    *ret = d;
    return CW_OK;
}

static void pack(cw_page *d)
{
    cw_str body = cw_buf_str(&d->body);
    /* A larger result does not pay. */
    if (body.n >= CW_PAGE_CACHE_PACK_FROM &&
        cw_gzip(body, body.n - body.n / 8, &d->packed) != CW_OK)
        cw_buf_release(&d->packed);
}

cw_str cw_page_pack(cw_page *d)
{
    if (!d->is_pack_tried && d->cache) {
        size_t before = weight(d);
        d->is_pack_tried = true;
        pack(d);
        count_bytes(d->cache, (int64_t)(weight(d) - before));
        shrink(d->cache);
    }
    return cw_buf_str(&d->packed);
}

/* ---- marks ---- */

typedef struct filling {
    cw_str body, text;
    char mark;
} filling;

static size_t count_marks(const filling *f)
{
    size_t n = 0;
    for (cw_str rest = f->body; memchr(rest.p, f->mark, rest.n); n++)
        (void)cw_str_cut(rest, f->mark, &rest);
    return n;
}

static void write_filled(cw_buf *out, void *ctx)
{
    const filling *f = ctx;
    (void)cw_buf_reserve(out, f->body.n + count_marks(f) * f->text.n);
    for (cw_str rest = f->body; rest.p;) {
        cw_buf_add(out, cw_str_cut(rest, f->mark, &rest));
        if (rest.p)
            cw_buf_add(out, f->text);
    }
}

cw_page *cw_page_fill(cw_page *d, char mark, cw_str text)
{
    filling f = {cw_buf_str(&d->body), text, mark};
    cw_buf seed;
    cw_buf_init(&seed, CW_BUF_MAX);
    cw_buf_add(&seed, cw_page_etag(d));
    cw_buf_add(&seed, text);
    cw_page *filled = seed.code ? NULL : new_document(CW_STR(""), write_filled, &f);
    if (filled) {
        make_etags(filled, cw_buf_str(&seed));
        filled->tags = d->tags;
    }
    cw_buf_done(&seed);
    return filled;
}
