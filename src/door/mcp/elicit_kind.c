/* SPDX-License-Identifier: GPL-2.0-or-later */
/* elicit_kind.c - the kinds of questions, and the check of their answers. */
#include "door/mcp/elicit_kind.h"

#include "metrics/metrics.h"

static bool is_elicited(const cw_json *v)
{
    const cw_json *action = cw_json_get(v, CW_STR("action"));
    const cw_json *content = cw_json_get(v, CW_STR("content"));
    cw_str text = cw_json_is(action, CW_JSON_STRING) ? cw_json_text(action) : CW_STR("");
    bool is_action =
        cw_str_is(text, "accept") || cw_str_is(text, "decline") || cw_str_is(text, "cancel");
    return is_action &&
           (!content || cw_json_is(content, CW_JSON_OBJECT) || cw_json_is(content, CW_JSON_NULL));
}

static bool is_sampled(const cw_json *v)
{
    return cw_json_is(cw_json_get(v, CW_STR("role")), CW_JSON_STRING) &&
           cw_json_get(v, CW_STR("content"));
}

static bool is_roots(const cw_json *v)
{
    return cw_json_is(cw_json_get(v, CW_STR("roots")), CW_JSON_ARRAY);
}

static const cw_mcp_elicit_kind kinds[] = {
    {CW_STR_INIT("elicitation/create"), CW_MCP_CAN_ELICIT, "{\"elicitation\":{}}", is_elicited},
    {CW_STR_INIT("sampling/createMessage"), CW_MCP_CAN_SAMPLE, "{\"sampling\":{}}", is_sampled},
    {CW_STR_INIT("roots/list"), CW_MCP_CAN_ROOTS, "{\"roots\":{}}", is_roots},
};

const cw_mcp_elicit_kind *cw_mcp_elicit_kind_of(const cw_json *question)
{
    const cw_json *method = cw_json_get(question, CW_STR("method"));
    for (size_t i = 0; cw_json_is(method, CW_JSON_STRING) && i < CW_COUNT(kinds); i++) {
        if (cw_str_eq(kinds[i].method, cw_json_text(method)))
            return &kinds[i];
    }
    return NULL;
}

bool cw_mcp_elicit_is_url(const cw_json *question)
{
    const cw_json *mode = cw_json_get(cw_json_get(question, CW_STR("params")), CW_STR("mode"));
    const cw_mcp_elicit_kind *kind = cw_mcp_elicit_kind_of(question);
    return kind && kind->ability == CW_MCP_CAN_ELICIT && cw_json_is(mode, CW_JSON_STRING) &&
           cw_str_is(cw_json_text(mode), "url");
}

cw_str cw_mcp_elicit_form(const cw_json *question)
{
    const cw_json *form =
        cw_json_get(cw_json_get(question, CW_STR("params")), CW_STR("requestedSchema"));
    const cw_mcp_elicit_kind *kind = cw_mcp_elicit_kind_of(question);
    bool has_form = kind && kind->ability == CW_MCP_CAN_ELICIT && !cw_mcp_elicit_is_url(question) &&
                    cw_json_is(form, CW_JSON_OBJECT);
    return has_form ? cw_json_span(form) : CW_STR("");
}

void cw_mcp_elicit_write(cw_json_writer *w, const cw_json *question)
{
    const cw_json *params = cw_json_get(question, CW_STR("params"));
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("method"),
                              cw_json_text(cw_json_get(question, CW_STR("method"))));
    if (params) {
        cw_json_add_key(w, CW_STR("params"));
        cw_json_add_span(w, cw_json_span(params));
    }
    cw_json_close(w);
}

void cw_mcp_elicit_add_all(cw_buf *out, const cw_json *asks)
{
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    for (const cw_json *k = cw_json_first(asks); k; k = cw_json_next_key(k)) {
        cw_json_add_key(&w, cw_json_text(k));
        cw_mcp_elicit_write(&w, cw_json_value(k));
    }
    cw_json_close(&w);
    cw_code rc = cw_json_writer_end(&w, NULL);
    if (rc && !out->code)
        out->code = rc;
}

void cw_mcp_elicit_count(cw_str outcome)
{
    cw_metrics_count(CW_METRIC_QUESTIONS, cw_metrics_value(CW_METRIC_QUESTIONS, 0, outcome), 0, 0);
}

static cw_code validate(cw_runtime_loop *rl, const cw_mcp_elicit_kind *kind, cw_str form,
                        const cw_json *answer, cw_arena *arena, cw_err *err)
{
    const cw_json *action = cw_json_get(answer, CW_STR("action"));
    const cw_json *content = cw_json_get(answer, CW_STR("content"));
    if (!kind->is_answer(answer))
        return cw_fail(err, CW_PARAMS, "its answer makes no sense");
    if (!form.n || !cw_str_is(cw_json_text(action), "accept"))
        return CW_OK;
    if (!cw_json_is(content, CW_JSON_OBJECT))
        return cw_fail(err, CW_PARAMS, "its answer has no content");
    return cw_elicitation_check(rl, form, content, arena, err);
}

cw_code cw_mcp_elicit_check(cw_runtime_loop *rl, const cw_mcp_elicit_kind *kind, cw_str form,
                            const cw_json *answer, cw_arena *arena, cw_err *err)
{
    cw_code rc = validate(rl, kind, form, answer, arena, err);
    const cw_json *action = cw_mcp_string(answer, CW_STR("action"));
    cw_str word = action ? cw_json_text(action) : CW_STR("accept");
    cw_mcp_elicit_count(rc ? CW_STR("invalid") : word);
    return rc;
}

/* The capability that the client needs for this question. */
static unsigned ability_of(const cw_mcp_elicit_kind *kind, const cw_json *question)
{
    if (cw_mcp_elicit_is_url(question))
        return CW_MCP_CAN_ELICIT_URL;
    bool has_tools = kind->ability == CW_MCP_CAN_SAMPLE &&
                     cw_json_get(cw_json_get(question, CW_STR("params")), CW_STR("tools"));
    return has_tools ? CW_MCP_CAN_SAMPLE_TOOLS : kind->ability;
}

const char *cw_mcp_elicit_missing(unsigned capabilities, const cw_json *asks)
{
    for (const cw_json *k = cw_json_first(asks); k; k = cw_json_next_key(k)) {
        const cw_mcp_elicit_kind *kind = cw_mcp_elicit_kind_of(cw_json_value(k));
        if (!kind)
            return "";
        unsigned ability = ability_of(kind, cw_json_value(k));
        if (capabilities & ability)
            continue;
        if (ability == CW_MCP_CAN_ELICIT_URL)
            return "{\"elicitation\":{\"url\":{}}}";
        return ability == CW_MCP_CAN_SAMPLE_TOOLS ? "{\"sampling\":{\"tools\":{}}}"
                                                  : kind->capability;
    }
    return NULL;
}
