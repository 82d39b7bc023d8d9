/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lock.c - canonical definitions, their hashes, and the lock file. */
#include "source/remote/lock/lock.h"

#include <errno.h>
#include <openssl/sha.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/file_replace.h"
#include "json/write.h"

struct cw_lock {
    atomic_uint refs;
    cw_arena arena;
    const cw_json *sources; /* an object */
};

/* ---- the canonical form ---- */

static int compare_keys(const void *a, const void *b)
{
    const cw_json *const *x = a, *const *y = b;
    return cw_str_cmp(cw_json_text(*x), cw_json_text(*y));
}

/* Members are sorted by their names. The depth of the document bounds the recursion. */
static void add_canonical(cw_json_writer *w, const cw_json *v, cw_arena *scratch)
{
    if (cw_json_is(v, CW_JSON_ARRAY)) {
        cw_json_open_array(w);
        for (const cw_json *i = cw_json_first(v); i; i = cw_json_next(i))
            add_canonical(w, i, scratch);
        cw_json_close(w);
        return;
    }
    if (!cw_json_is(v, CW_JSON_OBJECT)) {
        cw_json_add_value(w, v);
        return;
    }
    size_t n = 0;
    const cw_json **keys = cw_arena_calloc(scratch, cw_json_count(v) + 1, sizeof *keys);
    for (const cw_json *k = cw_json_first(v); k && keys; k = cw_json_next_key(k))
        keys[n++] = k;
    if (n)
        qsort(keys, n, sizeof *keys, compare_keys);
    cw_json_open_object(w);
    for (size_t i = 0; i < n; i++) {
        cw_json_add_key(w, cw_json_text(keys[i]));
        add_canonical(w, cw_json_value(keys[i]), scratch);
    }
    cw_json_close(w);
}

/* Add a text that is JSON. A text that cannot be read is added as a string. */
static void add_json(cw_json_writer *w, const char *key, cw_str text, cw_arena *scratch)
{
    const cw_json *v;
    const cw_json_opts opts = {.max_bytes = text.n + 1, .max_depth = CW_JSON_DEPTH_CEILING};
    if (text.n == 0)
        return;
    cw_json_add_key(w, cw_str_from(key));
    if (cw_json_read(text, &opts, scratch, &v, NULL, NULL))
        cw_json_add_string(w, text);
    else
        add_canonical(w, v, scratch);
}

static void add_text(cw_json_writer *w, const char *key, cw_str text)
{
    if (text.n)
        cw_json_add_string_member(w, cw_str_from(key), text);
}

static void add_param(cw_json_writer *w, const cw_param *p, cw_arena *scratch)
{
    cw_json_open_object(w);
    add_text(w, "description", p->description);
    cw_json_add_string_member(w, CW_STR("name"), p->name);
    cw_json_add_bool_member(w, CW_STR("required"), p->is_required);
    add_json(w, "schema", p->schema, scratch);
    cw_json_close(w);
}

static void add_flag(cw_json_writer *w, const char *key, bool is_set)
{
    if (is_set)
        cw_json_add_bool_member(w, cw_str_from(key), true);
}

/* Add the mark of the service: title, annotations and requirements. It is shown, or trusted. */
static void add_mark(cw_json_writer *w, const cw_json *mark, cw_arena *scratch)
{
    if (!mark)
        return;
    cw_json_add_key(w, CW_STR("mark"));
    add_canonical(w, mark, scratch);
}

/* Whether a member changes with every write of the resource. */
static bool is_volatile(cw_str name)
{
    return cw_str_is(name, "size") || cw_str_is(name, "lastModified");
}

static void add_lasting(cw_json_writer *w, const cw_json *object, cw_arena *scratch)
{
    cw_json_open_object(w);
    for (const cw_json *k = cw_json_first(object); k; k = cw_json_next_key(k)) {
        const cw_json *v = cw_json_value(k);
        if (is_volatile(cw_json_text(k)))
            continue;
        cw_json_add_key(w, cw_json_text(k));
        if (cw_str_is(cw_json_text(k), "annotations") && cw_json_is(v, CW_JSON_OBJECT))
            add_lasting(w, v, scratch);
        else
            add_canonical(w, v, scratch);
    }
    cw_json_close(w);
}

