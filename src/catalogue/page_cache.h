/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page_cache.h - documents that are written once and sent often: lists, descriptions.
 *
 * The key of a document is its kind, its audience, its language, and the page or name in it. Callers who
 * see the same share documents: the set of access classes that a view allows is interned, and its number
 * is part of the key.
 *
 *     view ─► set of visible classes ─► number ┐
 *     kind, language, base, name ──────────────┴─► document: body, gzip, ETag
 *
 * The tags of a document name its inputs. All documents depend on the catalogue, those of a view also on
 * the permissions of its caller. When an input changes, or on request, the documents with its tag are
 * dropped (call/runtime.h). When the cache is full, the least recently used documents are dropped.
 *
 * Ownership: a document is reference counted; the sender holds a reference. It copies its data and
 *            keeps neither views nor catalogues alive.
 * Threads:   one loop.
 * Limits:    the bytes given with cw_page_cache_limit; CW_PAGE_CACHE_MAX_SETS sets, then the cache is
 *            cleared; CW_PAGE_CACHE_MAX_KEY bytes of a key, longer ones are not cached.
 */
#ifndef CW_CATALOGUE_PAGE_CACHE_H
#define CW_CATALOGUE_PAGE_CACHE_H

#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "catalogue/view.h"

#define CW_PAGE_CACHE_MAX_SETS 1024u
#define CW_PAGE_CACHE_MAX_KEY 1024u
#define CW_PAGE_CACHE_MAX_DOCUMENTS 1000000u
#define CW_PAGE_CACHE_PACK_FROM 1024u /* bytes of a body; shorter ones are not compressed */
#define CW_ETAG_SIZE 40u              /* with quotes, suffix and NUL */

/* Tags, one bit each. */
#define CW_PAGE_CACHE_DISCOVERY 1u   /* jsonrpc_mcp:discovery */
#define CW_PAGE_CACHE_PERMISSIONS 2u /* user.permissions */
#define CW_PAGE_CACHE_ALL_TAGS (CW_PAGE_CACHE_DISCOVERY | CW_PAGE_CACHE_PERMISSIONS)

/* The tag of this name, or 0. */
unsigned cw_page_cache_tag_find(cw_str name);
/* The names of some tags with a space between them. */
cw_str cw_page_cache_tags_text(unsigned tags);

typedef struct cw_page_cache cw_page_cache;

typedef struct cw_page {
    cw_list node; /* least recently used last */
    cw_page_cache *cache;
    unsigned refs;
    unsigned tags;
    bool is_pack_tried;
    cw_buf body;
    cw_buf packed;                  /* gzip; empty: not wanted yet, or it does not pay */
    char etag[CW_ETAG_SIZE];        /* empty: not made yet; cw_page_etag */
    char packed_etag[CW_ETAG_SIZE]; /* the same */
    size_t n_key;
    char key[];
} cw_page;

/* The strong ETag of a document and that of its gzip form, made on first use: code that sends parts
 * of documents needs none. */
cw_str cw_page_etag(cw_page *d);
cw_str cw_page_packed_etag(cw_page *d);

typedef struct cw_page_cache_set {
    const cw_snapshot *snapshot; /* compared, never looked into */
    const cw_toolset *toolset;   /* likewise; NULL: everything */
    uint64_t hash, number;
    cw_str bits; /* a copy */
} cw_page_cache_set;

struct cw_page_cache {
    cw_map documents;
    cw_list pages;
    size_t bytes, max;
    cw_page_cache_set *sets;
    size_t n_sets, cap_sets;
    uint64_t last_number;
};

typedef struct cw_page_cache_key {
    cw_str kind;
    cw_view *view; /* NULL: the same for all callers */
    cw_str language;
    cw_str base;       /* of the URLs inside; may be empty */
    cw_str name;       /* page or name; may be empty */
    bool is_transient; /* not requested again: written, not cached */
} cw_page_cache_key;

/* Write the body. Errors are sticky in `out`. */
typedef void (*cw_page_cache_writer)(cw_buf *out, void *ctx);

void cw_page_cache_init(cw_page_cache *c);
void cw_page_cache_done(cw_page_cache *c);
/* Bytes that are kept, from now on. */
void cw_page_cache_limit(cw_page_cache *c, size_t max);
/* Forget everything; documents that are being sent live on. */
void cw_page_cache_clear(cw_page_cache *c);
/* Forget the documents that carry one of these tags. */
void cw_page_cache_drop(cw_page_cache *c, unsigned tags);

/* The document, written when it is not there. *ret holds a reference; *ret_hit (may be NULL) tells
 * whether it was there. CW_NOMEM. */
CW_MUST_USE cw_code cw_page_cache_get(cw_page_cache *c, const cw_page_cache_key *key,
                                      cw_page_cache_writer write, void *ctx, cw_page **ret,
                                      bool *ret_hit);
/* The gzip form, made when it is first wanted; empty when it does not pay or there is no memory.
 * Only a document that is kept is compressed: for any other the work is lost with the answer. */
cw_str cw_page_pack(cw_page *d);
/* A document with `text` in place of each `mark`, for what many texts can stand in. It is not kept,
 * and its tags follow from those of `d` and the text. The caller holds the reference. NULL without
 * memory. */
cw_page *cw_page_fill(cw_page *d, char mark, cw_str text);
/* NULL is fine. */
void cw_page_unref(void *document);

#endif
