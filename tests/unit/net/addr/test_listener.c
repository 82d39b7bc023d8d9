/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

#include "net/addr/listener.h"
#include "support/oom.h"
#include "support/test.h"

static void formats_as(const char *text, const char *expected, const char *host)
{
    cw_address a;
    cw_err err = {0};
    char out[CW_ADDRESS_TEXT];
    assert_int_equal(cw_address_parse(cw_str_from(text), &a, &err), CW_OK);
    cw_address_format(&a, out, sizeof out);
    assert_string_equal(out, expected);
    cw_address_format_host(&a, out, sizeof out);
    assert_string_equal(out, host);
}

TEST(addresses_are_read_and_written)
{
    formats_as("127.0.0.1:8080", "127.0.0.1:8080", "127.0.0.1");
    formats_as("[::1]:80", "[::1]:80", "::1");
    formats_as("0.0.0.0:0", "0.0.0.0:0", "0.0.0.0");
    formats_as("255.10.100.9:1", "255.10.100.9:1", "255.10.100.9");
    formats_as("unix:/tmp/a.sock", "unix:/tmp/a.sock", "unix");
}

TEST(wrong_addresses_are_refused_with_a_reason)
{
    static const char *const wrong[] = {"",        "8080",       ":8080",  "127.0.0.1",   "[::1]",
                                        "[::1]80", "127.0.0.1:", "a:b",    "1.2.3.4:-1",  "unix:",
                                        "x:65536", "[::1:80",    "::1:80", "127.0.0.1:1x"};
    for (size_t i = 0; i < CW_COUNT(wrong); i++) {
        cw_address a;
        cw_err err = {0};
        assert_int_equal(cw_address_parse(cw_str_from(wrong[i]), &a, &err), CW_PARAMS);
        assert_true(err.msg[0] != 0);
    }
    char path[200] = "unix:";
    memset(path + 5, 'a', 190);
    assert_int_equal(cw_address_parse(cw_str_make(path, 195), &(cw_address){0}, NULL), CW_PARAMS);
}

static bool is_loopback(const char *text)
{
    cw_address a;
    assert_int_equal(cw_address_parse(cw_str_from(text), &a, NULL), CW_OK);
    return cw_address_is_loopback(&a);
}

TEST(loopback_is_recognised_in_every_family)
{
    assert_true(is_loopback("127.0.0.1:1"));
    assert_true(is_loopback("127.9.9.9:1"));
    assert_true(is_loopback("[::1]:1"));
    assert_true(is_loopback("[::ffff:127.0.0.1]:1"));
    assert_true(is_loopback("unix:/a"));
    assert_false(is_loopback("10.0.0.1:1"));
    assert_false(is_loopback("[2001:db8::1]:1"));
    assert_false(is_loopback("[::ffff:10.0.0.1]:1"));
}

TEST(port_zero_gives_every_loop_the_same_free_port)
{
    cw_listener l = {0};
    cw_err err = {0};
    assert_int_equal(cw_listener_open(&l, CW_STR("127.0.0.1:0"), 3, &err), CW_OK);
    assert_int_equal(l.n_fds, 3);
    uint16_t port = ((struct sockaddr_in *)&l.address.sa)->sin_port;
    assert_true(port != 0);
    for (size_t i = 0; i < 3; i++) {
        struct sockaddr_in in = {0};
        socklen_t n = sizeof in;
        assert_int_equal(getsockname(l.fds[i], (struct sockaddr *)&in, &n), 0);
        assert_int_equal(in.sin_port, port);
        assert_true(fcntl(l.fds[i], F_GETFD) & FD_CLOEXEC);
    }
    cw_listener_close(&l);
}

TEST(an_address_in_use_is_an_error_that_names_it)
{
    cw_listener first = {0}, second = {0};
    cw_err err = {0};
    char text[CW_ADDRESS_TEXT];
    assert_int_equal(cw_listener_open(&first, CW_STR("127.0.0.1:0"), 2, &err), CW_OK);
    cw_address_format(&first.address, text, sizeof text);
    assert_int_equal(cw_listener_open(&second, cw_str_from(text), 2, &err), CW_IO);
    assert_non_null(strstr(err.msg, text));
    assert_non_null(strstr(err.msg, "in use"));
    cw_listener_close(&first);
}

static void unix_path(char *out, size_t n)
{
    snprintf(out, n, "unix:%s/causeway-%d.sock", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
             (int)getpid());
}

