/* SPDX-License-Identifier: GPL-2.0-or-later */
/* find.c - looks up the method that a client names, and records refusals. */
#include "call/find.h"

#include "call/call.h"
#include "catalogue/exposed.h"

static const cw_entry *find_either(const cw_entry *first, const cw_view *view, cw_str name,
                                   const cw_entry *(*second)(const cw_view *, cw_str))
{
    return first ? first : second(view, name);
}

static const cw_entry *find_method(const cw_view *view, cw_str id)
{
    return cw_str_starts(id, CW_STR("rpc.")) ? NULL : cw_view_find_method(view, id);
}

static const cw_entry *find_resource(const cw_view *view, cw_str uri)
{
    return cw_view_find_exposed(view, CW_EXPOSED_RESOURCE, uri);
}

/* Another method may have taken the name since. */
static const cw_entry *find_same(const cw_entry *now, const cw_entry *before)
{
    return now && cw_str_eq(now->method->id, before->method->id) ? now : NULL;
}

static const cw_entry *find_same_exposed(const cw_view *view, const cw_entry *before)
{
    const cw_exposed *exposed = before->method->exposed;
    return find_same(cw_view_find_exposed(view, exposed->kind, exposed->address), before);
}

/* No portable name has a dot, and most other names do: they need no lookup. */
static const cw_entry *find_portable(const cw_view *view, cw_str name)
{
    if (name.n && memchr(name.p, '.', name.n))
        return NULL;
    return cw_view_find_portable(view, name);
}

static const cw_entry *find_any(const cw_view *view, cw_str name)
{
    const cw_entry *tool =
        find_either(cw_view_find_tool(view, name), view, name, cw_view_find_method);
    return find_either(tool, view, name, find_portable);
}

static const cw_entry *find(const cw_call_lookup *l)
{
    switch (l->in) {
    case CW_FIND_NONE:
    case CW_FIND_RESOURCE:
        break;
    case CW_FIND_TOOL:
        return cw_view_find_tool(l->view, l->name);
    case CW_FIND_TOOL_OR_PORTABLE:
        return find_either(cw_view_find_tool(l->view, l->name), l->view, l->name, find_portable);
    case CW_FIND_PORTABLE_OR_TOOL:
        return find_either(find_portable(l->view, l->name), l->view, l->name, cw_view_find_tool);
    case CW_FIND_METHOD:
        return find_method(l->view, l->name);
    case CW_FIND_METHOD_OR_TOOL:
        return find_either(cw_view_find_method(l->view, l->name), l->view, l->name,
                           cw_view_find_tool);
    case CW_FIND_ANY_NAME:
        return find_any(l->view, l->name);
    case CW_FIND_PROMPT:
        return cw_view_find_exposed(l->view, CW_EXPOSED_PROMPT, l->name);
    case CW_FIND_TEMPLATE_OR_RESOURCE:
        return find_either(cw_view_find_exposed(l->view, CW_EXPOSED_TEMPLATE, l->name), l->view,
                           l->name, find_resource);
    case CW_FIND_SAME_TOOL:
        return find_same(cw_view_find_tool(l->view, l->entry->tool_name), l->entry);
    case CW_FIND_SAME_EXPOSED:
        return find_same_exposed(l->view, l->entry);
    }
    return NULL;
}

static cw_code search(const cw_call_lookup *l, cw_call_found *ret)
{
    if (l->in == CW_FIND_RESOURCE)
        return cw_view_match_resource(l->view, l->name, l->arena, &ret->entry, &ret->variables);
    ret->entry = find(l);
    return ret->entry ? CW_OK : CW_NOTFOUND;
}

static void record(cw_runtime_loop *rl, const cw_call_lookup *l, cw_verdict verdict)
{
    cw_call_audit_refused(rl, &(cw_refusal_record){.view = l->view,
                                                   .door = l->door,
                                                   .peer = l->peer ? l->peer(l->ctx) : CW_STR(""),
                                                   .name = l->name,
                                                   .verdict = verdict});
}

cw_code cw_call_find(cw_runtime_loop *rl, const cw_call_lookup *l, cw_call_found *ret)
{
    *ret = (cw_call_found){.variables = CW_STR("")};
    ret->verdict = l->discovers ? cw_view_discover_verdict(l->view) : cw_view_call_verdict(l->view);
    if (ret->verdict != CW_VERDICT_ALLOW) {
        record(rl, l, ret->verdict);
        return CW_DECLINED;
    }
    if (l->in == CW_FIND_NONE)
        return CW_OK;
    cw_code rc = search(l, ret);
    if (rc != CW_NOTFOUND)
        return rc;
    if (l->may_wait && cw_runtime_settings_of(rl)->is_loading)
        return CW_AGAIN;
    record(rl, l, CW_VERDICT_HIDDEN);
    return CW_NOTFOUND;
}
