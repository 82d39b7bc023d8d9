/* SPDX-License-Identifier: GPL-2.0-or-later */
/* client_fixture.c - run an HTTP client on its own loop and record the outcome of each request. */
#include "support/client_fixture.h"

static const cw_str small_body = CW_STR_INIT("{\"id\":1}");

size_t count_requests(const cw_client *c)
{
    size_t n = c->n_waiting;
    for (cw_list *node = c->links.next; node != &c->links; node = node->next)
        n += CW_CONTAINER(node, cw_client_conn, node)->req != NULL;
    return n;
}

static void on_done(cw_client_req *req, cw_client_end end, const cw_client_response *answer,
                    const char *why)
{
    client_exchange *e = req->ctx;
    e->calls++;
    e->end = end;
    snprintf(e->why, sizeof e->why, "%s", why);
    if (end == CW_CLIENT_OK) {
        e->status = answer->status;
        if (e->spoils)
            *answer->is_spoiled = true;
        e->n = answer->body.n;
        snprintf(e->type, sizeof e->type, "%.*s", CW_STR_ARG(answer->type));
        memcpy(e->body, answer->body.p, e->n < sizeof e->body ? e->n : sizeof e->body);
        for (size_t i = 0; i < CW_CLIENT_WANTED; i++) {
            e->has_kept[i] = answer->wanted[i].p != NULL;
            snprintf(e->wanted[i], sizeof e->wanted[i], "%.*s", CW_STR_ARG(answer->wanted[i]));
        }
        snprintf(e->cookies, sizeof e->cookies, "%.*s", CW_STR_ARG(answer->cookies));
    } else {
        assert_null(answer);
        assert_true(*why);
    }
    if (e->then)
        e->then(e);
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
}

void client_fixture_on_closed(void *ctx)
{
    ((client_fixture *)ctx)->closed = true;
}

void client_fixture_start_tick(client_fixture *f)
{
    uv_timer_init(&f->loop.uv, &f->tick);
    uv_timer_start(&f->tick, on_tick, 1, 1);
}

void client_fixture_init_at(client_fixture *f, bool reads_in_turn)
{
    memset(f, 0, sizeof *f);
    assert_int_equal(cw_loop_init(&f->loop, 1024, NULL), CW_OK);
    if (reads_in_turn)
        cw_run_queue_init(&f->queue, &f->loop);
    client_fixture_start_tick(f);
}

cw_code client_fixture_new_client(client_fixture *f, const char *url, cw_client_opts opts)
{
    assert_int_equal(cw_client_url_parse(cw_str_from(url), &opts.url, NULL), CW_OK);
    if (opts.url.is_tls && !opts.tls.ca_file.n)
        opts.tls.ca_file = cw_str_from(fake_tls_ca());
    if (!opts.answer_size)
        opts.answer_size = CLIENT_BODY_MAX;
    return cw_client_new(&f->loop, &opts, &f->client, NULL);
}

void client_fixture_open_on(client_fixture *f, const char *scheme, uint16_t port,
                            cw_client_opts opts, bool reads_in_turn)
{
    char url[64];
    snprintf(url, sizeof url, "%s://127.0.0.1:%u/rpc", scheme, port);
    client_fixture_init_at(f, reads_in_turn);
    assert_int_equal(client_fixture_new_client(f, url, opts), CW_OK);
}

/* The slice of the turn that begins is over when the polls are looked at. */
static void use_up_slice(client_fixture *f)
{
    if (!f->loop.run_queue)
        return;
    f->queue.turn = f->loop.turns + 1;
    f->queue.slice_began_ns = 0;
}

void client_fixture_turn(client_fixture *f)
{
    use_up_slice(f);
    uv_run(&f->loop.uv, UV_RUN_ONCE);
}

void client_run_for(client_fixture *f, uint64_t ms)
{
    for (uint64_t until = cw_clock_ms() + ms; cw_clock_ms() < until;)
        client_fixture_turn(f);
}

void client_fixture_close_client(client_fixture *f)
{
    if (!f->client)
        return;
    cw_client_close(f->client, client_fixture_on_closed, f);
    client_run_until(f, f->closed);
    f->client = NULL;
}

void client_fixture_done(client_fixture *f)
{
    client_fixture_close_client(f);
    uv_close((uv_handle_t *)&f->tick, NULL);
    cw_loop_end(&f->loop);
    cw_loop_run(&f->loop);
    if (f->loop.run_queue)
        cw_run_queue_done(&f->queue);
    cw_loop_done(&f->loop);
}

cw_code client_send(client_fixture *f, client_exchange *e)
{
    e->req.method = e->req.method ? e->req.method : CW_HTTP_POST;
    e->req.on_done = on_done;
    e->req.ctx = e;
    if (!e->req.body && e->req.method == CW_HTTP_POST) {
        e->req.body = &small_body;
        e->req.n_body = 1;
    }
    return cw_client_send(f->client, &e->req, NULL);
}

void client_request(client_fixture *f, client_exchange *e)
{
    cw_code rc = client_send(f, e);
    if (rc == CW_IO) {
        e->calls++;
        e->end = CW_CLIENT_CONNECT;
        return;
    }
    assert_int_equal(rc, CW_OK);
    assert_int_equal(e->calls, 0);
    client_run_until(f, e->calls);
    assert_int_equal(e->calls, 1);
}

void assert_response(const client_exchange *e, unsigned status, const char *body)
{
    if (e->end != CW_CLIENT_OK)
        fail_msg("no answer: %d, %s", e->end, e->why);
    assert_int_equal(e->status, status);
    assert_int_equal(e->n, strlen(body));
    assert_memory_equal(e->body, body, e->n < sizeof e->body ? e->n : sizeof e->body);
}
