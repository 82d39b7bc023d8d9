/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reply of a stream to a client that reads late, at the edges of the stream's queue. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <unistd.h>

#include "door/responder.h"
#include "net/server/server_int.h"
#include "support/test.h"

#define QUEUE 65536u
#define EVENT "event: message\ndata: "
/* Around each chunk: two line ends, and the digits of its size. */
#define FRAME(digits) ((digits) + 4u)

static cw_router router;
static cw_server *server;
static struct sockaddr_in address;
static size_t beyond; /* so many bytes of the reply's end are more than half of the queue */
static char block[1000], body[QUEUE / 2];

/* Fills the kernel and a part of the queue, then replies with what fills the half of it but for `beyond`. */
static void reply(cw_http_req *req, void *self)
{
    (void)self;
    cw_responder *p = cw_responder_of(req);
    assert_non_null(p);
    while (req->out.n < QUEUE / 4)
        assert_int_equal(cw_responder_send(p, CW_SEND_MESSAGE, cw_str_make(block, sizeof block)),
                         CW_OK);
    size_t end = sizeof "\n\n" - 1 + FRAME(1);
    size_t room = QUEUE / 2 + beyond - end - req->out.n - (sizeof EVENT - 1) - FRAME(2);
    cw_responder_reply(p,
                       &(cw_response){.status = 200, .body = cw_str_make(body, room - FRAME(4))});
}

/* All that the server sends, up to the end of the stream or a minute without a byte. */
static size_t read_late(char *to, size_t max)
{
    static const char request[] =
        "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n";
    struct timeval limit = {.tv_sec = 60};
    int window = 65536;
    size_t n = 0;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &window, sizeof window);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(send(fd, request, sizeof request - 1, 0), sizeof request - 1);
    usleep(200000); /* the reply waits in the queue */
    while (n < 5 || memcmp(to + n - 5, "0\r\n\r\n", 5) != 0) {
        ssize_t got = recv(fd, to + n, max - n, 0);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    close(fd);
    return n;
}

TEST(a_reply_that_fills_half_of_the_queue_is_ended_wherever_the_half_is)
{
    enum { MAX = 16u << 20 };
    char *all = malloc(MAX);
    for (beyond = 0; beyond <= 8; beyond++) {
        size_t n = read_late(all, MAX);
        assert_true(n > 5);
        assert_memory_equal(all + n - 5, "0\r\n\r\n", 5);
    }
    free(all);
}

SETUP(set_up)
{
    cw_err err = {0};
    size_t n;
    memset(block, 'm', sizeof block);
    memset(body, 'r', sizeof body);
    cw_router_init(&router);
    assert_int_equal(cw_router_add(&router, CW_HTTP_GET, "/", reply, NULL), CW_OK);
    assert_int_equal(cw_server_new(&router, 1, &server, &err), CW_OK);
    assert_int_equal(cw_server_listen(server, CW_STR("127.0.0.1:0"), false, &err), CW_OK);
    cw_server_opts opts = CW_SERVER_DEFAULTS;
    opts.stream_queue = QUEUE;
    assert_int_equal(cw_server_configure(server, &opts, &err), CW_OK);
    assert_int_equal(cw_server_start(server, &err), CW_OK);
    memcpy(&address, &cw_server_listeners(server, &n)[0].address.sa, sizeof address);
    return 0;
}

TEARDOWN(tear_down)
{
    cw_server_stop(server, NULL, NULL);
    cw_server_free(server);
    cw_router_done(&router);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reply_that_fills_half_of_the_queue_is_ended_wherever_the_half_is),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
