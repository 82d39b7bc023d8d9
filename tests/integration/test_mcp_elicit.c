/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions to clients of both eras, sessions and cancels, over a source in this process: clients
 * that answer, do not, answer nonsense, leave; and each allocation failing in turn. */
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
        at = strstr(k ? at + 1 : at, "\"id\":\"causeway-");
    return at && sscanf(at, "\"id\":\"%79[^\"]", ret) == 1;
}

static int post_answer(const client *c, const char *id, const char *rest)
{
    char body[2048];
    http_response got;
    snprintf(body, sizeof body, RPC "\"id\":\"%s\",%s}", id, rest);
    door_fixture_post(now, "/mcp", c->headers, body, &got);
    return got.status;
}

/* ---- legacy ---- */

TEST(a_legacy_client_is_asked_on_the_stream_of_its_call)
{
    client c;
    char id[80];
    assert_true(open_client(&c, "2025-11-25", ABLE));
    int fd = call_echo(&c, "1", "[" FORM "," ROOTS "]");
    char *all = read_to(fd, "\n\n");
    assert_non_null(strstr(all, "text/event-stream"));
    assert_non_null(
        strstr(all, "\"method\":\"elicitation/create\",\"params\":{\"message\":\"Who?"));
    assert_true(find_id(all, 0, id));
    assert_int_equal(
        post_answer(&c, id, "\"result\":{\"action\":\"accept\",\"content\":{\"n\":1}}"), 202);
    all = read_to(fd, "roots/list");
    assert_true(find_id(all, 0, id));
    assert_int_equal(post_answer(&c, id, "\"result\":{\"roots\":[]}"), 202);
    all = read_to(fd, NULL);
    close(fd);
    assert_non_null(strstr(all,
                           "\"answers\":{\"name\":{\"action\":\"accept\",\"content\":{\"n\":1}},"
                           "\"where\":{\"roots\":[]}}"));
    assert_non_null(strstr(all, "\"id\":1}"));
}

TEST(a_url_is_named_and_questions_come_together)
{
    client c;
    char first[80], second[80];
    assert_true(open_client(&c, "2025-11-25", ABLE));
    int fd = call_echo(&c, "1", "[" BOTH_ASKS "]");
    char *all = read_to(fd, "elicitationId\":\"causeway-");
    assert_true(find_id(all, 0, first));
    assert_true(find_id(all, 1, second));
    assert_int_equal(post_answer(&c, second, "\"result\":{\"action\":\"accept\"}"), 202);
    /* Said twice, it counts once. */
    assert_int_equal(post_answer(&c, second, "\"result\":{\"action\":\"decline\"}"), 202);
    assert_int_equal(post_answer(&c, first, "\"result\":{\"roots\":[]}"), 202);
    all = read_to(fd, NULL);
    close(fd);
    assert_non_null(strstr(all, "\"b\":{\"action\":\"accept\"}"));
}

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

TEST(answers_that_make_no_sense_end_the_call)
{
    static const struct {
        const char *answer, *text;
    } rows[] = {
        {"\"result\":{}", "makes no sense"},
        {"\"result\":7", "makes no sense"},
        {"\"result\":{\"action\":\"maybe\"}", "makes no sense"},
        {"\"result\":{\"action\":\"accept\"}", "has no content"},
        {"\"result\":{\"action\":\"accept\",\"content\":{\"n\":\"x\"}}", "/n: expected integer"},
        {"\"result\":{\"action\":\"accept\",\"content\":{}}", "'n'"},
        {"\"error\":{\"code\":-1,\"message\":\"No.\"}", "elicitation/create': No."},
        {"\"error\":{}", "says nothing"},
        /* Cut where a character ends. */
        {"\"error\":{\"code\":-1,\"message\":\""
         "ääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääää"
         "xäääääääääääääääääääääääääääääääääääääääääääääääää\"}",
         "ä\"}],\"isError\":true"},
    };
    for (size_t i = 0; i < CW_COUNT(rows); i++) {
        client c;
        char id[80];
        assert_true(open_client(&c, "2025-11-25", ABLE));
        int fd = call_echo(&c, "1", "[" FORM "]");
        assert_true(find_id(read_to(fd, "\n\n"), 0, id));
        assert_int_equal(post_answer(&c, id, rows[i].answer), 202);
        char *all = read_to(fd, NULL);
        close(fd);
        if (!strstr(all, rows[i].text) || !strstr(all, "\"isError\":true"))
            fail_msg("%s: %s", rows[i].answer, all);
    }
}

