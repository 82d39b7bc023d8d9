/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_channel_tls.c - what channels do about TLS itself. All else is in test_channel_ws.c, which
 * is built for both. The server is fake_server.h, in threads of its own. */
#include "support/channel_fixture.h"

static const fake_step refuse[] = {DO_READ, DO_SEND("HTTP/1.1 404 X\r\n\r\n"), DO_END};
static const fake_step *const scripts[] = {refuse};

static channel_record s;

SETUP(set_up)
{
    fake_tls_init();
    memset(&s, 0, sizeof s);
    return channel_fixture_setup(state);
}

static cw_channel_opts wss(uint16_t port)
{
    return (cw_channel_opts){.host = CW_STR("127.0.0.1"),
                             .port = port,
                             .websocket = CW_STR("/"),
                             .is_tls = true,
                             .tls.ca_file = cw_str_from(fake_tls_ca())};
}

/* Open it and see how it ends; a server that was reached says 404. Returns how many requests came.
 */
static unsigned end_of(SSL_CTX *context, cw_channel_opts opts)
{
    static fake_server server;
    fake_server_start_with(&server, NULL, &fake_tls_transport, context, scripts, 1);
    opts.port = server.port;
    memset(&s, 0, sizeof s);
    assert_int_equal(open_channel(&s, opts), CW_OK);
    channel_run_until(s.ends);
    close_channel(&s);
    fake_server_stop(&server);
    return server.requests;
}

TEST(a_certificate_must_be_right)
{
    const fake_cert *ca = &fake_pki.authority;
    fake_cert stranger;
    fake_cert_issue(&(fake_cert_opts){0}, &stranger);
    const struct {
        fake_cert_opts wish;
        const char *why;
    } cases[] = {
        {{.names = "IP:127.0.0.1"}, "self-signed certificate"},
        {{.names = "IP:127.0.0.1", .issuer = &stranger}, "unable to get local issuer certificate"},
        {{.names = "IP:127.0.0.1", .issuer = ca, .from = -9, .until = -1}, "expired"},
        {{.names = "DNS:localhost", .issuer = ca}, "127.0.0.1"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        fake_cert id;
        fake_cert_issue(&cases[i].wish, &id);
        SSL_CTX *context = fake_tls_context(&id);
        /* Not a byte of ours goes to whoever that is. */
        assert_int_equal(end_of(context, wss(0)), 0);
        assert_channel_ended(&s, CW_IO, "TLS with '127.0.0.1': ");
        assert_channel_ended(&s, CW_IO, cases[i].why);
        SSL_CTX_free(context);
        fake_cert_free(&id);
    }
    assert_int_equal(end_of(fake_pki.context, wss(0)), 1);
    assert_channel_ended(&s, CW_INVALID, "HTTP 404");
    fake_cert_free(&stranger);
}

TEST(the_systems_authorities_do_not_know_ours)
{
    cw_channel_opts opts = wss(0);
    opts.tls.ca_file = CW_STR("");
    assert_int_equal(end_of(fake_pki.context, opts), 0);
    assert_channel_ended(&s, CW_IO, "TLS with '127.0.0.1'");
}

TEST(a_file_that_is_not_there_is_said)
{
    cw_channel_opts opts = wss(0);
    opts.tls.ca_file = CW_STR("/nowhere/ca.pem");
    assert_int_equal(end_of(fake_pki.context, opts), 0);
    assert_channel_ended(&s, CW_IO, "/nowhere/ca.pem");
    opts = wss(0);
    opts.tls.certificate = CW_STR("/nowhere/client.pem");
    assert_int_equal(end_of(fake_pki.context, opts), 0);
    assert_channel_ended(&s, CW_IO, "/nowhere/client.pem");
}

TEST(another_server_name_can_be_asked_for)
{
    fake_cert id;
    cw_channel_opts opts = wss(0);
    fake_cert_issue(&(fake_cert_opts){.names = "DNS:other.example", .issuer = &fake_pki.authority},
                    &id);
    SSL_CTX *context = fake_tls_context(&id);
    opts.tls.server_name = CW_STR("other.example");
    assert_int_equal(end_of(context, opts), 1);
    opts.tls.server_name = CW_STR("others.example");
    assert_int_equal(end_of(context, opts), 0);
    assert_channel_ended(&s, CW_IO, "others.example");
    SSL_CTX_free(context);
    fake_cert_free(&id);
    memset(&s, 0, sizeof s);
    opts.tls.server_name = CW_STR("a b");
    assert_int_equal(open_channel(&s, opts), CW_PARAMS);
}

TEST(a_certificate_of_ours_can_be_shown)
{
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        SSL_CTX *context = fake_tls_context(&fake_pki.server);
        SSL_CTX_set_max_proto_version(context, version);
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
        SSL_CTX_set_session_id_context(context, (const unsigned char *)"t", 1);
        assert_true(SSL_CTX_load_verify_locations(context, fake_pki.ca, NULL));
        cw_channel_opts opts = wss(0);
        opts.tls.certificate = cw_str_from(fake_pki.certificate);
        opts.tls.key = cw_str_from(fake_pki.key);
        assert_int_equal(end_of(context, opts), 1);
        assert_channel_ended(&s, CW_INVALID, "HTTP 404");
        /* With TLS 1.3 the server says so after we have begun to send; its reset may overtake its
         * alert then. */
        assert_int_equal(end_of(context, wss(0)), 0);
        assert_channel_ended(&s, CW_IO, version == TLS1_2_VERSION ? "alert" : "closed");
        SSL_CTX_free(context);
    }
}

