/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Webhooks, views of tools and legacy tasks with each allocation failing in turn. A request may fail
 * cleanly; a subscription that was acknowledged gets its event, and nothing leaks. */
#include "support/temp_db.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "access/credentials.h"
#include "base/clock.h"
#include "source/event/event_offers.h"
#include "support/door_fixture.h"
#include "support/oom.h"
#include "support/patience.h"

#define EVENTS 150u
#define JSON "Content-Type: application/json\r\n"
#define META "io.modelcontextprotocol/"
#define M "\"_meta\":{\"" META "protocolVersion\":\"2026-07-28\",\"" META "clientCapabilities\":{}}"
#define RPC "{\"jsonrpc\":\"2.0\","
#define ASK(method, params) RPC "\"id\":1,\"method\":\"" method "\",\"params\":{" params "}}"
#define LEGACY JSON "MCP-Protocol-Version: 2025-11-25\r\n"

static door_fixture d;
static cw_accounts *accounts;
static cw_tasks *tasks;
static cw_event_hub *hub;
static cw_event_rule rules[EVENTS];
static cw_err err;
static atomic_int changes;
static char token[CW_TOKEN_LEN + 1];

/* ---- a receiver that allocates nothing ---- */

static struct {
    int fd;
    uint16_t port;
    pthread_t thread;
    atomic_uint challenges[EVENTS], messages[EVENTS]; /* by the number in their path */
} receiver;

/* Read a request; false: the connection has ended. */
static bool read_request(int fd, char *text, size_t size)
{
    size_t n = 0;
    for (;;) {
        ssize_t got = recv(fd, text + n, size - 1 - n, 0);
        if (got <= 0)
            return false;
        n += (size_t)got;
        text[n] = 0;
        const char *body = strstr(text, "\r\n\r\n"), *length = strcasestr(text, "Content-Length: ");
        if (body && length && n >= (size_t)(body + 4 - text) + strtoul(length + 16, NULL, 10))
            return true;
    }
}

static void answer(int fd, char *text)
{
    char challenge[128] = "", out[512];
    unsigned long no = strtoul(text + sizeof "POST /" - 1, NULL, 10);
    const char *at = strstr(text, "\"challenge\":\"");
    if (at)
        sscanf(at + 13, "%100[^\"]", challenge);
    if (no < EVENTS)
        atomic_fetch_add(at ? &receiver.challenges[no] : &receiver.messages[no], 1);
    int n = snprintf(out, sizeof out,
                     "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n"
                     "{\"challenge\":\"%s\"}",
                     strlen(challenge) + 16, challenge);
    (void)!send(fd, out, (size_t)n, MSG_NOSIGNAL);
}

static void *receive(void *ctx)
{
    static char text[1 << 16];
    for (int fd; (fd = accept(receiver.fd, NULL, NULL)) >= 0;) {
        struct timeval limit = {.tv_sec = 10};
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        if (read_request(fd, text, sizeof text))
            answer(fd, text);
        close(fd);
    }
    return ctx;
}

static void open_receiver(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    receiver.fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(receiver.fd, (struct sockaddr *)&at, n), 0);
    assert_int_equal(listen(receiver.fd, 128), 0);
    getsockname(receiver.fd, (struct sockaddr *)&at, &n);
    receiver.port = ntohs(at.sin_port);
    assert_int_equal(pthread_create(&receiver.thread, NULL, receive, NULL), 0);
}

static void close_receiver(void)
{
    shutdown(receiver.fd, SHUT_RDWR);
    pthread_join(receiver.thread, NULL);
    close(receiver.fd);
}

/* ---- the server ---- */

static void on_status(void *ctx, const cw_err *problem)
{
    (void)ctx;
    (void)problem;
}

static void on_change(void *ctx)
{
    (void)ctx;
    atomic_fetch_add(&changes, 1);
}

static void add_account(void)
{
    cw_token made = {.name = CW_STR("t")};
    int64_t id;
    cw_db *db;
    cw_db_opts opts = {.where = temp_db_path, .may_create = true, .busy_ms = 1000};
    assert_int_equal(cw_db_open(&opts, &db, &err), CW_OK);
    cw_account alice = {.name = CW_STR("alice"), .password = CW_STR("")};
    assert_int_equal(cw_db_add_account(db, &alice, NULL, 0, &made.account, &err), CW_OK);
    assert_int_equal(cw_token_make(token, &err), CW_OK);
    assert_true(cw_token_digest(cw_str_from(token), made.hash));
    assert_int_equal(cw_db_add_token(db, &made, NULL, 0, &id, &err), CW_OK);
    cw_db_close(db);
}

