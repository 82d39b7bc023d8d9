/* SPDX-License-Identifier: GPL-2.0-or-later */
/* park.c - parked calls, the requests that continue them, and the messages between their loops. */
#include "door/mcp/park.h"

#include <stdlib.h>

#include "access/fair_key.h"
#include "base/hex.h"
#include "base/random.h"
#include "door/mcp/elicit_kind.h"
#include "door/mcp/letter.h"

#define ID_BYTES 16u
#define TEXT_MAX (64u * 1024u * 1024u)
#define UNIT 16384u /* bytes that wait are counted in these */
#define UNITS (CW_MCP_PARKED_BYTES / UNIT)

/* A question that is open: the text of its input request. */
typedef struct park_question {
    cw_list node;
    uint32_t number;
    size_t n;
    char text[];
} park_question;

typedef struct park {
    cw_sink sink;
    cw_mcp_registry_entry link;
    char id[2 * ID_BYTES + 1];
    cw_mcp *door;
    cw_runtime_loop *rl;
    cw_call_handle handle; /* generation 0: the call is over, and `outcome` waits */
    cw_list questions;     /* that no answer has come for */
    cw_deadline wait;
    cw_loop_hook hook;
    cw_fair_key by;      /* whose share it uses */
    cw_fair_group *room; /* units of door->parked; NULL: none */
    size_t n_units;
    cw_buf outcome; /* a message for the request that comes next; empty: there was no memory */
    bool is_over;   /* the call ended before that request came */
    /* The request that waits. */
    bool has_waiter;
    bool takes_reports; /* also while the answers of a request are handed over */
    uint32_t waiter_place;
    char waiter[2 * ID_BYTES + 1];
} park;

/* The head of a message between two loops; a text follows. */
typedef struct parcel {
    cw_mcp *door;
    enum {
        TO_PARK,
        CANCEL_PARK,
        RESULT,
        PROGRESS,
        LOG,
        ASK,
        LOST,
        CHECK_PARK,
        PRESENT,
        UNSENT, /* from this server: its parcel to a park may not have left */
    } kind;
    char to[2 * ID_BYTES + 1];   /* a park, or a request that waits */
    char from[2 * ID_BYTES + 1]; /* to a park: the request; ASK: the park */
    uint32_t from_place;
    /* RESULT, PROGRESS, LOG: parts of what was reported; the text has the rest. */
    cw_outcome_kind outcome;
    cw_fault fault;
    int64_t code;
    double progress, total;
    cw_log_level level;
} parcel;

static cw_fair_key key_of(const cw_mcp_call *call)
{
    return cw_caller_fair_key(cw_view_caller(call->view), cw_responder_peer(call->responder));
}

static bool make_id(char id[2 * ID_BYTES + 1])
{
    unsigned char bytes[ID_BYTES];
    cw_err err;
    if (cw_random_bytes(bytes, sizeof bytes, &err))
        return false;
    cw_hex_write(id, bytes, sizeof bytes);
    return true;
}

/* A parcel without a text needs no memory, unless another loop gets it. False: it is lost. */
static bool send_head(cw_runtime_loop *rl, uint32_t place, const cw_fair_key *by,
                      const parcel *head)
{
    return cw_mcp_send(rl, place, CW_MCP_LETTER_PARK, by,
                       cw_str_make((const char *)head, sizeof *head));
}

/* The parcel that would end the wait of a request is lost: the wait ends without it. */
static void send_failure(cw_runtime_loop *rl, uint32_t place, const cw_fair_key *by,
                         const parcel *head)
{
    parcel lost = *head;
    lost.kind = LOST;
    if (head->kind == TO_PARK) {
        memcpy(lost.to, head->from, sizeof lost.to);
        place = head->from_place;
    }
    if (head->kind == RESULT || head->kind == ASK || head->kind == TO_PARK)
        (void)send_head(rl, place, by, &lost);
}

