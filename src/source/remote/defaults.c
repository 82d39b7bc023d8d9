/* SPDX-License-Identifier: GPL-2.0-or-later */
/* defaults.c - defaults that their schemas reject: every call without the argument would fail.
 *
 *     of the operator   a mistake, like an invalid schema
 *     of the service    left out with a warning: a call without the argument goes to the service
 *                       without it
 *
 * If the operator has replaced the schema, the service's default may be a value that must not be
 * used. The service would use it, so the param becomes required.
 *
 * Schemas of a service may cost much. So the defaults of the service share a number of steps, and the
 * rest is left out when it is spent. Defaults of the operator that schemas of the service check share
 * another number, and the rest is used unchecked, as with a schema that reaches its own limit.
 */
#include "catalogue/method_errors.h"
#include "source/openrpc/openrpc.h"
#include "source/remote/mapping.h"
#include "source/remote/remote_int.h"

/* The operator's settings of a param that clients see, or NULL. */
static const cw_config_param *find_own(const cw_config_overlay *o, cw_str shown)
{
    for (size_t i = 0; i < o->params.n; i++) {
        const cw_config_param *own = &o->params.items[i];
        if (cw_str_eq(own->rename.n ? own->rename : own->name, shown))
            return own;
    }
    return NULL;
}

/* Params of the method that can be changed; NULL without memory. */
static cw_param *copy_params(cw_arena *arena, cw_method *m)
{
    cw_param *params = cw_arena_calloc(arena, m->n_params, sizeof *params);
    if (params)
        memcpy(params, m->params, m->n_params * sizeof *params);
    m->params = params ? params : m->params;
    return params;
}

static void warn(const cw_method *m, const cw_param *param, const cw_err *why, cw_buf *warnings)
{
    cw_buf_add_line(warnings,
                    "a default that cannot be used is left out%s: method '%.*s': param '%.*s': %s",
                    param->is_required ? ", and the param is required" : "", CW_STR_ARG(m->id),
                    CW_STR_ARG(param->name), why->msg);
}

/* Clients must not see it either: some send what a schema names as the default. */
static cw_code hide(cw_arena *arena, cw_param *param, cw_err *err)
{
    cw_code rc = cw_param_map_change_schema(arena, "default", CW_STR(""), param, err);
    return rc == CW_NOMEM ? rc : CW_OK;
}

static cw_code make_input(const cw_json *described, cw_arena *scratch, cw_arena *arena,
                          cw_method *m, cw_err *err)
{
    if (!m->input.n || !described)
        return CW_OK;
    cw_arena_reset(scratch);
    return cw_openrpc_input(described, scratch, arena, m, err);
}

/* Leave the default of a param out. `warnings` NULL: it has its warning already. */
static cw_code drop(cw_remote *r, const cw_config_param *own, const cw_method *m, cw_param *param,
                    cw_buf *warnings, cw_err *err)
{
    bool has_own_schema = own && own->schema.n;
    param->default_value = NULL;
    param->is_required = param->is_required || has_own_schema;
    if (warnings)
        warn(m, param, err, warnings);
    return has_own_schema ? CW_OK : hide(&r->arena, param, err);
}

/* CW_LIMIT: a default of the service was not checked. The first one has a warning. */
static cw_code check(const cw_method *m, const cw_param *param, const cw_config_param *own,
                     cw_remote_defaults *d, cw_err *err)
{
    if (own && own->default_value.n)
        return cw_method_check_default(param, &d->given->policy,
                                       own->schema.n ? NULL : &d->of_operator, err);
    if (d->of_service < 0)
        return CW_LIMIT;
    cw_code rc = cw_method_check_default(param, &d->given->policy, &d->of_service, err);
    if (rc == CW_NOMEM || d->of_service >= 0)
        return rc;
    cw_buf_add_line(d->given->warnings,
                    "defaults of the service are left out from method '%.*s', param '%.*s' on: "
                    "they take too much work to check",
                    CW_STR_ARG(m->id), CW_STR_ARG(param->name));
    return CW_LIMIT;
}

cw_code cw_remote_check_defaults(cw_remote *r, const cw_config_overlay *o, const cw_json *described,
                                 cw_remote_defaults *defaults, cw_method *m, cw_err *err)
{
    cw_param *params = NULL;
    for (size_t i = 0; i < m->n_params; i++) {
        const cw_param *param = &m->params[i];
        const cw_config_param *own = find_own(o, param->name);
        if (!param->default_value)
            continue;
        cw_code rc = check(m, param, own, defaults, err);
        if (!rc)
            continue;
        if (rc == CW_PARAMS && own && own->default_value.n)
            return cw_wrap(err, rc, "param '%.*s': default", CW_STR_ARG(param->name));
        if (rc == CW_NOMEM)
            return rc;
        if (!params && !(params = copy_params(&r->arena, m)))
            return cw_arena_fail(&r->arena, err);
        rc = drop(r, own, m, &params[i], rc == CW_LIMIT ? NULL : defaults->given->warnings, err);
        if (rc)
            return rc;
    }
    return params ? make_input(described, defaults->scratch, &r->arena, m, err) : CW_OK;
}
