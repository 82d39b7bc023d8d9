/* SPDX-License-Identifier: GPL-2.0-or-later */
/* event_source.c - calls that read events, and calls that wait for events. */
#include "source/event/event_source.h"

#include <stdio.h>
#include <stdlib.h>

#include "access/fair_key.h"
#include "event/occurrence.h"

#define ARENA_MAX (16u * 1024u * 1024u)
#define TICK_MS 100u /* the precision of the end of a wait */
#define PARAMS_CODE (-32602)

typedef struct part part;

typedef struct event_source {
    cw_source base;
    cw_arena arena;
    cw_event_hub *hub;
    cw_accounts *accounts;
    cw_method_event *events; /* of the methods behind the first one */
    const cw_requirements *needs;
    size_t n;
    unsigned n_loops;
    part *parts[]; /* by loop */
} event_source;

/* The calls of one loop. */
struct part {
    event_source *source; /* a reference */
    cw_loop *loop;
    cw_loop_hook hook;
    cw_list ops;
    cw_fair_slots waiting; /* places of calls that wait */
    cw_deadline_list ticks;
};

/* A watch, and the call that has it. */
typedef struct op_watch {
    cw_event_watch watch;
    struct op *owner;
} op_watch;

/* A call, in its arena. */
typedef struct op {
    cw_list node; /* of its part */
    part *part;
    cw_source_call *call;
    cw_caller *caller; /* a reference: the caller with its latest rights */
    cw_deferred later; /* to end the call */
    cw_outcome outcome;
    uint64_t after, until; /* `until`: of the loop, ms */
    bool is_old;           /* the cursor was one of another process */
    cw_fair_group *place;  /* in part->waiting; NULL: it does not wait */
    cw_str name;           /* the only event to return; empty: all */
    op_watch *watches;
    size_t n_watches;
    cw_deadline tick;
    cw_login_watch login;
} op;

static event_source *of_source(cw_source *s)
{
    return CW_CONTAINER(s, event_source, base);
}

static void sweep(cw_source *source, cw_loop *loop, bool now);

/* ---- the end of a call ---- */

static void op_done(op *o)
{
    for (size_t i = 0; i < o->n_watches; i++)
        cw_event_watch_remove(&o->watches[i].watch);
    o->n_watches = 0;
    cw_deadline_clear(&o->tick);
    cw_loop_cancel_deferred(&o->later);
    cw_login_watch_remove(&o->login);
    cw_list_remove(&o->node);
    cw_fair_slots_leave(&o->part->waiting, o->place);
    o->place = NULL;
    cw_caller_unref(o->caller);
    o->caller = NULL;
}

static void on_later(cw_deferred *later)
{
    op *o = CW_CONTAINER(later, op, later);
    cw_source_call *call = o->call;
    cw_outcome outcome = o->outcome;
    cw_source *source = &o->part->source->base;
    cw_loop *loop = o->part->loop;
    op_done(o);
    /* The sink may end the loop, and with it the part: only the source can be used afterwards. */
    cw_source_ref(source);
    call->sink->ops->done(call->sink, &outcome);
    sweep(source, loop, /* now= */ false);
    cw_source_unref(source);
}

static void end(op *o)
{
    cw_loop_defer(o->part->loop, &o->later);
}

static void end_nomem(op *o)
{
    o->outcome = (cw_outcome){.kind = CW_OUTCOME_FAILED,
                              .fault = CW_FAULT_NOMEM,
                              .message = CW_STR("There is not enough memory.")};
    end(o);
}

/* `text` is the result, as JSON. */
static void end_result(op *o, cw_buf *text)
{
    cw_arena *arena = o->call->arena;
    o->outcome = (cw_outcome){.kind = CW_OUTCOME_RESULT};
    cw_str copy = text->code ? (cw_str){NULL, 0} : cw_arena_dup_str(arena, cw_buf_str(text));
    if (!copy.p || cw_json_read(copy, NULL, arena, &o->outcome.result, NULL, NULL))
        end_nomem(o);
    else
        end(o);
}

static void end_params(op *o, const char *what, cw_str value)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_buf_add(&text, cw_str_from(what));
    cw_buf_add(&text, cw_str_make(value.p,
                                  value.n < CW_CALL_MAX_REPEATED ? value.n : CW_CALL_MAX_REPEATED));
    o->outcome = (cw_outcome){.kind = CW_OUTCOME_ERROR, .code = PARAMS_CODE};
    o->outcome.message =
        text.code ? CW_STR("Invalid params") : cw_arena_dup_str(o->call->arena, cw_buf_str(&text));
    if (o->outcome.message.p)
        end(o);
    else
        end_nomem(o);
}

