/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connections of one loop that have much to send: responses in parts, and responses that wait for their turn.
 * And connections that end each other while the server stops. The clients are sockets of this process, so a handler on the loop can see how much of each response was sent. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "net/server/server.h"
#include "support/test.h"

#define LARGE (4u << 20)
#define READERS 300u
#define WINDOW 65536
#define FIRST "{\"list\":["
#define LAST "],\"id\":1}"
#define LARGE_TOTAL (sizeof FIRST - 1 + LARGE + sizeof LAST - 1)

static cw_router router;
static cw_server *server;
static struct sockaddr_in address;
static char *large; /* LARGE bytes, shared by all responses */
static sem_t entered, released;
static int readers[READERS];
static unsigned n_served; /* readers that had got something when /probe was answered */

/* ---- the application ---- */

static void get_large(cw_http_req *req, void *self)
{
    (void)self;
    cw_http_reply(req, &(cw_http_response){.status = 200,
                                           .body = CW_STR(FIRST),
                                           .more = (const cw_str[]){{large, LARGE}, CW_STR(LAST)}});
}

/* Stops the loop until the test goes on. */
static void block(cw_http_req *req, void *self)
{
    (void)self;
    sem_post(&entered);
    while (sem_wait(&released) != 0)
        assert_int_equal(errno, EINTR);
    cw_http_reply(req, &(cw_http_response){.status = 204});
}

static int waiting_bytes(int fd)
{
    int n = 0;
    return ioctl(fd, FIONREAD, &n) == 0 ? n : 0;
}

static unsigned count_served(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < READERS; i++)
        n += waiting_bytes(readers[i]) > 0;
    return n;
}

static void probe(cw_http_req *req, void *self)
{
    (void)self;
    n_served = count_served();
    cw_http_reply(req, &(cw_http_response){.status = 204});
}

static cw_http_req *held; /* a stream that stays open */

static void hold(cw_http_req *req, void *self)
{
    (void)self;
    cw_http_stream_open(req, &(cw_http_response){.status = 200});
    held = req;
}

static void end_held(cw_http_req *req, void *self)
{
    (void)self;
    cw_http_stream_close(held);
    cw_http_reply(req, &(cw_http_response){.status = 204});
}

/* ---- clients ---- */

static int open_client(const char *from)
{
    int window = WINDOW, on = 1;
    struct sockaddr_in own = {.sin_family = AF_INET};
    struct timeval limit = {.tv_sec = 60};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(inet_pton(AF_INET, from, &own.sin_addr), 1);
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &window, sizeof window);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    assert_int_equal(bind(fd, (const struct sockaddr *)&own, sizeof own), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void ask(int fd, const char *method, const char *path)
{
    char text[256];
    bool is_last = strcmp(path, "/hold") == 0;
    int n = snprintf(text, sizeof text, "%s %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", method, path,
                     is_last ? "Connection: close\r\n" : "");
    assert_int_equal(send(fd, text, (size_t)n, MSG_NOSIGNAL), n);
}

/* Read a response head, byte by byte; returns its Content-Length. */
static size_t read_head(int fd, const char *status)
{
    char text[2048];
    size_t n = 0;
    while (n < 4 || memcmp(text + n - 4, "\r\n\r\n", 4) != 0) {
        assert_true(n < sizeof text - 1);
        assert_int_equal(recv(fd, text + n, 1, 0), 1);
        n++;
    }
    text[n] = 0;
    assert_memory_equal(text, status, strlen(status));
    const char *length = strstr(text, "Content-Length: ");
    return length ? strtoul(length + 16, NULL, 10) : 0;
}

static void read_whole(int fd, char *to, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t got = recv(fd, to + at, n - at, 0);
        assert_true(got > 0);
        at += (size_t)got;
    }
}

/* ---- parts ---- */

TEST(a_body_in_parts_arrives_as_one)
{
    char *body = malloc(LARGE_TOTAL);
    int fd = open_client("127.0.0.1");
    for (int i = 0; i < 2; i++) {
        ask(fd, "GET", "/large");
        assert_int_equal(read_head(fd, "HTTP/1.1 200 "), LARGE_TOTAL);
        usleep(10000); /* the rest of the response waits */
        read_whole(fd, body, LARGE_TOTAL);
        assert_memory_equal(body, FIRST, sizeof FIRST - 1);
        assert_memory_equal(body + sizeof FIRST - 1, large, LARGE);
        assert_memory_equal(body + sizeof FIRST - 1 + LARGE, LAST, sizeof LAST - 1);
    }
    close(fd);
    free(body);
}

TEST(a_head_request_counts_all_parts_and_sends_none)
{
    int fd = open_client("127.0.0.1");
    ask(fd, "HEAD", "/large");
    assert_int_equal(read_head(fd, "HTTP/1.1 200 "), LARGE_TOTAL);
    ask(fd, "GET", "/probe");
    assert_int_equal(read_head(fd, "HTTP/1.1 204 "), 0);
    close(fd);
}

/* ---- turns ---- */

