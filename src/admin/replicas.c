/* SPDX-License-Identifier: GPL-2.0-or-later */
/* replicas.c - the method that lists the servers of a database. */
#include "admin/admin.h"
#include "base/node.h"
#include "store/replica.h"

#define DIGEST_SHOWN 12u

/* The server that the others are compared with: the one that answers, else the first that runs. */
typedef struct reference {
    cw_arena *arena;
    cw_str version, config, catalogue;
    bool is_found, is_self;
} reference;

typedef struct listing {
    cw_json_writer *out;
    const reference *with;
} listing;

static bool is_self(const cw_db_replica *replica)
{
    return cw_str_is(replica->node, cw_node_text());
}

static cw_code find_reference(const cw_db_replica *replica, void *ctx, cw_err *err)
{
    reference *ref = ctx;
    if (cw_db_replica_is_lost(replica) || ref->is_self || (ref->is_found && !is_self(replica)))
        return CW_OK;
    ref->version = cw_arena_dup_str(ref->arena, replica->version);
    ref->config = cw_arena_dup_str(ref->arena, replica->config);
    ref->catalogue = cw_arena_dup_str(ref->arena, replica->catalogue);
    if (!ref->version.p || !ref->config.p || !ref->catalogue.p)
        return cw_arena_fail(ref->arena, err);
    ref->is_found = true;
    ref->is_self = is_self(replica);
    return CW_OK;
}

/* The first digits of a digest. */
static cw_str shown(cw_str digest)
{
    return cw_str_make(digest.p, digest.n < DIGEST_SHOWN ? digest.n : DIGEST_SHOWN);
}

static void add_difference(cw_json_writer *w, const char *what, cw_str a, cw_str b)
{
    if (!cw_str_eq(a, b))
        cw_json_add_string(w, cw_str_from(what));
}

static cw_code write_replica(const cw_db_replica *replica, void *ctx, cw_err *err)
{
    const listing *list = ctx;
    cw_json_writer *w = list->out;
    bool is_lost = cw_db_replica_is_lost(replica);
    (void)err;
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("name"), replica->name);
    cw_json_add_string_member(w, CW_STR("node"), replica->node);
    cw_json_add_i64_member(w, CW_STR("number"), replica->number);
    cw_json_add_string_member(w, CW_STR("version"), replica->version);
    cw_json_add_string_member(w, CW_STR("state"), is_lost ? CW_STR("lost") : CW_STR("running"));
    cw_json_add_bool_member(w, CW_STR("answers"), is_self(replica));
    cw_admin_add_date_member(w, "started", replica->started);
    cw_admin_add_date_member(w, "seen", replica->seen);
    cw_json_add_string_member(w, CW_STR("config"), shown(replica->config));
    cw_json_add_string_member(w, CW_STR("catalogue"), shown(replica->catalogue));
    cw_json_add_key(w, CW_STR("differs"));
    cw_json_open_array(w);
    if (!is_lost && list->with->is_found) {
        add_difference(w, "version", replica->version, list->with->version);
        add_difference(w, "config", replica->config, list->with->config);
        add_difference(w, "catalogue", replica->catalogue, list->with->catalogue);
    }
    cw_json_close(w);
    cw_json_close(w);
    return CW_OK;
}

static cw_code list_replicas(cw_admin_call *c, cw_err *err)
{
    reference with = {.arena = c->arena};
    listing list = {c->out, &with};
    cw_code rc = cw_db_each_replica(c->db, find_reference, &with, err);
    cw_json_add_key(c->out, CW_STR("replicas"));
    cw_json_open_array(c->out);
    if (!rc)
        rc = cw_db_each_replica(c->db, write_replica, &list, err);
    cw_json_close(c->out);
    return rc;
}

const cw_admin_method cw_admin_replicas_methods[] = {
    {.name = "causeway.replicas.list",
     .about = "List the servers that share the database, and in what they differ from this one",
     .permission = CW_PERMISSION_VIEW_TRAFFIC,
     .params = "[]",
     .result = "{\"replicas\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":["
               "\"name\",\"node\",\"number\",\"version\",\"state\",\"answers\",\"started\","
               "\"seen\",\"config\",\"catalogue\",\"differs\"]}}}",
     .place = CW_ADMIN_STORE,
     .flags = CW_ADMIN_NEEDS_STORE,
     .run = list_replicas},
    {.name = NULL},
};