/* ---- the events to return ---- */

/* Some events of several types, by number. */
typedef struct found {
    const cw_method_event *of[CW_EVENT_BATCH];
    cw_event *items[CW_EVENT_BATCH]; /* references */
    size_t n;
    uint64_t cursor;
    bool is_truncated, has_more;
} found;

static void found_done(found *f)
{
    for (size_t i = 0; i < f->n; i++)
        cw_event_unref(f->items[i]);
}

static void drop_at(found *f, size_t i)
{
    cw_event_unref(f->items[i]);
    f->n--;
    memmove(f->items + i, f->items + i + 1, (f->n - i) * sizeof *f->items);
    memmove(f->of + i, f->of + i + 1, (f->n - i) * sizeof *f->of);
}

/* Insert an event by its number. A full list drops the newest; without a cursor, the oldest. */
static void insert(found *f, const cw_method_event *of, cw_event *event, bool wants_newest)
{
    if (f->n == CW_EVENT_BATCH) {
        bool is_out = wants_newest ? event->number < f->items[0]->number
                                   : event->number > f->items[f->n - 1]->number;
        f->has_more = f->has_more || !wants_newest;
        if (is_out)
            return;
        drop_at(f, wants_newest ? 0 : f->n - 1);
    }
    size_t i = f->n;
    while (i > 0 && f->items[i - 1]->number > event->number)
        i--;
    memmove(f->items + i + 1, f->items + i, (f->n - i) * sizeof *f->items);
    memmove(f->of + i + 1, f->of + i, (f->n - i) * sizeof *f->of);
    f->items[i] = cw_event_ref(event);
    f->of[i] = of;
    f->n++;
}

/* Whether the caller may receive the event, and has asked for it. */
static bool is_wanted(const op *o, size_t i)
{
    const event_source *s = o->part->source;
    return (o->name.n == 0 || cw_str_eq(o->name, s->events[i].name)) &&
           cw_gate_permission(o->caller, CW_PERMISSION_CALL) == CW_VERDICT_ALLOW &&
           cw_gate_check(o->caller, &s->needs[i]) == CW_VERDICT_ALLOW;
}

static void find_events(const op *o, found *f)
{
    const event_source *s = o->part->source;
    *f = (found){.is_truncated = o->is_old, .cursor = o->after};
    for (size_t i = 0; i < s->n; i++) {
        cw_event_batch batch;
        if (!is_wanted(o, i))
            continue;
        cw_event_read(s->events[i].type, o->after, CW_EVENT_BATCH, &batch);
        for (size_t k = 0; k < batch.n; k++)
            insert(f, &s->events[i], batch.items[k], o->after == 0);
        f->is_truncated = f->is_truncated || batch.is_truncated;
        f->has_more = f->has_more || batch.has_more;
        if (batch.cursor > f->cursor)
            f->cursor = batch.cursor;
        cw_event_batch_done(&batch);
    }
    if (f->has_more && f->n)
        f->cursor = f->items[f->n - 1]->number;
    else if (f->cursor == 0)
        f->cursor = cw_event_now(s->hub);
}

/* Drop events beyond the size: without a cursor the oldest, else the newest, for the next call. */
static void fit(found *f, bool wants_newest)
{
    size_t bytes = 0;
    for (size_t i = 0; i < f->n; i++)
        bytes += f->items[i]->data.n;
    while (f->n > 1 && bytes > CW_EVENT_ANSWER) {
        size_t i = wants_newest ? 0 : f->n - 1;
        bytes -= f->items[i]->data.n;
        drop_at(f, i);
        if (wants_newest)
            continue;
        f->has_more = true;
        f->cursor = f->items[f->n - 1]->number;
    }
}

static void add_events(cw_json_writer *w, const cw_event_hub *hub, const found *f,
                       cw_metrics_event_mode mode)
{
    cw_json_open_array(w);
    for (size_t i = 0; i < f->n; i++) {
        cw_event_add(w, hub, f->of[i]->name, f->items[i]);
        cw_event_count_delivered(f->of[i]->type, mode, 1);
    }
    cw_json_close(w);
}

