/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parked calls: a source in this process asks while its method runs, and a modern client answers with
 * its next request. */
#include <signal.h>
#include <unistd.h>

#include "base/log.h"
#include "support/door_fixture.h"
#include "support/oom.h"
#include "support/patience.h"
#include "support/test.h"

#define META "io.modelcontextprotocol/"
#define HEADERS                                                                                    \
    "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"            \
    "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n"
#define FORM                                                                                       \
    "{\"method\":\"elicitation/create\",\"params\":{\"message\":\"Who?\",\"requestedSchema\":"     \
    "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}}}"
#define ANSWER(n) "{\"q" #n "\":{\"action\":\"accept\",\"content\":{\"n\":" #n "}}}"

/* The server that clients talk to; a test may have one of its own. */
static door_fixture shared, own;
static door_fixture *now = &shared;

/* ---- the method: echo follows the plan in its param x ----
 *
 *     a  ask, and wait for the answer        p  report progress
 *     A  ask, and go on                      l  log a line
 *     w  take the last question back         h  wait without end
 *     r  return the answers                  !  after a: go on inside the answer, not in a turn of its own
 */

static struct {
    char steps[16];
    const char *at;
    fake_op *op; /* NULL: it has ended */
    uint32_t n_asked;
    bool is_waiting; /* for an answer */
    char answers[512];
} plan;

static void ask(void)
{
    const cw_json *request;
    cw_source_call *call = plan.op->call;
    if (cw_json_read(CW_STR(FORM), NULL, call->arena, &request, NULL, NULL)) {
        fake_op *op = plan.op;
        plan.op = NULL;
        fake_op_result(op, "null");
        return;
    }
    call->sink->ops->ask(call->sink, &(cw_question){.number = ++plan.n_asked, .request = request});
}

static void return_answers(void)
{
    char text[600];
    fake_op *op = plan.op;
    plan.op = NULL;
    snprintf(text, sizeof text, "{\"answers\":[%s]}", plan.answers);
    char *copy = cw_arena_dup(op->call->arena, text, strlen(text));
    fake_op_result(op, copy ? copy : "null");
}

static void follow_plan(void)
{
    while (plan.op && !plan.is_waiting && *plan.at && *plan.at != 'h') {
        cw_sink *sink = plan.op->call->sink;
        char step = *plan.at++;
        plan.is_waiting = step == 'a';
        if (step == 'a' || step == 'A')
            ask();
        else if (step == 'w')
            sink->ops->withdraw(sink, plan.n_asked);
        else if (step == 'p')
            fake_op_progress(plan.op, 1);
        else if (step == 'l')
            sink->ops->log(sink, CW_LOG_WARN, CW_STR("half way"));
        else
            return_answers();
    }
}

/* It goes on in a turn of its own, as a service does that has received the answer, unless the plan says
 * otherwise. */
static void on_answer(cw_source *s, cw_source_call *call, uint32_t number, cw_str result,
                      cw_str problem)
{
    size_t n = strlen(plan.answers);
    (void)s;
    (void)problem;
    snprintf(plan.answers + n, sizeof plan.answers - n, "%s%.*s", n ? "," : "",
             CW_STR_ARG(result.n ? result : CW_STR("null")));
    if (!plan.op || plan.op->call != call || number != plan.n_asked)
        return;
    plan.is_waiting = false;
    if (*plan.at != '!') {
        cw_loop_defer(call->loop, &plan.op->later);
        return;
    }
    plan.at++;
    follow_plan();
}

static const cw_source_ops *fake_ops;

static void on_cancel(cw_source *s, cw_source_call *call)
{
    if (call->op == plan.op)
        plan.op = NULL;
    fake_ops->cancel(s, call);
}

/* Another call may get the memory of the last one. */
static void on_sweep(cw_source *s, cw_loop *loop, bool is_end)
{
    if (is_end)
        plan.op = NULL;
    fake_ops->sweep(s, loop, is_end);
}

