/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_mcp.c - whatever clients say to the MCP door, in both eras, these hold:
 *
 *   - every message is answered exactly once, or ends with its client
 *   - an answer is empty or one JSON text; whatever is said before it is a JSON object
 *   - nothing is used after its port is over: the port's memory goes with its answer
 *
 * A line is a message on a port of its own. The first line says how they travel: with "h" like
 * HTTP, the rest of the line being MCP-Protocol-Version; else like lines of one client. In a
 * message @ID stands for the last question of ours, @STATE for the last state that was given to
 * the client. Tool "echo" asks what stands in its param x.
 */
#include "fuzz.h"

#include "door/mcp/mcp_int.h"
#include "support/fake_source.h"

#define PORTS 16u
#define TEXT_MAX 65536u

typedef struct fuzz_port {
    cw_responder base;
    cw_arena arena;
    bool is_over;
} fuzz_port;

static struct {
    cw_loop loop;
    cw_runtime *runtime;
    cw_mcp *door;
    fuzz_port ports[PORTS];
    cw_mcp_session client; /* at the other end of the lines */
    cw_str version;        /* header */
    char method[256], name[256], session[1024], id[128], state[TEXT_MAX];
} world;

/* ---- the port ---- */

static const cw_json *read_json(cw_str text, cw_arena *arena)
{
    const cw_json_opts deep = {.max_depth = CW_JSON_DEPTH_CEILING};
    const cw_json *root = NULL;
    CHECK(cw_json_read(text, &deep, arena, &root, NULL, NULL) == CW_OK);
    return root;
}

static void keep(char *to, size_t room, const cw_json *v)
{
    cw_str text = cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : CW_STR("");
    if (text.n && text.n < room && !memchr(text.p, 0, text.n))
        snprintf(to, room, "%.*s", CW_STR_ARG(text));
}

static void finish(fuzz_port *p)
{
    CHECK(!p->is_over);
    p->is_over = true;
    cw_arena_done(&p->arena);
}

static void on_reply(cw_responder *base, const cw_response *answer)
{
    fuzz_port *p = CW_CONTAINER(base, fuzz_port, base);
    CHECK(answer->status >= 200 && answer->status < 600);
    if (answer->body.n) {
        cw_arena a;
        cw_arena_init(&a, SIZE_MAX / 2);
        const cw_json *root = read_json(answer->body, &a);
        keep(world.state, sizeof world.state,
             cw_json_get(cw_json_get(root, CW_STR("result")), CW_STR("requestState")));
        cw_arena_done(&a);
    }
    if (answer->session.n && answer->session.n < sizeof world.session)
        snprintf(world.session, sizeof world.session, "%.*s", CW_STR_ARG(answer->session));
    finish(p);
}

static cw_code on_say(cw_responder *base, cw_send_class kind, cw_str message)
{
    fuzz_port *p = CW_CONTAINER(base, fuzz_port, base);
    cw_arena a;
    (void)kind;
    CHECK(!p->is_over);
    cw_arena_init(&a, SIZE_MAX / 2);
    const cw_json *root = read_json(message, &a);
    CHECK(cw_json_is(root, CW_JSON_OBJECT));
    CHECK(!memchr(message.p, '\n', message.n));
    keep(world.id, sizeof world.id, cw_json_get(root, CW_STR("id")));
    cw_arena_done(&a);
    return CW_OK;
}

static void on_end(cw_responder *base)
{
    finish(CW_CONTAINER(base, fuzz_port, base));
}

static cw_str on_header(const cw_responder *base, cw_str name, bool *ret_repeats)
{
    if (ret_repeats)
        *ret_repeats = false;
    if (!base->has_headers)
        return (cw_str){NULL, 0};
    if (cw_str_is(name, "MCP-Protocol-Version") && world.version.n)
        return world.version;
    if (cw_str_is(name, "Mcp-Session-Id") && world.session[0])
        return cw_str_from(world.session);
    if (cw_str_is(name, "Mcp-Method"))
        return cw_str_from(world.method);
    return cw_str_is(name, "Mcp-Name") ? cw_str_from(world.name) : (cw_str){NULL, 0};
}

/* ---- the world ---- */

/* Ask what x says, unless there are answers already. */
static bool act(fake_op *op)
{
    static const char known[] = "\"answers\":";
    const cw_json *params, *x;
    cw_source_call *call = op->call;
    if (!cw_str_is(call->method->id, "echo") ||
        (call->extras.n && memmem(call->extras.p, call->extras.n, known, sizeof known - 1)))
        return false;
    const cw_json_opts deep = {.max_depth = CW_JSON_DEPTH_CEILING};
    if (cw_json_read(call->params, &deep, call->arena, &params, NULL, NULL) ||
        !cw_json_is(x = cw_json_get(params, CW_STR("x")), CW_JSON_OBJECT))
        return false;
    fake_op_finish(
        op, &(cw_outcome){.kind = CW_OUTCOME_INPUT_REQUIRED, .asks = x, .state = CW_STR("s")});
    return true;
}

