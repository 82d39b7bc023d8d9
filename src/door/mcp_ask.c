/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "door/mcp_ask.h"

#include <stdio.h>

#include "base/random.h"

#define PURPOSE CW_STR("mcp request state")
#define ID_PREFIX "causeway-"
#define ID_RANDOM 16u /* bytes */

/* What can be asked, and what an answer has to have. */
typedef struct ask_kind {
    cw_str method;
    unsigned ability;
    const char *capability; /* as an object: what the client would have to declare */
    bool (*is_answer)(const cw_json *answer);
} ask_kind;

/* ---- kinds ---- */

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

static const ask_kind kinds[] = {
    {CW_STR_INIT("elicitation/create"), CW_MCP_CAN_ELICIT, "{\"elicitation\":{}}", is_elicited},
    {CW_STR_INIT("sampling/createMessage"), CW_MCP_CAN_SAMPLE, "{\"sampling\":{}}", is_sampled},
    {CW_STR_INIT("roots/list"), CW_MCP_CAN_ROOTS, "{\"roots\":{}}", is_roots},
};

static const ask_kind *kind_of(const cw_json *method)
{
    for (size_t i = 0; cw_json_is(method, CW_JSON_STRING) && i < CW_COUNT(kinds); i++) {
        if (cw_str_eq(kinds[i].method, cw_json_text(method)))
            return &kinds[i];
    }
    return NULL;
}

/* What the client would have to declare for this question. */
static unsigned ability_of(const ask_kind *kind, const cw_json *ask)
{
    const cw_json *mode = cw_json_get(cw_json_get(ask, CW_STR("params")), CW_STR("mode"));
    bool is_url = kind->ability == CW_MCP_CAN_ELICIT && cw_json_is(mode, CW_JSON_STRING) &&
                  cw_str_is(cw_json_text(mode), "url");
    return is_url ? CW_MCP_CAN_ELICIT_URL : kind->ability;
}

/* ---- the modern era: the client brings everything back ---- */