static void open_accounts(void)
{
    static const cw_str permissions[] = {CW_STR_INIT("access mcp tool discovery"),
                                         CW_STR_INIT("use jsonrpc services")};
    const cw_role items[] = {{CW_STR_INIT("authenticated"), permissions, 2}};
    cw_accounts_opts opts = {.db = {.where = temp_db_path, .may_create = true},
                             .n_loops = 1,
                             .on_status = on_status,
                             .on_change = on_change};
    cw_roles *roles;
    atomic_store(&changes, 0);
    assert_int_equal(cw_accounts_new(&opts, &accounts, &err), CW_OK);
    assert_int_equal(cw_roles_new(items, 1, false, &roles, &err), CW_OK);
    cw_accounts_set_roles(accounts, roles);
    cw_roles_unref(roles);
    for (int i = 0; i < 5000 && !atomic_load(&changes); i++)
        usleep(1000);
    assert_true(atomic_load(&changes) > 0);
}

/* The events e0, e1, …: one for each subscription, so that none wakes another. */
static void add_events(void)
{
    static char names[EVENTS][8];
    CW_CLEANUP(cw_buf_done) cw_buf warnings;
    const cw_config_event config = {
        .keep = 4, .keep_ms = 600000, .per_minute = 60000, .level = CW_CONFIG_AUTH_NONE};
    cw_buf_init(&warnings, CW_BUF_MAX);
    assert_int_equal(
        cw_event_hub_new(&(cw_event_hub_opts){.main = &d.main_loop, .n_loops = 1}, &hub, &err),
        CW_OK);
    for (size_t i = 0; i < EVENTS; i++) {
        snprintf(names[i], sizeof names[i], "e%zu", i);
        assert_int_equal(cw_event_source_open_rule(hub, CW_STR("fake"), cw_str_from(names[i]),
                                                   &config, &rules[i], &err),
                         CW_OK);
    }
    const cw_event_list list = {.rules = rules, .n = EVENTS, .n_loops = 1, .accounts = accounts};
    assert_int_equal(cw_event_source_add(&d.source->base, &list, &d.source->arena, &warnings, &err),
                     CW_OK);
    assert_int_equal(warnings.n, 0);
}

#define VIEW "<!doctype html><title>view</title>"

static void add_view(void)
{
    static const cw_ui ui = {CW_STR_INIT("ui://fake/view"), CW_STR_INIT(""),
                             CW_STR_INIT("{\"prefersBorder\":true}"), CW_STR_INIT(VIEW)};
    static const cw_mark mark = {.ui = &ui};
    cw_method *methods = (cw_method *)(uintptr_t)d.source->base.methods;
    methods[2].mark = &mark;
}

static void open_all(void)
{
    open_accounts();
    assert_int_equal(cw_tasks_new(&tasks, &err), CW_OK);
    door_fixture_open_with(&d, 60000, &(cw_runtime_opts){.accounts = accounts, .tasks = tasks});
    add_events();
    add_view();
    door_fixture_configure(&d, "limits: {subscriptions: 50}\n"
                               "store: {path: /nonexistent}\n"
                               "mcp: {events: {enabled: true, webhooks: [127.0.0.1], "
                               "webhook_allow_private: true, max_webhooks: 1000, "
                               "max_webhooks_per_caller: 1000}, tasks: {legacy: true}}\n");
    cw_mcp_start_webhooks(d.mcp, cw_server_loop_at(d.server, 0));
}

static void close_all(void)
{
    for (size_t i = 0; i < EVENTS; i++)
        cw_event_source_close_rule(&rules[i]);
    cw_event_hub_close(hub);
    door_fixture_close(&d);
    cw_event_hub_free(hub);
    cw_accounts_free(accounts);
    cw_tasks_free(tasks);
}

/* ---- webhooks ---- */

/* `method` is events/subscribe or events/unsubscribe, for the event of this number. */
static void ask_webhooks(const char *method, size_t no, http_response *ret)
{
    char headers[512], body[1024];
    snprintf(headers, sizeof headers,
             JSON "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: %s\r\nMcp-Name: fake.e%zu\r\n"
                  "Authorization: Bearer %s\r\n",
             method, no, token);
    snprintf(body, sizeof body,
             RPC "\"id\":1,\"method\":\"%s\",\"params\":{\"name\":\"fake.e%zu\",\"arguments\":{},"
                 "\"cursor\":null,\"delivery\":{\"mode\":\"webhook\",\"url\":"
                 "\"http://127.0.0.1:%u/%zu\",\"secret\":"
                 "\"whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\"}," M "}}",
             method, no, receiver.port, no);
    door_fixture_post(&d, "/mcp", headers, body, ret);
}