static bool act(fake_op *op)
{
    const cw_json *params;
    cw_source_call *call = op->call;
    if (!cw_str_is(call->method->id, "echo"))
        return false;
    if (plan.op != op) {
        memset(&plan, 0, sizeof plan);
        if (cw_json_read(call->params, NULL, call->arena, &params, NULL, NULL))
            return false;
        cw_str steps = cw_json_text(cw_json_get(params, CW_STR("x")));
        snprintf(plan.steps, sizeof plan.steps, "%.*s", CW_STR_ARG(steps));
        plan.at = plan.steps;
        plan.op = op;
    }
    follow_plan();
    return true;
}

static void open_door(void)
{
    static cw_source_ops ops;
    door_fixture_open(now, 60000, true, true);
    fake_ops = now->source->base.ops;
    ops = *fake_ops;
    ops.answer = on_answer;
    ops.cancel = on_cancel;
    ops.sweep = on_sweep;
    now->source->base.ops = &ops;
    now->source->on_act = act;
}

/* ---- the client ---- */

static void write_call(char *out, size_t room, const char *steps, const char *state,
                       const char *answers)
{
    snprintf(
        out, room,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\","
        "\"arguments\":{\"x\":\"%s\"},\"_meta\":{\"" META "protocolVersion\":\"2026-07-28\",\"" META
        "clientCapabilities\":{\"elicitation\":{\"form\":{}}},\"" META
        "logLevel\":\"info\",\"progressToken\":5}%s%s%s%s%s}}",
        steps, state ? ",\"requestState\":\"" : "", state ? state : "", state ? "\"" : "",
        answers ? ",\"inputResponses\":" : "", answers ? answers : "");
}

static void call(const char *steps, const char *state, const char *answers, http_response *ret)
{
    static char body[16384];
    write_call(body, sizeof body, steps, state, answers);
    door_fixture_post(now, "/mcp", HEADERS, body, ret);
}

/* The sealed state in a response; false: it has none. */
static bool take_state(const http_response *got, char *ret, size_t room)
{
    static const char mark[] = "\"requestState\":\"";
    const char *at = got->body ? strstr(got->body, mark) : NULL;
    const char *begin = at ? at + strlen(mark) : NULL;
    size_t n = begin ? strcspn(begin, "\"") : 0;
    if (!n || n >= room)
        return false;
    snprintf(ret, room, "%.*s", (int)n, begin);
    return true;
}

static void assert_has(const http_response *got, const char *text)
{
    if (!got->body || !strstr(got->body, text))
        fail_msg("'%s' is not in '%s'", text, got->body ? got->body : "");
}

static void assert_gone(const http_response *got)
{
    assert_has(got, "The call that asked is over, or runs in another process.");
}

/* Start a call that asks, and take the state. */
static void start_parked(const char *steps, char *ret, size_t room)
{
    http_response got;
    call(steps, NULL, NULL, &got);
    assert_has(&got, "\"resultType\":\"input_required\"");
    assert_has(&got, "\"q1\":{\"method\":\"elicitation/create\"");
    assert_true(take_state(&got, ret, room));
}

static void wait_for_cancel(unsigned n)
{
    const atomic_uint *count = &now->source->cancelled;
    for (unsigned ms = 0; atomic_load(count) < n && ms < patience(10000); ms += 10)
        usleep(10000);
    assert_int_equal(atomic_load(count), n);
}

/* ---- tests ---- */

TEST(a_parked_call_goes_on_with_the_answer)
{
    char sealed[4096];
    http_response got;
    unsigned started = atomic_load(&now->source->started);
    start_parked("ar", sealed, sizeof sealed);
    call("ar", sealed, ANSWER(1), &got);
    assert_has(&got, "{\"answers\":[{\"action\":\"accept\",\"content\":{\"n\":1}}]}");
    assert_int_equal(atomic_load(&now->source->started), started + 1);
    call("ar", sealed, ANSWER(1), &got); /* a second time: the park is gone */
    assert_gone(&got);
    assert_int_equal(atomic_load(&now->source->started), started + 1);
}

