/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sessions.c - methods about browser sessions. */
#include "admin/admin.h"
#include "base/clock.h"
#include "config/session_limits.h"

typedef struct lister {
    cw_json_writer *out;
    int64_t now;
    int64_t idle_ms, lifetime_ms;
} lister;

static int64_t end_of(const lister *l, const cw_session *s)
{
    int64_t end = s->created + l->lifetime_ms, idle = s->used + l->idle_ms;
    return idle < end ? idle : end;
}

static cw_code write_session(const cw_session *s, void *ctx, cw_err *err)
{
    const lister *l = ctx;
    (void)err;
    /* The next login removes expired sessions. */
    if (end_of(l, s) <= l->now)
        return CW_OK;
    cw_json_open_object(l->out);
    cw_json_add_i64_member(l->out, CW_STR("id"), s->id);
    cw_json_add_string_member(l->out, CW_STR("account"), s->account_name);
    cw_admin_add_date_member(l->out, "created", s->created);
    cw_admin_add_date_member(l->out, "used", s->used);
    cw_admin_add_date_member(l->out, "expires", end_of(l, s));
    cw_json_close(l->out);
    return CW_OK;
}

static cw_code list(cw_admin_call *c, cw_err *err)
{
    int64_t account = 0;
    lister l = {.out = c->out,
                .now = cw_clock_wall_ms(),
                .idle_ms = cw_config_sessions(c->config).idle_ms,
                .lifetime_ms = cw_config_sessions(c->config).lifetime_ms};
    cw_code rc = cw_admin_account_id(c, "account", &account, err);
    if (rc)
        return rc;
    cw_json_add_key(c->out, CW_STR("sessions"));
    cw_json_open_array(c->out);
    rc = cw_db_each_session(c->db, account, write_session, &l, err);
    cw_json_close(c->out);
    return rc;
}

static cw_code end(cw_admin_call *c, cw_err *err)
{
    int64_t id = cw_admin_number(c, "id", 0);
    return cw_admin_end_change(c, cw_db_remove_session(c->db, id, err));
}

const cw_admin_method cw_admin_sessions_methods[] = {
    {.name = "causeway.sessions.list",
     .about = "List the browser sessions",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params = "[{\"name\":\"account\",\"description\":\"Only those of this account\",\"schema\":{"
               "\"type\":\"string\"}}]",
     .result = "{\"sessions\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":["
               "\"id\",\"account\",\"created\",\"used\",\"expires\"]}}}",
     .place = CW_ADMIN_STORE,
     .flags = CW_ADMIN_NEEDS_STORE,
     .run = list},
    {.name = "causeway.sessions.end",
     .about = "End a browser session",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params = "[{\"name\":\"id\",\"required\":true,\"schema\":{\"type\":\"integer\"}}]",
     .result = "{\"changed\":{\"type\":\"boolean\"}}",
     .place = CW_ADMIN_STORE,
     .flags = CW_ADMIN_CHANGES | CW_ADMIN_GUARDED | CW_ADMIN_NEEDS_STORE,
     .n_audited = 1,
     .run = end},
    {.name = NULL},
};