TEST(an_open_question_is_taken_back_when_another_fails)
{
    client c;
    char first[80], second[80], taken_back[200];
    assert_true(open_client(&c, "2025-11-25", ABLE));
    int fd = call_echo(&c, "1", "[" BOTH_ASKS "]");
    char *all = read_to(fd, "elicitationId\":\"causeway-");
    assert_true(find_id(all, 0, first));
    assert_true(find_id(all, 1, second));
    post_answer(&c, second, "\"result\":{}");
    all = read_to(fd, NULL);
    close(fd);
    snprintf(taken_back, sizeof taken_back,
             "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"%s\"", first);
    assert_non_null(strstr(all, taken_back));
    assert_null(strstr(strstr(all, taken_back), second));
}

TEST(nobody_else_can_answer_or_cancel)
{
    client c, other;
    char id[80];
    http_response got;
    assert_true(open_client(&c, "2025-11-25", ABLE));
    assert_true(open_client(&other, "2025-11-25", ABLE));
    int fd = call_echo(&c, "\"same\"", "[" FORM "]");
    assert_true(find_id(read_to(fd, "\n\n"), 0, id));
    const char *yes = "\"result\":{\"action\":\"accept\",\"content\":{\"n\":3}}";
    assert_int_equal(post_answer(&other, id, yes), 202);
    client none = {.headers = JSON};
    assert_int_equal(post_answer(&none, id, yes), 202);
    assert_int_equal(post_answer(&c, "causeway-9-00", yes), 202);
    assert_int_equal(post_answer(&c, "causeway-4294967296-00", yes), 202);
    assert_int_equal(post_answer(&c, "causeway-", yes), 202);
    door_fixture_post(
        now, "/mcp", other.headers,
        RPC "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"same\"}}", &got);
    assert_int_equal(got.status, 202);
    /* It still waits, for its own client. */
    assert_int_equal(post_answer(&c, id, yes), 202);
    char *all = read_to(fd, NULL);
    close(fd);
    assert_non_null(strstr(all, "\"n\":3"));
}

TEST(a_client_that_cannot_be_asked_is_told_so)
{
    client c;
    assert_true(open_client(&c, "2025-11-25", "{\"roots\":{}}"));
    int fd = call_echo(&c, "1", "[" FORM "]");
    char *all = read_to(fd, NULL);
    close(fd);
    assert_non_null(strstr(all, "\"isError\":true"));
    assert_non_null(strstr(all, "elicitation"));
    /* Without a session nobody could tell whose answer it is. */
    client none = {.headers = JSON};
    fd = call_echo(&none, "1", "[" ROOTS "]");
    all = read_to(fd, NULL);
    close(fd);
    assert_non_null(strstr(all, "\"isError\":true"));
}

TEST(a_call_can_be_cancelled_while_it_runs_and_while_it_waits)
{
    client c;
    http_response got;
    char id[80];
    assert_true(open_client(&c, "2025-11-25", ABLE));
    /* Before: nothing to cancel. */
    door_fixture_post(now, "/mcp", c.headers,
                      RPC "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":5}}",
                      &got);
    assert_int_equal(got.status, 202);
    unsigned started = atomic_load(&now->source->started);
    unsigned cancelled = atomic_load(&now->source->cancelled);
    int fd = door_fixture_connect(now);
    door_fixture_send(fd, "/mcp", c.headers,
                      RPC "\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"hold\"}}");
    door_fixture_wait(&now->source->started, started + 1);
    door_fixture_post(now, "/mcp", c.headers,
                      RPC "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":5}}",
                      &got);
    door_fixture_wait(&now->source->cancelled, cancelled + 1);
    assert_null(strstr(read_to(fd, NULL), "jsonrpc"));
    close(fd);
    /* While it waits for an answer; which comes too late then. */
    fd = call_echo(&c, "6", "[" FORM "]");
    assert_true(find_id(read_to(fd, "\n\n"), 0, id));
    door_fixture_post(now, "/mcp", c.headers,
                      RPC "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":6}}",
                      &got);
    assert_null(strstr(read_to(fd, NULL), "\"id\":6"));
    close(fd);
    assert_int_equal(post_answer(&c, id, "\"result\":{\"action\":\"decline\"}"), 202);
    /* In one batch with the call itself. */
    client old;
    assert_true(open_client(&old, "2025-03-26", ABLE));
    door_fixture_post(now, "/mcp", old.headers,
                      "[" RPC
                      "\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"hold\"}}," RPC
                      "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":7}}," RPC
                      "\"id\":8,\"method\":\"ping\"}]",
                      &got);
    assert_string_equal(got.body, "[" RPC "\"result\":{},\"id\":8}]");
}