static void send_parcel(cw_runtime_loop *rl, uint32_t place, const cw_fair_key *by,
                        const parcel *head, cw_str text)
{
    CW_CLEANUP(cw_buf_done) cw_buf b;
    cw_buf_init(&b, TEXT_MAX + sizeof *head);
    if (text.n == 0) {
        if (!send_head(rl, place, by, head))
            send_failure(rl, place, by, head);
        return;
    }
    cw_buf_add_bytes(&b, head, sizeof *head);
    cw_buf_add(&b, text);
    if (b.code || !cw_mcp_send(rl, place, CW_MCP_LETTER_PARK, by, cw_buf_str(&b)))
        send_failure(rl, place, by, head);
}

static parcel parcel_to(const cw_mcp *door, const char *to)
{
    parcel p;
    memset(&p, 0, sizeof p); /* also what lies between the members: it is copied as bytes */
    p.door = (cw_mcp *)(uintptr_t)door;
    memcpy(p.to, to, sizeof p.to);
    return p;
}

/* ---- parks ---- */

static void give_room(park *p, size_t n)
{
    for (; n; n--, p->n_units--)
        cw_fair_slots_leave(&p->door->parked, p->room);
}

/* Take units for what waits for the client. False: the share of the caller is used up. */
static bool take_room(park *p, size_t n)
{
    for (size_t i = 0; i < n; i++, p->n_units++) {
        cw_fair_group *room;
        if (cw_fair_slots_enter(&p->door->parked, &p->by, UNITS, /* each= */ 0, &room)) {
            give_room(p, i);
            return false;
        }
        p->room = room;
    }
    return true;
}

/* Usual questions are small, and count as parks only. */
static size_t units_of(const park_question *q)
{
    return q->n / UNIT;
}

static void free_question(park *p, park_question *q)
{
    give_room(p, units_of(q));
    free(q);
}

static void forget_questions(park *p)
{
    for (cw_list *node; (node = cw_list_take_first(&p->questions));)
        free_question(p, CW_CONTAINER(node, park_question, node));
}

static void free_park(park *p)
{
    cw_list_remove(&p->link.node);
    cw_deadline_clear(&p->wait);
    cw_loop_remove_hook(&p->hook);
    forget_questions(p);
    give_room(p, p->n_units);
    cw_mcp_registry_of(p->door, cw_runtime_loop_of(p->rl))->n_waiting--;
    cw_buf_done(&p->outcome);
    free(p);
}

static void end_park(park *p)
{
    cw_call_cancel(p->rl, p->handle);
    free_park(p);
}

static void on_loop_end(cw_loop_hook *hook)
{
    park *p = CW_CONTAINER(hook, park, hook);
    (void)cw_call_set_sink(p->rl, p->handle, NULL);
    free_park(p);
}

void cw_mcp_park_on_late(cw_deadline *d)
{
    end_park(CW_CONTAINER(d, park, wait));
}

static void start_wait(park *p)
{
    cw_loop *loop = cw_runtime_loop_of(p->rl);
    cw_mcp_registry *registry = cw_mcp_registry_of(p->door, loop);
    uint64_t ms = cw_runtime_config(p->rl)->mcp.elicitation_timeout_ms;
    if (registry->parked.ms != ms)
        cw_loop_set_duration(loop, &registry->parked, ms);
    cw_loop_set_deadline(loop, &p->wait, &registry->parked);
}

static bool add_question(park *p, const cw_question *question)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_json_writer w;
    cw_buf_init(&text, TEXT_MAX);
    cw_json_writer_init(&w, &text, CW_JSON_COMPACT);
    cw_mcp_elicit_write(&w, question->request);
    park_question *q = cw_json_writer_end(&w, NULL) ? NULL : malloc(sizeof *q + text.n);
    if (!q)
        return false;
    *q = (park_question){.number = question->number, .n = text.n};
    memcpy(q->text, text.p, text.n);
    if (!take_room(p, units_of(q))) {
        free(q);
        return false;
    }
    cw_list_add(&p->questions, &q->node);
    return true;
}

