/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What clients are told when memory is short: something that is true, and JSON. */
#include "catalogue/snapshot.h"
#include "support/json_fixture.h"

#include "door/mcp/mcp_int.h"
#include "support/oom.h"

/* A port that keeps what is replied. */
static struct {
    cw_responder base;
    cw_arena arena;
    cw_loop loop; /* of which the index counts alone */
    const char *header;
    unsigned status;
    cw_str body, plain;
} responder;

static void on_reply(cw_responder *p, const cw_response *answer)
{
    (void)p;
    responder.status = answer->status;
    responder.body = answer->body;
    responder.plain = answer->plain;
}

static cw_str on_header(const cw_responder *p, cw_str name, bool *ret_repeats)
{
    (void)p;
    (void)name;
    if (ret_repeats)
        *ret_repeats = false;
    return responder.header ? cw_str_from(responder.header) : (cw_str){NULL, 0};
}

static const cw_responder_ops ops = {.reply = on_reply, .header = on_header};

#define LONG                                                                                       \
    "looooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooong"
/* Texts that an error repeats as a whole (CW_CALL_MAX_REPEATED). */
#define LONGER LONG LONG
#define CLAIM LONGER "claim"

#define REQUEST                                                                                    \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"              \
    "\"io.modelcontextprotocol/protocolVersion\":\"" CLAIM                                         \
    "\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}"

/* The whole way in: it ends before anything else is asked for. */
static void fail_header(const cw_mcp_request *r)
{
    responder.header = LONGER;
    cw_mcp_receive(NULL, r->responder, NULL, NULL, CW_STR(REQUEST));
}

static void fail_version(const cw_mcp_request *r)
{
    cw_mcp_receive(NULL, r->responder, NULL, NULL, CW_STR(REQUEST));
}

static void fail_resource(const cw_mcp_request *r)
{
    cw_mcp_fail_resource(r, CW_STR(LONGER));
}

static void fail_unknown(const cw_mcp_request *r)
{
    cw_mcp_fail_unknown(r, "tool", CW_STR(LONGER));
}

static void fail_params(const cw_mcp_request *r)
{
    cw_door_fail(r->item, 200, CW_RPC_PARAMS, "Missing required parameter: " LONGER);
}

static void fail_method(const cw_mcp_request *r)
{
    cw_mcp_request with = *r;
    with.method = CW_STR(LONGER);
    cw_mcp_dispatch(&with);
}

/* Without an id the answer is a sentence. */
static void fail_plainly(const cw_mcp_request *r)
{
    r->item->id = (cw_str){NULL, 0};
    cw_door_fail(r->item, 404, CW_MCP_SESSION, "session not found: " LONGER);
    assert_true(responder.plain.n);
    responder.body = responder.plain;
    if (cw_str_eq(responder.plain, CW_STR("Out of memory.")))
        responder.status = 500;
}

static const struct {
    void (*run)(const cw_mcp_request *r);
    unsigned status;
    const char *last; /* of the data, or of the message */
} errors[] = {
    {fail_header, 400, "\"header\":\"" LONGER "\",\"body\":\"" CLAIM "\"}}"},
    {fail_version, 400, "\"requested\":\"" CLAIM "\"}"},
    {fail_resource, 200, "{\"uri\":\"" LONGER "\"}"},
    {fail_unknown, 200, "Unknown tool: " LONGER "\""},
    {fail_params, 200, "Invalid params: missing required parameter: " LONGER "\""},
    {fail_method, 404, "Method not found: looo"},
    {fail_plainly, 404, "Session not found: " LONGER "."},
};

static void answer_once(void *ctx)
{
    const size_t *which = ctx;
    cw_arena_init(&responder.arena, 1 << 20);
    responder.base = (cw_responder){
        .ops = &ops, .arena = &responder.arena, .loop = &responder.loop, .has_headers = true};
    responder.header = CLAIM;
    responder.status = 0;
    cw_rpc_batch_opts opts = {.n = 1, .form = &cw_door_mcp};
    cw_rpc_batch *batch = cw_rpc_batch_new(&responder.base, &opts);
    if (batch) {
        cw_mcp_request r = {
            .responder = &responder.base, .item = batch->items, .era = &cw_mcp_modern};
        batch->items->id = CW_STR("1");
        errors[*which].run(&r);
        assert_true(responder.status == 500 || responder.status == errors[*which].status);
        if (responder.status != 500)
            assert_non_null(memmem(responder.body.p, responder.body.n, errors[*which].last,
                                   strlen(errors[*which].last)));
    }
    cw_arena_done(&responder.arena);
}

TEST(an_error_is_whole_or_another_one)
{
    for (size_t i = 0; i < CW_COUNT(errors); i++)
        assert_true(oom_each(answer_once, &i) >= 4);
}

static void set_level_once(void *ctx)
{
    cw_mcp *door;
    cw_err err;
    cw_seal seal = {0};
    cw_mcp_session session = {.is_named = true, .number = {1}};
    if (cw_mcp_new(ctx, 1, &seal, &door, &err))
        return;
    cw_mcp_session_owner alice = {.owner = CW_STR("1")};
    cw_code rc = cw_mcp_session_store_set_level(&door->sessions, &alice, &session, CW_LOG_INFO);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    assert_int_equal(atomic_load(&door->sessions.n), rc ? 0 : 1);
    cw_mcp_free(door);
}

TEST(a_level_that_cannot_be_kept_is_not_taken)
{
    cw_runtime *runtime;
    assert_int_equal(cw_runtime_new(&(cw_runtime_opts){.n_loops = 1}, &runtime, NULL), CW_OK);
    assert_true(oom_each(set_level_once, runtime) >= 3);
    cw_runtime_free(runtime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_is_whole_or_another_one),
        cmocka_unit_test(a_level_that_cannot_be_kept_is_not_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
