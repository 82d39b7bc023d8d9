/* SPDX-License-Identifier: GPL-2.0-or-later */
/* task_away.c - tasks that another server runs: rows are read, answers and ends are sent. */
#include "door/mcp/task/task_away.h"

#include "door/mcp/letter.h"

#define ARENA_MAX ((size_t)4 * CW_LETTER_MAX)
#define ROOM 4096u /* of a letter, beside credentials and answers */
#define TOO_LARGE "The answers are too large for a task that another server runs."
#define NOT_IDENTIFIED "Another server runs the task, and cannot identify this caller."

/* ---- rows ---- */

/* A request that waits for a row; in the arena of its responder. */
typedef struct reading {
    cw_mcp_request r;
    cw_mcp_session session;
    cw_mcp_task_fn fn;
    cw_task_lookup *lookup;
    cw_str id;
    bool is_anonymous, cancels;
} reading;

static void unref_view(void *view)
{
    cw_view_unref(view);
}

static void on_gone(cw_rpc_item *item)
{
    const reading *w = item->self;
    cw_task_lookup_leave(w->lookup);
}

/* The rights of the caller may have changed since the request arrived. Borrowed; NULL: it has none. */
static cw_view *current_view(const reading *w)
{
    const cw_mcp_request *r = &w->r;
    return cw_runtime_view_in(r->rl, w->is_anonymous ? NULL : cw_view_caller(r->view),
                              cw_view_toolset(r->view));
}

static void on_found(void *ctx, cw_code rc, cw_task *task, bool has_changed)
{
    reading *w = ctx;
    cw_mcp_request *r = &w->r;
    cw_view *view = current_view(w);
    r->item->on_gone = NULL;
    r->item->self = NULL;
    if (rc || !view || (!w->cancels && !cw_mcp_task_is_allowed(view, task))) {
        cw_mcp_task_fail_unfound(r, rc ? rc : (cw_code)CW_NOTFOUND, w->id);
        return;
    }
    r->view = view;
    w->fn(r, task, has_changed);
}

/* Copy what lives for the callback only. False: without memory. */
static bool keep(const cw_mcp_request *r, cw_str id, reading *w)
{
    cw_arena *arena = r->responder->arena;
    if (cw_arena_hold(arena, cw_view_ref(r->view), unref_view))
        return false;
    w->r = *r;
    w->session = *r->session;
    w->r.session = &w->session;
    w->id = cw_arena_dup_str(arena, id);
    w->is_anonymous = cw_runtime_is_anonymous(r->rl, r->view);
    return w->id.p != NULL;
}

void cw_mcp_task_look_up(const cw_mcp_request *r, cw_str id, bool cancels, cw_mcp_task_fn fn)
{
    char name[CW_MCP_OWNER_MAX];
    cw_task_query query = {.owner = cw_mcp_task_owner(r->view, r->responder, name),
                           .id = id,
                           .loop = r->responder->loop,
                           .fn = on_found,
                           .cancels = cancels};
    reading *w = cw_arena_calloc(r->responder->arena, 1, sizeof *w);
    if (!w || !keep(r, id, w)) {
        cw_door_fail_nomem(r->item);
        return;
    }
    query.ctx = w;
    w->fn = fn;
    w->cancels = cancels;
    cw_code rc = query.owner.p ? cw_tasks_look_up(cw_runtime_tasks(r->rl), &query, &w->lookup)
                               : (cw_code)CW_NOTFOUND;
    if (rc) {
        cw_mcp_task_fail_unfound(r, rc, id);
        return;
    }
    r->item->self = w;
    r->item->on_gone = on_gone;
}

/* ---- rows of a subscription ---- */

typedef struct gathering gathering;

typedef struct gathered {
    gathering *all;
    cw_task_lookup *lookup; /* NULL: it is answered */
} gathered;

/* In the arena of the responder. */
struct gathering {
    reading request;
    cw_mcp_tasks_fn fn;
    cw_mcp_tasks_found found; /* references */
    uint32_t n_asked, n_waiting;
    gathered asked[CW_MCP_TASK_WATCHES];
};

static void on_gatherer_gone(cw_rpc_item *item)
{
    gathering *g = item->self;
    for (uint32_t i = 0; i < g->n_asked; i++) {
        if (g->asked[i].lookup)
            cw_task_lookup_leave(g->asked[i].lookup);
    }
    for (uint32_t i = 0; i < g->found.n; i++)
        cw_task_unref(g->found.tasks[i]);
}

/* The gathering is gone with the request, when that is answered. */
static void finish_gathering(gathering *g)
{
    cw_task *tasks[CW_MCP_TASK_WATCHES];
    const cw_mcp_tasks_found found = {tasks, g->found.n};
    cw_mcp_request *r = &g->request.r;
    memcpy(tasks, g->found.tasks, found.n * sizeof *tasks);
    r->item->on_gone = NULL;
    r->item->self = NULL;
    r->view = current_view(&g->request);
    if (r->view)
        g->fn(r, &found);
    else
        cw_door_fail_nomem(r->item);
    for (uint32_t i = 0; i < found.n; i++)
        cw_task_unref(tasks[i]);
}

