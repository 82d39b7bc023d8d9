/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keys_toolsets.c - the table of a toolset. */
#include "base/utf8.h"
#include "config/keys/rows.h"

#define MAX_ENTRIES 1000u

#define TOOLSET(field) CW_KEY_AT(cw_config_toolset, field)
#define PATTERNS                                                                                   \
    .max = MAX_ENTRIES, .is_valid = cw_check_is_clean,                                             \
    .expected = "a name or a pattern such as \"user.*\"", .pattern = CW_NAMES_CLEAN_PATTERN

const cw_choice cw_config_output_details[] = {
    {"full", CW_CONFIG_DETAIL_FULL},
    {"none", CW_CONFIG_DETAIL_LEAN},
    {0},
};
const cw_choice cw_config_text_details[] = {
    {"full", CW_CONFIG_DETAIL_FULL},
    {"short", CW_CONFIG_DETAIL_LEAN},
    {0},
};
static const cw_choice input_details[] = {
    {"full", CW_CONFIG_DETAIL_FULL},
    {"signature", CW_CONFIG_DETAIL_LEAN},
    {0},
};
static const cw_choice modes[] = {
    {"list", false},
    {"search", true},
    {0},
};

const cw_config_toolset cw_config_default_toolset = {
    .name = CW_STR_INIT(""),
    .title = CW_STR_INIT(""),
    .instructions = CW_STR_INIT(""),
};

bool cw_config_is_instructions(cw_str text)
{
    return cw_names_is_prose(text) && cw_utf8_count(text) <= CW_CONFIG_MAX_INSTRUCTIONS;
}

const cw_key cw_toolset_keys[] = {
    {"title", &cw_type_text, "Display name of the toolset", TOOLSET(title),
     .is_valid = cw_check_is_clean, .expected = CW_NAMES_LINE_EXPECTED,
     .pattern = CW_NAMES_LINE_PATTERN},
    {"instructions", &cw_type_text,
     "What the toolset is for, for the model of the client; maximum 2000 characters. null: made "
     "from its sources",
     TOOLSET(instructions), CW_KEY_INSTRUCTIONS},
    {"sources", &cw_type_strings, "Plugins and services all of whose tools belong to it",
     TOOLSET(sources), .max = MAX_ENTRIES, .is_valid = cw_check_is_clean,
     .expected = "the name of a source such as \"billing\"", .pattern = CW_NAMES_CLEAN_PATTERN},
    {"tools", &cw_type_strings,
     "Names of tools or methods that belong to it; * matches any text, ? one character",
     TOOLSET(tools), PATTERNS},
    {"tags", &cw_type_strings, "Tags of methods that belong to it", TOOLSET(tags),
     .max = MAX_ENTRIES, .is_valid = cw_check_is_clean, .expected = "a tag such as \"accounts\"",
     .pattern = CW_NAMES_CLEAN_PATTERN},
    {"exclude", &cw_type_strings,
     "Names of tools or methods that do not belong to it, whatever the other keys say; patterns "
     "as in tools",
     TOOLSET(exclude), PATTERNS},
    {"read_only", &cw_type_bool, "Only tools that are marked as read-only", TOOLSET(read_only)},
    {"output_schemas", &cw_type_option,
     "Output schemas in lists: full, or none; null is full, or what mcp.clients sets",
     TOOLSET(output_schemas), .choices = cw_config_output_details},
    {"descriptions", &cw_type_option,
     "Descriptions in lists: full, or short, their first sentence; null is full, or what "
     "mcp.clients sets",
     TOOLSET(descriptions), .choices = cw_config_text_details},
    {"input_schemas", &cw_type_option,
     "Input schemas in lists: full, or signature, one line in the description; null is full",
     TOOLSET(input_schemas), .choices = input_details},
    {"mode", &cw_type_enum,
     "list: the list has its tools; search: it has find_tools and call_tool, which find and call "
     "them",
     TOOLSET(is_search), .choices = modes},
    {0},
};