static bool is_clean(const http_response *got)
{
    return got->status == 200 || got->status == 0 || got->status == 500 || got->status == 503;
}

static void publish(size_t no)
{
    const cw_event_news news = {.data = CW_STR("{\"no\":1}")};
    cw_event_source_publish(&rules[no], &news, NULL);
}

static void until(const atomic_uint *count, bool stops_at_hit)
{
    uint64_t end = cw_clock_ms() + patience(20000);
    while (!atomic_load(count) && !(stops_at_hit && oom_was_hit()) && cw_clock_ms() < end)
        usleep(200);
}

static bool is_owed[EVENTS]; /* acknowledged subscriptions */

/* Each gets its challenge, and the event or a gap: one that memory was short for is tried again. */
static void until_served(size_t first, size_t last)
{
    http_response got;
    for (size_t i = first; i <= last; i++) {
        if (is_owed[i])
            until(&receiver.challenges[i], /* stops_at_hit= */ false);
        if (is_owed[i] && !atomic_load(&receiver.challenges[i]))
            fail_msg("subscription %zu gets no challenge", i);
        publish(i);
    }
    for (size_t i = first; i <= last; i++) {
        if (is_owed[i])
            until(&receiver.messages[i], /* stops_at_hit= */ false);
        if (is_owed[i] && !atomic_load(&receiver.messages[i]))
            fail_msg("subscription %zu gets nothing", i);
        ask_webhooks("events/unsubscribe", i, &got);
        assert_int_equal(got.status, 200);
    }
}

/* Whether it is acknowledged; *ret_was_hit: an allocation has failed. */
static bool subscribe_once(size_t no, size_t fails_at, bool *ret_was_hit)
{
    http_response got;
    oom_fail_at(fails_at);
    ask_webhooks("events/subscribe", no, &got);
    *ret_was_hit = oom_was_hit();
    oom_reset();
    bool is_good = got.status == 200 && strstr(got.body, "\"refreshBefore\":");
    if (!is_clean(&got) || (got.status == 200 && !is_good && !strstr(got.body, "\"error\":")))
        fail_msg("allocation %zu: status %d, %s", fails_at, got.status, got.body);
    return is_good;
}

/* More than a request, or a delivery, allocates. How much that is depends on what the server keeps. */
#define SUBSCRIPTIONS 80u
#define DELIVERIES 30u

TEST(an_acknowledged_subscription_survives_every_failed_allocation)
{
    size_t n_hit = 0, n_owed = 0;
    bool was_hit = true;
    for (size_t n = 1; n <= SUBSCRIPTIONS; n++) {
        is_owed[n] = subscribe_once(n, /* fails_at= */ n, &was_hit);
        n_owed += is_owed[n] && was_hit;
        n_hit += was_hit;
    }
    assert_true(n_hit >= 15 && n_hit < SUBSCRIPTIONS && n_owed >= 1);
    until_served(1, SUBSCRIPTIONS);
}

TEST(deliveries_survive_every_failed_allocation)
{
    size_t first = EVENTS - 1 - DELIVERIES, n_hit = 0;
    bool was_hit = false;
    for (size_t i = first; i < first + DELIVERIES; i++) {
        is_owed[i] = true;
        assert_true(subscribe_once(i, /* fails_at= */ 0, &was_hit));
    }
    for (size_t i = first; i < first + DELIVERIES; i++)
        until(&receiver.challenges[i], /* stops_at_hit= */ false);
    for (size_t n = 1; n < DELIVERIES; n++) {
        oom_fail_at(n);
        publish(first + n);
        until(&receiver.messages[first + n], /* stops_at_hit= */ true);
        was_hit = oom_was_hit();
        n_hit += was_hit;
        oom_reset();
    }
    assert_true(n_hit >= 3 && n_hit < DELIVERIES - 1);
    until_served(first, first + DELIVERIES - 1);
}

TEST(unsubscribing_survives_every_failed_allocation)
{
    bool was_hit = true;
    http_response got;
    for (size_t n = 1; was_hit; n++) {
        assert_true(n < 2000);
        ask_webhooks("events/subscribe", 0, &got);
        assert_int_equal(got.status, 200);
        oom_fail_at(n);
        ask_webhooks("events/unsubscribe", 0, &got);
        was_hit = oom_was_hit();
        oom_reset();
        assert_true(is_clean(&got));
    }
}

/* ---- views and tasks ---- */

