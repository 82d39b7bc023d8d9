/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program itself, on a socket, with real plugins: test_host_main HOST PLUGIN_FOLDER */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/clock.h"
#include "support/test.h"

#define HEAD 12u
#define TIMEOUT_MS 20000
#define CANCEL "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel\"}"

static const char *host;
static const char *folder;

typedef struct worker {
    pid_t pid;
    int fd;
    uint64_t id; /* of the frame that was read last */
    char *body;  /* its body, NUL-terminated */
} worker;

/* In the child: sockets and files to where the host wants them, all others closed. */
static void become_host(int fd, const char *plugin, char *const *args)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s.so", folder, plugin);
    int object = open(path, O_RDONLY);
    int high = fcntl(fd, F_DUPFD, 20);
    int high_object = fcntl(object, F_DUPFD, 20);
    dup2(high, 3);
    dup2(high_object, 4);
    execv(host, args);
    _exit(127);
}

static worker start(const char *plugin, const char *option)
{
    char name[64];
    int fds[2];
    snprintf(name, sizeof(name), "--name=%s", plugin);
    char serve[] = "--serve";
    /* execv does not write to them. */
    char *args[] = {(char *)(uintptr_t)host, serve, name, (char *)(uintptr_t)option, NULL};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    worker w = {.pid = fork(), .fd = fds[0]};
    if (w.pid == 0)
        become_host(fds[1], plugin, args);
    assert_true(w.pid > 0);
    close(fds[1]);
    return w;
}

static void send_bytes(const worker *w, const void *p, size_t n)
{
    assert_int_equal(send(w->fd, p, n, MSG_NOSIGNAL), n);
}

static size_t write_frame(char *to, size_t size, uint64_t id, const char *body)
{
    uint32_t n = (uint32_t)strlen(body);
    assert_true(n + HEAD <= size);
    memcpy(to, &n, sizeof(n));
    memcpy(to + 4, &id, sizeof(id));
    memcpy(to + HEAD, body, n);
    return HEAD + n;
}

static size_t write_call(char *to, size_t size, uint64_t id, const char *method, const char *params)
{
    char body[2048];
    snprintf(body, sizeof(body),
             "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":%s,\"caller\":"
             "{\"id\":\"0\",\"name\":\"anonymous\",\"permissions\":[],\"language\":\"en\"}%s}",
             (int)id, method, params, strstr(method, "progress") ? ",\"progress\":true" : "");
    return write_frame(to, size, id, body);
}

static void send_frame(const worker *w, uint64_t id, const char *body)
{
    char frame[4096];
    send_bytes(w, frame, write_frame(frame, sizeof(frame), id, body));
}

static void send_call(const worker *w, uint64_t id, const char *method, const char *params)
{
    char frame[4096];
    send_bytes(w, frame, write_call(frame, sizeof(frame), id, method, params));
}

typedef struct numbered_call {
    const char *method, *params;
} numbered_call;

/* Calls 1 to n at once: as others wait, the host reports at once that the first one runs. */
static void send_calls(const worker *w, const numbered_call *calls, unsigned n)
{
    char frames[8192];
    size_t at = 0;
    for (unsigned i = 0; i < n; i++)
        at += write_call(frames + at, sizeof(frames) - at, i + 1, calls[i].method, calls[i].params);
    send_bytes(w, frames, at);
}

/* Whether n bytes came before the end of the stream. */
static bool read_bytes(const worker *w, char *p, size_t n)
{
    while (n > 0) {
        struct pollfd one = {.fd = w->fd, .events = POLLIN};
        assert_int_equal(poll(&one, 1, TIMEOUT_MS), 1);
        ssize_t got = recv(w->fd, p, n, 0);
        if (got <= 0)
            return false;
        p += got;
        n -= (size_t)got;
    }
    return true;
}