/* Add the list entry of a resource, template or prompt, with sorted members. */
static void add_exposed(cw_json_writer *w, const cw_exposed *exposed, cw_arena *scratch)
{
    const cw_json_opts opts = {.max_depth = CW_JSON_DEPTH_CEILING};
    const cw_json *sorted = NULL;
    if (!exposed)
        return;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_LOCK_MAX_BYTES);
    cw_json_writer inner;
    cw_json_writer_init(&inner, &text, CW_JSON_COMPACT);
    add_lasting(&inner, exposed->json, scratch);
    cw_str copy = text.code ? (cw_str){NULL, 0} : cw_arena_dup_str(scratch, cw_buf_str(&text));
    cw_json_add_key(w, CW_STR("exposed"));
    if (!copy.p || cw_json_read(copy, &opts, scratch, &sorted, NULL, NULL))
        w->out->code = CW_NOMEM; /* an incomplete definition must not look complete */
    else
        add_canonical(w, sorted, scratch);
}

void cw_lock_define_text(cw_str id, cw_str text, cw_buf *out)
{
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("id"), id);
    cw_json_add_string_member(&w, CW_STR("text"), text);
    cw_json_close(&w);
}

static void define(const cw_method *m, const cw_json *described, bool with_more, cw_buf *out)
{
    const cw_json *notice = cw_json_get(described, CW_STR("x-notification"));
    cw_arena scratch;
    cw_json_writer w;
    cw_arena_init(&scratch, (size_t)16 * CW_LOCK_MAX_BYTES);
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    add_flag(&w, "by_position", m->by_position);
    add_exposed(&w, m->exposed, &scratch);
    cw_json_add_string_member(&w, CW_STR("id"), m->id);
    add_json(&w, "input", m->input, &scratch);
    add_mark(&w, cw_json_get(described, CW_STR("x-mcp-tool")), &scratch);
    const cw_json *more = with_more ? cw_json_get(described, CW_STR("x-mcp-more")) : NULL;
    if (more) {
        cw_json_add_key(&w, CW_STR("more"));
        add_canonical(&w, more, &scratch);
    }
    add_flag(&w, "notification", cw_json_is(notice, CW_JSON_TRUE));
    add_json(&w, "output", m->output, &scratch);
    cw_json_add_key(&w, CW_STR("params"));
    cw_json_open_array(&w);
    for (size_t i = 0; i < m->n_params; i++)
        add_param(&w, &m->params[i], &scratch);
    cw_json_close(&w);
    add_text(&w, "usage", m->usage);
    const cw_json *view = cw_json_get(described, CW_STR("x-mcp-view"));
    if (cw_json_is(view, CW_JSON_STRING))
        cw_json_add_string_member(&w, CW_STR("view"), cw_json_text(view));
    cw_json_close(&w);
    /* An incomplete definition must not look complete. */
    cw_code rc = cw_json_writer_end(&w, NULL);
    if (!rc)
        rc = scratch.failed;
    if (rc && !out->code)
        out->code = rc;
    cw_arena_done(&scratch);
}

void cw_lock_define(const cw_method *m, const cw_json *described, cw_buf *out)
{
    define(m, described, /* with_more= */ true, out);
}

void cw_lock_define_plain(const cw_method *m, const cw_json *described, cw_buf *out)
{
    define(m, described, /* with_more= */ false, out);
}

void cw_lock_hash(cw_str definition, char ret[CW_LOCK_HASH + 1])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char hash[SHA256_DIGEST_LENGTH];
    SHA256((const unsigned char *)definition.p, definition.n, hash);
    for (size_t i = 0; i < sizeof hash; i++) {
        ret[2 * i] = digits[hash[i] >> 4];
        ret[2 * i + 1] = digits[hash[i] & 15];
    }
    ret[CW_LOCK_HASH] = 0;
}

/* ---- the file ---- */

static cw_code parse(cw_lock *lock, cw_str text, cw_err *err)
{
    const cw_json *root;
    /* A definition is deeper here than in its document. */
    const cw_json_opts opts = {.max_bytes = text.n + 1, .max_depth = CW_JSON_DEPTH_CEILING};
    cw_str copy = cw_arena_dup_str(&lock->arena, text);
    if (!copy.p)
        return cw_arena_fail(&lock->arena, err);
    cw_code rc = cw_json_read(copy, &opts, &lock->arena, &root, NULL, err);
    if (rc)
        return rc;
    const cw_json *version = cw_json_get(root, CW_STR("version"));
    uint64_t number;
    lock->sources = cw_json_get(root, CW_STR("sources"));
    if (!version || !cw_json_to_u64(version, &number) || number != 1 ||
        !cw_json_is(lock->sources, CW_JSON_OBJECT))
        return cw_fail(err, CW_PARAMS, "not a lock file of version 1");
    return CW_OK;
}