static char session[1024]; /* a header line */

static void new_session(void)
{
    http_response got;
    door_fixture_post(&d, "/mcp", JSON, ASK("initialize", "\"protocolVersion\":\"2025-11-25\""),
                      &got);
    const char *line = strstr(got.head, "Mcp-Session-Id: ");
    assert_non_null(line);
    snprintf(session, sizeof session, LEGACY "%.*s", (int)(strstr(line, "\r\n") - line) + 2, line);
}

/* Send a legacy message with each allocation failing; `expected` is in a good answer, and `prepare` may
 * make the message. */
static void send_each(const char *message, const char *(*prepare)(void), const char *expected)
{
    bool was_hit = true;
    size_t n = 0;
    while (was_hit && ++n < 2000) {
        http_response got;
        const char *body = prepare ? prepare() : message;
        oom_fail_at(n);
        door_fixture_post(&d, "/mcp", session, body, &got);
        was_hit = oom_was_hit();
        oom_reset();
        bool is_good = got.status == 200 && strstr(got.body, expected);
        bool is_error = got.status == 200 && strstr(got.body, "\"error\":{\"code\":-32603");
        if (!is_clean(&got) || (got.status == 200 && !is_good && !(was_hit && is_error)))
            fail_msg("%s\nallocation %zu: status %d, %s", body, n, got.status, got.body);
    }
    assert_true(n > 3 && n < 2000);
}

TEST(reading_a_view_survives_every_failed_allocation)
{
    new_session();
    send_each(ASK("resources/read", "\"uri\":\"ui://fake/view\""), NULL,
              "\"text\":\"" VIEW "\",\"_meta\":{\"ui\":{\"prefersBorder\":true}}}]}");
}

static char message[1024];

/* A task of this tool, with its id in a message of this method. */
static const char *with_task(const char *tool, const char *method)
{
    http_response got;
    char id[128] = "", body[256];
    snprintf(body, sizeof body, ASK("tools/call", "\"name\":\"%s\",\"arguments\":{},\"task\":{}"),
             tool);
    door_fixture_post(&d, "/mcp", session, body, &got);
    const char *at = got.body ? strstr(got.body, "\"taskId\":\"") : NULL;
    if (!at || sscanf(at + 10, "%120[^\"]", id) != 1)
        fail_msg("no task: %s", got.body);
    snprintf(message, sizeof message,
             RPC "\"id\":1,\"method\":\"%s\",\"params\":{\"taskId\":\"%s\"}}", method, id);
    return message;
}

static const char *get_echo(void)
{
    return with_task("echo", "tasks/get");
}

static const char *result_of_echo(void)
{
    return with_task("echo", "tasks/result");
}

static const char *cancel_hold(void)
{
    return with_task("hold", "tasks/cancel");
}

TEST(legacy_tasks_survive_every_failed_allocation)
{
    new_session();
    send_each(ASK("tools/call", "\"name\":\"echo\",\"arguments\":{},\"task\":{}"), NULL,
              "\"result\":{");
    send_each(NULL, get_echo, "\"status\":\"");
    send_each(NULL, result_of_echo, "/related-task\":{\"taskId\":\"");
    send_each(NULL, cancel_hold, "\"status\":\"cancelled\"");
}

TEST(nothing_is_left_behind)
{
    size_t before = 0;
    /* The first time fills what libraries keep for good. */
    for (int i = 0; i < 2; i++) {
        close_all();
        before = i ? before : oom_live();
        if (i)
            assert_int_equal(oom_live(), before);
        open_all();
        bool was_hit;
        assert_true(subscribe_once(EVENTS - 1, /* fails_at= */ 0, &was_hit));
        new_session();
        http_response got;
        door_fixture_post(&d, "/mcp", session, with_task("hold", "tasks/get"), &got);
        assert_int_equal(got.status, 200);
    }
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    (void)!cw_log_configure(&(cw_log_opts){.level = CW_LOG_OFF}, NULL);
    if (cw_secret_init(&err) || temp_db_setup(NULL))
        return 1;
    add_account();
    open_receiver();
    open_all();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_acknowledged_subscription_survives_every_failed_allocation),
        cmocka_unit_test(deliveries_survive_every_failed_allocation),
        cmocka_unit_test(unsubscribing_survives_every_failed_allocation),
        cmocka_unit_test(reading_a_view_survives_every_failed_allocation),
        cmocka_unit_test(legacy_tasks_survive_every_failed_allocation),
        cmocka_unit_test(nothing_is_left_behind),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    close_all();
    close_receiver();
    return temp_db_teardown(NULL) || failed;
}