static void on_gathered(void *ctx, cw_code rc, cw_task *task, bool has_changed)
{
    gathered *one = ctx;
    gathering *g = one->all;
    (void)has_changed;
    one->lookup = NULL;
    if (!rc)
        g->found.tasks[g->found.n++] = cw_task_ref(task);
    if (--g->n_waiting == 0)
        finish_gathering(g);
}

static void gather_one(gathering *g, cw_str id)
{
    char name[CW_MCP_OWNER_MAX];
    const cw_mcp_request *r = &g->request.r;
    gathered *one = &g->asked[g->n_asked];
    const cw_task_query query = {.owner = cw_mcp_task_owner(r->view, r->responder, name),
                                 .id = id,
                                 .loop = r->responder->loop,
                                 .fn = on_gathered,
                                 .ctx = one};
    one->all = g;
    if (query.owner.p && !cw_tasks_look_up(cw_runtime_tasks(r->rl), &query, &one->lookup)) {
        g->n_asked++;
        g->n_waiting++;
    }
}

bool cw_mcp_task_is_repeated(const cw_json *ids, const cw_json *at)
{
    for (const cw_json *v = cw_json_first(ids); v != at; v = cw_json_next(v)) {
        if (cw_json_is(v, CW_JSON_STRING) && cw_str_eq(cw_json_text(v), cw_json_text(at)))
            return true;
    }
    return false;
}

static void gather_all(gathering *g, const cw_json *ids)
{
    uint32_t i = 0;
    for (const cw_json *v = cw_json_first(ids); i < cw_json_count(ids) && i < CW_MCP_TASK_WATCHES;
         v = cw_json_next(v), i++) {
        if (cw_json_is(v, CW_JSON_STRING) && !cw_mcp_task_is_repeated(ids, v) &&
            !cw_mcp_task_is_here(&g->request.r, cw_json_text(v)))
            gather_one(g, cw_json_text(v));
    }
}

void cw_mcp_tasks_gather(const cw_mcp_request *r, const cw_json *ids, cw_mcp_tasks_fn fn)
{
    const cw_mcp_tasks_found none = {NULL, 0};
    cw_arena *arena = r->responder->arena;
    if (!cw_json_is(ids, CW_JSON_ARRAY) || !cw_json_count(ids) || !cw_mcp_has_tasks(r)) {
        fn(r, &none);
        return;
    }
    gathering *g = cw_arena_calloc(arena, 1, sizeof *g);
    if (g)
        g->found.tasks = cw_arena_calloc(arena, CW_MCP_TASK_WATCHES, sizeof(cw_task *));
    if (!g || !g->found.tasks || !keep(r, CW_STR(""), &g->request)) {
        cw_door_fail_nomem(r->item);
        return;
    }
    g->fn = fn;
    gather_all(g, ids);
    if (g->n_waiting) {
        r->item->self = g;
        r->item->on_gone = on_gatherer_gone;
    } else {
        fn(r, &none);
    }
}

/* ---- answers ---- */

/* In front of the name of the owner and the answers. */
typedef struct inputs {
    cw_mcp *door;
    uint32_t n_owner;
    char id[CW_TASK_ID];
} inputs;

static bool add_inputs(const cw_mcp_request *r, const cw_task *task, cw_str answers, cw_buf *b)
{
    char name[CW_MCP_OWNER_MAX];
    cw_str owner = cw_mcp_task_owner(r->view, r->responder, name);
    inputs p;
    memset(&p, 0, sizeof p);
    p.door = r->door;
    p.n_owner = (uint32_t)owner.n;
    memcpy(p.id, cw_task_id(task).p, cw_task_id(task).n);
    cw_buf_add_bytes(b, &p, sizeof p);
    cw_buf_add(b, owner);
    cw_buf_add(b, answers);
    return !b->code;
}

void cw_mcp_task_send_inputs(const cw_mcp_request *r, const cw_task *task, const cw_json *responses)
{
    CW_CLEANUP(cw_buf_done) cw_buf b;
    bool is_known = !cw_runtime_is_anonymous(r->rl, r->view) &&
                    !cw_caller_is_anonymous(cw_view_caller(r->view));
    const cw_http_req *req = cw_responder_req(r->responder);
    cw_str header = req && is_known ? cw_http_req_authorization(req) : CW_STR("");
    cw_str answers = cw_json_span(responses);
    cw_buf_init(&b, CW_LETTER_MAX);
    if (is_known && !header.n) {
        cw_door_fail(r->item, 503, CW_RPC_INTERNAL, NOT_IDENTIFIED);
    } else if (header.n + answers.n + ROOM > CW_LETTER_MAX) {
        cw_door_fail(r->item, 200, CW_RPC_PARAMS, TOO_LARGE);
    } else if (!add_inputs(r, task, answers, &b)) {
        cw_door_fail_nomem(r->item);
    } else {
        uint32_t place = cw_task_server(cw_task_id(task)) << CW_MCP_PLACE_LOOP_BITS;
        cw_mcp_send_away(r, place, CW_MCP_LETTER_INPUTS, header, cw_buf_str(&b));
        cw_mcp_task_audit(r, task, "answered");
        cw_mcp_task_acknowledge(r);
    }
}

