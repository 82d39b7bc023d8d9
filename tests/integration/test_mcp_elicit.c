/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions to clients of both eras, over a source in this process: rounds that only such a source
 * can make, clients that leave at any time, and each allocation failing in turn. The protocol itself
 * is tested in tests/functional/mcp-elicitation.test.mjs. */
#include <signal.h>
#include <unistd.h>

#include "json/write.h"
#include "support/door_fixture.h"
#include "support/oom.h"
#include "support/test.h"

/* The server that clients talk to; a test may have one of its own. */
static door_fixture shared, own;
static door_fixture *now = &shared;

#define JSON "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
#define META "io.modelcontextprotocol/"
#define RPC "{\"jsonrpc\":\"2.0\","
#define CALL_HEADERS                                                                               \
    JSON "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n"
#define ABLE "{\"elicitation\":{\"form\":{},\"url\":{}},\"sampling\":{},\"roots\":{}}"

/* What echo asks: the first list that stands in its param x, then the second, … */
#define FORM                                                                                       \
    "{\"name\":{\"method\":\"elicitation/create\",\"params\":{\"message\":\"Who?\","               \
    "\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},"      \
    "\"required\":[\"n\"]}}}}"
#define ROOTS "{\"where\":{\"method\":\"roots/list\"}}"
#define BOTH_ASKS                                                                                  \
    "{\"a\":{\"method\":\"roots/list\"},\"b\":{\"method\":\"elicitation/create\",\"params\":{"     \
    "\"mode\":\"url\",\"message\":\"Go\",\"url\":\"https://example.org/\"}}}"

/* ---- the method ---- */

static cw_json_opts deep;

/* "state" in the extras, ,"state":"N", counts the rounds. */
static size_t round_of(const cw_source_call *call)
{
    char *copy = strndup(call->extras.n ? call->extras.p : "", call->extras.n);
    const char *at = copy ? strstr(copy, "\"state\":\"") : NULL;
    size_t n = at ? strtoul(at + 9, NULL, 10) : 0;
    free(copy);
    return n;
}

static void answer_extras(fake_op *op)
{
    cw_source_call *call = op->call;
    char *text = cw_arena_alloc(call->arena, call->extras.n + 16);
    if (text)
        snprintf(text, call->extras.n + 16, "{\"x\":1%.*s}", CW_STR_ARG(call->extras));
    fake_op_result(op, text ? text : "null");
}

static bool act(fake_op *op)
{
    static const char *const states[] = {"1", "2", "3", "4"};
    const cw_json *params, *list, *elicit;
    cw_source_call *call = op->call;
    if (!cw_str_is(call->method->id, "echo") ||
        cw_json_read(call->params, &deep, call->arena, &params, NULL, NULL) ||
        !cw_json_is(list = cw_json_get(params, CW_STR("x")), CW_JSON_ARRAY))
        return false;
    size_t round = round_of(call), i = 0;
    for (elicit = cw_json_first(list); elicit && i < round; elicit = cw_json_next(elicit))
        i++;
    /* The last one may be asked for ever. */
    if (!elicit && cw_json_get(params, CW_STR("y")))
        elicit = cw_json_first(list);
    if (!elicit)
        answer_extras(op);
    else
        fake_op_finish(op, &(cw_outcome){.kind = CW_OUTCOME_INPUT_REQUIRED,
                                         .asks = elicit,
                                         .state = cw_str_from(states[round < 4 ? round : 3])});
    return true;
}

/* ---- clients ---- */

typedef struct client {
    char session[256];
    char headers[600];
} client;

static bool open_client(client *c, const char *version, const char *client_capabilities)
{
    char body[600];
    http_response got;
    snprintf(body, sizeof body,
             RPC "\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\","
                 "\"capabilities\":%s}}",
             version, client_capabilities);
    door_fixture_post(now, "/mcp", JSON, body, &got);
    const char *at = strstr(got.head, "Mcp-Session-Id: ");
    if (got.status != 200 || !at || sscanf(at, "Mcp-Session-Id: %255s", c->session) != 1)
        return false;
    snprintf(c->headers, sizeof c->headers, JSON "Mcp-Session-Id: %s\r\n", c->session);
    return true;
}

/* Read what comes, until `text` is in it or (NULL) the other side closes. */
static char *read_to(int fd, const char *text)
{
    static char all[1 << 20];
    size_t n = 0;
    ssize_t got;
    all[0] = 0;
    while ((!text || !strstr(all, text)) && n < sizeof all - 1 &&
           (got = recv(fd, all + n, sizeof all - 1 - n, 0)) > 0) {
        n += (size_t)got;
        all[n] = 0;
    }
    return all;
}