/* {"q1":{"method":…,"params":{…}},…}: the open questions as a modern client gets them. */
static void write_asks(const park *p, cw_buf *out)
{
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    CW_LIST_EACH (node, &p->questions) {
        const park_question *q = CW_CONTAINER(node, park_question, node);
        char key[16];
        snprintf(key, sizeof key, "q%u", q->number); /* NOLINT: a freed node is in no list */
        cw_json_add_key(&w, cw_str_from(key));
        cw_json_add_span(&w, cw_str_make(q->text, q->n));
    }
    cw_json_close(&w);
}

/* The request that waits gets the questions, and ends with them. */
static void send_questions(park *p)
{
    CW_CLEANUP(cw_buf_done) cw_buf asks;
    cw_buf_init(&asks, TEXT_MAX);
    write_asks(p, &asks);
    parcel head = parcel_to(p->door, p->waiter);
    head.kind = ASK;
    memcpy(head.from, p->id, sizeof head.from);
    head.from_place = cw_mcp_place_of(p->rl);
    p->has_waiter = p->takes_reports = false;
    start_wait(p);
    if (asks.code)
        send_failure(p->rl, p->waiter_place, &p->by, &head);
    else
        send_parcel(p->rl, p->waiter_place, &p->by, &head, cw_buf_str(&asks));
}

static void on_ask(cw_sink *sink, const cw_question *question)
{
    park *p = CW_CONTAINER(sink, park, sink);
    if (!add_question(p, question))
        cw_call_answer(p->rl, p->handle, question->number, CW_STR(""),
                       CW_STR("The client cannot be asked."));
    else if (p->has_waiter)
        send_questions(p);
}

/* The client has the question already, and no request is open: its answer will be ignored. */
static void on_withdraw(cw_sink *sink, uint32_t number)
{
    park *p = CW_CONTAINER(sink, park, sink);
    CW_LIST_EACH_SAFE (node, &p->questions) {
        park_question *q = CW_CONTAINER(node, park_question, node);
        if (q->number != number)
            continue;
        cw_list_remove(&q->node);
        free_question(p, q);
        return;
    }
}

static void on_progress(cw_sink *sink, const cw_progress *progress)
{
    const park *p = CW_CONTAINER(sink, park, sink);
    parcel head = parcel_to(p->door, p->waiter);
    head.kind = PROGRESS;
    head.progress = progress->progress;
    head.total = progress->total;
    if (p->takes_reports)
        send_parcel(p->rl, p->waiter_place, &p->by, &head, progress->message);
}

static void on_log(cw_sink *sink, cw_log_level level, cw_str message)
{
    const park *p = CW_CONTAINER(sink, park, sink);
    parcel head = parcel_to(p->door, p->waiter);
    head.kind = LOG;
    head.level = level;
    if (p->takes_reports)
        send_parcel(p->rl, p->waiter_place, &p->by, &head, message);
}

static void add_member(cw_json_writer *w, const char *name, const cw_json *value)
{
    if (!value)
        return;
    cw_json_add_key(w, cw_str_from(name));
    cw_json_add_value(w, value);
}

/* An outcome as text; its numbers go to the head. */
static void write_outcome(const cw_outcome *outcome, parcel *head, cw_buf *out)
{
    cw_json_writer w;
    head->kind = RESULT;
    head->outcome = outcome->kind;
    head->fault = outcome->fault;
    head->code = outcome->code;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("message"), outcome->message);
    add_member(&w, "relay", outcome->relay);
    add_member(&w, "result", outcome->relay ? NULL : outcome->result);
    add_member(&w, "content", outcome->content);
    add_member(&w, "data", outcome->data);
    cw_json_close(&w);
}