static bool read_frame(worker *w)
{
    char head[HEAD];
    uint32_t n;
    if (!read_bytes(w, head, HEAD))
        return false;
    memcpy(&n, head, sizeof(n));
    memcpy(&w->id, head + 4, sizeof(w->id));
    free(w->body);
    w->body = malloc((size_t)n + 1);
    assert_non_null(w->body);
    w->body[n] = '\0';
    return read_bytes(w, w->body, n);
}

static void expect(worker *w, uint64_t id, const char *body)
{
    assert_true(read_frame(w));
    assert_string_equal(w->body, body);
    assert_int_equal(w->id, id);
}

static void expect_started(worker *w, uint64_t id)
{
    expect(w, id, "{\"jsonrpc\":\"2.0\",\"method\":\"$/started\"}");
}

static void expect_result(worker *w, uint64_t id, const char *result)
{
    char body[1024];
    snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":%s}", (int)id, result);
    expect(w, id, body);
}

static void expect_error(worker *w, uint64_t id, const char *error)
{
    char body[1024];
    snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":%d,\"error\":{%s}}", (int)id, error);
    expect(w, id, body);
}

static void expect_ready(worker *w)
{
    assert_true(read_frame(w));
    assert_int_equal(w->id, 0);
    assert_non_null(strstr(w->body, "\"$/ready\""));
}

/* Close the socket, if it is open, and wait; the status that the host ended with. */
static int stop(worker *w)
{
    int status;
    if (w->fd >= 0)
        close(w->fd);
    free(w->body);
    assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
    return status;
}

TEST(calls_are_answered_in_order)
{
    worker w = start("echo", NULL);
    expect(&w, 0,
           "{\"jsonrpc\":\"2.0\",\"method\":\"$/ready\",\"params\":{\"name\":\"echo\","
           "\"version\":\"1.0\",\"abi\":1}}");
    send_frame(&w, 1, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"rpc.discover\"}");
    assert_true(read_frame(&w));
    assert_non_null(strstr(w.body, "\"id\":1,\"result\":{\"openrpc\":\"1.2.6\""));
    for (uint64_t id = 2; id < 30; id++)
        send_call(&w, id, "test.echo", "{\"message\":\"hi\"}");
    for (uint64_t id = 2; id < 30; id++) {
        expect_started(&w, id);
        expect_result(&w, id, "{\"message\":\"hi\"}");
    }
    send_call(&w, 30, "test.none", "{}");
    expect_error(&w, 30, "\"code\":-32601,\"message\":\"Method not found\"");
    send_call(&w, 31, "test.echo", "[\"x\"]");
    expect_error(
        &w, 31, "\"code\":-32602,\"message\":\"Invalid params\",\"data\":\"params: by name only\"");
    assert_int_equal(stop(&w), 0);
}

TEST(reports_come_before_the_result)
{
    worker w = start("echo", NULL);
    expect_ready(&w);
    send_call(&w, 1, "test.progress", "{\"steps\":2,\"ms\":1}");
    expect_started(&w, 1);
    for (int i = 1; i <= 2; i++) {
        char body[256];
        snprintf(body, sizeof(body),
                 "{\"jsonrpc\":\"2.0\",\"method\":\"$/progress\",\"params\":{\"progress\":%d,"
                 "\"total\":2,\"message\":\"working\"}}",
                 i);
        expect(&w, 1, body);
    }
    expect_result(&w, 1, "{\"steps\":2}");
    send_call(&w, 2, "test.log", "{\"message\":\"a\\nb\",\"level\":\"warn\"}");
    expect_started(&w, 2);
    expect(&w, 2,
           "{\"jsonrpc\":\"2.0\",\"method\":\"$/log\",\"params\":{\"level\":\"warn\","
           "\"message\":\"a\\nb\"}}");
    expect_result(&w, 2, "true");
    assert_int_equal(stop(&w), 0);
}