cw_code cw_lock_parse(cw_str text, cw_lock **ret, cw_err *err)
{
    cw_lock *lock = calloc(1, sizeof *lock);
    if (!lock)
        return cw_fail_nomem(err);
    atomic_init(&lock->refs, 1);
    cw_arena_init(&lock->arena, (size_t)16 * CW_LOCK_MAX_BYTES);
    cw_code rc = parse(lock, text, err);
    if (rc)
        cw_lock_unref(lock);
    else
        *ret = lock;
    return rc;
}

cw_code cw_lock_read(const char *path, cw_lock **ret, cw_err *err)
{
    struct stat st;
    *ret = NULL;
    if (stat(path, &st) && errno == ENOENT)
        return CW_OK;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_LOCK_MAX_BYTES);
    cw_code rc = cw_file_read(path, CW_FILE_PLAIN, &text, err);
    if (rc)
        return rc;
    rc = cw_lock_parse(cw_buf_str(&text), ret, err);
    return rc ? cw_wrap(err, rc, "lock '%s'", path) : CW_OK;
}

cw_lock *cw_lock_ref(cw_lock *lock)
{
    if (lock)
        atomic_fetch_add_explicit(&lock->refs, 1, memory_order_relaxed);
    return lock;
}

void cw_lock_unref(cw_lock *lock)
{
    if (!lock || atomic_fetch_sub_explicit(&lock->refs, 1, memory_order_acq_rel) != 1)
        return;
    cw_arena_done(&lock->arena);
    free(lock);
}

cw_lock_verdict cw_lock_check(const cw_lock *lock, cw_str source, cw_str method, cw_str definition,
                              cw_str *ret_old)
{
    const cw_json *entry = cw_json_get(cw_json_get(lock->sources, source), method);
    const cw_json *hash = cw_json_get(entry, CW_STR("sha256"));
    const cw_json *old = cw_json_get(entry, CW_STR("definition"));
    char now[CW_LOCK_HASH + 1];
    if (ret_old)
        *ret_old = old ? cw_json_span(old) : CW_STR("");
    if (!cw_json_is(hash, CW_JSON_STRING))
        return CW_LOCK_NEW;
    cw_lock_hash(definition, now);
    return cw_str_is(cw_json_text(hash), now) ? CW_LOCK_SAME : CW_LOCK_CHANGED;
}

/* ---- times and authors of approvals ---- */

static cw_lock_stamp read_stamp(const cw_json *entry)
{
    const cw_json *at = cw_json_get(entry, CW_STR("approved_at"));
    const cw_json *by = cw_json_get(entry, CW_STR("approved_by"));
    uint64_t ms = 0;
    if (!at || !cw_json_to_u64(at, &ms) || ms > INT64_MAX)
        ms = 0;
    return (cw_lock_stamp){.at = (int64_t)ms,
                           .by = cw_json_is(by, CW_JSON_STRING) ? cw_json_text(by) : CW_STR("")};
}

void cw_lock_add_stamp(cw_json_writer *w, cw_lock_stamp stamp)
{
    if (stamp.at)
        cw_json_add_i64_member(w, CW_STR("approved_at"), stamp.at);
    if (stamp.by.n)
        cw_json_add_string_member(w, CW_STR("approved_by"), stamp.by);
}

cw_lock_stamp cw_lock_stamp_of(const cw_lock *lock, cw_str source, cw_str method)
{
    return read_stamp(lock ? cw_json_get(cw_json_get(lock->sources, source), method) : NULL);
}

cw_lock_stamp cw_lock_latest(const cw_lock *lock, cw_str source)
{
    const cw_json *tools = lock ? cw_json_get(lock->sources, source) : NULL;
    cw_lock_stamp latest = {.by = CW_STR("")};
    if (!cw_json_is(tools, CW_JSON_OBJECT))
        return latest;
    for (const cw_json *k = cw_json_first(tools); k; k = cw_json_next_key(k)) {
        cw_lock_stamp stamp = read_stamp(cw_json_value(k));
        if (stamp.at > latest.at)
            latest = stamp;
    }
    return latest;
}