static void end_with(op *o, found *f)
{
    const event_source *s = o->part->source;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_json_writer w;
    char cursor[CW_EVENT_CURSOR];
    fit(f, o->after == 0);
    cw_event_cursor_write(s->hub, f->cursor, cursor);
    cw_buf_init(&text, CW_BUF_MAX);
    cw_json_writer_init(&w, &text, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_key(&w, CW_STR("events"));
    add_events(&w, s->hub, f, CW_EVENT_MODE_TOOL);
    cw_json_add_string_member(&w, CW_STR("cursor"), cw_str_from(cursor));
    cw_json_add_bool_member(&w, CW_STR("truncated"), f->is_truncated);
    cw_json_add_bool_member(&w, CW_STR("hasMore"), f->has_more);
    cw_json_close(&w);
    (void)cw_json_writer_end(&w, NULL);
    end_result(o, &text);
}

/* ---- waiting ---- */

/* End the call if it has events to return, or is over. True: it ends. */
static bool try_to_end(op *o, bool is_over)
{
    found f;
    find_events(o, &f);
    bool is_end = is_over || f.n || f.is_truncated;
    if (is_end)
        end_with(o, &f);
    found_done(&f);
    return is_end;
}

/* Whether the wait is over. A server that stops ends it: the client continues at another server. */
static bool is_over(const op *o)
{
    return cw_loop_now(o->part->loop) >= o->until || o->part->loop->is_stopping;
}

/* End the call if possible. If the login has to be checked first, a callback of the check does. */
static void look(op *o)
{
    if (cw_loop_is_deferred(&o->later) || !cw_login_watch_is_current(&o->login))
        return;
    (void)try_to_end(o, is_over(o));
}

static void on_news(cw_event_watch *w)
{
    look(CW_CONTAINER(w, op_watch, watch)->owner);
}

static void on_tick(cw_deadline *d)
{
    op *o = CW_CONTAINER(d, op, tick);
    if (is_over(o))
        look(o);
    if (!cw_loop_is_deferred(&o->later))
        cw_loop_set_deadline(o->part->loop, &o->tick, &o->part->ticks);
}

static void on_confirmed(cw_login_watch *login)
{
    look(CW_CONTAINER(login, op, login));
}

/* The login has changed: end the call, without events if the credentials are no longer valid. */
static void on_login_ended(cw_login_watch *login)
{
    op *o = CW_CONTAINER(login, op, login);
    found f = {.cursor = o->after, .is_truncated = o->is_old};
    if (cw_loop_is_deferred(&o->later))
        return;
    if (!login->now) {
        end_with(o, &f);
        return;
    }
    cw_caller_unref(o->caller);
    o->caller = cw_caller_ref(login->now);
    (void)try_to_end(o, /* is_over= */ true);
}

/* False: out of memory. */
static bool watch_events(op *o)
{
    const event_source *s = o->part->source;
    o->watches = cw_arena_calloc(o->call->arena, s->n, sizeof *o->watches);
    if (!o->watches)
        return false;
    for (size_t i = 0; i < s->n; i++) {
        op_watch *w = &o->watches[o->n_watches];
        if (!is_wanted(o, i))
            continue;
        w->owner = o;
        w->watch.on_news = on_news;
        w->watch.mode = CW_EVENT_MODE_TOOL;
        cw_event_watch_add(s->events[i].type, o->part->loop, o->after, &w->watch);
        o->n_watches++;
    }
    return true;
}

static void wait_for_events(op *o, uint64_t wait_ms)
{
    part *p = o->part;
    o->until = cw_loop_now(p->loop) + wait_ms;
    o->login.on_ended = on_login_ended;
    o->login.on_confirmed = on_confirmed;
    if (p->source->accounts)
        cw_login_watch_add(p->source->accounts, p->loop, o->caller, &o->login);
    if (watch_events(o))
        cw_loop_set_deadline(p->loop, &o->tick, &p->ticks);
    else
        end_nomem(o);
}

/* ---- the begin ---- */

static void on_loop_end(cw_loop_hook *hook)
{
    part *p = CW_CONTAINER(hook, part, hook);
    event_source *s = p->source;
    for (cw_list *node; (node = cw_list_take_first(&p->ops));)
        op_done(CW_CONTAINER(node, op, node));
    cw_loop_unwatch(p->loop, &p->ticks);
    cw_fair_slots_done(&p->waiting);
    s->parts[p->loop->index] = NULL;
    free(p);
    cw_source_unref(&s->base);
}

static part *part_of(event_source *s, cw_loop *loop)
{
    part *p = s->parts[loop->index];
    if (p || !(p = calloc(1, sizeof *p)))
        return p;
    cw_source_ref(&s->base);
    p->source = s;
    p->loop = loop;
    p->hook.on_end = on_loop_end;
    cw_list_init(&p->ops);
    cw_fair_slots_init(&p->waiting);
    cw_deadline_list_init(&p->ticks, TICK_MS, on_tick);
    cw_loop_watch(loop, &p->ticks);
    cw_loop_add_hook(loop, &p->hook);
    s->parts[loop->index] = p;
    return p;
}

/* Close a part when its calls have ended, and no others will come. */
static void sweep(cw_source *source, cw_loop *loop, bool now)
{
    part *p = of_source(source)->parts[loop->index];
    if (!p || !(now || (atomic_load(&source->retired) && cw_list_is_empty(&p->ops))))
        return;
    cw_loop_remove_hook(&p->hook);
    on_loop_end(&p->hook);
}

static cw_str text_of(const cw_json *v)
{
    return cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : CW_STR("");
}

static bool is_known(const op *o)
{
    for (size_t i = 0; i < o->part->source->n; i++) {
        if (is_wanted(o, i))
            return true;
    }
    return false;
}

/* Set the events to return: `name` is in the arena of the call. False: the call ends. */
static bool set_query(op *o, cw_str name, cw_str since)
{
    o->name = name;
    if (!name.p)
        end_nomem(o);
    else if (name.n && !is_known(o))
        end_params(o, "Unknown event: ", name);
    else if (since.n && !cw_event_cursor_parse(o->part->source->hub, since, &o->after, &o->is_old))
        end_params(o, "since is no cursor: ", since);
    else
        return true;
    return false;
}

/* Whether the call may wait. Each caller has a share of the places. */
static bool take_place(op *o)
{
    const cw_fair_key key = cw_caller_fair_key(o->call->caller, o->call->peer);
    return !cw_fair_slots_enter(&o->part->waiting, &key, CW_EVENT_MAX_WAITERS, /* each= */ 0,
                                &o->place);
}

/* The tool: {name?, since?, wait?}. Their types are checked already. */
static void start_tool(op *o)
{
    const event_source *s = o->part->source;
    const cw_json *const *given = o->call->arguments;
    uint64_t wait = 0;
    cw_str name = given ? text_of(given[0]) : CW_STR("");
    if (given && cw_json_is(given[2], CW_JSON_NUMBER))
        (void)cw_json_to_u64(given[2], &wait);
    if (!set_query(o, cw_arena_dup_str(o->call->arena, name),
                   given ? text_of(given[1]) : CW_STR("")))
        return;
    bool waits = wait && take_place(o);
    if (try_to_end(o, !waits))
        return;
    if (o->after == 0)
        o->after = cw_event_now(s->hub);
    wait_for_events(o, (wait < CW_EVENT_MAX_WAIT_S ? wait : CW_EVENT_MAX_WAIT_S) * 1000);
}

/* A resource: the events of the ring. */
static void start_resource(op *o, size_t i)
{
    const event_source *s = o->part->source;
    o->name = s->events[i].name;
    found f;
    find_events(o, &f);
    fit(&f, /* wants_newest= */ true);
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_json_writer w;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_json_writer_init(&w, &text, CW_JSON_COMPACT);
    add_events(&w, s->hub, &f, CW_EVENT_MODE_RESOURCE);
    (void)cw_json_writer_end(&w, NULL);
    found_done(&f);
    end_result(o, &text);
}

/* The template: {name, since}; the name is that of the URI, without the source. */
static void start_template(op *o)
{
    const cw_json *const *given = o->call->arguments;
    char *name =
        cw_arena_printf(o->call->arena, "%.*s.%.*s", CW_STR_ARG(o->part->source->base.name),
                        CW_STR_ARG(text_of(given[0])));
    if (set_query(o, name ? cw_str_from(name) : (cw_str){NULL, 0}, text_of(given[1])))
        (void)try_to_end(o, /* is_over= */ true);
}

static cw_code start(cw_source *source, cw_source_call *call, cw_fault *fault, cw_err *err)
{
    *fault = CW_FAULT_NOMEM;
    part *p = part_of(of_source(source), call->loop);
    op *o = p ? cw_arena_calloc(call->arena, 1, sizeof *o) : NULL;
    if (!o)
        return cw_fail_nomem(err);
    o->part = p;
    o->call = call;
    o->caller = cw_caller_ref(call->caller);
    o->later.fn = on_later;
    cw_list_add(&p->ops, &o->node);
    call->op = o;
    if (call->method->index == 0)
        start_tool(o);
    else if (call->method->index <= of_source(source)->n)
        start_resource(o, call->method->index - 1);
    else
        start_template(o);
    return CW_OK;
}

static void cancel(cw_source *source, cw_source_call *call)
{
    (void)source;
    if (call->op)
        op_done(call->op);
    call->op = NULL;
}

static void set_caller(cw_source *source, cw_source_call *call, cw_caller *caller)
{
    op *o = call->op;
    (void)source;
    if (!o || !o->caller)
        return;
    cw_caller_unref(o->caller);
    o->caller = cw_caller_ref(caller);
}

static void free_source(cw_source *source)
{
    event_source *s = of_source(source);
    for (size_t i = 0; i < s->n; i++)
        cw_event_type_unref(s->events[i].type);
    cw_arena_done(&s->arena);
    free(s);
}

/* ---- its methods ---- */

static const char output_schema[] =
    "{\"type\":\"object\",\"properties\":{\"events\":{\"type\":\"array\",\"items\":{\"type\":"
    "\"object\",\"properties\":{\"eventId\":{\"type\":\"string\"},\"name\":{\"type\":\"string\"},"
    "\"timestamp\":{\"type\":\"string\"},\"data\":{},\"cursor\":{\"type\":\"string\"}},"
    "\"required\":"
    "[\"eventId\",\"name\",\"timestamp\",\"data\"]}},\"cursor\":{\"type\":\"string\"},"
    "\"truncated\":"
    "{\"type\":\"boolean\"},\"hasMore\":{\"type\":\"boolean\"}},\"required\":[\"events\","
    "\"cursor\","
    "\"truncated\"]}";

static const cw_param tool_params[] = {
    {.name = CW_STR_INIT("name"),
     .description = CW_STR_INIT("Only events of this name; omitted: all"),
     .schema = CW_STR_INIT("{\"type\":\"string\"}")},
    {.name = CW_STR_INIT("since"),
     .description =
         CW_STR_INIT("A cursor of an earlier result: only events behind it; omitted: the "
                     "last events"),
     .schema = CW_STR_INIT("{\"type\":\"string\"}")},
    {.name = CW_STR_INIT("wait"),
     .description = CW_STR_INIT("Seconds to wait for an event, if none has occurred; maximum 30"),
     .schema = CW_STR_INIT("{\"type\":\"integer\",\"minimum\":0,\"maximum\":30}")},
};

static const cw_param template_params[] = {
    {.name = CW_STR_INIT("name"),
     .description = CW_STR_INIT("The event"),
     .schema = CW_STR_INIT("{\"type\":\"string\"}"),
     .is_required = true},
    {.name = CW_STR_INIT("since"),
     .description = CW_STR_INIT("A cursor: only events behind it"),
     .schema = CW_STR_INIT("{\"type\":\"string\"}"),
     .is_required = true},
};

static const cw_mark tool_mark = {
    .title = CW_STR_INIT(""),
    .annotations = CW_STR_INIT("{\"readOnlyHint\":true,\"openWorldHint\":true}"),
    .more = CW_STR_INIT(""),
    .is_read_only = true,
    .task = CW_TASK_MARK_NEVER,
};

/* The names of both lists, in a list of the arena. They are few. */
static cw_code intersect(cw_arena *arena, const cw_str **list, size_t *n, const cw_str *other,
                         size_t n_other)
{
    cw_str *both = cw_arena_calloc(arena, *n, sizeof *both);
    size_t n_both = 0;
    for (size_t i = 0; both && i < *n; i++) {
        for (size_t k = 0; k < n_other; k++) {
            if (cw_str_eq((*list)[i], other[k])) {
                both[n_both++] = (*list)[i];
                break;
            }
        }
    }
    *list = both;
    *n = n_both;
    return both ? CW_OK : CW_NOMEM;
}

/* The requirements that all events have: a caller that may receive one may call the tool. */
static cw_code common_needs(event_source *s, cw_requirements *ret)
{
    cw_code rc = CW_OK;
    *ret = s->needs[0];
    for (size_t i = 1; i < s->n && !rc; i++) {
        const cw_requirements *needs = &s->needs[i];
        if (needs->level < ret->level)
            ret->level = needs->level;
        ret->hidden_unless_met = ret->hidden_unless_met && needs->hidden_unless_met;
        rc = intersect(&s->arena, &ret->permissions, &ret->n_permissions, needs->permissions,
                       needs->n_permissions);
        if (!rc)
            rc = intersect(&s->arena, &ret->scopes, &ret->n_scopes, needs->scopes, needs->n_scopes);
    }
    return rc;
}

static cw_code make_tool(event_source *s, cw_method *m, cw_err *err)
{
    char *id = cw_arena_printf(&s->arena, "%.*s.events", CW_STR_ARG(s->base.name));
    char *usage = cw_arena_printf(&s->arena,
                                  "Events of %.*s. Returns the last events, or those behind the "
                                  "cursor `since`, and waits up to "
                                  "`wait` seconds if there are none.",
                                  CW_STR_ARG(s->base.name));
    if (!id || !usage || common_needs(s, &m->needs))
        return cw_arena_fail(&s->arena, err);
    m->id = cw_str_from(id);
    m->usage = cw_str_from(usage);
    m->params = tool_params;
    m->n_params = CW_COUNT(tool_params);
    m->output = cw_str_from(output_schema);
    m->mark = &tool_mark;
    return CW_OK;
}

/* `member` is uri or uriTemplate; `address` lives as long as the source. */
static cw_code make_exposed(event_source *s, cw_exposed_kind kind, cw_str member, cw_str address,
                            cw_str name, const cw_exposed **ret, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_json_writer w;
    cw_exposed *x = cw_arena_calloc(&s->arena, 1, sizeof *x);
    cw_buf_init(&text, CW_BUF_MAX);
    cw_json_writer_init(&w, &text, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, member, address);
    cw_json_add_string_member(&w, CW_STR("name"), name);
    cw_json_add_string_member(&w, CW_STR("mimeType"), CW_STR("application/json"));
    cw_json_close(&w);
    cw_code rc = cw_json_writer_end(&w, err);
    cw_str copy = rc ? (cw_str){NULL, 0} : cw_arena_dup_str(&s->arena, cw_buf_str(&text));
    if (rc || !x || !copy.p)
        return rc ? rc : cw_arena_fail(&s->arena, err);
    x->kind = kind;
    x->address = address;
    *ret = x;
    return cw_json_read(copy, NULL, &s->arena, &x->json, NULL, err);
}

static cw_code make_resource(event_source *s, size_t i, cw_method *m, cw_err *err)
{
    const cw_method_event *e = &s->events[i];
    char *id = cw_arena_printf(&s->arena, "%.*s.events.%.*s", CW_STR_ARG(s->base.name),
                               CW_STR_ARG(cw_event_type_name(e->type)));
    if (!id)
        return cw_arena_fail(&s->arena, err);
    m->id = cw_str_from(id);
    m->usage = e->description.n ? e->description : CW_STR("The last events of this name");
    m->needs = s->needs[i];
    m->event = e;
    m->index = (uint32_t)i + 1;
    return make_exposed(s, CW_EXPOSED_RESOURCE, CW_STR("uri"), cw_event_type_uri(e->type), e->name,
                        &m->exposed, err);
}

/* A caller that may call the tool may read the template. No event has such a name, so the id is not
 * that of a resource. */
static cw_code make_template(event_source *s, const cw_requirements *needs, cw_method *m,
                             cw_err *err)
{
    char *id = cw_arena_printf(&s->arena, "%.*s.events/since", CW_STR_ARG(s->base.name));
    char *address =
        cw_arena_printf(&s->arena, "events://%.*s/{name}?since={since}", CW_STR_ARG(s->base.name));
    if (!id || !address)
        return cw_arena_fail(&s->arena, err);
    m->id = cw_str_from(id);
    m->usage = CW_STR("The events of this name behind a cursor");
    m->params = template_params;
    m->n_params = CW_COUNT(template_params);
    m->needs = *needs;
    m->index = (uint32_t)s->n + 1;
    return make_exposed(s, CW_EXPOSED_TEMPLATE, CW_STR("uriTemplate"), cw_str_from(address), m->id,
                        &m->exposed, err);
}

static cw_code make_methods(event_source *s, cw_err *err)
{
    cw_method *methods = cw_arena_calloc(&s->arena, s->n + 2, sizeof *methods);
    if (!methods)
        return cw_arena_fail(&s->arena, err);
    for (size_t i = 0; i < s->n + 2; i++) {
        methods[i].source = &s->base;
        methods[i].usage = methods[i].input = methods[i].output = CW_STR("");
    }
    cw_code rc = make_tool(s, &methods[0], err);
    for (size_t i = 0; i < s->n && !rc; i++)
        rc = make_resource(s, i, &methods[i + 1], err);
    if (!rc)
        rc = make_template(s, &methods[0].needs, &methods[s->n + 1], err);
    s->base.methods = methods;
    s->base.n_methods = s->n + 2;
    return rc;
}

static bool copy_text(cw_arena *arena, cw_str *text)
{
    *text = text->n ? cw_arena_dup_str(arena, *text) : CW_STR("");
    return text->p;
}

static bool copy_list(cw_arena *arena, const cw_str **list, size_t n)
{
    cw_str *copy = cw_arena_calloc(arena, n, sizeof *copy);
    for (size_t i = 0; copy && i < n; i++) {
        copy[i] = cw_arena_dup_str(arena, (*list)[i]);
        if (!copy[i].p)
            return false;
    }
    *list = copy;
    return copy;
}

static bool copy_filters(cw_arena *arena, cw_method_event *e)
{
    cw_event_filter *copy = cw_arena_calloc(arena, e->n_filters, sizeof *copy);
    for (size_t i = 0; copy && i < e->n_filters; i++) {
        copy[i] = e->filters[i];
        if (!copy_text(arena, &copy[i].name) || !copy_text(arena, &copy[i].pointer))
            return false;
    }
    e->filters = copy;
    return copy;
}

static cw_code copy_offers(event_source *s, const cw_event_source_opts *opts, cw_err *err)
{
    cw_requirements *needs = cw_arena_calloc(&s->arena, opts->n, sizeof *needs);
    s->events = cw_arena_calloc(&s->arena, opts->n, sizeof *s->events);
    s->needs = needs;
    if (!needs || !s->events)
        return cw_arena_fail(&s->arena, err);
    for (size_t i = 0; i < opts->n; i++) {
        cw_method_event *e = &s->events[i];
        *e = opts->offers[i].event;
        needs[i] = opts->offers[i].needs;
        cw_event_type_ref(e->type);
        s->n++;
        char *name = cw_arena_printf(&s->arena, "%.*s.%.*s", CW_STR_ARG(opts->source),
                                     CW_STR_ARG(cw_event_type_name(e->type)));
        if (!name || !copy_text(&s->arena, &e->description) || !copy_text(&s->arena, &e->schema) ||
            !copy_filters(&s->arena, e) ||
            !copy_list(&s->arena, &needs[i].permissions, needs[i].n_permissions) ||
            !copy_list(&s->arena, &needs[i].scopes, needs[i].n_scopes))
            return cw_arena_fail(&s->arena, err);
        e->name = cw_str_from(name);
    }
    return CW_OK;
}

cw_code cw_event_source_new(const cw_event_source_opts *opts, cw_source **ret, cw_err *err)
{
    static const cw_source_ops ops = {.name = "events",
                                      .start = start,
                                      .cancel = cancel,
                                      .set_caller = set_caller,
                                      .sweep = sweep,
                                      .free = free_source};
    event_source *s = calloc(1, sizeof *s + opts->n_loops * sizeof s->parts[0]);
    if (!s)
        return cw_fail_nomem(err);
    cw_arena_init(&s->arena, ARENA_MAX);
    atomic_init(&s->base.refs, 1);
    s->base.ops = &ops;
    s->base.call_ms = (CW_EVENT_MAX_WAIT_S + 10) * 1000;
    s->base.name = cw_arena_dup_str(&s->arena, opts->source);
    s->base.instructions = CW_STR("");
    s->hub = cw_event_type_hub(opts->offers[0].event.type);
    s->accounts = opts->accounts;
    s->n_loops = opts->n_loops;
    cw_code rc = s->base.name.p ? copy_offers(s, opts, err) : cw_arena_fail(&s->arena, err);
    if (!rc)
        rc = make_methods(s, err);
    if (rc)
        cw_source_unref(&s->base);
    else
        *ret = &s->base;
    return rc;
}
