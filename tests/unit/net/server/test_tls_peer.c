/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The certificate that another server presents, and servers that take their time. */
#include <signal.h>

#include "base/clock.h"
#include "net/server/tls.h"
#include "support/fake_tls.h"
#include "support/patience.h"

static cw_err err;

static cw_code ask(uint16_t port, uint32_t timeout_ms, cw_tls_validity *ret)
{
    const cw_tls_peer peer = {.host = "127.0.0.1", .port = port};
    return cw_tls_peer_validity(&peer, timeout_ms, ret, &err);
}

/* Seconds from now, as fake_cert_opts counts. */
static int64_t in_seconds(int64_t wall_ms)
{
    return (wall_ms - cw_clock_wall_ms()) / 1000;
}

static void check_dates(SSL_CTX *context, long from, long until)
{
    static const fake_step none[] = {DO_END};
    cw_tls_validity validity = {0};
    fake_server s;
    fake_server_start_with(&s, NULL, &fake_tls_transport, context, SCRIPTS(none), 1);
    assert_int_equal(ask(s.port, 60000, &validity), CW_OK);
    fake_server_stop(&s);
    assert_in_range(in_seconds(validity.from) - from + 600, 0, 600);
    assert_in_range(in_seconds(validity.until) - until + 600, 0, 600);
}

TEST(an_expired_certificate_is_read_all_the_same)
{
    fake_cert cert;
    fake_tls_init();
    fake_cert_issue(
        &(fake_cert_opts){.names = "IP:127.0.0.1", .from = -9 * FAKE_DAY, .until = -FAKE_DAY},
        &cert);
    SSL_CTX *context = fake_tls_context(&cert);
    check_dates(context, -9 * FAKE_DAY, -FAKE_DAY);
    SSL_CTX_free(context);
    fake_cert_free(&cert);
}

/* With TLS 1.2 such a server rejects the handshake. */
TEST(a_server_that_requires_a_certificate_of_clients_has_shown_its_own)
{
    fake_cert cert;
    fake_tls_init();
    fake_cert_issue(
        &(fake_cert_opts){.names = "IP:127.0.0.1", .from = -FAKE_DAY, .until = 5 * FAKE_DAY},
        &cert);
    SSL_CTX *context = fake_tls_context(&cert);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
    check_dates(context, -FAKE_DAY, 5 * FAKE_DAY);
    SSL_CTX_free(context);
    fake_cert_free(&cert);
}

/* The head of a record of 16 KB, and then bytes of it for most of a minute. */
TEST(the_deadline_holds_for_all_bytes_together)
{
    static const fake_step drip[] = {DO_SEND("\x16\x03\x03\x3f\x01"), DO_PAUSE(20), DO_REPEAT};
    static const fake_step silent[] = {DO_HOLD, DO_END};
    const fake_step *const scripts[] = {drip, silent};
    cw_tls_validity validity;
    for (size_t i = 0; i < CW_COUNT(scripts); i++) {
        fake_server s;
        fake_server_start(&s, &scripts[i], 1);
        uint64_t began = cw_clock_ms();
        assert_int_equal(ask(s.port, 300, &validity), CW_IO);
        uint64_t took = cw_clock_ms() - began;
        fake_server_stop(&s);
        assert_non_null(strstr(err.msg, "timed out"));
        assert_in_range(took, 300, patience(5000));
    }
}

TEST(a_port_without_a_server_and_one_without_tls_are_errors)
{
    static const fake_step close_it[] = {DO_CLOSE};
    static const fake_step plain[] = {DO_SEND("HTTP/1.1 400 Bad Request\r\n\r\n"), DO_END};
    cw_tls_validity validity;
    fake_server s;
    fake_server_start(&s, SCRIPTS(plain), 1);
    assert_int_equal(ask(s.port, 60000, &validity), CW_IO);
    assert_non_null(strstr(err.msg, "TLS handshake"));
    fake_server_stop(&s);
    fake_server_start(&s, SCRIPTS(close_it), 1);
    assert_int_equal(ask(s.port, 60000, &validity), CW_IO);
    assert_non_null(strstr(err.msg, "the server closed the connection"));
    fake_server_stop(&s);
    assert_int_equal(ask(s.port, 60000, &validity), CW_IO);
    assert_non_null(strstr(err.msg, "refused"));
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN); /* as commands do: a server may close before it is sent anything */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_expired_certificate_is_read_all_the_same),
        cmocka_unit_test(a_server_that_requires_a_certificate_of_clients_has_shown_its_own),
        cmocka_unit_test(the_deadline_holds_for_all_bytes_together),
        cmocka_unit_test(a_port_without_a_server_and_one_without_tls_are_errors),
    };
    return cmocka_run_group_tests_name("net/server/tls_peer", tests, NULL, NULL);
}