TEST(a_unix_socket_is_made_private_and_removed)
{
    char text[CW_ADDRESS_TEXT];
    cw_listener l = {0}, second = {0};
    cw_err err = {0};
    unix_path(text, sizeof text);
    assert_int_equal(cw_listener_open(&l, cw_str_from(text), 2, &err), CW_OK);
    assert_int_equal(cw_listener_open(&second, cw_str_from(text), 1, &err), CW_IO);
    assert_int_equal(access(text + 5, F_OK), 0);
    cw_listener_close(&l);
    assert_int_not_equal(access(text + 5, F_OK), 0);
}

TEST(a_unix_socket_left_by_a_killed_server_is_replaced)
{
    char text[CW_ADDRESS_TEXT];
    cw_listener l = {0}, second = {0};
    cw_err err = {0};
    unix_path(text, sizeof text);
    assert_int_equal(cw_listener_open(&l, cw_str_from(text), 1, &err), CW_OK);
    close(l.fds[0]);
    free(l.fds);
    assert_int_equal(cw_listener_open(&second, cw_str_from(text), 1, &err), CW_OK);
    cw_listener_close(&second);
}

TEST(a_file_that_is_no_socket_is_never_removed)
{
    char text[CW_ADDRESS_TEXT];
    cw_listener l = {0};
    cw_err err = {0};
    unix_path(text, sizeof text);
    FILE *f = fopen(text + 5, "w");
    assert_non_null(f);
    fclose(f);
    assert_int_equal(cw_listener_open(&l, cw_str_from(text), 1, &err), CW_IO);
    assert_int_equal(unlink(text + 5), 0);
}

TEST(only_listening_sockets_are_inherited)
{
    cw_listener l = {0};
    cw_err err = {0};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(cw_listener_inherit(&l, fd, 1, &err), CW_PARAMS);
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof in), 0);
    assert_int_equal(listen(fd, 5), 0);
    assert_int_equal(cw_listener_inherit(&l, fd, 2, &err), CW_OK);
    assert_true(l.inherited);
    assert_true(fcntl(l.fds[0], F_GETFL) & O_NONBLOCK);
    cw_listener_close(&l);
    close(fd);
}

TEST(inherited_variables_count_only_for_their_process)
{
    char pid[24];
    bool stored[CW_LISTENER_MAX_INHERITED];
    setenv("LISTEN_FDS", "1", 1);
    setenv("LISTEN_PID", "1", 1);
    assert_int_equal(cw_listener_inherited(stored), 0);
    assert_null(getenv("LISTEN_FDS"));
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    setenv("LISTEN_FDS", "1", 1);
    setenv("LISTEN_PID", pid, 1);
    assert_int_equal(cw_listener_inherited(stored), 1);
    assert_false(stored[0]);
    assert_null(getenv("LISTEN_PID"));
    setenv("LISTEN_FDS", "many", 1);
    setenv("LISTEN_PID", pid, 1);
    assert_int_equal(cw_listener_inherited(stored), 0);
    setenv("LISTEN_FDS", "3", 1);
    setenv("LISTEN_PID", pid, 1);
    setenv("LISTEN_FDNAMES", "http:" CW_LISTENER_STORED "127.0.0.1_8080", 1);
    assert_int_equal(cw_listener_inherited(stored), 3);
    assert_false(stored[0]);
    assert_true(stored[1]);
    assert_false(stored[2]); /* without a name */
    assert_null(getenv("LISTEN_FDNAMES"));
}

static void open_once(void *ctx)
{
    (void)ctx;
    cw_listener l = {0};
    cw_code rc = cw_listener_open(&l, CW_STR("127.0.0.1:0"), 2, NULL);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_listener_close(&l);
}

TEST(opening_survives_every_failed_allocation)
{
    assert_true(oom_each(open_once, NULL) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_read_and_written),
        cmocka_unit_test(wrong_addresses_are_refused_with_a_reason),
        cmocka_unit_test(loopback_is_recognised_in_every_family),
        cmocka_unit_test(port_zero_gives_every_loop_the_same_free_port),
        cmocka_unit_test(an_address_in_use_is_an_error_that_names_it),
        cmocka_unit_test(a_unix_socket_is_made_private_and_removed),
        cmocka_unit_test(a_unix_socket_left_by_a_killed_server_is_replaced),
        cmocka_unit_test(a_file_that_is_no_socket_is_never_removed),
        cmocka_unit_test(only_listening_sockets_are_inherited),
        cmocka_unit_test(inherited_variables_count_only_for_their_process),
        cmocka_unit_test(opening_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
