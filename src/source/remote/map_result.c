/* SPDX-License-Identifier: GPL-2.0-or-later */
/* map_result.c - the part of a result that counts, within its budget. */
#include <inttypes.h>
#include <stdio.h>

#include "base/utf8.h"
#include "json/write.h"
#include "source/remote/mapping_int.h"

#define WORD "next-"
#define CHARACTER_MAX 4u

/* FNV-1a: whether it is still the same result, against nobody's will. */
static uint64_t hash_of(cw_str text)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < text.n; i++)
        h = (h ^ (uint8_t)text.p[i]) * UINT64_C(0x100000001b3);
    return h;
}

bool cw_continuation_read(cw_str text, cw_continuation *ret)
{
    char copy[64], rest;
    if (text.n >= sizeof copy)
        return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = 0;
    return sscanf(copy, WORD "%" SCNx64 "-%" SCNx64 "%c", &ret->at, &ret->hash, &rest) == 2;
}

static void fail(cw_outcome *outcome, const char *message)
{
    *outcome =
        (cw_outcome){.kind = CW_OUTCOME_ERROR, .code = -32000, .message = cw_str_from(message)};
}

static void fail_nomem(cw_outcome *outcome)
{
    *outcome = (cw_outcome){.kind = CW_OUTCOME_FAILED,
                            .fault = CW_FAULT_NOMEM,
                            .message = CW_STR("There is not enough memory for the result.")};
}

/* Elements from `at` on, as many as fit, but one at least; returns where the next part begins, 0:
 * there is none. */
static uint64_t add_items(cw_json_writer *w, const cw_json *list, uint64_t at, size_t budget)
{
    size_t n = 0;
    uint64_t i = 0;
    const cw_json *v = cw_json_first(list);
    cw_json_add_key(w, CW_STR("items"));
    cw_json_open_array(w);
    for (; v && i < at; i++)
        v = cw_json_next(v);
    for (; v; v = cw_json_next(v), i++) {
        n += cw_json_span(v).n + 1;
        if (n > budget && i > at)
            break;
        cw_json_add_value(w, v);
    }
    cw_json_close(w);
    return v ? i : 0;
}

static uint64_t add_text(cw_json_writer *w, cw_str text, uint64_t at, size_t budget)
{
    cw_str rest = at < text.n ? cw_str_make(text.p + at, text.n - at) : CW_STR("");
    cw_str part = cw_str_make(rest.p, rest.n > budget ? cw_utf8_cut(rest, budget) : rest.n);
    if (part.n == 0 && rest.n) /* a budget below one character: every part has one at least */
        part.n = cw_utf8_cut(rest, CHARACTER_MAX);
    cw_json_add_string_member(w, CW_STR("text"), part);
    return part.n < rest.n ? at + part.n : 0;
}

static cw_code cut(const cw_param_map *map, const cw_json *result, uint64_t at, uint64_t hash,
                   cw_arena *arena, const cw_json **ret)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, 8 * map->budget + cw_json_span(result).n + 256);
    cw_json_writer w;
    cw_json_writer_init(&w, &out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    bool is_text = cw_json_is(result, CW_JSON_STRING);
    uint64_t next =
        cw_json_is(result, CW_JSON_ARRAY)
            ? add_items(&w, result, at, map->budget)
            : add_text(&w, is_text ? cw_json_text(result) : cw_json_span(result), at, map->budget);
    if (next && map->continues) {
        char token[64];
        snprintf(token, sizeof token, WORD "%" PRIx64 "-%" PRIx64, next, hash);
        cw_json_add_string_member(&w, CW_STR(CW_PARAM_MAP_CONTINUATION), cw_str_from(token));
    } else if (next) {
        cw_json_add_bool_member(&w, CW_STR("truncated"), true);
    }
    cw_json_close(&w);
    cw_code rc = cw_json_writer_end(&w, NULL);
    cw_str text = rc ? (cw_str){NULL, 0} : cw_arena_dup_str(arena, cw_buf_str(&out));
    const cw_json_opts opts = {.max_bytes = text.n + 1, .max_depth = CW_JSON_DEPTH_CEILING};
    return text.p ? cw_json_read(text, &opts, arena, ret, NULL, NULL) : CW_NOMEM;
}

void cw_param_map_result(const cw_param_map *map, const cw_continuation *part, cw_arena *arena,
                         cw_outcome *outcome)
{
    const cw_json *result =
        map->pointer.n ? cw_json_pointer(outcome->result, map->pointer) : outcome->result;
    if (!result) {
        const char *text = cw_arena_printf(arena, "The result of the service has no %.*s.",
                                           CW_STR_ARG(map->pointer));
        fail(outcome, text ? text : "The result of the service lacks the part that counts.");
        return;
    }
    outcome->result = result;
    if (map->budget == 0)
        return;
    cw_str span = cw_json_span(result);
    if (span.n <= map->budget && !part->is_given)
        return;
    uint64_t hash = hash_of(span);
    if (part->is_given && part->hash != hash) {
        fail(outcome, "The result has changed since its first part was given; begin again without "
                      "\"" CW_PARAM_MAP_CONTINUATION "\".");
        return;
    }
    if (cut(map, result, part->at, hash, arena, &outcome->result))
        fail_nomem(outcome);
}
