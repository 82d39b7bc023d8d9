/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "access/oauth/ceiling.h"
#include "support/oom.h"
#include "support/test.h"

static const cw_str everybody[] = {CW_STR_INIT("look")};
static const cw_str reading[] = {CW_STR_INIT("read"), CW_STR_INIT("look")};
static const cw_str ruling[] = {CW_STR_INIT("administer access"), CW_STR_INIT("view audit")};
static const cw_role items[] = {{CW_STR_INIT("anonymous"), everybody, 1},
                                {CW_STR_INIT("reader"), reading, 2},
                                {CW_STR_INIT("ruler"), ruling, 2},
                                {CW_STR_INIT("nothing"), NULL, 0}};
static const cw_str reader[] = {CW_STR_INIT("reader")}, ruler[] = {CW_STR_INIT("ruler")},
                    nothing[] = {CW_STR_INIT("nothing")}, unknown[] = {CW_STR_INIT("unknown")};

static cw_roles *roles;

SETUP(setup)
{
    return (int)cw_roles_new(items, CW_COUNT(items), false, &roles, NULL);
}

TEARDOWN(teardown)
{
    cw_roles_unref(roles);
    return 0;
}

/* The permissions that are left, with a space behind each. */
static cw_code apply(cw_arena *arena, const cw_oauth_settings *settings,
                     const cw_oauth_client *client, char out[256])
{
    static const char *const all[] = {"write",       "read",           "administer access",
                                      "view audit",  "view arguments", "administer",
                                      "view audits", "look",           "administer ",
                                      "use console", "view traffic",   "view metrics"};
    cw_rights rights = {.arena = arena, .roles = roles};
    size_t n = 0;
    for (size_t i = 0; i < CW_COUNT(all); i++) {
        cw_code rc = cw_rights_add(&rights, cw_str_from(all[i]), NULL);
        if (rc)
            return rc;
    }
    cw_code rc = cw_oauth_ceiling_apply(&rights, settings, client, NULL);
    for (size_t i = 0; i < rights.n && !rc; i++)
        n += (size_t)snprintf(out + n, 256 - n, "%.*s|", CW_STR_ARG(rights.items[i]));
    return rc;
}

static void check(const cw_oauth_settings *settings, const cw_oauth_client *client,
                  const char *expected)
{
    char got[256] = "";
    cw_arena arena;
    cw_arena_init(&arena, 1u << 16);
    assert_int_equal(apply(&arena, settings, client, got), CW_OK);
    assert_string_equal(got, expected);
    cw_arena_done(&arena);
}

TEST(AS16_without_roles_it_is_everything_but_administration)
{
    cw_oauth_settings settings = {0};
    cw_oauth_client client = {0};
    check(&settings, &client, "write|read|administer|view audits|look|");
}

TEST(AS16_roles_of_the_server_bound_every_grant)
{
    cw_oauth_settings settings = {.ceiling = reader, .n_ceiling = 1};
    cw_oauth_client client = {0};
    check(&settings, &client, "read|look|");
    settings.ceiling = ruler;
    check(&settings, &client, "administer access|view audit|look|");
}

TEST(AS16_roles_of_a_client_take_the_place_of_those_of_the_server)
{
    cw_oauth_settings settings = {.ceiling = reader, .n_ceiling = 1};
    cw_oauth_client client = {.ceiling = ruler, .n_ceiling = 1};
    check(&settings, &client, "administer access|view audit|look|");
}

TEST(AS16_a_role_that_gives_nothing_leaves_what_everybody_has)
{
    cw_oauth_settings settings = {.ceiling = nothing, .n_ceiling = 1};
    cw_oauth_client client = {0};
    check(&settings, &client, "look|");
    settings.ceiling = unknown;
    check(&settings, &client, "look|");
}

static void apply_once(void *ctx)
{
    char got[256];
    cw_arena arena;
    cw_oauth_settings settings = {.ceiling = reader, .n_ceiling = 1};
    cw_oauth_client client = {0};
    (void)ctx;
    cw_arena_init(&arena, 1u << 16);
    cw_code rc = apply(&arena, &settings, &client, got);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_arena_done(&arena);
}

TEST(every_failed_allocation_is_reported)
{
    assert_true(oom_each(apply_once, NULL) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(AS16_without_roles_it_is_everything_but_administration),
        cmocka_unit_test(AS16_roles_of_the_server_bound_every_grant),
        cmocka_unit_test(AS16_roles_of_a_client_take_the_place_of_those_of_the_server),
        cmocka_unit_test(AS16_a_role_that_gives_nothing_leaves_what_everybody_has),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
