/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_trace_context.c - whatever the bytes are, these hold:
 *
 *   - a traceparent that is accepted is written as version 00 and then read as the same
 *   - a tracestate that is accepted has at most CW_TRACE_STATE_MAX bytes, and is then read as the same
 *   - two headers are read as one with a comma between them
 *
 * The first line is a traceparent; the others are tracestate headers.
 */
#include "fuzz.h"

#include "trace/context.h"

#define HEADERS_MAX 4u

static void check_parent(cw_str text)
{
    cw_trace_parent parent, again;
    if (!cw_trace_parent_parse(text, &parent))
        return;
    cw_ids ids = {.flags = parent.flags};
    char out[CW_TRACE_PARENT_LEN + 1];
    memcpy(ids.trace_id, parent.trace_id, sizeof ids.trace_id);
    memcpy(ids.span_id, parent.span_id, sizeof ids.span_id);
    cw_trace_parent_format(&ids, out);
    CHECK(cw_trace_parent_parse(cw_str_from(out), &again));
    CHECK(memcmp(again.trace_id, parent.trace_id, sizeof parent.trace_id) == 0);
    CHECK(memcmp(again.span_id, parent.span_id, sizeof parent.span_id) == 0);
    CHECK(again.flags == parent.flags);
    CHECK(memcmp(out + 3, text.p + 3, 49) == 0);
}

static void check_state(const cw_str *headers, size_t n, cw_str joined)
{
    cw_arena arena;
    cw_arena_init(&arena, 1u << 20);
    cw_str state = cw_trace_state_read(headers, n, &arena);
    CHECK(state.n <= CW_TRACE_STATE_MAX);
    CHECK(cw_str_eq(state, cw_trace_state_read(&state, 1, &arena)));
    CHECK(cw_str_eq(state, cw_trace_state_read(&joined, 1, &arena)));
    cw_arena_done(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *copy = malloc(size);
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    cw_str headers[HEADERS_MAX], rest;
    cw_str parent = cw_str_cut(cw_str_make(copy, size), '\n', &rest);
    cw_str joined = rest.p ? rest : CW_STR("");
    size_t n = 0;
    check_parent(parent);
    while (rest.p && n + 1 < HEADERS_MAX)
        headers[n++] = cw_str_cut(rest, '\n', &rest);
    if (rest.p)
        headers[n++] = rest;
    /* The last header keeps its line breaks, which no value may have. */
    size_t breaks = n ? n - 1 : 0;
    for (size_t i = 0; i < joined.n && breaks; i++) {
        if (joined.p[i] == '\n') {
            copy[(size_t)(joined.p - copy) + i] = ',';
            breaks--;
        }
    }
    check_state(headers, n, joined);
    free(copy);
    return 0;
}