TEST(a_misuse_is_logged_and_answered)
{
    worker w = start("misuse", NULL);
    expect_ready(&w);
    send_call(&w, 1, "misuse.keyless", "{}");
    expect_started(&w, 1);
    expect(&w, 1,
           "{\"jsonrpc\":\"2.0\",\"method\":\"$/log\",\"params\":{\"level\":\"error\",\"message\":"
           "\"method 'misuse.keyless': result: a value without a key was put into an object\"}}");
    expect_error(&w, 1, "\"code\":-32603,\"message\":\"Internal error\"");
    send_call(&w, 2, "misuse.nothing", "{}");
    expect_started(&w, 2);
    expect_result(&w, 2, "null");
    assert_int_equal(stop(&w), 0);
}

/* Send a call with members of its own, such as answers. */
static void send_with(worker *w, uint64_t id, const char *method, const char *members)
{
    char body[2048];
    snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",%s}", (int)id,
             method, members);
    send_frame(w, id, body);
    expect_started(w, id);
}

TEST(questions_are_asked_and_answered)
{
    worker w = start("conformance", NULL);
    expect_ready(&w);
    send_with(&w, 1, "test_input_required_result_multi_round", "\"client\":[\"elicitation\"]");
    assert_true(read_frame(&w));
    assert_non_null(strstr(w.body, "\"id\":1,\"asks\":{\"step1\":{\"method\":"
                                   "\"elicitation/create\",\"params\":{\"message\":"));
    assert_non_null(strstr(w.body, ",\"state\":\"round 1\"}"));
    send_with(&w, 2, "test_input_required_result_multi_round",
              "\"answers\":{\"step1\":{\"action\":\"decline\"}},\"state\":\"round 1\"");
    assert_true(read_frame(&w));
    assert_non_null(strstr(w.body, "\"asks\":{\"step2\""));
    assert_non_null(strstr(w.body, ",\"state\":\"round 2\"}"));
    send_with(&w, 3, "test_input_required_result_multi_round",
              "\"answers\":{\"step1\":{\"action\":\"decline\"},\"step2\":{\"action\":\"accept\","
              "\"content\":{\"color\":\"red\"}}},\"state\":\"round 2\"");
    expect(&w, 3,
           "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":null,\"content\":["
           "{\"type\":\"text\",\"text\":\"Name: action=decline, content={}\"},"
           "{\"type\":\"text\",\"text\":\"Color: action=accept, content="
           "{\\\"color\\\":\\\"red\\\"}\"}]}");
    assert_int_equal(stop(&w), 0);
}

TEST(resources_are_read_and_arguments_completed)
{
    worker w = start("conformance", NULL);
    expect_ready(&w);
    send_with(&w, 1, "test_template_data",
              "\"params\":{\"id\":\"5\"},\"uri\":\"test://template/5/data\"");
    expect_result(&w, 1, "{\"id\":\"5\",\"templateTest\":true,\"data\":\"Data for ID: 5\"}");
    send_with(&w, 2, "test_static_binary", "\"uri\":\"test://other\"");
    assert_true(read_frame(&w));
    assert_non_null(strstr(w.body, "\"resource\":{\"uri\":\"test://other\",\"mimeType\":"
                                   "\"image/png\",\"blob\":\"iVBORw0KGgo"));
    send_with(&w, 3, "test_prompt_with_arguments",
              "\"complete\":{\"argument\":\"arg1\",\"value\":\"par\"}");
    expect_result(&w, 3,
                  "{\"values\":[\"paris\",\"park\",\"party\"],\"total\":3,\"hasMore\":false}");
    assert_int_equal(stop(&w), 0);
}