/* A caller that has logged in here is known by that alone. The network of an anonymous one was seen by
 * the server that got the request. */
static cw_str owner_of(const cw_caller *caller, cw_str sent, char out[CW_MCP_OWNER_MAX])
{
    if (!caller || cw_caller_is_anonymous(caller))
        return cw_str_starts(sent, CW_STR(CW_TASK_ANONYMOUS)) ? sent : (cw_str){NULL, 0};
    const cw_mcp_session_owner by = {.owner = cw_caller_id(caller)};
    return cw_mcp_session_owner_name(&by, out);
}

static bool are_valid(cw_runtime_loop *rl, cw_arena *arena, cw_task *task, const cw_json *answers)
{
    cw_err err = {0};
    cw_code rc = cw_json_is(answers, CW_JSON_OBJECT) ? CW_OK : CW_PARAMS;
    for (const cw_json *k = rc ? NULL : cw_json_first(answers); k && !rc; k = cw_json_next_key(k))
        rc = cw_mcp_task_check_answer(rl, arena, task, k, &err);
    return !rc;
}

void cw_mcp_take_inputs(cw_runtime_loop *rl, cw_str bytes, cw_caller *caller)
{
    char name[CW_MCP_OWNER_MAX];
    inputs p;
    if (bytes.n < sizeof p)
        return;
    memcpy(&p, bytes.p, sizeof p);
    if (p.n_owner > bytes.n - sizeof p)
        return;
    p.id[CW_TASK_ID - 1] = '\0';
    cw_task *task = NULL;
    cw_str owner = owner_of(caller, cw_str_make(bytes.p + sizeof p, p.n_owner), name);
    if (!owner.p || cw_tasks_find(cw_runtime_tasks(rl), owner, cw_str_from(p.id), &task))
        return;
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    const cw_json *answers = NULL;
    cw_str text = cw_str_make(bytes.p + sizeof p + p.n_owner, bytes.n - sizeof p - p.n_owner);
    cw_arena_init(&arena, ARENA_MAX);
    const cw_view *view = cw_runtime_view_in(rl, caller, NULL);
    if (view && cw_mcp_task_is_allowed(view, task) &&
        !cw_json_read(text, NULL, &arena, &answers, NULL, NULL) &&
        are_valid(rl, &arena, task, answers) &&
        cw_mcp_task_deliver(p.door, rl, caller, task, answers))
        cw_log(CW_LOG_WARN, "mcp", "answers from another server are lost: out of memory");
    cw_task_unref(task);
}

/* ---- ends and changes ---- */

/* The door and the id of a task. */
typedef struct named {
    cw_mcp *door;
    char id[CW_TASK_ID];
} named;

static named name_of(cw_mcp *door, cw_str id)
{
    named n;
    memset(&n, 0, sizeof n);
    n.door = door;
    memcpy(n.id, id.p, id.n < CW_TASK_ID ? id.n : CW_TASK_ID - 1);
    return n;
}

void cw_mcp_on_task_ended(cw_runtime_loop *rl, cw_str bytes)
{
    named n;
    if (bytes.n != sizeof n || !cw_runtime_tasks(rl))
        return;
    memcpy(&n, bytes.p, sizeof n);
    n.id[CW_TASK_ID - 1] = '\0';
    cw_tasks_check(cw_runtime_tasks(rl), cw_str_from(n.id));
}

/* The server that runs a task reads in its row that this one has cancelled it. */
static void on_cancel(void *ctx, cw_str id)
{
    cw_mcp *door = ctx;
    const named n = name_of(door, id);
    const cw_letter letter = {.to = cw_task_server(id),
                              .kind = CW_MCP_LETTER_TASK,
                              .bytes = cw_str_make((const char *)&n, sizeof n)};
    /* Without the letter the call runs to its end, and its server finds the row then. */
    if (door->replicas)
        (void)!cw_replicas_send(door->replicas, &letter, /* until= */ 0);
}

static void on_change(void *ctx, cw_str id)
{
    cw_mcp *door = ctx;
    const named n = name_of(door, id);
    for (unsigned i = 0; i < door->n_loops; i++)
        cw_runtime_post(door->runtime, i, cw_mcp_task_on_change,
                        cw_str_make((const char *)&n, sizeof n));
}

void cw_mcp_follow_tasks(cw_mcp *door, cw_tasks *tasks, cw_replicas *replicas, cw_loop *loop)
{
    door->replicas = replicas;
    cw_tasks_set_listener(
        tasks, &(cw_tasks_listener){
                   .loop = loop, .on_change = on_change, .on_cancel = on_cancel, .ctx = door});
}