TEST(a_call_may_ask_again)
{
    char sealed[4096];
    http_response got;
    start_parked("aar", sealed, sizeof sealed);
    call("aar", sealed, ANSWER(1), &got);
    assert_has(&got, "\"q2\":{\"method\":\"elicitation/create\"");
    assert_true(take_state(&got, sealed, sizeof sealed));
    call("aar", sealed, ANSWER(2), &got);
    assert_has(&got, "\"content\":{\"n\":1}},{\"action\":\"accept\",\"content\":{\"n\":2}}]");
}

/* The request gets the open question again, and the answer counts. */
TEST(a_request_without_the_answer_is_asked_again)
{
    char sealed[4096];
    http_response got;
    start_parked("ar", sealed, sizeof sealed);
    call("ar", sealed, "{}", &got);
    assert_has(&got, "\"q1\":{\"method\":\"elicitation/create\"");
    assert_true(take_state(&got, sealed, sizeof sealed));
    call("ar", sealed, ANSWER(1), &got);
    assert_has(&got, "\"content\":{\"n\":1}");
}

TEST(a_question_that_comes_while_it_is_parked_is_asked_next)
{
    char sealed[4096];
    http_response got;
    start_parked("Aar", sealed, sizeof sealed);
    call("Aar", sealed, ANSWER(1), &got);
    assert_has(&got, "\"q2\":{\"method\":\"elicitation/create\"");
    assert_null(strstr(got.body, "\"q1\""));
    assert_true(take_state(&got, sealed, sizeof sealed));
    call("Aar", sealed, ANSWER(2), &got);
    assert_has(&got, "\"content\":{\"n\":1}},{\"action\":\"accept\",\"content\":{\"n\":2}}]");
}

TEST(a_call_that_ends_meanwhile_keeps_its_result)
{
    char sealed[4096];
    http_response got;
    start_parked("Ar", sealed, sizeof sealed);
    call("Ar", sealed, ANSWER(1), &got);
    assert_has(&got, "{\"answers\":[]}");
}

TEST(a_question_that_was_taken_back_needs_no_answer)
{
    char sealed[4096];
    http_response got;
    start_parked("Awr", sealed, sizeof sealed);
    call("Awr", sealed, ANSWER(1), &got);
    assert_has(&got, "{\"answers\":[]}");
}

TEST(reports_reach_the_request_that_waits)
{
    char sealed[4096];
    http_response got;
    start_parked("aplr", sealed, sizeof sealed);
    call("aplr", sealed, ANSWER(1), &got);
    assert_has(&got, "\"method\":\"notifications/progress\",\"params\":{\"progressToken\":5");
    assert_has(&got, "half way");
    assert_has(&got, "\"content\":{\"n\":1}");
}

TEST(reports_inside_an_answer_reach_the_request_that_brought_it)
{
    char sealed[4096];
    http_response got;
    start_parked("a!plr", sealed, sizeof sealed);
    call("a!plr", sealed, ANSWER(1), &got);
    assert_has(&got, "\"method\":\"notifications/progress\",\"params\":{\"progressToken\":5");
    assert_has(&got, "half way");
    assert_has(&got, "\"content\":{\"n\":1}");
    start_parked("a!par", sealed, sizeof sealed);
    call("a!par", sealed, ANSWER(1), &got);
    assert_has(&got, "\"method\":\"notifications/progress\"");
    assert_has(&got, "\"q2\":{\"method\":\"elicitation/create\"");
    assert_true(take_state(&got, sealed, sizeof sealed));
    call("a!par", sealed, ANSWER(2), &got);
    assert_has(&got, "\"content\":{\"n\":2}");
}

TEST(a_client_that_leaves_cancels_the_parked_call)
{
    char sealed[4096], body[8192];
    unsigned cancelled = atomic_load(&now->source->cancelled);
    start_parked("aph", sealed, sizeof sealed);
    write_call(body, sizeof body, "aph", sealed, ANSWER(1));
    int fd = door_fixture_connect(now);
    door_fixture_send(fd, "/mcp", HEADERS, body);
    char first;
    assert_int_equal(recv(fd, &first, 1, 0), 1); /* the progress: it waits */
    close(fd);
    wait_for_cancel(cancelled + 1);
}