TEST(a_batch_is_taken_by_the_version_of_its_session)
{
    static const char batch[] = "[" RPC "\"id\":1,\"method\":\"ping\"}]";
    char headers[700];
    client old, newer;
    http_response got;
    assert_true(open_client(&old, "2025-03-26", "{}"));
    assert_true(open_client(&newer, "2025-11-25", "{}"));
    door_fixture_post(now, "/mcp", old.headers, batch, &got);
    assert_int_equal(got.status, 200);
    door_fixture_post(now, "/mcp", newer.headers, batch, &got);
    assert_int_equal(got.status, 400);
    snprintf(headers, sizeof headers, "%sMCP-Protocol-Version: 2025-06-18\r\n", old.headers);
    door_fixture_post(now, "/mcp", headers, batch, &got);
    assert_int_equal(got.status, 400);
}

TEST(a_session_cannot_be_made_up)
{
    client c;
    http_response got;
    assert_true(open_client(&c, "2025-11-25", "{}"));
    size_t n = strlen(c.session);
    for (size_t i = 0; i < n; i++) {
        client wrong = c;
        wrong.session[i] = wrong.session[i] == 'A' ? 'B' : 'A';
        snprintf(wrong.headers, sizeof wrong.headers, JSON "Mcp-Session-Id: %s\r\n", wrong.session);
        door_fixture_post(now, "/mcp", wrong.headers, RPC "\"id\":1,\"method\":\"ping\"}", &got);
        assert_int_equal(got.status, 404);
    }
    door_fixture_post(now, "/mcp", c.headers, RPC "\"id\":1,\"method\":\"ping\"}", &got);
    assert_int_equal(got.status, 200);
    /* A modern request does not look at it. */
    door_fixture_post(now, "/mcp", JSON "Mcp-Session-Id: x\r\nMCP-Protocol-Version: 2026-07-28\r\n",
                      RPC "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}",
                      &got);
    assert_int_equal(got.status, 202);
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

TEST(a_modern_client_brings_everything_back)
{
    http_response got;
    char sealed[4000], rest[4500];
    call_modern(FORM_ARGUMENTS, "", ABLE, &got);
    assert_int_equal(got.status, 200);
    assert_non_null(strstr(got.body, "\"resultType\":\"input_required\""));
    assert_null(strstr(got.body, "elicitationId"));
    assert_true(find_state(&got, sealed, sizeof sealed));
    snprintf(rest, sizeof rest, ",\"requestState\":\"%s\",\"inputResponses\":" YES, sealed);
    call_modern(FORM_ARGUMENTS, rest, ABLE, &got);
    assert_non_null(strstr(got.body, "\"resultType\":\"complete\""));
    assert_non_null(strstr(got.body, "\"n\":4"));
    /* What does not fit the form is asked again, and what nobody asked is not taken. */
    snprintf(rest, sizeof rest,
             ",\"requestState\":\"%s\",\"inputResponses\":{\"name\":{\"action\":\"accept\","
             "\"content\":{\"n\":\"x\"}},\"other\":{\"roots\":[]}}",
             sealed);
    call_modern("{\"x\":[" FORM "," FORM "]}", rest, ABLE, &got);
    assert_non_null(strstr(got.body, "-32602")); /* other arguments */
    call_modern(FORM_ARGUMENTS, rest, ABLE, &got);
    assert_null(strstr(got.body, "\"other\""));
    assert_null(strstr(got.body, "\"n\":\"x\""));
    /* Other arguments, a changed state, another type. */
    snprintf(rest, sizeof rest, ",\"requestState\":\"%s\"", sealed);
    call_modern("{\"x\":[" ROOTS "]}", rest, ABLE, &got);
    assert_non_null(strstr(got.body, "-32602"));
    sealed[20] = sealed[20] == 'A' ? 'B' : 'A';
    snprintf(rest, sizeof rest, ",\"requestState\":\"%s\"", sealed);
    call_modern(FORM_ARGUMENTS, rest, ABLE, &got);
    assert_non_null(strstr(got.body, "-32602"));
    call_modern(FORM_ARGUMENTS, ",\"requestState\":5", ABLE, &got);
    assert_non_null(strstr(got.body, "-32602"));
}

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

/* ---- leaving and stopping ---- */

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
    snprintf(body, sizeof body, RPC "\"id\":\"%s\",\"result\":{\"action\":\"decline\"}}", id);
    door_fixture_send(other, "/mcp", c.headers, body);
    close(fd);
    close(other);
    door_fixture_post(now, "/mcp", c.headers, RPC "\"id\":1,\"method\":\"ping\"}", &got);
    assert_int_equal(got.status, 200);
}