static void on_done(cw_sink *sink, const cw_outcome *outcome)
{
    park *p = CW_CONTAINER(sink, park, sink);
    parcel head = parcel_to(p->door, p->waiter);
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, TEXT_MAX);
    write_outcome(outcome, &head, &text);
    if (text.code)
        head.kind = LOST;
    if (p->has_waiter) {
        send_parcel(p->rl, p->waiter_place, &p->by, &head,
                    text.code ? CW_STR("") : cw_buf_str(&text));
        free_park(p);
        return;
    }
    p->handle = (cw_call_handle){0};
    forget_questions(p);
    /* While answers are handed over, the outcome leaves at once. */
    if (!p->takes_reports && !take_room(p, 1 + text.n / UNIT)) {
        free_park(p);
        return;
    }
    cw_buf_add_bytes(&p->outcome, &head, sizeof head);
    if (!text.code)
        cw_buf_add(&p->outcome, cw_buf_str(&text));
    p->is_over = true;
}

static park *new_park(cw_mcp_call *call)
{
    static const cw_sink_ops ops = {on_progress, on_log, on_done, on_ask, on_withdraw, NULL};
    cw_mcp_registry *registry = cw_mcp_registry_of(call->door, call->responder->loop);
    bool is_full = registry->n_waiting >= cw_runtime_settings_of(call->rl)->calls;
    park *p = is_full ? NULL : calloc(1, sizeof *p);
    if (!p || !make_id(p->id)) {
        free(p);
        return NULL;
    }
    p->sink.ops = &ops;
    p->door = call->door;
    p->rl = call->rl;
    p->handle = call->item->call;
    p->by = key_of(call);
    p->hook.on_end = on_loop_end;
    cw_list_init(&p->questions);
    cw_buf_init(&p->outcome, TEXT_MAX + sizeof(parcel));
    cw_mcp_registry_add(registry->parks, &p->link, cw_str_from(p->id));
    registry->n_waiting++;
    cw_loop_add_hook(call->responder->loop, &p->hook);
    return p;
}

/* Answer the request with the questions; the sealed state names the park. */
static bool reply_asks(cw_mcp_call *call, cw_str park_id, uint32_t place, cw_str asks)
{
    cw_outcome outcome = {.kind = CW_OUTCOME_INPUT_REQUIRED};
    cw_arena *arena = call->responder->arena;
    call->park = cw_arena_dup_str(arena, park_id);
    call->park_place = place;
    cw_str copy = cw_arena_dup_str(arena, asks);
    if (!call->park.p || !copy.p || cw_json_read(copy, NULL, arena, &outcome.asks, NULL, NULL))
        return false;
    outcome.state = CW_STR("");
    cw_mcp_call_close(call);
    cw_mcp_elicit_reply_input(call, &outcome);
    return true;
}

bool cw_mcp_park(cw_mcp_call *call, const cw_question *question)
{
    park *p = new_park(call);
    if (!p)
        return false;
    CW_CLEANUP(cw_buf_done) cw_buf asks;
    cw_buf_init(&asks, TEXT_MAX);
    if (!add_question(p, question) || !cw_call_set_sink(p->rl, p->handle, &p->sink)) {
        free_park(p);
        return false;
    }
    write_asks(p, &asks);
    start_wait(p);
    cw_call_handle handle = call->item->call;
    call->item->call = (cw_call_handle){0};
    if (!asks.code &&
        reply_asks(call, cw_str_from(p->id), cw_mcp_place_of(p->rl), cw_buf_str(&asks)))
        return true;
    /* Without memory: the call is the request's again. */
    call->item->call = handle;
    (void)cw_call_set_sink(p->rl, p->handle, &call->sink);
    free_park(p);
    return false;
}

/* ---- answers ---- */

/* A question with an answer, and the answer; NULL: there is none. */
static park_question *find_answered(const park *p, const cw_json *answers, const cw_json **ret)
{
    CW_LIST_EACH (node, &p->questions) {
        park_question *q = CW_CONTAINER(node, park_question, node);
        char key[16];
        snprintf(key, sizeof key, "q%u", q->number); /* NOLINT: a freed node is in no list */
        *ret = cw_json_get(answers, cw_str_from(key));
        if (*ret)
            return q;
    }
    return NULL;
}