static int call_echo(const client *c, const char *id, const char *x)
{
    char body[4096];
    int fd = door_fixture_connect(now);
    snprintf(body, sizeof body,
             RPC "\"id\":%s,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":"
                 "{\"x\":%s}}}",
             id, x);
    door_fixture_send(fd, "/mcp", c->headers, body);
    return fd;
}

/* The id of the i-th question in what was read. */
static bool find_id(const char *all, int i, char *ret)
{
    const char *at = all;
    for (int k = 0; at && k <= i; k++)
        at = strstr(k ? at + 1 : at, RPC "\"id\":");
    return at && sscanf(at + strlen(RPC), "\"id\":%79[0-9]", ret) == 1;
}

static int post_answer(const client *c, const char *id, const char *rest)
{
    char body[2048];
    http_response got;
    snprintf(body, sizeof body, RPC "\"id\":%s,%s}", id, rest);
    door_fixture_post(now, "/mcp", c->headers, body, &got);
    return got.status;
}

/* ---- legacy ---- */

TEST(the_newest_answer_to_a_question_counts)
{
    client c;
    char id[80];
    assert_true(open_client(&c, "2025-11-25", ABLE));
    int fd = call_echo(&c, "1", "[" FORM "," FORM "]");
    assert_true(find_id(read_to(fd, "\n\n"), 0, id));
    post_answer(&c, id, "\"result\":{\"action\":\"accept\",\"content\":{\"n\":1}}");
    assert_true(find_id(read_to(fd, "\n\n"), 0, id));
    post_answer(&c, id, "\"result\":{\"action\":\"accept\",\"content\":{\"n\":2}}");
    char *all = read_to(fd, NULL);
    close(fd);
    assert_non_null(
        strstr(all, "\"answers\":{\"name\":{\"action\":\"accept\",\"content\":{\"n\":2}}}"));
}

/* ---- modern ---- */

/* params behind arguments, as `rest`. */
static void call_modern(const char *arguments, const char *rest, const char *client_capabilities,
                        http_response *ret)
{
    static char body[65536];
    snprintf(body, sizeof body,
             RPC
             "\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":%s,"
             "\"_meta\":{\"" META "protocolVersion\":\"2026-07-28\",\"" META
             "clientCapabilities\":%s}%s}}",
             arguments, client_capabilities, rest);
    door_fixture_post(now, "/mcp", CALL_HEADERS, body, ret);
}

static bool find_state(const http_response *got, char *ret, size_t room)
{
    const char *at = got->body ? strstr(got->body, "\"requestState\":\"") : NULL;
    const char *end = at ? strchr(at + 16, '"') : NULL;
    if (!end || (size_t)(end - at) > room)
        return false;
    snprintf(ret, room, "%.*s", (int)(end - at - 16), at + 16);
    return true;
}

#define FORM_ARGUMENTS "{\"x\":[" FORM "]}"
#define YES "{\"name\":{\"action\":\"accept\",\"content\":{\"n\":4}}}"

TEST(a_modern_client_without_the_ability_is_refused)
{
    http_response got;
    call_modern(FORM_ARGUMENTS, "", "{\"roots\":{}}", &got);
    assert_int_equal(got.status, 400);
    assert_non_null(strstr(got.body, "\"code\":-32021"));
    assert_non_null(strstr(got.body, "\"requiredCapabilities\":{\"elicitation\":{}}"));
    call_modern(
        "{\"x\":[{\"a\":{\"method\":\"sampling/createMessage\",\"params\":{\"tools\":[]}}}]}", "",
        ABLE, &got);
    assert_non_null(strstr(got.body, "{\"sampling\":{\"tools\":{}}}"));
    call_modern("{\"x\":[{\"a\":{\"method\":\"tools/list\"}}]}", "", ABLE, &got);
    assert_non_null(strstr(got.body, "asks too much"));
}

/* Sixteen rounds, in both eras. */
TEST(questions_without_end_come_to_an_end)
{
    http_response got;
    char sealed[16000], rest[16500] = "";
    int rounds = 0;
    for (; rounds < 40; rounds++) {
        call_modern("{\"x\":[" ROOTS "],\"y\":1}", rest, ABLE, &got);
        if (!find_state(&got, sealed, sizeof sealed))
            break;
        snprintf(rest, sizeof rest,
                 ",\"requestState\":\"%s\",\"inputResponses\":{\"where\":{\"roots\":[]}}", sealed);
    }
    assert_int_equal(rounds, 16);
    assert_non_null(strstr(got.body, "asks too much"));
}

/* ---- leaving ---- */