cw_str cw_lock_entries(const cw_lock *lock, cw_str source)
{
    const cw_json *tools = lock ? cw_json_get(lock->sources, source) : NULL;
    return tools ? cw_json_span(tools) : CW_STR("");
}

cw_code cw_lock_each(const cw_lock *lock, cw_str source, cw_lock_fn fn, void *ctx)
{
    const cw_json *tools = lock ? cw_json_get(lock->sources, source) : NULL;
    if (!cw_json_is(tools, CW_JSON_OBJECT))
        return CW_OK;
    for (const cw_json *k = cw_json_first(tools); k; k = cw_json_next_key(k)) {
        cw_code rc = fn(cw_json_text(k), ctx);
        if (rc)
            return rc;
    }
    return CW_OK;
}

static bool is_among(cw_str name, const cw_str *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (cw_str_eq(names[i], name))
            return true;
    }
    return false;
}

static void add_entry(cw_json_writer *w, const cw_lock_entry *e, const cw_lock_stamp *stamp,
                      const cw_lock *old)
{
    char hash[CW_LOCK_HASH + 1];
    if (e->definition.n == 0) {
        const cw_json *kept =
            old ? cw_json_get(cw_json_get(old->sources, e->source), e->method) : NULL;
        if (!kept)
            return;
        cw_json_add_key(w, e->method);
        cw_json_add_value(w, kept);
        return;
    }
    cw_lock_hash(e->definition, hash);
    cw_json_add_key(w, e->method);
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("sha256"), cw_str_from(hash));
    cw_json_add_key(w, CW_STR("definition"));
    cw_json_add_span(w, e->definition);
    cw_lock_add_stamp(w, *stamp);
    cw_json_close(w);
}

static void add_sources(cw_json_writer *w, const cw_lock *old, const cw_lock_change *change)
{
    const cw_json *kept = old ? cw_json_first(old->sources) : NULL;
    for (const cw_json *k = kept; k; k = cw_json_next_key(k)) {
        if (is_among(cw_json_text(k), change->replaced, change->n_replaced))
            continue;
        cw_json_add_key(w, cw_json_text(k));
        cw_json_add_value(w, cw_json_value(k));
    }
    for (size_t i = 0; i < change->n_replaced; i++) {
        cw_json_add_key(w, change->replaced[i]);
        cw_json_open_object(w);
        for (size_t j = 0; j < change->n; j++) {
            if (cw_str_eq(change->entries[j].source, change->replaced[i]))
                add_entry(w, &change->entries[j], &change->stamp, old);
        }
        cw_json_close(w);
    }
}

cw_code cw_lock_apply(const cw_lock *old, const cw_lock_change *change, cw_buf *text, cw_lock **ret,
                      cw_err *err)
{
    cw_json_writer w;
    cw_json_writer_init(&w, text, CW_JSON_INDENT);
    cw_json_open_object(&w);
    cw_json_add_key(&w, CW_STR("version"));
    cw_json_add_u64(&w, 1);
    cw_json_add_key(&w, CW_STR("sources"));
    cw_json_open_object(&w);
    add_sources(&w, old, change);
    cw_json_close(&w);
    cw_json_close(&w);
    cw_buf_add_char(text, '\n');
    cw_code rc = cw_json_writer_end(&w, err);
    if (rc)
        return rc;
    rc = cw_lock_parse(cw_buf_str(text), ret, err);
    return rc ? cw_wrap(err, rc, "the lock could not be read again") : CW_OK;
}

/* If the new text cannot be read, the old file stays: an unreadable one withholds every tool. */
cw_code cw_lock_write(const char *path, const cw_lock *old, const cw_lock_change *change,
                      cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_lock *again = NULL;
    cw_buf_init(&text, CW_LOCK_MAX_BYTES);
    cw_code rc = cw_lock_apply(old, change, &text, &again, err);
    cw_lock_unref(again);
    return rc ? rc : cw_file_replace(path, cw_buf_str(&text), 0644, CW_FILE_REPLACE_SYNC, err);
}
