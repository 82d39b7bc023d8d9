/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "access/caller.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "access/gate.h"
#include "base/arena.h"
#include "json/write.h"

/* Permissions come from a configuration file or, later, a store: both have ceilings of their own
 * far below this one. */
#define CALLER_MAX_BYTES ((size_t)64 << 20)

struct cw_caller {
    atomic_uint refs;
    cw_arena arena;
    cw_str id;
    cw_str name;
    cw_str language;
    cw_str *permissions;
    size_t n_permissions;
    cw_str json;
};

static cw_code copy_permissions(cw_caller *caller, const cw_str *permissions, size_t n, cw_err *err)
{
    cw_str *copy = cw_arena_calloc(&caller->arena, n ? n : 1, sizeof *copy);
    if (!copy)
        return cw_arena_fail(&caller->arena, err);
    for (size_t i = 0; i < n; i++) {
        copy[i] = cw_arena_dup_str(&caller->arena, permissions[i]);
        if (!copy[i].p)
            return cw_arena_fail(&caller->arena, err);
    }
    caller->permissions = copy;
    caller->n_permissions = cw_needs_sort(copy, n);
    return CW_OK;
}

static void write_json(const cw_caller *caller, cw_json_writer *w)
{
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("id"), caller->id);
    cw_json_add_string_member(w, CW_STR("name"), caller->name);
    cw_json_add_key(w, CW_STR("permissions"));
    cw_json_open_array(w);
    for (size_t i = 0; i < caller->n_permissions; i++)
        cw_json_add_string(w, caller->permissions[i]);
    cw_json_close(w);
    cw_json_add_string_member(w, CW_STR("language"), caller->language);
    cw_json_close(w);
}

static cw_code serialise(cw_caller *caller, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf buf;
    cw_buf_init(&buf, CALLER_MAX_BYTES);
    cw_json_writer w;
    cw_json_writer_init(&w, &buf, CW_JSON_COMPACT);
    write_json(caller, &w);
    cw_code rc = cw_json_writer_end(&w, err);
    if (rc)
        return rc;
    caller->json = cw_arena_dup_str(&caller->arena, cw_buf_str(&buf));
    return caller->json.p ? CW_OK : cw_arena_fail(&caller->arena, err);
}

cw_code cw_caller_new_anonymous(const cw_str *permissions, size_t n, cw_caller **ret, cw_err *err)
{
    if (n > CW_CALLER_MAX_PERMISSIONS)
        return cw_fail(err, CW_LIMIT, "a caller has %zu permissions, the limit is %u", n,
                       CW_CALLER_MAX_PERMISSIONS);
    cw_caller *caller = calloc(1, sizeof *caller);
    if (!caller)
        return cw_fail_nomem(err);
    atomic_init(&caller->refs, 1);
    cw_arena_init(&caller->arena, CALLER_MAX_BYTES);
    caller->id = CW_STR("0");
    caller->name = CW_STR("anonymous");
    caller->language = CW_STR("en");
    cw_code rc = copy_permissions(caller, permissions, n, err);
    if (!rc)
        rc = serialise(caller, err);
    if (rc) {
        cw_caller_unref(caller);
        return rc;
    }
    *ret = caller;
    return CW_OK;
}

cw_caller *cw_caller_ref(cw_caller *caller)
{
    atomic_fetch_add_explicit(&caller->refs, 1, memory_order_relaxed);
    return caller;
}

void cw_caller_unref(cw_caller *caller)
{
    if (!caller || atomic_fetch_sub_explicit(&caller->refs, 1, memory_order_acq_rel) != 1)
        return;
    cw_arena_done(&caller->arena);
    free(caller);
}

cw_str cw_caller_id(const cw_caller *caller)
{
    return caller->id;
}

cw_str cw_caller_name(const cw_caller *caller)
{
    return caller->name;
}

cw_str cw_caller_language(const cw_caller *caller)
{
    return caller->language;
}

bool cw_caller_is_anonymous(const cw_caller *caller)
{
    return cw_str_is(caller->id, "0");
}

const cw_str *cw_caller_permissions(const cw_caller *caller, size_t *ret_n)
{
    *ret_n = caller->n_permissions;
    return caller->permissions;
}

bool cw_caller_may(const cw_caller *caller, cw_str permission)
{
    size_t low = 0;
    size_t high = caller->n_permissions;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = cw_str_cmp(caller->permissions[middle], permission);
        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

cw_str cw_caller_json(const cw_caller *caller)
{
    return caller->json;
}