TEST(a_parked_call_ends_with_its_time)
{
    char sealed[4096];
    http_response got;
    unsigned cancelled = atomic_load(&now->source->cancelled);
    door_fixture_configure(now, "mcp: {elicitation_timeout: 1s}");
    start_parked("ar", sealed, sizeof sealed);
    wait_for_cancel(cancelled + 1);
    call("ar", sealed, ANSWER(1), &got);
    assert_has(&got, "requestState is not valid for this call, or no longer");
    door_fixture_configure(now, "mcp: {elicitation_timeout: 60s}");
}

/* A client cannot park more calls than may run. */
TEST(a_parked_call_counts_as_one_that_runs)
{
    char sealed[4096];
    http_response got;
    uint32_t calls = now->settings.calls;
    now->settings.calls = 1;
    door_fixture_publish(now, 0);
    start_parked("ar", sealed, sizeof sealed);
    call("ar", NULL, NULL, &got);
    assert_has(&got, "Too many calls are running.");
    call("ar", sealed, ANSWER(1), &got);
    assert_has(&got, "\"content\":{\"n\":1}");
    now->settings.calls = calls;
    door_fixture_publish(now, 0);
}

/* One whole conversation. False: it came to an early end, as it may without memory. */
static bool converse(void)
{
    char state[4096];
    http_response got;
    call("aplar", NULL, NULL, &got);
    if (!take_state(&got, state, sizeof state))
        return false;
    call("aplar", state, ANSWER(1), &got);
    if (!take_state(&got, state, sizeof state))
        return false;
    call("aplar", state, ANSWER(2), &got);
    return got.body && strstr(got.body, "\"n\":1}},{");
}

TEST(every_allocation_may_fail)
{
    uint32_t calls = now->settings.calls;
    assert_true(converse());
    /* A call whose client could not be asked in full is parked until then. All of them may be at once. */
    now->settings.calls = 3000;
    door_fixture_configure(now, "mcp: {elicitation_timeout: 1s}");
    bool was_hit = true;
    for (size_t n = 1; was_hit; n++) {
        assert_true(n < 3000);
        oom_fail_at(n);
        (void)converse();
        was_hit = oom_was_hit();
        oom_reset();
    }
    door_fixture_configure(now, "mcp: {elicitation_timeout: 60s}");
    assert_true(converse());
    now->settings.calls = calls;
    door_fixture_publish(now, 0);
}

TEST(nothing_is_left_behind)
{
    char sealed[4096];
    size_t before = oom_live();
    now = &own;
    open_door();
    bool went_well = converse();
    start_parked("ar", sealed, sizeof sealed); /* it waits until the end */
    door_fixture_close(now);
    now = &shared;
    assert_true(went_well);
    assert_int_equal(oom_live(), before);
}

SETUP(set_up)
{
    open_door();
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
        cmocka_unit_test(a_parked_call_goes_on_with_the_answer),
        cmocka_unit_test(a_call_may_ask_again),
        cmocka_unit_test(a_request_without_the_answer_is_asked_again),
        cmocka_unit_test(a_question_that_comes_while_it_is_parked_is_asked_next),
        cmocka_unit_test(a_call_that_ends_meanwhile_keeps_its_result),
        cmocka_unit_test(a_question_that_was_taken_back_needs_no_answer),
        cmocka_unit_test(reports_reach_the_request_that_waits),
        cmocka_unit_test(reports_inside_an_answer_reach_the_request_that_brought_it),
        cmocka_unit_test(a_client_that_leaves_cancels_the_parked_call),
        cmocka_unit_test(a_parked_call_ends_with_its_time),
        cmocka_unit_test(a_parked_call_counts_as_one_that_runs),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("park", tests, set_up, tear_down);
}
