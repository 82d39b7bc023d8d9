/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/server/router.h"
#include "support/oom.h"
#include "support/test.h"

static cw_router router;

static void handler_a(cw_http_req *req, void *self)
{
    (void)req;
    (void)self;
}

SETUP(set_up)
{
    cw_router_init(&router);
    return 0;
}

TEARDOWN(tear_down)
{
    cw_router_done(&router);
    return 0;
}

static const cw_route *match(const char *path, const char *param)
{
    cw_str got;
    const cw_route *route = cw_router_match(&router, cw_str_from(path), &got);
    assert_true(cw_str_is(got, param));
    return route;
}

TEST(exact_paths_match_to_the_byte)
{
    assert_int_equal(cw_router_add(&router, CW_HTTP_GET, "/a", handler_a, NULL), CW_OK);
    assert_non_null(match("/a", ""));
    assert_null(match("/a/", ""));
    assert_null(match("/A", ""));
    assert_null(match("/", ""));
    assert_null(match("", ""));
}

TEST(a_variable_takes_exactly_one_segment)
{
    assert_int_equal(cw_router_add(&router, CW_HTTP_GET, "/t/{name}", handler_a, NULL), CW_OK);
    assert_non_null(match("/t/x.y", "x.y"));
    assert_null(match("/t/", ""));
    assert_null(match("/t", ""));
    assert_null(match("/t/a/b", ""));
}

TEST(something_fixed_may_follow_a_variable)
{
    assert_int_equal(cw_router_add(&router, CW_HTTP_GET, "/t/{name}", handler_a, NULL), CW_OK);
    assert_int_equal(cw_router_add(&router, CW_HTTP_POST, "/t/{name}/end", handler_a, NULL), CW_OK);
    assert_non_null(match("/t/x/end", "x")->handlers[CW_HTTP_POST]);
    assert_null(match("/t/x/end", "x")->handlers[CW_HTTP_GET]);
    assert_non_null(match("/t/end", "end")->handlers[CW_HTTP_GET]);
    assert_null(match("/t//end", ""));
    assert_null(match("/t/x/y/end", ""));
    assert_null(match("/t/x/end/", ""));
}

TEST(an_exact_path_wins_over_a_variable)
{
    assert_int_equal(cw_router_add(&router, CW_HTTP_GET, "/t/{name}", handler_a, NULL), CW_OK);
    assert_int_equal(cw_router_add(&router, CW_HTTP_POST, "/t/list", handler_a, NULL), CW_OK);
    const cw_route *list = match("/t/list", "");
    assert_null(list->handlers[CW_HTTP_GET]);
    assert_non_null(list->handlers[CW_HTTP_POST]);
}

TEST(allow_names_every_method_once_and_head_with_get)
{
    assert_int_equal(cw_router_add(&router, CW_HTTP_POST, "/a", handler_a, NULL), CW_OK);
    assert_string_equal(match("/a", "")->allow, "POST, OPTIONS");
    assert_int_equal(cw_router_add(&router, CW_HTTP_GET, "/a", handler_a, NULL), CW_OK);
    assert_string_equal(match("/a", "")->allow, "GET, HEAD, POST, OPTIONS");
    for (cw_http_method m = CW_HTTP_PUT; m <= CW_HTTP_TRACE; m++)
        assert_int_equal(cw_router_add(&router, m, "/a", handler_a, NULL), CW_OK);
    assert_string_equal(match("/a", "")->allow,
                        "GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS, CONNECT, TRACE");
}

TEST(a_protocol_belongs_to_one_path)
{
    static const cw_route_protocol protocol;
    int self;
    assert_int_equal(cw_router_add(&router, CW_HTTP_GET, "/a", handler_a, NULL), CW_OK);
    assert_int_equal(cw_router_add(&router, CW_HTTP_GET, "/a/{name}", handler_a, NULL), CW_OK);
    cw_router_set_protocol(&router, "/a", &protocol, &self);
    cw_router_set_protocol(&router, "/b", &protocol, &self);
    assert_ptr_equal(match("/a", "")->protocol, &protocol);
    assert_ptr_equal(match("/a", "")->protocol_self, &self);
    assert_null(match("/a/b", "b")->protocol);
}

TEST(the_same_method_and_path_twice_is_refused)
{
    assert_int_equal(cw_router_add(&router, CW_HTTP_GET, "/a", handler_a, NULL), CW_OK);
    assert_int_equal(cw_router_add(&router, CW_HTTP_GET, "/a", handler_a, NULL), CW_PARAMS);
}

TEST(a_path_with_a_switch_exists_while_it_is_on)
{
    atomic_bool is_on = false;
    assert_int_equal(cw_router_add(&router, CW_HTTP_GET, "/always", handler_a, NULL), CW_OK);
    cw_router_set_switch(&router, &is_on);
    assert_int_equal(cw_router_add(&router, CW_HTTP_GET, "/sometimes", handler_a, NULL), CW_OK);
    cw_router_set_switch(&router, NULL);
    assert_int_equal(cw_router_add(&router, CW_HTTP_GET, "/again", handler_a, NULL), CW_OK);
    assert_true(cw_route_is_on(match("/always", "")));
    assert_true(cw_route_is_on(match("/again", "")));
    assert_false(cw_route_is_on(match("/sometimes", "")));
    atomic_store(&is_on, true);
    assert_true(cw_route_is_on(match("/sometimes", "")));
}

TEST(a_full_router_says_so)
{
    static char paths[CW_ROUTER_MAX + 1][16];
    for (unsigned i = 0; i <= CW_ROUTER_MAX; i++) {
        snprintf(paths[i], sizeof paths[i], "/%u", i);
        cw_code expected = i < CW_ROUTER_MAX ? CW_OK : CW_LIMIT;
        assert_int_equal(cw_router_add(&router, CW_HTTP_GET, paths[i], handler_a, NULL), expected);
    }
}

static void build_once(void *ctx)
{
    (void)ctx;
    cw_router r;
    cw_router_init(&r);
    cw_code rc = cw_router_add(&r, CW_HTTP_GET, "/a", handler_a, NULL);
    if (!rc)
        rc = cw_router_add(&r, CW_HTTP_GET, "/b/{c}", handler_a, NULL);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_router_done(&r);
}

TEST(building_survives_every_failed_allocation)
{
    assert_true(oom_each(build_once, NULL) >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(exact_paths_match_to_the_byte, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_variable_takes_exactly_one_segment, set_up, tear_down),
        cmocka_unit_test_setup_teardown(something_fixed_may_follow_a_variable, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_exact_path_wins_over_a_variable, set_up, tear_down),
        cmocka_unit_test_setup_teardown(allow_names_every_method_once_and_head_with_get, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_protocol_belongs_to_one_path, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_same_method_and_path_twice_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_path_with_a_switch_exists_while_it_is_on, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_full_router_says_so, set_up, tear_down),
        cmocka_unit_test(building_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
