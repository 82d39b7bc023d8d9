/* SPDX-License-Identifier: GPL-2.0-or-later */
/* call.c - one call from start to end, and its caller. */
#include "host/call.h"

/* The first required parameter that is not there, or NULL. */
static const cw_hosted_param *find_missing(const cw_call *call)
{
    for (size_t i = 0; i < call->method->n_params; i++) {
        const cw_hosted_param *p = &call->method->params[i];
        if (p->decl->required && !p->default_value && !cw_json_get(call->params, p->name))
            return p;
    }
    return NULL;
}

static const char *caller_text(cw_call *call, cw_str member, const char *fallback)
{
    const cw_json *v = cw_json_get(call->caller, member);
    if (!v || cw_json_is(v, CW_JSON_NULL))
        return fallback;
    cw_str text = cw_json_text(v);
    const char *copy = cw_arena_dup(call->arena, text.p, text.n);
    return copy ? copy : fallback;
}

void cw_call_run(cw_call *call)
{
    if (call->complete) {
        cw_complete_run(call);
        return;
    }
    const cw_hosted_param *missing = find_missing(call);
    cw_call_open(call);
    if (missing)
        call->bad_args = cw_arena_printf(call->arena, "Missing required parameter: %.*s",
                                         CW_STR_ARG(missing->name));
    else
        call->method->decl->run(call);
    if (missing && !call->bad_args)
        call->wire->out.code = CW_NOMEM;
    cw_call_finish(call);
}

const char *cw_caller_id(cw_call *call)
{
    return caller_text(call, CW_STR("id"), "0");
}

const char *cw_caller_name(cw_call *call)
{
    return caller_text(call, CW_STR("name"), "anonymous");
}

const char *cw_caller_language(cw_call *call)
{
    return caller_text(call, CW_STR("language"), "en");
}

bool cw_caller_may(cw_call *call, const char *permission)
{
    const cw_json *list = cw_json_get(call->caller, CW_STR("permissions"));
    cw_str wanted = cw_str_from(permission);
    if (!cw_json_is(list, CW_JSON_ARRAY))
        return false;
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v))
        if (cw_json_is(v, CW_JSON_STRING) && cw_str_eq(cw_json_text(v), wanted))
            return true;
    return false;
}

const char *cw_caller_permission(cw_call *call, size_t i)
{
    const cw_json *v = cw_json_at(cw_json_get(call->caller, CW_STR("permissions")), i);
    if (!v)
        return NULL;
    cw_str text = cw_json_text(v);
    const char *copy = cw_arena_dup(call->arena, text.p, text.n);
    return copy ? copy : "";
}

const char *cw_call_traceparent(cw_call *call)
{
    const cw_json *v = cw_json_get(call->root, CW_STR("traceparent"));
    if (!cw_json_is(v, CW_JSON_STRING))
        return NULL;
    cw_str text = cw_json_text(v);
    return cw_arena_dup(call->arena, text.p, text.n);
}