/* Hand the answers to the call. Questions without one stay open. Each answer may end the call or
 * add a question, so the list is read anew. */
static void answer_questions(park *p, const cw_json *answers)
{
    const cw_json *answer;
    park_question *q;
    while ((q = find_answered(p, answers, &answer))) {
        uint32_t number = q->number;
        cw_list_remove(&q->node);
        free_question(p, q);
        cw_call_answer(p->rl, p->handle, number, cw_json_span(answer), CW_STR(""));
    }
}

static void send_lost(cw_runtime_loop *rl, const cw_fair_key *by, const parcel *request)
{
    parcel head = parcel_to(request->door, request->from);
    head.kind = LOST;
    send_parcel(rl, request->from_place, by, &head, CW_STR(""));
}

/* Whether the sender is the last request that brought answers. */
static bool is_from_waiter(const park *p, const parcel *head)
{
    return !strcmp(p->waiter, head->from);
}

/* A request asks whether the park knows of it. Silence ends its wait. Its server may have got another number.
 * A request that has the questions has ended, so these were lost. */
static void on_check(park *p, const parcel *head)
{
    p->waiter_place = head->from_place;
    if (!p->takes_reports && !cw_list_is_empty(&p->questions))
        send_questions(p);
    if (!p->takes_reports)
        return;
    parcel present = parcel_to(p->door, p->waiter);
    present.kind = PRESENT;
    send_parcel(p->rl, p->waiter_place, &p->by, &present, CW_STR(""));
}

/* A request that came second must not end the call that the first one waits for. */
static void on_cancel(park *p, const parcel *head)
{
    if (is_from_waiter(p, head))
        end_park(p);
}

static void on_answers(park *p, const parcel *head, cw_str text)
{
    cw_arena arena;
    const cw_json *answers = NULL;
    cw_arena_init(&arena, (size_t)16 * TEXT_MAX);
    if (p->has_waiter || cw_json_read(text, NULL, &arena, &answers, NULL, NULL)) {
        send_lost(p->rl, &p->by, head);
        cw_arena_done(&arena);
        return;
    }
    cw_deadline_clear(&p->wait);
    p->waiter_place = head->from_place;
    memcpy(p->waiter, head->from, sizeof p->waiter);
    /* A call that ends with an answer frees a park with a waiter: there is none yet. */
    p->takes_reports = true;
    answer_questions(p, answers);
    cw_arena_done(&arena);
    p->has_waiter = true;
    if (p->outcome.n) {
        parcel kept;
        memcpy(&kept, p->outcome.p, sizeof kept);
        memcpy(kept.to, p->waiter, sizeof kept.to);
        send_parcel(p->rl, p->waiter_place, &p->by, &kept,
                    cw_str_make(p->outcome.p + sizeof kept, p->outcome.n - sizeof kept));
        free_park(p);
    } else if (p->is_over) {
        send_lost(p->rl, &p->by, head);
        free_park(p);
    } else if (!cw_list_is_empty(&p->questions)) {
        send_questions(p);
    }
}

/* The answers of a request count once. A check brings them again if the database may not have taken them. */
static void on_request(park *p, const parcel *head, cw_str answers)
{
    if (is_from_waiter(p, head))
        on_check(p, head);
    else if (answers.n)
        on_answers(p, head, answers);
}

/* ---- the request that waits ---- */

static const char gone[] = "The call that asked is over, or runs in another process. Call the tool "
                           "again.";

