/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tasks.c - methods about the tasks of MCP clients. */
#include "store/task.h"

#include "admin/server.h"
#include "base/clock.h"
#include "base/node.h"
#include "task/tasks.h"

typedef struct listing {
    cw_json_writer *w;
    cw_tasks *tasks;
    cw_str only; /* empty: all */
    cw_str node; /* of the task that is written */
    bool is_found;
} listing;

/* The questions of a task that another server runs are not counted. */
static void write_task(const cw_task_info *info, void *ctx)
{
    listing *l = ctx;
    cw_json_writer *w = l->w;
    const char *status = cw_task_status_name(info->status);
    l->is_found = true;
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("id"), info->id);
    cw_json_add_string_member(w, CW_STR("status"), cw_str_from(status));
    cw_json_add_string_member(w, CW_STR("message"), info->message);
    cw_json_add_string_member(w, CW_STR("tool"), info->tool);
    cw_json_add_string_member(w, CW_STR("method"), info->method);
    cw_json_add_string_member(w, CW_STR("caller"), info->caller);
    cw_json_add_string_member(w, CW_STR("node"), l->node);
    cw_admin_add_date_member(w, "created", info->created);
    cw_admin_add_date_member(w, "updated", info->updated);
    cw_admin_add_date_member(w, "expires", info->until);
    cw_json_add_i64_member(w, CW_STR("size"), (int64_t)info->size);
    cw_json_add_i64_member(w, CW_STR("questions"), info->n_questions);
    cw_json_close(w);
}

static cw_task_status status_of(const cw_db_task *row)
{
    bool is_known = row->status >= CW_TASK_WORKING && row->status <= CW_TASK_CANCELLED;
    return is_known ? (cw_task_status)row->status : CW_TASK_FAILED;
}

static cw_code write_row(const cw_db_task *row, void *ctx, cw_err *err)
{
    listing *l = ctx;
    (void)err;
    if (l->only.n && !cw_str_eq(l->only, row->id))
        return CW_OK;
    l->node = row->node;
    if (l->tasks && cw_tasks_show(l->tasks, row->id, write_task, l))
        return CW_OK;
    int64_t updated = row->ended ? row->ended : row->updated;
    const cw_task_info info = {.id = row->id,
                               .caller = row->caller,
                               .tool = row->tool,
                               .method = row->method,
                               .message = row->message,
                               .status = status_of(row),
                               .created = row->created,
                               .updated = updated ? updated : row->created,
                               .until = row->expires,
                               .size = (size_t)row->size};
    write_task(&info, l);
    return CW_OK;
}

static void write_unsaved(const cw_task_info *info, void *ctx)
{
    const listing *l = ctx;
    if (!l->only.n || cw_str_eq(l->only, info->id))
        write_task(info, ctx);
}

static cw_code fail_unknown(cw_err *err)
{
    return cw_fail(err, CW_NOTFOUND, "no task has this id");
}

/* All servers of the database, and the tasks of this one that are not in it. */
static cw_code list(cw_admin_call *c, cw_err *err)
{
    listing l = {.w = c->out, .tasks = c->tasks, .only = cw_admin_text(c, "id")};
    cw_code rc = CW_OK;
    cw_json_add_key(c->out, CW_STR("tasks"));
    cw_json_open_array(c->out);
    if (c->db)
        rc = cw_db_list_tasks(c->db, cw_clock_wall_ms(), write_row, &l, err);
    l.node = cw_str_from(cw_node_text());
    if (!rc)
        cw_tasks_each(c->tasks, /* without_row= */ c->db != NULL, write_unsaved, &l);
    cw_json_close(c->out);
    if (rc)
        return rc;
    return l.only.n && !l.is_found ? fail_unknown(err) : CW_OK;
}

static cw_code cancel(cw_admin_call *c, cw_err *err)
{
    cw_code rc = cw_tasks_cancel(c->tasks, cw_admin_text(c, "id"), c->db, err);
    return rc == CW_NOTFOUND ? fail_unknown(err) : cw_admin_end_change(c, rc);
}

#define TASK                                                                                       \
    "{\"type\":\"object\",\"required\":[\"id\",\"status\",\"message\",\"tool\",\"method\","        \
    "\"caller\",\"node\",\"created\",\"updated\",\"expires\",\"size\",\"questions\"]}"

const cw_admin_method cw_admin_tasks_methods[] = {
    {.name = "causeway.tasks.list",
     .about = "List the tasks of all callers, at all servers that share the database",
     .permission = CW_PERMISSION_ADMINISTER_SOURCES,
     .params = "[{\"name\":\"id\",\"description\":\"Only this one\",\"schema\":{\"type\":"
               "\"string\"}}]",
     .result = "{\"tasks\":{\"type\":\"array\",\"items\":" TASK "}}",
     .place = CW_ADMIN_STORE,
     .flags = CW_ADMIN_NEEDS_SERVER | CW_ADMIN_STORE_OPTIONAL,
     .run = list},
    {.name = "causeway.tasks.cancel",
     .about = "Cancel a task and its call",
     .permission = CW_PERMISSION_ADMINISTER_SOURCES,
     .params = "[{\"name\":\"id\",\"required\":true,\"schema\":{\"type\":\"string\"}}]",
     .result = "{\"changed\":{\"type\":\"boolean\"}}",
     .place = CW_ADMIN_STORE,
     .flags = CW_ADMIN_CHANGES | CW_ADMIN_NEEDS_SERVER | CW_ADMIN_STORE_OPTIONAL,
     .n_audited = 1,
     .run = cancel},
    {.name = NULL},
};
