/* SPDX-License-Identifier: GPL-2.0-or-later */
/* redact.c - applies the rules of audit.redact. */
#include "call/redact.h"

#include "audit/rules.h"
#include "base/utf8.h"

cw_str cw_call_redact(const cw_runtime_loop *rl, const cw_json *value, size_t max, cw_arena *arena)
{
    const cw_config_strings *pointers = &cw_runtime_config(rl)->audit.redact;
    cw_audit_rules rules;
    cw_json_writer w;
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, CW_BUF_MAX);
    cw_json_writer_init(&w, &out, CW_JSON_COMPACT);
    if (cw_audit_rules_make(pointers->items, pointers->n, arena, &rules, NULL) ||
        !cw_audit_rules_write(&rules, CW_STR(""), cw_json_span(value), arena, &w) || out.code)
        return CW_STR("");
    cw_str text = cw_buf_str(&out);
    cw_str kept = cw_arena_dup_str(arena, cw_str_make(text.p, cw_utf8_cut(text, max)));
    return kept.p ? kept : CW_STR("");
}