TEST(who_is_not_there_is_told_as_without_tls)
{
    assert_int_equal(open_channel(&s, wss(unused_port())), CW_OK);
    channel_run_until(s.ends);
    assert_channel_ended(&s, CW_IO, "connect to 127.0.0.1:");
    assert_channel_ended(&s, CW_IO, "refused");
    close_channel(&s);
}

TEST(who_speaks_no_tls_is_told)
{
    static const fake_step plain[] = {DO_SEND("HTTP/1.1 400 Bad Request\r\n\r\n"), DO_CLOSE};
    static const fake_step *const plains[] = {plain};
    fake_server server;
    fake_server_start(&server, plains, 1);
    assert_int_equal(open_channel(&s, wss(server.port)), CW_OK);
    channel_run_until(s.ends);
    assert_channel_ended(&s, CW_IO, "TLS with '127.0.0.1'");
    close_channel(&s);
    fake_server_stop(&server);
}

/* "localhost" may be ::1 first, where nobody listens. */
TEST(a_name_leads_there_too)
{
    cw_channel_opts opts = wss(0);
    opts.host = CW_STR("localhost");
    assert_int_equal(end_of(fake_pki.context, opts), 1);
    assert_channel_ended(&s, CW_INVALID, "HTTP 404");
}

TEST(a_handshake_can_be_given_up_at_any_time)
{
    uint16_t port;
    int listening = peer_listen(&port);
    for (int turns = 0; turns < 6; turns++) {
        memset(&s, 0, sizeof s);
        assert_int_equal(open_channel(&s, wss(port)), CW_OK);
        for (int i = 0; i < turns; i++)
            channel_turn();
        close_channel(&s);
    }
    /* And the end of the loop is one. */
    memset(&s, 0, sizeof s);
    assert_int_equal(open_channel(&s, wss(port)), CW_OK);
    channel_turn();
    uv_close((uv_handle_t *)&channel_tick, NULL);
    cw_loop_end(&channel_loop);
    cw_loop_run(&channel_loop);
    assert_int_equal(s.closes, 1);
    close(listening);
}

TEST(tls_is_for_websockets_at_a_host)
{
    cw_channel_opts opts = wss(1);
    opts.websocket = CW_STR("");
    assert_int_equal(open_channel(&s, opts), CW_PARAMS);
    opts = wss(1);
    opts.host = CW_STR("");
    opts.unix_path = CW_STR("/run/x.sock");
    assert_int_equal(open_channel(&s, opts), CW_PARAMS);
}

#define CHANNEL_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, channel_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHANNEL_TEST(a_certificate_must_be_right),
        CHANNEL_TEST(the_systems_authorities_do_not_know_ours),
        CHANNEL_TEST(a_file_that_is_not_there_is_said),
        CHANNEL_TEST(another_server_name_can_be_asked_for),
        CHANNEL_TEST(a_certificate_of_ours_can_be_shown),
        CHANNEL_TEST(who_is_not_there_is_told_as_without_tls),
        CHANNEL_TEST(who_speaks_no_tls_is_told),
        CHANNEL_TEST(a_name_leads_there_too),
        CHANNEL_TEST(a_handshake_can_be_given_up_at_any_time),
        CHANNEL_TEST(tls_is_for_websockets_at_a_host),
    };
    peer_uses_tls = true;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