static void take_outcome(cw_mcp_call *call, const parcel *head, cw_str text)
{
    cw_arena *arena = call->responder->arena;
    cw_str copy = cw_arena_dup_str(arena, text);
    const cw_json_opts opts = {.max_bytes = text.n + 1};
    const cw_json *root = NULL;
    if (!copy.p || cw_json_read(copy, &opts, arena, &root, NULL, NULL)) {
        cw_mcp_call_fail(call, "There is not enough memory for the result.");
        return;
    }
    cw_outcome outcome = {
        .kind = head->outcome,
        .fault = head->fault,
        .code = head->code,
        .message = cw_json_text(cw_json_get(root, CW_STR("message"))),
        .relay = cw_json_get(root, CW_STR("relay")),
        .result = cw_json_get(root, CW_STR("result")),
        .content = cw_json_get(root, CW_STR("content")),
        .data = cw_json_get(root, CW_STR("data")),
    };
    call->sink.ops->done(&call->sink, &outcome);
}

/* It waits no longer. Fine for one that does not. */
static void stop_waiting(cw_mcp_call *call)
{
    cw_list_remove(&call->resumed.node);
    cw_deadline_clear(&call->check);
}

/* How long the parked call may take. Progress restarts its time limit. */
static uint64_t longest_ms(const cw_mcp_call *call)
{
    const cw_method *method = call->target.entry->method;
    uint64_t ms = method->call_ms ? method->call_ms : method->source->call_ms;
    return method->source->restarts_ms ? ms * CW_SOURCE_RESTARTS : ms;
}

/* The park has sent a message, or gets the answers. */
static void wait_anew(cw_mcp_call *call)
{
    call->n_silent = 0;
    call->repeats_answers = false;
    call->waits_until = cw_loop_now(call->responder->loop) + longest_ms(call) +
                        (CW_MCP_PARK_SILENT + 1) * CW_MCP_PARK_CHECK_MS;
}

/* A parcel that did not leave is no sign of the park, and its silence none either. */
static void on_unsent(cw_mcp_call *call)
{
    call->repeats_answers = true;
    if (call->n_silent)
        call->n_silent--;
}

static void on_report(cw_mcp_call *call, const parcel *head, cw_str text)
{
    if (head->kind == UNSENT) {
        on_unsent(call);
        return;
    }
    wait_anew(call);
    if (head->kind == PRESENT)
        return;
    if (head->kind == PROGRESS) {
        if (call->token.n)
            call->sink.ops->progress(&call->sink,
                                     &(cw_progress){head->progress, head->total, text});
        return;
    }
    if (head->kind == LOG) {
        call->sink.ops->log(&call->sink, head->level, text);
        return;
    }
    stop_waiting(call);
    if (head->kind == RESULT)
        take_outcome(call, head, text);
    else if (head->kind == LOST)
        cw_mcp_call_fail(call, gone);
    else if (!reply_asks(call, cw_str_from(head->from), head->from_place, text))
        cw_mcp_call_fail(call, "There is not enough memory for the question.");
}

void cw_mcp_on_park(cw_runtime_loop *rl, cw_str bytes)
{
    parcel head;
    if (bytes.n < sizeof head)
        return;
    memcpy(&head, bytes.p, sizeof head);
    head.to[sizeof head.to - 1] = head.from[sizeof head.from - 1] = '\0';
    cw_str text = cw_str_make(bytes.p + sizeof head, bytes.n - sizeof head);
    cw_mcp_registry *registry = cw_mcp_registry_of(head.door, cw_runtime_loop_of(rl));
    bool is_for_park = head.kind == TO_PARK || head.kind == CHECK_PARK || head.kind == CANCEL_PARK;
    cw_mcp_registry_entry *link = cw_mcp_registry_find(
        is_for_park ? registry->parks : registry->resumes, cw_str_from(head.to), NULL);
    if (!link && head.kind == TO_PARK) {
        /* Its caller is known to the sender only. */
        const cw_fair_key stranger = cw_caller_fair_key(NULL, CW_STR(""));
        send_lost(rl, &stranger, &head);
    }
    if (!link)
        return;
    if (!is_for_park)
        on_report(CW_CONTAINER(link, cw_mcp_call, resumed), &head, text);
    else if (head.kind == CANCEL_PARK)
        on_cancel(CW_CONTAINER(link, park, link), &head);
    else
        on_request(CW_CONTAINER(link, park, link), &head, text);
}

