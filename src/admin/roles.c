/* SPDX-License-Identifier: GPL-2.0-or-later */
/* roles.c - methods about roles and their permissions. */
#include "admin/admin.h"

/* ---- list ---- */

static void open_role(cw_json_writer *w, cw_str name, const char *from)
{
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("name"), name);
    cw_json_add_string_member(w, CW_STR("from"), cw_str_from(from));
    cw_json_add_key(w, CW_STR("permissions"));
    cw_json_open_array(w);
}

static void close_role(cw_json_writer *w)
{
    cw_json_close(w);
    cw_json_close(w);
}

static cw_code write_stored(cw_str role, void *ctx, cw_err *err)
{
    const cw_admin_call *c = ctx;
    open_role(c->out, role, "database");
    cw_code rc = cw_db_each_permission(c->db, role, cw_admin_add_text, c->out, err);
    close_role(c->out);
    return rc;
}

static void write_configured(cw_json_writer *w, const cw_config_role *role)
{
    open_role(w, role->name, "configuration");
    for (size_t i = 0; i < role->permissions.n; i++)
        cw_json_add_string(w, role->permissions.items[i]);
    close_role(w);
}

/* A role may be in both places; it has the permissions of both. */
static cw_code list(cw_admin_call *c, cw_err *err)
{
    cw_json_add_bool_member(c->out, CW_STR("authenticated_inherits"),
                            !c->config->access.authenticated_only_own);
    cw_json_add_key(c->out, CW_STR("roles"));
    cw_json_open_array(c->out);
    cw_code rc = cw_db_each_role(c->db, write_stored, c, err);
    for (size_t i = 0; i < c->config->roles.n; i++)
        write_configured(c->out, &c->config->roles.items[i]);
    cw_json_close(c->out);
    return rc;
}

/* ---- changes ---- */

static cw_code add(cw_admin_call *c, cw_err *err)
{
    cw_str role = cw_admin_text(c, "role");
    cw_code rc = cw_admin_check_name("role", role, err);
    return cw_admin_end_change(c, rc ? rc : cw_db_add_role(c->db, role, err));
}

static cw_code remove_role(cw_admin_call *c, cw_err *err)
{
    return cw_admin_end_change(c, cw_db_remove_role(c->db, cw_admin_text(c, "role"), err));
}

static cw_code set_permission(cw_admin_call *c, bool may, cw_err *err)
{
    cw_str role = cw_admin_text(c, "role"), permission = cw_admin_text(c, "permission");
    cw_code rc = cw_admin_check_name("permission", permission, err);
    if (!rc)
        rc = cw_db_allow(c->db, role, permission, may, err);
    if (rc == CW_NOTFOUND)
        return cw_fail(err, rc, "no role '%.*s' in the database; \"causeway role add\" adds one",
                       CW_STR_ARG(role));
    return cw_admin_end_change(c, rc);
}

static cw_code allow(cw_admin_call *c, cw_err *err)
{
    return set_permission(c, true, err);
}

static cw_code deny(cw_admin_call *c, cw_err *err)
{
    return set_permission(c, false, err);
}

#define TEXT "{\"type\":\"string\"}"
#define CHANGED "{\"changed\":{\"type\":\"boolean\"}}"
#define ROLE "{\"name\":\"role\",\"required\":true,\"schema\":" TEXT "}"
#define PERMISSION "{\"name\":\"permission\",\"required\":true,\"schema\":" TEXT "}"
#define CHANGE (CW_ADMIN_CHANGES | CW_ADMIN_GUARDED | CW_ADMIN_NEEDS_STORE | CW_ADMIN_CREATES_STORE)

const cw_admin_method cw_admin_roles_methods[] = {
    {.name = "causeway.roles.list",
     .about = "List the roles of the database and of the configuration with their permissions",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params = "[]",
     .result = "{\"authenticated_inherits\":{\"type\":\"boolean\",\"description\":\"Accounts also "
               "have the permissions of the role anonymous\"},\"roles\":{\"type\":\"array\","
               "\"items\":{\"type\":\"object\",\"required\":[\"name\",\"from\",\"permissions\"]}}}",
     .place = CW_ADMIN_STORE,
     .flags = CW_ADMIN_NEEDS_STORE,
     .run = list},
    {.name = "causeway.roles.add",
     .about = "Add a role",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params = "[" ROLE "]",
     .result = CHANGED,
     .place = CW_ADMIN_STORE,
     .flags = CHANGE,
     .n_audited = 1,
     .run = add},
    {.name = "causeway.roles.remove",
     .about = "Remove a role, and revoke it from all accounts",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params = "[" ROLE "]",
     .result = CHANGED,
     .place = CW_ADMIN_STORE,
     .flags = CHANGE,
     .n_audited = 1,
     .run = remove_role},
    {.name = "causeway.roles.allow",
     .about = "Add a permission to a role of the database",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params = "[" ROLE "," PERMISSION "]",
     .result = CHANGED,
     .place = CW_ADMIN_STORE,
     .flags = CHANGE,
     .n_audited = 2,
     .run = allow},
    {.name = "causeway.roles.deny",
     .about = "Remove a permission from a role; permissions from the configuration remain",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params = "[" ROLE "," PERMISSION "]",
     .result = CHANGED,
     .place = CW_ADMIN_STORE,
     .flags = CHANGE,
     .n_audited = 2,
     .run = deny},
    {.name = NULL},
};