/* The arguments that the state belongs to. */
static bool digest_params(const cw_mcp_running *call, char out[2 * CW_SEAL_DIGEST + 1])
{
    unsigned char digest[CW_SEAL_DIGEST];
    cw_buf b;
    cw_json_writer w;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_json_writer_init(&w, &b, CW_JSON_COMPACT);
    if (call->job.params)
        cw_json_add_value(&w, call->job.params);
    else
        cw_json_add_null(&w);
    bool is_ok = !cw_json_writer_end(&w, NULL);
    if (is_ok)
        cw_seal_digest(cw_buf_str(&b), digest);
    cw_buf_done(&b);
    for (size_t i = 0; is_ok && i < CW_SEAL_DIGEST; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
    return is_ok;
}

static cw_str caller_of(const cw_mcp_running *call)
{
    return cw_caller_id(cw_view_caller(call->view));
}

/* {"until":…,"caller":…,"method":…,"params":…,"state":…,"answers":{…},"asks":{key: method}} */
static void write_state(cw_json_writer *w, const cw_mcp_running *call, const cw_outcome *outcome,
                        const char *params)
{
    uint32_t s = cw_bridge_settings_of(call->item->turn->opts.bl)->ask_s;
    cw_json_open_object(w);
    cw_json_add_i64_member(w, CW_STR("until"), cw_clock_wall_ms() + INT64_C(1000) * s);
    cw_json_add_string_member(w, CW_STR("caller"), caller_of(call));
    cw_json_add_string_member(w, CW_STR("method"), call->job.entry->method->id);
    cw_json_add_string_member(w, CW_STR("params"), cw_str_from(params));
    cw_json_add_string_member(w, CW_STR("state"), outcome->state);
    cw_json_add_i64_member(w, CW_STR("rounds"), (int64_t)call->n_rounds + 1);
    if (call->answers.n) {
        cw_json_add_key(w, CW_STR("answers"));
        cw_json_add_span(w, call->answers);
    }
    cw_json_add_key(w, CW_STR("asks"));
    cw_json_open_object(w);
    for (const cw_json *k = cw_json_first(outcome->asks); k; k = cw_json_next_key(k))
        cw_json_add_string_member(w, cw_json_text(k),
                                  cw_json_text(cw_json_get(cw_json_value(k), CW_STR("method"))));
    cw_json_close(w);
    cw_json_close(w);
}

static cw_str seal_state(const cw_mcp_running *call, const cw_outcome *outcome)
{
    char params[2 * CW_SEAL_DIGEST + 1];
    cw_str ret = {NULL, 0};
    cw_buf b;
    cw_json_writer w;
    cw_err err;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_json_writer_init(&w, &b, CW_JSON_COMPACT);
    if (digest_params(call, params)) {
        write_state(&w, call, outcome, params);
        if (!cw_json_writer_end(&w, NULL) &&
            cw_seal_close(&call->door->seal, PURPOSE, cw_buf_str(&b), call->item->turn->port->arena,
                          &ret, &err))
            ret = (cw_str){NULL, 0};
    }
    cw_buf_done(&b);
    return ret;
}

static void answer_input_required(cw_mcp_running *call, const cw_outcome *outcome)
{
    cw_turn_item *item = call->item;
    cw_str state = seal_state(call, outcome);
    cw_buf b;
    if (!state.p) {
        cw_mcp_fail(item, 500, CW_RPC_INTERNAL, "out of memory");
        return;
    }
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_message_open_result(&b);
    cw_buf_add(&b, CW_STR("{\"resultType\":\"input_required\",\"inputRequests\":"));
    cw_buf_add(&b, cw_json_span(outcome->asks));
    cw_buf_add(&b, CW_STR(",\"requestState\":\""));
    cw_buf_add(&b, state);
    cw_buf_add(&b, CW_STR("\",\"_meta\":{\"" CW_MCP_META("serverInfo") "\":" CW_MCP_SERVER "}}"));
    cw_message_close(&b, item->id);
    cw_turn_answer(item, 200, &b, CW_STR(""));
}

static bool has_text(const cw_json *object, cw_str name, cw_str text)
{
    const cw_json *v = cw_json_get(object, name);
    return cw_json_is(v, CW_JSON_STRING) && cw_str_eq(cw_json_text(v), text);
}

/* The state that the client has brought back, or NULL when it is not ours, not for this call, or
 * too old. */
static const cw_json *open_state(const cw_mcp_request *r, const cw_mcp_running *call, cw_str text)
{
    char params[2 * CW_SEAL_DIGEST + 1];
    cw_str plain;
    const cw_json *state;
    int64_t until = 0;
    if (cw_seal_open(&r->door->seal, PURPOSE, text, r->port->arena, &plain) ||
        cw_json_read(plain, NULL, r->port->arena, &state, NULL, NULL) ||
        !digest_params(call, params))
        return NULL;
    const cw_json *v = cw_json_get(state, CW_STR("until"));
    bool is_ours = v && cw_json_to_i64(v, &until) && until > cw_clock_wall_ms() &&
                   has_text(state, CW_STR("caller"), caller_of(call)) &&
                   has_text(state, CW_STR("method"), call->job.entry->method->id) &&
                   has_text(state, CW_STR("params"), cw_str_from(params));
    return is_ours ? state : NULL;
}

/* Earlier answers and those of now, as far as they were asked for and make sense: what is missing
 * will be asked again. */
static cw_str join_answers(const cw_json *state, const cw_json *responses, cw_arena *arena)
{
    const cw_json *asks = cw_json_get(state, CW_STR("asks"));
    const cw_json *old = cw_json_get(state, CW_STR("answers"));
    cw_str ret = {NULL, 0};
    cw_buf b;
    cw_json_writer w;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_json_writer_init(&w, &b, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    for (const cw_json *k = old ? cw_json_first(old) : NULL; k; k = cw_json_next_key(k)) {
        cw_json_add_key(&w, cw_json_text(k));
        cw_json_add_span(&w, cw_json_span(cw_json_value(k)));
    }
    for (const cw_json *k = cw_json_first(asks); k; k = cw_json_next_key(k)) {
        const cw_json *answer = cw_json_get(responses, cw_json_text(k));
        const ask_kind *kind = kind_of(cw_json_value(k));
        if (!answer || !kind || !kind->is_answer(answer) || cw_json_get(old, cw_json_text(k)))
            continue;
        cw_json_add_key(&w, cw_json_text(k));
        cw_json_add_span(&w, cw_json_span(answer));
    }
    cw_json_close(&w);
    if (!cw_json_writer_end(&w, NULL))
        ret = cw_arena_dup_str(arena, cw_buf_str(&b));
    cw_buf_done(&b);
    return ret;
}

bool cw_mcp_ask_resume(const cw_mcp_request *r, cw_mcp_running *call)
{
    const cw_json *text = cw_json_get(r->params, CW_STR("requestState"));
    const cw_json *responses = cw_json_get(r->params, CW_STR("inputResponses"));
    int64_t rounds = 0;
    if (!text)
        return true; /* a first call; answers to nothing mean nothing */
    const cw_json *state =
        cw_json_is(text, CW_JSON_STRING) ? open_state(r, call, cw_json_text(text)) : NULL;
    if (!state || (responses && !cw_json_is(responses, CW_JSON_OBJECT))) {
        cw_mcp_fail(r->item, 200, CW_RPC_PARAMS,
                    state ? "inputResponses must be an object"
                          : "requestState is not valid for this call, or no longer");
        return false;
    }
    call->state = cw_json_text(cw_json_get(state, CW_STR("state")));
    call->answers = join_answers(state, responses, r->port->arena);
    (void)cw_json_to_i64(cw_json_get(state, CW_STR("rounds")), &rounds);
    call->n_rounds = (unsigned)rounds;
    if (call->answers.p)
        return true;
    cw_mcp_fail(r->item, 500, CW_RPC_INTERNAL, "out of memory");
    return false;
}

/* ---- the legacy era: our own requests ---- */

void cw_mcp_ask_drop(cw_mcp_running *call)
{
    cw_deadline_clear(&call->wait);
    for (size_t i = 0; i < call->n_questions; i++)
        cw_mcp_link_remove(&call->questions[i].link);
    call->n_questions = call->n_open = 0;
}

void cw_mcp_ask_on_late(cw_deadline *d)
{
    cw_mcp_running *call = CW_CONTAINER(d, cw_mcp_running, wait);
    cw_mcp_ask_drop(call);
    cw_mcp_call_fail(call, "The client did not answer in time.");
}

/* "causeway-LOOP-RANDOM": names the loop, and nobody can guess it. */
static cw_str make_id(cw_arena *arena, uint32_t loop)
{
    unsigned char bytes[ID_RANDOM];
    size_t room = sizeof ID_PREFIX + 12 + 2 * sizeof bytes;
    char *text = cw_arena_alloc(arena, room);
    cw_err err;
    if (!text || cw_random_bytes(bytes, sizeof bytes, &err))
        return (cw_str){NULL, 0};
    int n = snprintf(text, room, ID_PREFIX "%u-", loop);
    for (size_t i = 0; i < sizeof bytes; i++)
        n += snprintf(text + n, room - (size_t)n, "%02x", bytes[i]);
    return cw_str_make(text, (size_t)n);
}

static bool say_question(cw_port *port, const cw_mcp_question *q, const cw_json *ask)
{
    const cw_json *params = cw_json_get(ask, CW_STR("params"));
    cw_buf b;
    cw_json_writer w;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_json_writer_init(&w, &b, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("jsonrpc"), CW_STR("2.0"));
    cw_json_add_string_member(&w, CW_STR("id"), q->link.key);
    cw_json_add_string_member(&w, CW_STR("method"), q->method);
    if (cw_json_is(params, CW_JSON_OBJECT)) {
        cw_json_add_key(&w, CW_STR("params"));
        cw_json_add_value(&w, params);
    }
    cw_json_close(&w);
    cw_code rc = cw_json_writer_end(&w, NULL);
    if (!rc)
        rc = cw_port_say(port, CW_SAID_MESSAGE, cw_buf_str(&b));
    cw_buf_done(&b);
    return rc == CW_OK || rc == CW_AGAIN;
}

/* Write down one question and send it. */
static bool put_question(cw_mcp_running *call, const cw_json *key)
{
    cw_port *port = call->item->turn->port;
    cw_mcp_question *q = &call->questions[call->n_questions];
    const cw_json *ask = cw_json_value(key);
    cw_str id = make_id(port->arena, port->loop->index);
    *q = (cw_mcp_question){.call = call};
    q->key = cw_arena_dup_str(port->arena, cw_json_text(key));
    q->method = kind_of(cw_json_get(ask, CW_STR("method")))->method;
    if (!id.p || !q->key.p)
        return false;
    cw_mcp_link_add(cw_mcp_desk_of(call->door, port->loop)->asks, &q->link, id);
    call->n_questions++;
    call->n_open++;
    return say_question(port, q, ask);
}

static void unref_view(void *view)
{
    cw_view_unref(view);
}

/* The exchange is over when this has returned, and its view with it: keep it. */
static bool hold_view(cw_mcp_running *call)
{
    cw_turn *turn = call->item->turn;
    if (call->holds_view)
        return true;
    cw_view_ref(call->view);
    if (cw_arena_hold(turn->port->arena, call->view, unref_view))
        return false;
    call->holds_view = true;
    turn->opts.view = call->view;
    return true;
}

static void ask_client(cw_mcp_running *call, const cw_outcome *outcome)
{
    cw_port *port = call->item->turn->port;
    size_t n = cw_json_count(outcome->asks);
    call->item->call = (cw_call_handle){0};
    call->questions = cw_arena_calloc(port->arena, n, sizeof *call->questions);
    call->state = cw_arena_dup_str(port->arena, outcome->state);
    bool is_ok = call->questions && call->state.p && hold_view(call);
    for (const cw_json *k = cw_json_first(outcome->asks); is_ok && k; k = cw_json_next_key(k))
        is_ok = put_question(call, k);
    if (!is_ok) {
        cw_mcp_ask_drop(call);
        cw_mcp_call_fail(call, "The client could not be asked.");
        return;
    }
    cw_mcp_desk *desk = cw_mcp_desk_of(call->door, port->loop);
    uint64_t ms = UINT64_C(1000) * cw_bridge_settings_of(call->item->turn->opts.bl)->ask_s;
    if (desk->waiting.ms != ms)
        cw_loop_set_duration(port->loop, &desk->waiting, ms);
    cw_loop_set_deadline(port->loop, &call->wait, &desk->waiting);
}

/* ---- the answers of a legacy client ---- */

/* All are there: run the method again. */
static void go_on(cw_mcp_running *call)
{
    cw_arena *arena = call->item->turn->port->arena;
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 2);
    /* The earlier ones without their last brace, if there are any. */
    if (call->answers.n)
        cw_buf_add(&b, cw_str_make(call->answers.p, call->answers.n - 1));
    for (size_t i = 0; i < call->n_questions; i++) {
        cw_buf_add_char(&b, b.n ? ',' : '{');
        cw_json_escape(&b, call->questions[i].key);
        cw_buf_add_char(&b, ':');
        cw_buf_add(&b, call->questions[i].answer);
    }
    cw_buf_add_char(&b, '}');
    call->answers = b.code ? (cw_str){NULL, 0} : cw_arena_dup_str(arena, cw_buf_str(&b));
    cw_buf_done(&b);
    cw_mcp_ask_drop(call);
    if (call->answers.p)
        cw_mcp_call_run(call);
    else
        cw_mcp_call_fail(call, "There is not enough memory for the answers.");
}

static void take_answer(cw_mcp_question *q, const cw_json *message)
{
    cw_mcp_running *call = q->call;
    const cw_json *result = cw_json_get(message, CW_STR("result"));
    const cw_json *error = cw_json_get(cw_json_get(message, CW_STR("error")), CW_STR("message"));
    const ask_kind *kind = kinds;
    while (!cw_str_eq(kind->method, q->method))
        kind++;
    cw_mcp_link_remove(&q->link);
    if (!result || !kind->is_answer(result)) {
        char text[256];
        cw_str why = cw_json_is(error, CW_JSON_STRING) ? cw_json_text(error)
                                                       : CW_STR("its answer makes no sense");
        snprintf(text, sizeof text, "The client could not answer '%.*s': %.*s",
                 CW_STR_ARG(q->method), (int)(why.n < 160 ? why.n : 160), why.p);
        cw_mcp_ask_drop(call);
        cw_mcp_call_fail(call, text);
        return;
    }
    q->answer = cw_arena_dup_str(call->item->turn->port->arena, cw_json_span(result));
    if (!q->answer.p) {
        cw_mcp_ask_drop(call);
        cw_mcp_call_fail(call, "There is not enough memory for the answer.");
    } else if (--call->n_open == 0) {
        go_on(call);
    }
}

/* How an answer travels to the loop that has asked. */
typedef struct parcel {
    cw_mcp *door;
    unsigned char number[CW_MCP_NUMBER]; /* of the session it came through */
    size_t n_id, n_caller;               /* id, caller and message follow */
} parcel;

static void on_parcel(cw_bridge_loop *bl, cw_str bytes)
{
    parcel p;
    memcpy(&p, bytes.p, sizeof p);
    cw_str id = cw_str_make(bytes.p + sizeof p, p.n_id);
    cw_str caller = cw_str_make(id.p + id.n, p.n_caller);
    cw_str text = cw_str_make(caller.p + caller.n, bytes.n - sizeof p - p.n_id - p.n_caller);
    cw_mcp_desk *desk = cw_mcp_desk_of(p.door, cw_bridge_loop_of(bl));
    cw_mcp_link *link = cw_mcp_link_find(desk->asks, id, NULL);
    if (!link)
        return; /* too late, or never asked */
    cw_mcp_question *q = CW_CONTAINER(link, cw_mcp_question, link);
    if (memcmp(q->call->session.number, p.number, CW_MCP_NUMBER) != 0 ||
        !cw_str_eq(caller, caller_of(q->call)))
        return;
    const cw_json *message;
    if (!cw_json_read(text, NULL, q->call->item->turn->port->arena, &message, NULL, NULL))
        take_answer(q, message);
}

/* The loop that an id names; false when it is none of ours. */
static bool loop_of(cw_str id, uint32_t *ret)
{
    cw_str prefix = CW_STR(ID_PREFIX), rest;
    uint64_t loop;
    if (!cw_str_starts(id, prefix))
        return false;
    cw_str digits = cw_str_cut(cw_str_make(id.p + prefix.n, id.n - prefix.n), '-', &rest);
    if (!cw_str_to_u64(digits, &loop) || loop > UINT32_MAX)
        return false;
    *ret = (uint32_t)loop;
    return true;
}

void cw_mcp_ask_answer(const cw_mcp_request *r, const cw_json *message)
{
    const cw_json *id = cw_json_get(message, CW_STR("id"));
    uint32_t loop;
    if (!r->session->is_named || !cw_json_is(id, CW_JSON_STRING) ||
        !loop_of(cw_json_text(id), &loop))
        return;
    cw_bridge_loop *bl = r->item->turn->opts.bl;
    cw_str name = cw_json_text(id), text = cw_json_span(message);
    cw_str caller = cw_caller_id(cw_view_caller(r->item->turn->opts.view));
    parcel p = {.door = r->door, .n_id = name.n, .n_caller = caller.n};
    memcpy(p.number, r->session->number, CW_MCP_NUMBER);
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_buf_add(&b, cw_str_make((const char *)&p, sizeof p));
    cw_buf_add(&b, name);
    cw_buf_add(&b, caller);
    cw_buf_add(&b, text);
    if (!b.code)
        cw_bridge_tell_one(bl, loop, on_parcel, cw_buf_str(&b));
    cw_buf_done(&b);
}

/* ---- both ---- */

/* NULL: all of it can be asked. Else the capability that is missing, or "": not even we know it. */
static const char *missing(const cw_mcp_running *call, const cw_json *asks)
{
    for (const cw_json *k = cw_json_first(asks); k; k = cw_json_next_key(k)) {
        const ask_kind *kind = kind_of(cw_json_get(cw_json_value(k), CW_STR("method")));
        if (!kind)
            return "";
        unsigned ability = ability_of(kind, cw_json_value(k));
        if (!(call->session.abilities & ability))
            return ability == CW_MCP_CAN_ELICIT_URL ? "{\"elicitation\":{\"url\":{}}}"
                                                    : kind->capability;
    }
    return NULL;
}

static void fail_missing(cw_mcp_running *call, const char *capability)
{
    char text[160];
    if (!call->era->is_stamped) {
        snprintf(text, sizeof text, "The method asks something that this client cannot answer: %s",
                 capability);
        cw_mcp_call_fail(call, text);
        return;
    }
    snprintf(text, sizeof text, "{\"requiredCapabilities\":%s}", capability);
    cw_mcp_link_remove(&call->link);
    cw_mcp_error(call->item, 400, CW_MCP_CAPABILITY, CW_STR("Missing required client capability"),
                 cw_str_from(text));
}

void cw_mcp_ask(cw_mcp_running *call, const cw_outcome *outcome)
{
    size_t n = cw_json_count(outcome->asks);
    const char *capability = missing(call, outcome->asks);
    if (n > CW_MCP_ASKS || ++call->n_rounds > CW_MCP_ROUNDS || (capability && !*capability)) {
        cw_mcp_call_fail(call, "The method asks too much of the client.");
        return;
    }
    if (capability) {
        fail_missing(call, capability);
    } else if (call->era->is_stamped) {
        cw_mcp_link_remove(&call->link);
        answer_input_required(call, outcome);
    } else if (n == 0 || !call->may_say || !call->session.is_named) {
        cw_mcp_call_fail(call, "The method asks something, and the client cannot be asked here.");
    } else {
        ask_client(call, outcome);
    }
}
