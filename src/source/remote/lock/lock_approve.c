/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lock_approve.c - the entries of a lock file after an approval. */
#include "source/remote/lock/lock_approve.h"

#include <stdlib.h>

void cw_lock_approval_init(cw_lock_approval *a, const cw_lock *lock, const cw_str *methods,
                           size_t n_methods, cw_json_writer *w)
{
    *a = (cw_lock_approval){.lock = lock, .methods = methods, .n_methods = n_methods, .w = w};
}

void cw_lock_approval_done(cw_lock_approval *a)
{
    free(a->entries);
    free(a->replaced);
    *a = (cw_lock_approval){0};
}

bool cw_lock_is_defined(const cw_remote_definition *definitions, size_t n, cw_str method)
{
    for (size_t i = 0; i < n; i++) {
        if (cw_str_eq(definitions[i].method, method))
            return true;
    }
    return false;
}

/* ---- checks ---- */

static cw_code check_method(const cw_lock_offer *offers, size_t n, bool is_named, cw_str method,
                            cw_err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (cw_lock_is_defined(offers[i].definitions, offers[i].n, method))
            return CW_OK;
    }
    return cw_fail(err, CW_NOTFOUND, "no source is called \"%.*s\", and %s", CW_STR_ARG(method),
                   is_named ? "the named ones expose no such method"
                            : "none exposes such a method");
}

/* A source that is named beside methods has to expose at least one of them. */
static cw_code check_offer(const cw_lock_offer *offer, const cw_str *methods, size_t n_methods,
                           cw_err *err)
{
    for (size_t i = 0; i < n_methods; i++) {
        if (cw_lock_is_defined(offer->definitions, offer->n, methods[i]))
            return CW_OK;
    }
    return cw_fail(err, CW_PARAMS, "none of the named methods is exposed by source \"%.*s\"",
                   CW_STR_ARG(offer->source));
}

cw_code cw_lock_check_methods(const cw_lock_offer *offers, size_t n, bool is_named,
                              const cw_str *methods, size_t n_methods, cw_err *err)
{
    cw_code rc = CW_OK;
    for (size_t i = 0; i < n_methods && !rc; i++)
        rc = check_method(offers, n, is_named, methods[i], err);
    for (size_t i = 0; i < n && is_named && n_methods && !rc; i++)
        rc = check_offer(&offers[i], methods, n_methods, err);
    return rc;
}

cw_code cw_lock_check_etag(cw_str seen, const char *etag, cw_err *err)
{
    if (cw_str_is(seen, etag))
        return CW_OK;
    return cw_fail(err, CW_INVALID,
                   "the definitions have changed since they were shown: read the differences "
                   "again, and approve those");
}

/* ---- collecting ---- */

/* Whether the operator approves this method: it is named, or none is named. */
static bool is_meant(const cw_lock_approval *a, cw_str method)
{
    for (size_t i = 0; i < a->n_methods; i++) {
        if (cw_str_eq(a->methods[i], method))
            return true;
    }
    return a->n_methods == 0;
}

static void write_change(cw_lock_approval *a, cw_str method, const char *change)
{
    a->n_accepted++;
    cw_json_open_object(a->w);
    cw_json_add_string_member(a->w, CW_STR("source"), a->source);
    cw_json_add_string_member(a->w, CW_STR("method"), method);
    cw_json_add_string_member(a->w, CW_STR("change"), cw_str_from(change));
    cw_json_close(a->w);
}

static cw_code add(cw_lock_approval *a, cw_str method, cw_str definition)
{
    if (a->n == a->cap) {
        size_t cap = a->cap ? 2 * a->cap : 64;
        cw_lock_entry *entries = realloc(a->entries, cap * sizeof *entries);
        if (!entries)
            return CW_NOMEM;
        a->entries = entries;
        a->cap = cap;
    }
    a->entries[a->n++] = (cw_lock_entry){a->source, method, definition};
    return CW_OK;
}

static cw_code add_source(cw_lock_approval *a)
{
    if (a->n_replaced == a->cap_replaced) {
        size_t cap = a->cap_replaced ? 2 * a->cap_replaced : 16;
        cw_str *replaced = realloc(a->replaced, cap * sizeof *replaced);
        if (!replaced)
            return CW_NOMEM;
        a->replaced = replaced;
        a->cap_replaced = cap;
    }
    a->replaced[a->n_replaced++] = a->source;
    return CW_OK;
}

/* A method was approved once and does not exist any more. An approval of the whole source, or of
 * its name, removes it. It stays if only others are named. */
static cw_code on_approved(cw_str method, void *ctx)
{
    cw_lock_approval *a = ctx;
    if (cw_lock_is_defined(a->definitions, a->n_definitions, method))
        return CW_OK;
    if (!is_meant(a, method))
        return add(a, method, CW_STR(""));
    write_change(a, method, "gone");
    return CW_OK;
}

static cw_code approve_method(cw_lock_approval *a, const cw_remote_definition *d)
{
    cw_lock_verdict verdict =
        a->lock ? cw_lock_check(a->lock, a->source, d->method, d->definition, NULL) : CW_LOCK_NEW;
    if (!is_meant(a, d->method))
        return verdict == CW_LOCK_NEW ? CW_OK : add(a, d->method, CW_STR(""));
    if (verdict == CW_LOCK_SAME) /* keeps the time of its approval */
        return add(a, d->method, CW_STR(""));
    write_change(a, d->method, verdict == CW_LOCK_NEW ? "new" : "changed");
    return add(a, d->method, d->definition);
}

static bool has_any(const cw_lock_approval *a)
{
    for (size_t i = 0; i < a->n_definitions; i++) {
        if (is_meant(a, a->definitions[i].method))
            return true;
    }
    return a->n_methods == 0;
}

cw_code cw_lock_approve(cw_lock_approval *a, cw_str source, const cw_remote_definition *definitions,
                        size_t n)
{
    a->source = source;
    a->definitions = definitions;
    a->n_definitions = n;
    if (!has_any(a))
        return CW_OK;
    cw_code rc = add_source(a);
    for (size_t i = 0; i < n && !rc; i++)
        rc = approve_method(a, &definitions[i]);
    return rc ? rc : cw_lock_each(a->lock, source, on_approved, a);
}

cw_lock_change cw_lock_approval_change(const cw_lock_approval *a)
{
    return (cw_lock_change){.replaced = a->replaced,
                            .n_replaced = a->n_replaced,
                            .entries = a->entries,
                            .n = a->n,
                            .stamp = a->stamp};
}

cw_code cw_lock_approval_write(const cw_lock_approval *a, const char *path, cw_err *err)
{
    const cw_lock_change change = cw_lock_approval_change(a);
    return a->n_replaced ? cw_lock_write(path, a->lock, &change, err) : CW_OK;
}