TEST(announcements_come_before_the_result)
{
    static const char updated[] =
        "{\"jsonrpc\":\"2.0\",\"method\":\"$/updated\",\"params\":{\"uri\":\"%s\"}}";
    char body[256];
    worker w = start("conformance", NULL);
    expect_ready(&w);
    send_call(&w, 1, "test_trigger_tool_change", "{}");
    expect_started(&w, 1);
    expect(&w, 1,
           "{\"jsonrpc\":\"2.0\",\"method\":\"$/changed\",\"params\":{\"lists\":[\"tools\"]}}");
    assert_true(read_frame(&w));
    send_call(&w, 2, "test_trigger_resource_update", "{}");
    expect_started(&w, 2);
    snprintf(body, sizeof(body), updated, "test://watched-resource");
    expect(&w, 2, body);
    assert_int_equal(stop(&w), 0);
    /* Of no call. */
    w = start("misuse", NULL);
    expect_ready(&w);
    send_call(&w, 3, "misuse.announce", "{}");
    expect_started(&w, 3);
    snprintf(body, sizeof(body), updated, "x:y");
    expect(&w, 0, body);
    expect(&w, 0,
           "{\"jsonrpc\":\"2.0\",\"method\":\"$/log\",\"params\":{\"level\":\"error\",\"message\":"
           "\"cw_resource_updated: the address is none\"}}");
    expect(&w, 0,
           "{\"jsonrpc\":\"2.0\",\"method\":\"$/changed\",\"params\":{\"lists\":[\"resources\"]}}");
    assert_true(read_frame(&w));
    assert_non_null(strstr(w.body, "cw_lists_changed: the lists are"));
    expect_result(&w, 3, "\"announced\"");
    assert_int_equal(stop(&w), 0);
}

TEST(a_running_call_sees_its_cancel)
{
    worker w = start("echo", NULL);
    expect_ready(&w);
    uint64_t begin = cw_clock_ms();
    send_calls(&w,
               (const numbered_call[]){{"test.sleep", "{\"ms\":15000}"},
                                       {"test.echo", "{\"message\":\"x\"}"}},
               2);
    expect_started(&w, 1);
    send_frame(&w, 1, CANCEL);
    assert_true(read_frame(&w));
    assert_non_null(strstr(w.body, "\"id\":1,\"error\":{\"code\":-32800,"));
    expect_started(&w, 2);
    expect_result(&w, 2, "{\"message\":\"x\"}");
    assert_true(cw_clock_ms() - begin < 10000);
    assert_int_equal(stop(&w), 0);
}

TEST(a_call_cancelled_before_it_began_never_runs)
{
    worker w = start("echo", NULL);
    expect_ready(&w);
    send_calls(&w,
               (const numbered_call[]){{"test.sleep_deaf", "{\"ms\":500}"},
                                       {"test.sleep_deaf", "{\"ms\":15000}"},
                                       {"test.echo", "{\"message\":\"x\"}"}},
               3);
    expect_started(&w, 1);
    send_frame(&w, 2, CANCEL);
    send_frame(&w, 1, CANCEL); /* this one cannot be stopped */
    expect_result(&w, 1, "500");
    expect_error(&w, 2, "\"code\":-32800,\"message\":\"cancelled\"");
    expect_started(&w, 3);
    expect_result(&w, 3, "{\"message\":\"x\"}");
    assert_int_equal(stop(&w), 0);
}

TEST(a_result_over_the_limit_is_an_error)
{
    worker w = start("echo", "--frame=4096");
    expect_ready(&w);
    send_call(&w, 1, "test.large", "{\"bytes\":5000}");
    expect_started(&w, 1);
    expect_error(&w, 1, "\"code\":-32603,\"message\":\"result is larger than 4096 bytes\"");
    send_call(&w, 2, "test.large", "{\"bytes\":3}");
    expect_started(&w, 2);
    expect_result(&w, 2, "\"xxx\"");
    assert_int_equal(stop(&w), 0);
}

/* 64 MB are enough for the host, not for this result. Sanitizers have no such limit. */
TEST(a_call_without_memory_fails_alone)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip();
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    skip();
#endif
#endif
    worker w = start("misuse", "--memory=67108864");
    expect_ready(&w);
    for (uint64_t id = 1; id < 4; id++) {
        send_call(&w, id, "misuse.starve", "{}");
        expect_started(&w, id);
        expect_error(&w, id, "\"code\":-32603,\"message\":\"out of memory\"");
    }
    send_call(&w, 4, "misuse.nothing", "{}");
    expect_started(&w, 4);
    expect_result(&w, 4, "null");
    assert_int_equal(stop(&w), 0);
}

