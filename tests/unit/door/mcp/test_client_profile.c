/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "catalogue/snapshot.h"
#include "support/json_fixture.h"

#include "config/keys/keys.h"
#include "door/mcp/mcp_int.h"

static const cw_config_client items[] = {
    {.name = CW_STR_INIT("Strict*"),
     .tool_names = CW_CONFIG_FORM_PORTABLE,
     .schemas = CW_CONFIG_FORM_EXACT},
    {.name = CW_STR_INIT("*flat*code*"), .schemas = CW_CONFIG_FORM_PORTABLE},
    {.name = CW_STR_INIT("exact"), .schemas = CW_CONFIG_FORM_EXACT},
    {.name = CW_STR_INIT("both"),
     .tool_names = CW_CONFIG_FORM_PORTABLE,
     .schemas = CW_CONFIG_FORM_PORTABLE},
};

static unsigned profile_of(const cw_config *config, const char *client)
{
    cw_arena arena;
    cw_arena_init(&arena, 1 << 20);
    unsigned profile = cw_mcp_profile(config, json_of(&arena, client));
    cw_arena_done(&arena);
    return profile & CW_MCP_PORTABLE;
}

TEST(the_first_pattern_that_fits_decides)
{
    cw_config config = cw_config_defaults;
    config.mcp.clients = (cw_config_clients){items, CW_COUNT(items)};
    config.mcp.tool_names = CW_CONFIG_FORM_EXACT; /* where a client has no other */
    assert_int_equal(profile_of(&config, "{\"name\":\"strict\"}"), CW_MCP_PORTABLE_NAMES);
    assert_int_equal(profile_of(&config, "{\"name\":\"STRICT client 2\"}"), CW_MCP_PORTABLE_NAMES);
    assert_int_equal(profile_of(&config, "{\"name\":\"strict flat code\"}"), CW_MCP_PORTABLE_NAMES);
    assert_int_equal(profile_of(&config, "{\"name\":\"a flat and code-like\"}"),
                     CW_MCP_PORTABLE_SCHEMAS);
    assert_int_equal(profile_of(&config, "{\"name\":\"exact\"}"), 0);
    assert_int_equal(profile_of(&config, "{\"name\":\"both\"}"),
                     CW_MCP_PORTABLE_NAMES | CW_MCP_PORTABLE_SCHEMAS);
}

TEST(everybody_else_gets_what_is_said_for_all)
{
    cw_config config = cw_config_defaults;
    assert_int_equal(cw_mcp_profile(&config, NULL),
                     CW_MCP_PORTABLE_NAMES | CW_MCP_PORTABLE_SCHEMAS);
    assert_true(cw_mcp_has_portable_names(&config));
    config.mcp.tool_names = CW_CONFIG_FORM_EXACT;
    assert_false(cw_mcp_has_portable_names(&config));
    config.mcp.clients = (cw_config_clients){items, CW_COUNT(items)};
    assert_true(cw_mcp_has_portable_names(&config));
    assert_int_equal(cw_mcp_profile(&config, NULL), CW_MCP_PORTABLE_SCHEMAS);
    static const char *const others[] = {
        "{}",
        "{\"name\":5}",
        "{\"name\":\"\"}",
        "{\"name\":\"exactly\"}",
        "{\"name\":\"exac\"}",
        "{\"name\":\"flat cod\"}",
    };
    for (size_t i = 0; i < CW_COUNT(others); i++)
        assert_int_equal(profile_of(&config, others[i]), CW_MCP_PORTABLE_SCHEMAS);
    config.mcp.clients.n = 0;
    config.mcp.tool_names = CW_CONFIG_FORM_PORTABLE;
    assert_true(cw_mcp_has_portable_names(&config));
}

TEST(a_reload_counts_where_a_client_has_no_form_of_its_own)
{
    cw_config config = cw_config_defaults;
    config.mcp.clients = (cw_config_clients){items, CW_COUNT(items)};
    cw_arena arena;
    cw_arena_init(&arena, 1 << 20);
    unsigned flat = cw_mcp_profile(&config, json_of(&arena, "{\"name\":\"flat code\"}"));
    unsigned strict = cw_mcp_profile(&config, json_of(&arena, "{\"name\":\"strict\"}"));
    cw_arena_done(&arena);
    assert_int_equal(flat & CW_MCP_PORTABLE, CW_MCP_PORTABLE);
    config.mcp.tool_names = CW_CONFIG_FORM_EXACT;
    config.mcp.schemas = CW_CONFIG_FORM_EXACT;
    flat = cw_mcp_profile_renew(&config, flat);
    assert_int_equal(flat & CW_MCP_PORTABLE, CW_MCP_PORTABLE_SCHEMAS);
    assert_int_equal(cw_mcp_profile_renew(&config, strict), strict);
    config.mcp.tool_names = CW_CONFIG_FORM_PORTABLE;
    assert_int_equal(cw_mcp_profile_renew(&config, flat) & CW_MCP_PORTABLE, CW_MCP_PORTABLE);
}

/* A pattern of many stars against a long name ends soon. */
TEST(patterns_cannot_be_made_slow)
{
    static char text[65536] = "{\"name\":\"";
    const size_t begin = strlen(text);
    memset(text + begin, 'a', sizeof text - begin - 3);
    memcpy(text + sizeof text - 3, "\"}", 3);
    static const cw_config_client slow[] = {
        {.name = CW_STR_INIT("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b"),
         .schemas = CW_CONFIG_FORM_PORTABLE},
        {.name = CW_STR_INIT("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a"),
         .schemas = CW_CONFIG_FORM_EXACT},
    };
    cw_config config = cw_config_defaults;
    config.mcp.tool_names = CW_CONFIG_FORM_EXACT;
    config.mcp.clients = (cw_config_clients){slow, 2};
    assert_int_equal(profile_of(&config, text), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_pattern_that_fits_decides),
        cmocka_unit_test(everybody_else_gets_what_is_said_for_all),
        cmocka_unit_test(a_reload_counts_where_a_client_has_no_form_of_its_own),
        cmocka_unit_test(patterns_cannot_be_made_slow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
