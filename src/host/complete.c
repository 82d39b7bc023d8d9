/* SPDX-License-Identifier: GPL-2.0-or-later */
/* complete.c - proposals for an argument: {"values":[…],"total":n,"hasMore":false}. */
#include "host/call.h"

/* The function for the argument, in *ret (NULL: it has none); false when there is no such one. */
static bool find_function(const cw_call *call, cw_str argument, cw_plugin_function *ret)
{
    const cw_hosted_method *m = call->method;
    for (size_t i = 0; i < m->n_params; i++) {
        if (!cw_str_eq(m->params[i].name, argument))
            continue;
        *ret = m->completes ? m->completes[i] : NULL;
        return true;
    }
    return false;
}

static void run(cw_call *call, cw_plugin_function function)
{
    cw_json_writer *w = &call->w;
    cw_json_open_object(w);
    cw_json_add_key(w, CW_STR("values"));
    cw_json_open_array(w);
    if (function)
        function(call);
    if (call->has_error)
        return;
    cw_json_close(w);
    cw_json_add_i64_member(w, CW_STR("total"), (int64_t)call->n_values);
    cw_json_add_bool_member(w, CW_STR("hasMore"), call->n_values > CW_PLUGIN_MAX_VALUES);
    cw_json_close(w);
}

void cw_complete_run(cw_call *call)
{
    const cw_json *argument = cw_json_get(call->complete, CW_STR("argument"));
    const cw_json *arguments = cw_json_get(call->complete, CW_STR("arguments"));
    cw_str name = cw_json_is(argument, CW_JSON_STRING) ? cw_json_text(argument) : CW_STR("");
    cw_plugin_function function;
    call->params = cw_json_is(arguments, CW_JSON_OBJECT) ? arguments : NULL;
    if (!find_function(call, name, &function)) {
        cw_call_refuse(call->wire, call->id, CW_ERROR_PARAMS, CW_STR("Invalid params"),
                       CW_STR("complete: there is no such argument"));
        return;
    }
    cw_call_open(call);
    run(call, function);
    cw_call_finish(call);
}

const char *cw_complete_value(cw_call *call)
{
    const cw_json *v = cw_json_get(call->complete, CW_STR("value"));
    if (!cw_json_is(v, CW_JSON_STRING))
        return "";
    const char *text = cw_arena_dup(call->arena, v->p, v->n);
    if (!text)
        call->wire->out.code = CW_NOMEM;
    return text ? text : "";
}

void cw_complete_add(cw_call *call, const char *text)
{
    if (!call->complete)
        cw_call_misuse(call, "cw_complete_add is for the functions of CW_COMPLETE");
    else if (!text)
        cw_call_misuse(call, "cw_complete_add: there is no text");
    if (call->misuse || call->has_error)
        return;
    if (call->n_values++ < CW_PLUGIN_MAX_VALUES)
        cw_json_add_string(&call->w, cw_str_from(text));
}

void cw_complete_match(cw_call *call, const char *text)
{
    const cw_json *v = cw_json_get(call->complete, CW_STR("value"));
    cw_str typed = cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : CW_STR("");
    if (!text || cw_str_starts(cw_str_from(text), typed))
        cw_complete_add(call, text);
}
