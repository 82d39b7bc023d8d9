/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tasks.c - methods about the tasks of MCP clients. */
#include "task/tasks.h"

#include "admin/server.h"

static void write_task(const cw_task_info *info, void *writer)
{
    cw_json_writer *w = writer;
    const char *status = cw_task_status_name(info->status);
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("id"), info->id);
    cw_json_add_string_member(w, CW_STR("status"), cw_str_from(status));
    cw_json_add_string_member(w, CW_STR("message"), info->message);
    cw_json_add_string_member(w, CW_STR("tool"), info->tool);
    cw_json_add_string_member(w, CW_STR("method"), info->method);
    cw_json_add_string_member(w, CW_STR("caller"), info->caller);
    cw_admin_add_date_member(w, "created", info->created);
    cw_admin_add_date_member(w, "updated", info->updated);
    cw_admin_add_date_member(w, "expires", info->until);
    cw_json_add_i64_member(w, CW_STR("size"), (int64_t)info->size);
    cw_json_add_i64_member(w, CW_STR("questions"), info->n_questions);
    cw_json_close(w);
}

static cw_code fail_unknown(cw_err *err)
{
    return cw_fail(err, CW_NOTFOUND, "no task has this id");
}

/* All, or the one of the id. */
static cw_code list(cw_admin_call *c, cw_err *err)
{
    cw_str id = cw_admin_text(c, "id");
    bool is_found = true;
    cw_json_add_key(c->out, CW_STR("tasks"));
    cw_json_open_array(c->out);
    if (id.n)
        is_found = cw_tasks_show(c->server->tasks, id, write_task, c->out);
    else
        cw_tasks_each(c->server->tasks, write_task, c->out);
    cw_json_close(c->out);
    return is_found ? CW_OK : fail_unknown(err);
}

static cw_code cancel(cw_admin_call *c, cw_err *err)
{
    cw_code rc = cw_tasks_cancel(c->server->tasks, cw_admin_text(c, "id"));
    return rc == CW_NOTFOUND ? fail_unknown(err) : cw_admin_end_change(c, rc);
}

#define TASK                                                                                       \
    "{\"type\":\"object\",\"required\":[\"id\",\"status\",\"message\",\"tool\",\"method\","        \
    "\"caller\",\"created\",\"updated\",\"expires\",\"size\",\"questions\"]}"

const cw_admin_method cw_admin_tasks_methods[] = {
    {.name = "causeway.tasks.list",
     .about = "List the tasks of all callers",
     .permission = CW_PERMISSION_ADMINISTER_SOURCES,
     .params = "[{\"name\":\"id\",\"description\":\"Only this one\",\"schema\":{\"type\":"
               "\"string\"}}]",
     .result = "{\"tasks\":{\"type\":\"array\",\"items\":" TASK "}}",
     .place = CW_ADMIN_MAIN,
     .flags = CW_ADMIN_NEEDS_SERVER,
     .run = list},
    {.name = "causeway.tasks.cancel",
     .about = "Cancel a task and its call",
     .permission = CW_PERMISSION_ADMINISTER_SOURCES,
     .params = "[{\"name\":\"id\",\"required\":true,\"schema\":{\"type\":\"string\"}}]",
     .result = "{\"changed\":{\"type\":\"boolean\"}}",
     .place = CW_ADMIN_MAIN,
     .flags = CW_ADMIN_CHANGES | CW_ADMIN_NEEDS_SERVER,
     .n_audited = 1,
     .run = cancel},
    {.name = NULL},
};