static void set_up(void)
{
    static bool is_up;
    cw_snapshot *snapshot;
    cw_caller *caller;
    static cw_seal seal;
    cw_err err;
    if (is_up)
        return;
    is_up = true;
    (void)!cw_log_configure(&(cw_log_opts){.level = CW_LOG_OFF}, NULL);
    CHECK(!cw_loop_init(&world.loop, 64, &err));
    fake_source *source = fake_source_new(0);
    CHECK(source);
    source->on_act = act;
    CHECK(!fake_caller(true, true, &caller, &err) &&
          !fake_source_snapshot(source, &snapshot, &err));
    CHECK(!cw_runtime_new(&(cw_runtime_opts){.n_loops = 1}, &world.runtime, &err));
    cw_loop *loops[] = {&world.loop};
    cw_runtime_attach(world.runtime, loops);
    static const cw_config_source source_of_config = {
        .text = CW_STR_INIT("limits: {batch: 20, subscriptions: 20, cache_size: 1MB}\n"
                            "mcp: {page_size: 5, elicitation_timeout: 1h}\n")};
    cw_runtime_settings settings = {.calls = 100};
    cw_config_problems problems;
    cw_config_problems_init(&problems);
    CHECK(!cw_config_load(&source_of_config, &settings.config, &problems, &err));
    cw_config_problems_done(&problems);
    CHECK(!cw_runtime_publish(world.runtime, snapshot, caller, &settings, NULL, 0, &err));
    seal.first.n = 1; /* the same in every run, so that it can be replayed */
    CHECK(!cw_mcp_new(world.runtime, 1, &seal, &world.door, &err));
}

/* What a well-made request says in its headers. */
static void read_headers(cw_str body)
{
    cw_arena a;
    const cw_json *root;
    cw_arena_init(&a, SIZE_MAX / 2);
    world.method[0] = world.name[0] = 0;
    if (!cw_json_read(body, NULL, &a, &root, NULL, NULL)) {
        const cw_json *params = cw_json_get(root, CW_STR("params"));
        keep(world.method, sizeof world.method, cw_json_get(root, CW_STR("method")));
        keep(world.name, sizeof world.name, cw_json_get(params, CW_STR("uri")));
        keep(world.name, sizeof world.name, cw_json_get(params, CW_STR("name")));
    }
    cw_arena_done(&a);
}

/* The line with what stands for something put in. In the arena. */
static cw_str expand(cw_str line, cw_arena *arena)
{
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 2);
    for (size_t i = 0; i < line.n; i++) {
        cw_str rest = cw_str_make(line.p + i, line.n - i);
        if (cw_str_starts(rest, CW_STR("@ID"))) {
            cw_buf_add(&b, cw_str_from(world.id));
            i += 2;
        } else if (cw_str_starts(rest, CW_STR("@STATE"))) {
            cw_buf_add(&b, cw_str_from(world.state));
            i += 5;
        } else {
            cw_buf_add_char(&b, line.p[i]);
        }
    }
    cw_str ret = cw_arena_dup_str(arena, cw_buf_str(&b));
    cw_buf_done(&b);
    return ret;
}

static void take(fuzz_port *p, cw_str line, bool is_http)
{
    static const cw_responder_ops ops = {on_reply, on_say, on_end, on_header, NULL, NULL};
    cw_runtime_loop *rl = cw_runtime_at(world.runtime, &world.loop);
    *p = (fuzz_port){.base = {.ops = &ops,
                              .loop = &world.loop,
                              .has_headers = is_http,
                              .can_stream = true,
                              .session = is_http ? NULL : &world.client}};
    cw_arena_init(&p->arena, SIZE_MAX / 2);
    p->base.arena = &p->arena;
    cw_str body = expand(line, &p->arena);
    read_headers(body);
    cw_mcp_receive(world.door, &p->base, rl, cw_runtime_anonymous(rl), body);
    for (int i = 0; i < 3; i++)
        uv_run(&world.loop.uv, UV_RUN_NOWAIT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cw_str rest = cw_str_make((const char *)data, size), next;
    size_t n = 0;
    if (size > TEXT_MAX)
        return 0;
    set_up();
    cw_str first = cw_str_cut(rest, '\n', &next);
    bool is_http = first.n && first.p[0] == 'h';
    world.version = is_http ? cw_str_make(first.p + 1, first.n - 1) : CW_STR("");
    world.client = (cw_mcp_session){.is_named = true, .level = CW_LOG_DEBUG};
    world.session[0] = world.id[0] = world.state[0] = 0;
    for (rest = next; rest.n && n < PORTS; rest = next)
        take(&world.ports[n++], cw_str_cut(rest, '\n', &next), is_http);
    for (size_t i = 0; i < n; i++) {
        fuzz_port *p = &world.ports[i];
        if (p->is_over)
            continue;
        if (p->base.on_event && i % 2)
            p->base.on_event(&p->base, CW_RESPONDER_STOPPING, p->base.ctx);
        if (!p->is_over && p->base.on_event)
            p->base.on_event(&p->base, CW_RESPONDER_GONE, p->base.ctx);
        if (!p->is_over)
            finish(p);
    }
    for (int i = 0; i < 3; i++)
        uv_run(&world.loop.uv, UV_RUN_NOWAIT);
    return 0;
}