TEST(a_client_may_leave_in_every_state)
{
    client c;
    char id[80];
    http_response got;
    assert_true(open_client(&c, "2025-11-25", ABLE));
    int fd = call_echo(&c, "1", "[" FORM "]"); /* before it is asked */
    close(fd);
    fd = call_echo(&c, "1", "[" FORM "]"); /* while it is */
    assert_true(find_id(read_to(fd, "\n\n"), 0, id));
    close(fd);
    usleep(20000);
    assert_int_equal(post_answer(&c, id, "\"result\":{\"action\":\"decline\"}"), 202);
    fd = call_echo(&c, "1", "[" FORM "," FORM "]"); /* when the answer is on its way */
    assert_true(find_id(read_to(fd, "\n\n"), 0, id));
    char body[300];
    int other = door_fixture_connect(now);
    snprintf(body, sizeof body, RPC "\"id\":%s,\"result\":{\"action\":\"decline\"}}", id);
    door_fixture_send(other, "/mcp", c.headers, body);
    close(fd);
    close(other);
    door_fixture_post(now, "/mcp", c.headers, RPC "\"id\":1,\"method\":\"ping\"}", &got);
    assert_int_equal(got.status, 200);
}

/* ---- memory ---- */

/* One whole conversation. False: it came to an early end, as it may without memory. */
static bool converse(void)
{
    client c;
    char id[80];
    if (!open_client(&c, "2025-11-25", ABLE))
        return false;
    int fd = call_echo(&c, "1", "[" FORM "," BOTH_ASKS "]");
    bool went_well = find_id(read_to(fd, "\n\n"), 0, id);
    if (went_well)
        post_answer(&c, id, "\"result\":{\"action\":\"accept\",\"content\":{\"n\":1}}");
    char *all = went_well ? read_to(fd, "elicitationId\":\"") : NULL;
    char first[80], second[80];
    went_well = all && find_id(all, 0, first) && find_id(all, 1, second);
    if (went_well) {
        post_answer(&c, second, "\"result\":{\"action\":\"accept\"}");
        post_answer(&c, first, "\"result\":{\"roots\":[]}");
        went_well = strstr(read_to(fd, NULL), "\"answers\"") != NULL;
    }
    close(fd);
    return went_well;
}

static bool converse_modern(void)
{
    http_response got;
    char sealed[4000], rest[4500];
    call_modern(FORM_ARGUMENTS, "", ABLE, &got);
    if (!find_state(&got, sealed, sizeof sealed))
        return false;
    snprintf(rest, sizeof rest, ",\"requestState\":\"%s\",\"inputResponses\":" YES, sealed);
    call_modern(FORM_ARGUMENTS, rest, ABLE, &got);
    return got.body && strstr(got.body, "\"n\":4");
}

static void fail_each_allocation_of(bool (*conversation)(void))
{
    for (size_t n = 1; n < 3000; n++) {
        oom_fail_at(n);
        (void)conversation();
        bool hit = oom_was_hit();
        oom_reset();
        if (!hit) {
            assert_true(conversation());
            return;
        }
    }
    fail_msg("the failure is met without end");
}

TEST(every_allocation_may_fail)
{
    assert_true(converse());
    assert_true(converse_modern());
    /* A question that could not be read is waited for until then. */
    door_fixture_configure(now, "mcp: {elicitation_timeout: 1s}");
    fail_each_allocation_of(converse_modern);
    fail_each_allocation_of(converse);
}

TEST(nothing_is_left_behind)
{
    size_t before = oom_live();
    now = &own;
    door_fixture_open(now, 1000, true, true);
    now->source->on_act = act;
    bool went_well = converse() && converse_modern();
    client c;
    went_well = went_well && open_client(&c, "2025-11-25", ABLE);
    int fd = call_echo(&c, "1", "[" FORM "]");
    (void)read_to(fd, "\n\n"); /* it waits until the end */
    door_fixture_close(now);
    close(fd);
    now = &shared;
    assert_true(went_well);
    assert_int_equal(oom_live(), before);
}

SETUP(set_up)
{
    door_fixture_open(now, 60000, true, true);
    now->source->on_act = act;
    return 0;
}

TEARDOWN(tear_down)
{
    door_fixture_close(now);
    return 0;
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    (void)!cw_log_configure(&(cw_log_opts){.level = CW_LOG_OFF}, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_left_behind),
        cmocka_unit_test(the_newest_answer_to_a_question_counts),
        cmocka_unit_test(a_modern_client_without_the_ability_is_refused),
        cmocka_unit_test(questions_without_end_come_to_an_end),
        cmocka_unit_test(a_client_may_leave_in_every_state),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