TEST(nobody_waits_for_people_while_the_server_stops)
{
    client c;
    now = &own;
    door_fixture_open(now, 60000, true, true);
    now->source->on_act = act;
    assert_true(open_client(&c, "2025-11-25", ABLE));
    int fd = call_echo(&c, "1", "[" FORM "]");
    char id[80];
    assert_true(find_id(read_to(fd, "\n\n"), 0, id));
    door_fixture_close(now);
    now = &shared;
    char *all = read_to(fd, NULL);
    close(fd);
    assert_non_null(strstr(all, "notifications/cancelled"));
    assert_non_null(strstr(all, "The server is stopping."));
}

TEST(late_answers_are_not_waited_for)
{
    client c;
    now->settings.elicitation_timeout_s = 1;
    door_fixture_publish(now, 0);
    usleep(50000);
    assert_true(open_client(&c, "2025-11-25", ABLE));
    int fd = call_echo(&c, "1", "[" FORM "]");
    char *all = read_to(fd, NULL);
    close(fd);
    assert_non_null(strstr(all, "did not answer in time"));
    now->settings.elicitation_timeout_s = 60;
    door_fixture_publish(now, 0);
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
    char *all = went_well ? read_to(fd, "elicitationId\":\"causeway-") : NULL;
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
    now->settings.elicitation_timeout_s = 1;
    door_fixture_publish(now, 0);
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
        cmocka_unit_test(a_legacy_client_is_asked_on_the_stream_of_its_call),
        cmocka_unit_test(a_url_is_named_and_questions_come_together),
        cmocka_unit_test(the_newest_answer_to_a_question_counts),
        cmocka_unit_test(answers_that_make_no_sense_end_the_call),
        cmocka_unit_test(an_open_question_is_taken_back_when_another_fails),
        cmocka_unit_test(nobody_else_can_answer_or_cancel),
        cmocka_unit_test(a_client_that_cannot_be_asked_is_told_so),
        cmocka_unit_test(a_call_can_be_cancelled_while_it_runs_and_while_it_waits),
        cmocka_unit_test(a_batch_is_taken_by_the_version_of_its_session),
        cmocka_unit_test(a_session_cannot_be_made_up),
        cmocka_unit_test(a_modern_client_brings_everything_back),
        cmocka_unit_test(a_modern_client_without_the_ability_is_refused),
        cmocka_unit_test(questions_without_end_come_to_an_end),
        cmocka_unit_test(a_client_may_leave_in_every_state),
        cmocka_unit_test(nobody_waits_for_people_while_the_server_stops),
        cmocka_unit_test(late_answers_are_not_waited_for),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
