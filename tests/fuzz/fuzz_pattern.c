/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_pattern.c - the first line is a pattern, the rest a text. These hold:
 *
 *   - compiling ends with a pattern, CW_PARAMS or CW_LIMIT
 *   - what the strict reader accepts the lenient one accepts
 *   - a table and PCRE2, where both can be made, do not differ in what they say
 */
#include "fuzz.h"

#include "base/utf8.h"
#include "schema/pattern/pattern_int.h"

#define TREE_BYTES (4u * 1024u * 1024u)
#define STEPS 1000000

static void compare(const cw_node *tree, cw_str text)
{
    cw_dfa *dfa = NULL;
    cw_pcre *pcre = NULL;
    if (cw_dfa_build(tree, &dfa, NULL) == CW_OK && cw_pcre_build(tree, &pcre, NULL) == CW_OK) {
        int64_t steps = STEPS;
        cw_pattern_match m = cw_pcre_test(pcre, text, &steps);
        CHECK(m == CW_PATTERN_TOO_HARD || cw_dfa_test(dfa, text) == (m == CW_PATTERN_YES));
    }
    free(dfa);
    cw_pcre_free(pcre);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cw_str text;
    cw_str pattern = cw_str_cut(cw_str_make((const char *)data, size), '\n', &text);
    if (!text.p)
        text = CW_STR("");
    /* Both come through the JSON reader, which refuses anything else. */
    if (!cw_utf8_is_valid(pattern) || !cw_utf8_is_valid(text) || pattern.n > CW_PATTERN_MAX)
        return 0;
    cw_pattern *p = NULL;
    cw_code rc = cw_pattern_compile(pattern, &p, NULL);
    CHECK(rc == CW_OK || rc == CW_PARAMS || rc == CW_LIMIT);
    cw_arena arena;
    cw_arena_init(&arena, TREE_BYTES);
    cw_pattern_reader r = {.text = pattern, .arena = &arena};
    cw_node *tree;
    bool legal = cw_pattern_parse(&r, &tree) == CW_OK;
    CHECK(rc != CW_OK || legal);
    CHECK(legal || !cw_pattern_is_valid(pattern));
    if (rc == CW_OK) {
        int64_t steps = STEPS;
        cw_pattern_match m = cw_pattern_test(p, text, &steps);
        CHECK(steps >= 0 || m == CW_PATTERN_TOO_HARD);
        compare(tree, text);
    }
    cw_pattern_free(p);
    cw_arena_done(&arena);
    return 0;
}