/* Every response begins, and comes to a stop because it is not read. */
static void start_readers(void)
{
    for (unsigned i = 0; i < READERS; i++) {
        readers[i] = open_client("127.0.0.2");
        ask(readers[i], "GET", "/large");
    }
    while (count_served() < READERS)
        usleep(1000);
}

/* Read all that the kernel has of the responses, while the loop sends nothing. */
static void drain_readers(void)
{
    static char bytes[WINDOW];
    for (unsigned calm = 0; calm < 5;) {
        bool any = false;
        for (unsigned i = 0; i < READERS; i++) {
            while (recv(readers[i], bytes, sizeof bytes, MSG_DONTWAIT) > 0)
                any = true;
        }
        calm = any ? 0 : calm + 1;
        usleep(5000);
    }
}

/* The loop stands still until `released` is posted. */
static void block_loop(int fd)
{
    ask(fd, "GET", "/block");
    while (sem_wait(&entered) != 0)
        assert_int_equal(errno, EINTR);
}

/* All responses can go on at the same moment, and then a small request comes. */
static void check_turns(const char *from)
{
    int blocker = open_client("127.0.0.1"), client = open_client(from);
    ask(client, "GET", "/probe");
    (void)read_head(client, "HTTP/1.1 204 ");
    start_readers();
    block_loop(blocker);
    drain_readers();
    n_served = READERS;
    ask(client, "GET", "/probe");
    usleep(5000);
    sem_post(&released);
    (void)read_head(client, "HTTP/1.1 204 ");
    assert_in_range(n_served, 0, READERS / 2);
    while (count_served() < READERS)
        usleep(1000);
    for (unsigned i = 0; i < READERS; i++)
        close(readers[i]);
    close(client);
    close(blocker);
}

TEST(a_request_does_not_wait_for_all_responses_of_another_network)
{
    check_turns("127.0.0.1");
}

TEST(a_request_does_not_wait_for_all_responses_of_its_own_network)
{
    check_turns("127.0.0.2");
}

/* ---- the stop, after which nothing is served ---- */

/* The request is read when the server tells its connection to stop; the connection of the stream is the next one. */
TEST(a_request_may_close_another_connection_while_the_server_stops)
{
    char end[8];
    int client = open_client("127.0.0.1");
    ask(client, "GET", "/probe");
    (void)read_head(client, "HTTP/1.1 204 ");
    int stream = open_client("127.0.0.1");
    ask(stream, "GET", "/hold");
    (void)read_head(stream, "HTTP/1.1 200 ");
    int blocker = open_client("127.0.0.1");
    block_loop(blocker);
    cw_server_stop(server, NULL, NULL);
    ask(client, "GET", "/end-held");
    usleep(5000);
    sem_post(&released);
    (void)read_head(client, "HTTP/1.1 204 ");
    read_whole(stream, end, 5);
    assert_memory_equal(end, "0\r\n\r\n", 5);
    close(client);
    close(stream);
    close(blocker);
}

/* ---- the server ---- */

SETUP(set_up)
{
    cw_err err = {0};
    size_t n;
    large = malloc(LARGE);
    for (size_t i = 0; i < LARGE; i++)
        large[i] = (char)('a' + i % 23);
    sem_init(&entered, 0, 0);
    sem_init(&released, 0, 0);
    cw_router_init(&router);
    assert_int_equal(cw_router_add(&router, CW_HTTP_GET, "/large", get_large, NULL), CW_OK);
    assert_int_equal(cw_router_add(&router, CW_HTTP_GET, "/block", block, NULL), CW_OK);
    assert_int_equal(cw_router_add(&router, CW_HTTP_GET, "/probe", probe, NULL), CW_OK);
    assert_int_equal(cw_router_add(&router, CW_HTTP_GET, "/hold", hold, NULL), CW_OK);
    assert_int_equal(cw_router_add(&router, CW_HTTP_GET, "/end-held", end_held, NULL), CW_OK);
    assert_int_equal(cw_server_new(&router, 1, &server, &err), CW_OK);
    assert_int_equal(cw_server_listen(server, CW_STR("127.0.0.1:0"), false, &err), CW_OK);
    cw_server_opts opts = CW_SERVER_DEFAULTS;
    assert_int_equal(cw_server_configure(server, &opts, &err), CW_OK);
    assert_int_equal(cw_server_start(server, &err), CW_OK);
    memcpy(&address, &cw_server_listeners(server, &n)[0].address.sa, sizeof address);
    return 0;
}

TEARDOWN(tear_down)
{
    cw_server_free(server);
    cw_router_done(&router);
    sem_destroy(&entered);
    sem_destroy(&released);
    free(large);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_in_parts_arrives_as_one),
        cmocka_unit_test(a_head_request_counts_all_parts_and_sends_none),
        cmocka_unit_test(a_request_does_not_wait_for_all_responses_of_another_network),
        cmocka_unit_test(a_request_does_not_wait_for_all_responses_of_its_own_network),
        cmocka_unit_test(a_request_may_close_another_connection_while_the_server_stops),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
