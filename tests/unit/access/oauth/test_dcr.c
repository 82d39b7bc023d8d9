/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "access/oauth/dcr.h"
#include "support/oom.h"
#include "support/seal_fixture.h"
#include "support/test.h"

static const cw_redirect_rules rules = {0};
static cw_seal seal;
static cw_arena arena;
static cw_err err;

static int begin(void **state)
{
    (void)state;
    cw_arena_init(&arena, 1u << 20);
    return 0;
}

static int end(void **state)
{
    (void)state;
    cw_arena_done(&arena);
    return 0;
}

static cw_oauth_client must_register(const char *body)
{
    cw_oauth_client client = {0};
    const char *error;
    if (cw_dcr_register(&seal, cw_str_from(body), &rules, &arena, &client, &error, &err))
        fail_msg("%s: %s", error, err.msg);
    return client;
}

TEST(AS19_an_id_holds_the_whole_registration)
{
    cw_oauth_client made = must_register("{\"client_name\":\"x y\",\"redirect_uris\":"
                                         "[\"https://a.example/cb\",\"http://localhost/cb\"]}");
    cw_oauth_client opened;
    assert_int_equal(cw_dcr_open(&seal, made.id, &arena, &opened), CW_OK);
    assert_int_equal(opened.kind, CW_OAUTH_DYNAMIC);
    assert_true(cw_str_is(opened.name, "x y"));
    assert_int_equal(opened.n_redirect_uris, 2);
    assert_true(cw_str_is(opened.redirect_uris[1], "http://localhost/cb"));
    assert_true(opened.has_secret);
    assert_memory_equal(opened.secret, made.secret, CW_DIGEST);
    assert_true(cw_str_eq(opened.id, made.id));
}

TEST(AS19_an_id_of_another_server_or_a_changed_one_is_unknown)
{
    cw_seal other;
    cw_oauth_client opened;
    cw_oauth_client made = must_register("{\"redirect_uris\":[\"https://a.example/cb\"]}");
    char *changed = cw_arena_dup(&arena, made.id.p, made.id.n);
    seal_fixture_init(&other, CW_STR("another"));
    assert_int_equal(cw_dcr_open(&other, made.id, &arena, &opened), CW_NOTFOUND);
    assert_int_equal(cw_dcr_open(&seal, CW_STR("dcr."), &arena, &opened), CW_NOTFOUND);
    assert_int_equal(cw_dcr_open(&seal, CW_STR("app"), &arena, &opened), CW_NOTFOUND);
    for (size_t i = 4; i < made.id.n; i++) {
        char kept = changed[i];
        changed[i] = kept == 'A' ? 'B' : 'A';
        assert_int_equal(cw_dcr_open(&seal, cw_str_make(changed, made.id.n), &arena, &opened),
                         CW_NOTFOUND);
        changed[i] = kept;
    }
}

TEST(a_client_and_its_secret_survive_two_rotations)
{
    cw_seal *own = cw_arena_calloc(&arena, 1, sizeof *own);
    cw_oauth_client made, opened, fresh;
    const char *error;
    const cw_str body = CW_STR("{\"redirect_uris\":[\"https://a.example/cb\"]}");
    char secret[CW_DCR_SECRET + 1], again[CW_DCR_SECRET + 1];
    assert_int_equal(cw_seal_init(own, &err), CW_OK);
    assert_int_equal(cw_dcr_register(own, body, &rules, &arena, &made, &error, &err), CW_OK);
    cw_dcr_secret(&made, secret);
    for (unsigned i = 0; i < 2; i++) {
        seal_fixture_rotate(own);
        assert_int_equal(cw_dcr_open(own, made.id, &arena, &opened), CW_OK);
        assert_memory_equal(opened.secret, made.secret, CW_DIGEST);
        cw_dcr_secret(&opened, again);
        assert_string_equal(again, secret);
        /* The same registration gets an id of the new key, and another secret. */
        assert_int_equal(cw_dcr_register(own, body, &rules, &arena, &fresh, &error, &err), CW_OK);
        assert_false(cw_str_eq(fresh.id, made.id));
        assert_memory_not_equal(fresh.secret, made.secret, CW_DIGEST);
    }
    seal_fixture_rotate(own);
    assert_int_equal(cw_dcr_open(own, made.id, &arena, &opened), CW_NOTFOUND);
    assert_int_equal(cw_dcr_open(own, fresh.id, &arena, &opened), CW_OK);
    cw_seal_done(own);
}

static void register_once(void *ctx)
{
    cw_arena own;
    cw_oauth_client client, opened;
    const char *error;
    (void)ctx;
    cw_arena_init(&own, 1u << 20);
    cw_code rc = cw_dcr_register(&seal, CW_STR("{\"redirect_uris\":[\"https://a.example/\"]}"),
                                 &rules, &own, &client, &error, NULL);
    if (!rc)
        rc = cw_dcr_open(&seal, client.id, &own, &opened);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_arena_done(&own);
}

TEST(registering_survives_failed_allocations)
{
    assert_true(oom_each(register_once, NULL) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(AS19_an_id_holds_the_whole_registration, begin, end),
        cmocka_unit_test_setup_teardown(AS19_an_id_of_another_server_or_a_changed_one_is_unknown,
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_client_and_its_secret_survive_two_rotations, begin, end),
        cmocka_unit_test(registering_survives_failed_allocations),
    };
    if (cw_seal_init(&seal, &err))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
