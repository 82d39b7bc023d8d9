/* SPDX-License-Identifier: GPL-2.0-or-later */
/* toolset.c - which methods belong to a toolset. */
#include "catalogue/toolset.h"

static bool matches_name(cw_toolset_names names, cw_str text)
{
    for (size_t i = 0; i < names.n; i++) {
        if (cw_str_eq(names.items[i], text))
            return true;
    }
    return false;
}

static bool matches_pattern(cw_toolset_names patterns, cw_str tool_name, cw_str id)
{
    for (size_t i = 0; i < patterns.n; i++) {
        cw_str pattern = patterns.items[i];
        if (cw_str_matches(pattern, id, CW_STR_ANY_BYTE) ||
            (tool_name.n && cw_str_matches(pattern, tool_name, CW_STR_ANY_BYTE)))
            return true;
    }
    return false;
}

static bool has_tag(cw_toolset_names tags, const cw_method *method)
{
    for (size_t i = 0; i < method->n_tags; i++) {
        if (matches_name(tags, method->tags[i]))
            return true;
    }
    return false;
}

bool cw_toolset_matches(const cw_toolset_rule *rule, cw_str source, cw_str tool_name,
                        const cw_method *method, bool is_read_only)
{
    bool has_all = !rule->sources.n && !rule->tools.n && !rule->tags.n;
    bool is_named = has_all || matches_name(rule->sources, source) || has_tag(rule->tags, method) ||
                    matches_pattern(rule->tools, tool_name, method->id);
    bool changes = tool_name.n && !method->mark->is_read_only;
    return is_named && !(changes && (is_read_only || rule->read_only)) &&
           !matches_pattern(rule->exclude, tool_name, method->id);
}

cw_code cw_toolset_init(cw_toolset *t, const cw_toolset_rule *rule, bool is_read_only, size_t n,
                        cw_arena *arena)
{
    *t = (cw_toolset){.name = cw_arena_dup_str(arena, rule->name),
                      .title = cw_arena_dup_str(arena, rule->title),
                      .instructions = cw_arena_dup_str(arena, rule->instructions),
                      .is_read_only_address = is_read_only,
                      .is_read_only = is_read_only || rule->read_only,
                      .omits_output_schemas = rule->omits_output_schemas,
                      .has_short_descriptions = rule->has_short_descriptions,
                      .has_signatures = rule->has_signatures,
                      .is_search = rule->is_search,
                      .n_entries = n,
                      .members = cw_arena_calloc(arena, n / 8 + 1, 1)};
    return t->name.p && t->title.p && t->instructions.p && t->members ? CW_OK : CW_NOMEM;
}

void cw_toolset_add(cw_toolset *t, size_t index)
{
    t->members[index / 8] |= (unsigned char)(1u << index % 8);
}

bool cw_toolset_same_form(const cw_toolset *a, const cw_toolset *b)
{
    return a->omits_output_schemas == b->omits_output_schemas &&
           a->has_short_descriptions == b->has_short_descriptions &&
           a->has_signatures == b->has_signatures && a->is_search == b->is_search;
}

bool cw_toolset_same(const cw_toolset *a, const cw_toolset *b)
{
    return cw_toolset_same_form(a, b) && a->is_read_only == b->is_read_only &&
           cw_str_eq(a->name, b->name) && cw_str_eq(a->title, b->title) &&
           cw_str_eq(a->instructions, b->instructions) && a->n_entries == b->n_entries &&
           memcmp(a->members, b->members, a->n_entries / 8 + 1) == 0;
}