TEST(garbage_ends_the_host)
{
    static const struct {
        const char *bytes;
        size_t n;
    } cases[] = {
        {"\3\0\0\0\1\0\0\0\0\0\0\0{]}", 15},      /* not JSON */
        {"\2\0\0\0\1\0\0\0\0\0\0\0{}", 14},       /* no request */
        {"\2\0\0\0\1\0\0\0\0\0\0\0[]", 14},       /* nor this */
        {"\xff\xff\xff\xff\1\0\0\0\0\0\0\0", 12}, /* far too long */
        {"\xff\0\0\0\1\0\0\0\0\0\0\0{", 13},      /* and half of one */
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        worker w = start("echo", NULL);
        expect_ready(&w);
        send_bytes(&w, cases[i].bytes, cases[i].n);
        shutdown(w.fd, SHUT_WR);
        assert_false(read_frame(&w));
        int status = stop(&w);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 1);
    }
}

TEST(a_plugin_with_mistakes_is_announced_as_failed)
{
    worker w = start("broken-annotations-list", NULL);
    expect(&w, 0,
           "{\"jsonrpc\":\"2.0\",\"method\":\"$/failed\",\"params\":{\"problems\":["
           "\"broken-annotations-list: method 'a.b': annotations: must be an object\"],"
           "\"partial\":{\"openrpc\":\"1.2.6\",\"info\":{\"title\":\"broken\",\"version\":\"1.0\"},"
           "\"methods\":[{\"name\":\"a.b\",\"params\":[],\"x-access\":{\"permissions\":[]},"
           "\"x-mcp-tool\":{}}]}}}");
    assert_false(read_frame(&w));
    assert_int_equal(WEXITSTATUS(stop(&w)), 1);
}

TEST(sigterm_ends_it_at_once)
{
    worker w = start("faults", NULL);
    expect_ready(&w);
    send_call(&w, 1, "faults.hang", "{}");
    usleep(10000);
    kill(w.pid, SIGTERM);
    int status = stop(&w);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
}

/* Only the standard ones and the socket; the plugin's file is closed again. */
TEST(threat_D6_no_descriptor_is_left_open)
{
    int extra = open("/dev/null", O_RDONLY);
    int inherited = fcntl(extra, F_DUPFD, 100);
    worker w = start("echo", NULL);
    expect_ready(&w);
    for (int fd = 4; fd < 128; fd++) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)w.pid, fd);
        if (fd == 3)
            continue;
        assert_int_equal(access(path, F_OK), -1);
    }
    close(extra);
    close(inherited);
    assert_int_equal(stop(&w), 0);
}

/* The kernel ends the host with its parent even when it does not read. */
TEST(the_host_dies_with_its_parent)
{
    int report[2];
    assert_int_equal(pipe(report), 0);
    pid_t parent = fork();
    if (parent == 0) {
        worker w = start("faults", NULL);
        expect_ready(&w);
        send_call(&w, 1, "faults.hang", "{}");
        usleep(20000);
        (void)!write(report[1], &w.pid, sizeof(w.pid));
        _exit(0);
    }
    pid_t pid;
    assert_int_equal(read(report[0], &pid, sizeof(pid)), sizeof(pid));
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    bool is_gone = false;
    for (int i = 0; i < 1000 && !is_gone; i++) {
        char path[64];
        char text[512] = "";
        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        int fd = open(path, O_RDONLY);
        ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
        /* Nobody may be there to reap it: a zombie is as dead. */
        is_gone = n <= 0 || strstr(text, ") Z ") != NULL;
        if (fd >= 0)
            close(fd);
        usleep(5000);
    }
    assert_true(is_gone);
    close(report[0]);
    close(report[1]);
}