/* Only a request that waits here needs to know. Those of an ended server are gone with it. A check that
 * reaches no server is answered by silence. A database that is away may have taken the parcel all the same:
 * the next checks find out. */
void cw_mcp_park_returned(cw_mcp *door, cw_str bytes, bool has_no_receiver)
{
    parcel head;
    if (bytes.n < sizeof head)
        return;
    memcpy(&head, bytes.p, sizeof head);
    bool is_lost = head.kind == TO_PARK && has_no_receiver;
    bool is_unsent = (head.kind == TO_PARK || head.kind == CHECK_PARK) && !has_no_receiver;
    if (!is_lost && !is_unsent)
        return;
    head.from[sizeof head.from - 1] = '\0';
    parcel back = parcel_to(door, head.from);
    back.kind = is_lost ? LOST : UNSENT;
    cw_runtime_post(door->runtime, head.from_place & CW_MCP_PLACE_LOOP_MAX, cw_mcp_on_park,
                    cw_str_make((const char *)&back, sizeof back));
}

/* The parcel to the park of a request that waits. */
static parcel question_of(const cw_mcp_call *call)
{
    char to[2 * ID_BYTES + 1] = {0};
    memcpy(to, call->park.p, 2 * (size_t)ID_BYTES);
    parcel head = parcel_to(call->door, to);
    memcpy(head.from, call->resumed.key.p, sizeof head.from);
    head.from_place = cw_mcp_place_of(call->rl);
    return head;
}

static void start_check(cw_mcp_call *call)
{
    cw_loop *loop = call->responder->loop;
    cw_loop_set_deadline(loop, &call->check, &cw_mcp_registry_of(call->door, loop)->checks);
}

/* The client may call again, so a call that runs all the same is cancelled. */
void cw_mcp_park_on_check(cw_deadline *d)
{
    cw_mcp_call *call = CW_CONTAINER(d, cw_mcp_call, check);
    bool is_late = cw_loop_now(call->responder->loop) >= call->waits_until;
    if (call->n_silent == CW_MCP_PARK_SILENT || is_late) {
        cw_mcp_park_leave(call);
        cw_mcp_call_fail(call, gone);
        return;
    }
    parcel head = question_of(call);
    head.kind = CHECK_PARK;
    call->n_silent++;
    start_check(call);
    const cw_fair_key by = key_of(call);
    send_parcel(call->rl, call->park_place, &by, &head,
                call->repeats_answers ? call->answers : CW_STR(""));
}

void cw_mcp_park_resume(cw_mcp_call *call, cw_str id, uint32_t place)
{
    char own[2 * ID_BYTES + 1];
    cw_str key = make_id(own) ? cw_arena_dup_str(call->responder->arena, cw_str_from(own))
                              : (cw_str){NULL, 0};
    if (!key.p || id.n != 2 * (size_t)ID_BYTES) {
        cw_mcp_call_fail(call, gone);
        return;
    }
    /* No exchange of its own holds the view: the catalogue may change while it waits. */
    if (!cw_mcp_call_hold_view(call)) {
        cw_mcp_call_fail(call, "There is not enough memory for the answer.");
        return;
    }
    cw_mcp_registry *registry = cw_mcp_registry_of(call->door, call->responder->loop);
    cw_mcp_registry_add(registry->resumes, &call->resumed, key);
    call->park = id;
    call->park_place = place;
    wait_anew(call);
    start_check(call);
    parcel head = question_of(call);
    head.kind = TO_PARK;
    const cw_fair_key by = key_of(call);
    send_parcel(call->rl, place, &by, &head, call->answers);
}

void cw_mcp_park_leave(cw_mcp_call *call)
{
    if (!cw_list_is_in(&call->resumed.node))
        return;
    stop_waiting(call);
    parcel head = question_of(call);
    head.kind = CANCEL_PARK;
    const cw_fair_key by = key_of(call);
    send_parcel(call->rl, call->park_place, &by, &head, CW_STR(""));
}