/* What the host prints on both of its outputs, and its exit status. */
static int run_host(char out[4096], const char *const *args)
{
    char *argv[8] = {(char *)(uintptr_t)host};
    int fds[2];
    for (int i = 0; args[i]; i++)
        argv[i + 1] = (char *)(uintptr_t)args[i];
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fds[1], 1);
        dup2(fds[1], 2);
        close(fds[0]);
        execv(host, argv);
        _exit(127);
    }
    close(fds[1]);
    size_t n = 0;
    ssize_t got;
    while ((got = read(fds[0], out + n, 4095 - n)) > 0)
        n += (size_t)got;
    out[n] = '\0';
    close(fds[0]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static const char *path_of(const char *plugin)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/%s.so", folder, plugin);
    return path;
}

TEST(check_reports_the_mistakes_of_a_file)
{
    static const struct {
        const char *plugin;
        const char *problem;
    } cases[] = {
        {"abi", "built for plugin ABI 2, this host speaks 1"},
        {"not-a-plugin", "not a plugin: there is no CW_PLUGIN in it"},
        {"undefined", "cannot be loaded: undefined symbol: cw_put_moon"},
        {"missing", "cannot be loaded: cannot open shared object file: No such file or directory"},
        {"broken-annotations-auth",
         "method 'a.b': annotations.auth.scopes: must be an array of strings\n"
         "broken-annotations-auth: method 'a.b': annotations.auth.level: must be \"none\", "
         "\"optional\" or \"required\""},
        {"broken-annotations-json",
         "method 'a.b': annotations: line 1, column 2: expected a key or '}', found 'r'"},
        {"broken-annotations-keys",
         "method 'a.b': annotations: must be a map, not a list: the keys are 0, 1, …"},
        {"broken-annotations-list", "method 'a.b': annotations: must be an object"},
        {"broken-auth-level",
         "method 'a.b': auth_level: must be \"none\", \"optional\" or \"required\""},
        {"broken-default-json", "method 'a.b': param 'x': default_value: line 1, column 1: "
                                "expected a value, found 't'"},
        {"broken-duplicate-id", "method 'a.b': id: declared twice"},
        {"broken-duplicate-param", "method 'a.b': param 'x': declared twice"},
        {"broken-empty-id", "method '': id: must not be empty"},
        {"broken-function", "method 'a.c': function: missing"},
        {"broken-mark", "tool 'lost': CW_TOOL: there is no CW_METHOD of this function"},
        {"broken-marks",
         "method 'a.run': resource: uri: must begin with a scheme, as in \"docs://readme\"\n"
         "broken-marks: method 'a.page': resource: uri_template: variable 'title' is no param of "
         "the method\n"
         "broken-marks: method 'a.ask': prompt: name: must not be empty\n"
         "broken-marks: method 'a.ask': prompt: param 'n': must take strings\n"
         "broken-marks: prompt 'lost': CW_PROMPT: there is no CW_METHOD of this function\n"
         "broken-marks: method 'a.ask': completion: argument 'm': is no param of the method"},
        {"broken-no-method", "methods: there is no CW_METHOD"},
        {"broken-output-type", "method 'a.b': output: must be an object"},
        {"broken-reserved-name",
         "method 'describe': id: this name is reserved: a tool cannot have it"},
        {"broken-rpc-id",
         "method 'rpc.run': id: names that begin with 'rpc.' are reserved by JSON-RPC"},
        {"broken-schema-json",
         "method 'a.b': param 'x': schema: line 1, column 9: expected a value, found '}'"},
        {"broken-schema-type", "method 'a.b': param 'x': schema: must be an object"},
        {"broken-utf8", "method 'a.b': usage: not UTF-8"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        char out[4096];
        char expected[1024];
        snprintf(expected, sizeof(expected), "%s: %s\n", cases[i].plugin, cases[i].problem);
        assert_int_equal(
            run_host(out, (const char *const[]){"--check", path_of(cases[i].plugin), NULL}), 1);
        assert_string_equal(out, expected);
    }
}

TEST(all_mistakes_are_reported_at_once)
{
    char out[4096];
    assert_int_equal(run_host(out, (const char *const[]){"--check", path_of("broken-many"), NULL}),
                     1);
    int lines = 0;
    for (const char *p = out; (p = strchr(p, '\n')); p++)
        lines++;
    assert_int_equal(lines, 6);
}

TEST(call_runs_one_method)
{
    char out[4096];
    const char *path = path_of("echo");
    assert_int_equal(run_host(out, (const char *const[]){"--call", "test.echo", path,
                                                         "{\"message\":\"hi\"}", NULL}),
                     0);
    assert_string_equal(out, "{\n  \"message\": \"hi\"\n}\n");
    assert_int_equal(
        run_host(out, (const char *const[]){"--call", "test.fail", path, "{\"code\":7}", NULL}), 1);
    assert_string_equal(out, "{\n  \"code\": 7,\n  \"message\": \"failed on purpose\"\n}\n");
    assert_int_equal(run_host(out, (const char *const[]){"--call", "test.none", path, NULL}), 1);
    assert_string_equal(out, "causeway-plugin-host: echo: there is no method 'test.none'\n");
    assert_int_equal(
        run_host(out, (const char *const[]){"--call", "test.echo", path, "[\"hi\"]", NULL}), 0);
    assert_string_equal(out, "{\n  \"message\": \"hi\"\n}\n");
    assert_int_equal(run_host(out, (const char *const[]){"--call", "test.echo", path, "1", NULL}),
                     1);
    assert_string_equal(out, "causeway-plugin-host: params: must be an object or an array\n");
    /* As deep as can be read, and then a level deeper. */
    char deep[160] = "{\"a\":";
    memset(deep + 5, '[', 63);
    deep[68] = '1';
    memset(deep + 69, ']', 63);
    deep[132] = '}';
    assert_int_equal(run_host(out, (const char *const[]){"--call", "test.echo", path, deep, NULL}),
                     1);
    assert_non_null(strstr(out, "nested deeper than 64 levels"));
    assert_int_equal(run_host(out, (const char *const[]){"--call", "test.caller", "--caller",
                                                         "{\"name\":\"eve\"}", path, NULL}),
                     0);
    assert_non_null(strstr(out, "\"name\": \"eve\""));
}

TEST(call_shows_content_and_questions)
{
    char out[4096];
    const char *path = path_of("conformance");
    assert_int_equal(
        run_host(out, (const char *const[]){"--call", "test_simple_prompt", path, NULL}), 0);
    assert_string_equal(out, "{\n  \"result\": null,\n  \"content\": [\n    {\n"
                             "      \"type\": \"text\",\n"
                             "      \"text\": \"This is a simple prompt for testing.\"\n"
                             "    }\n  ]\n}\n");
    /* A resource by its address. */
    assert_int_equal(
        run_host(out, (const char *const[]){"--call", "test://static-text", path, NULL}), 0);
    assert_non_null(strstr(out, "static text resource."));
    assert_int_equal(run_host(out, (const char *const[]){"--call", "test://none", path, NULL}), 1);
    const char *asks = "test_input_required_result_elicitation";
    const char *answers = "{\"answers\":{\"user_name\":{\"action\":\"accept\","
                          "\"content\":{\"name\":\"Ada\"}}}}";
    assert_int_equal(run_host(out, (const char *const[]){"--call", asks, path, NULL}), 0);
    assert_ptr_equal(strstr(out, "{\n  \"asks\": {\n    \"user_name\": {\n"), out);
    assert_int_equal(
        run_host(out, (const char *const[]){"--with", answers, "--call", asks, path, NULL}), 0);
    assert_non_null(strstr(out, "Hello, Ada!"));
    assert_int_equal(
        run_host(out, (const char *const[]){"--with", "[]", "--call", asks, path, NULL}), 1);
    assert_string_equal(out, "causeway-plugin-host: with: must be an object\n");
    /* The client can do everything unless something else is said. */
    const char *possible = "test_input_required_result_capabilities";
    assert_int_equal(run_host(out, (const char *const[]){"--call", possible, path, NULL}), 0);
    assert_non_null(strstr(out, "elicitation/create"));
    assert_int_equal(run_host(out, (const char *const[]){"--with", "{\"client\":[\"sampling\"]}",
                                                         "--call", possible, path, NULL}),
                     0);
    assert_null(strstr(out, "elicitation/create"));
    assert_non_null(strstr(out, "sampling/createMessage"));
    assert_int_equal(
        run_host(out, (const char *const[]){"--call", "test_trigger_resource_update", path, NULL}),
        0);
    assert_non_null(strstr(out, "updated: test://watched-resource\n"));
}

TEST(a_plugin_of_the_first_header_runs)
{
    char out[4096];
    const char *path = path_of("first");
    assert_int_equal(run_host(out, (const char *const[]){"--call", "first.run", path, NULL}), 0);
    assert_string_equal(out, "\"still here\"\n");
    assert_int_equal(run_host(out, (const char *const[]){"--check", path, NULL}), 0);
    assert_non_null(strstr(out, "\"title\": \"Old\""));
}

TEST(wrong_command_lines_are_explained)
{
    char out[4096];
    assert_int_equal(run_host(out, (const char *const[]){NULL}), 2);
    assert_non_null(strstr(out, "--help"));
    assert_int_equal(run_host(out, (const char *const[]){"--check", NULL}), 2);
    assert_int_equal(run_host(out, (const char *const[]){"--serve", NULL}), 2);
    assert_int_equal(run_host(out, (const char *const[]){"--serve", "--frame=0", NULL}), 2);
    assert_int_equal(run_host(out, (const char *const[]){"--check", "a", "b", NULL}), 2);
    assert_int_equal(run_host(out, (const char *const[]){"--what", NULL}), 2);
    assert_int_equal(run_host(out, (const char *const[]){"--help", NULL}), 0);
    assert_int_equal(strncmp(out, "Usage: ", 7), 0);
    assert_int_equal(run_host(out, (const char *const[]){"--version", NULL}), 0);
    assert_string_equal(out, "causeway-plugin-host " CW_VERSION "\n");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_answered_in_order),
        cmocka_unit_test(reports_come_before_the_result),
        cmocka_unit_test(a_misuse_is_logged_and_answered),
        cmocka_unit_test(questions_are_asked_and_answered),
        cmocka_unit_test(resources_are_read_and_arguments_completed),
        cmocka_unit_test(announcements_come_before_the_result),
        cmocka_unit_test(a_running_call_sees_its_cancel),
        cmocka_unit_test(a_call_cancelled_before_it_began_never_runs),
        cmocka_unit_test(a_result_over_the_limit_is_an_error),
        cmocka_unit_test(a_call_without_memory_fails_alone),
        cmocka_unit_test(garbage_ends_the_host),
        cmocka_unit_test(a_plugin_with_mistakes_is_announced_as_failed),
        cmocka_unit_test(sigterm_ends_it_at_once),
        cmocka_unit_test(threat_D6_no_descriptor_is_left_open),
        cmocka_unit_test(the_host_dies_with_its_parent),
        cmocka_unit_test(check_reports_the_mistakes_of_a_file),
        cmocka_unit_test(all_mistakes_are_reported_at_once),
        cmocka_unit_test(call_runs_one_method),
        cmocka_unit_test(call_shows_content_and_questions),
        cmocka_unit_test(a_plugin_of_the_first_header_runs),
        cmocka_unit_test(wrong_command_lines_are_explained),
    };
    if (argc != 3) {
        fprintf(stderr, "usage: %s HOST PLUGIN_FOLDER\n", argv[0]);
        return 2;
    }
    host = argv[1];
    folder = argv[2];
    return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
