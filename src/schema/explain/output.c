/* SPDX-License-Identifier: GPL-2.0-or-later */
/* output.c - the standard output formats: flag, basic, detailed.
 *
 * Detailed nests a problem under the nearest one whose keyword path leads to it,
 * so that the failures of alternatives stand below their anyOf or oneOf.
 */
#include "json/write.h"
#include "schema/schema.h"

static void add_location(cw_json_writer *w, const cw_schema_problem *p)
{
    cw_json_add_string_member(w, CW_STR("keywordLocation"), p->keyword_path);
    if (p->schema_uri.n) {
        cw_buf b;
        cw_buf_init(&b, p->schema_uri.n + p->schema_pointer.n + 1);
        cw_buf_add(&b, p->schema_uri);
        cw_buf_add_char(&b, '#');
        cw_buf_add(&b, p->schema_pointer);
        cw_json_add_string_member(w, CW_STR("absoluteKeywordLocation"), cw_buf_str(&b));
        cw_buf_done(&b);
    }
    cw_json_add_string_member(w, CW_STR("instanceLocation"), p->instance_pointer);
}

static void open_unit(cw_json_writer *w, const cw_schema_problem *p)
{
    cw_json_open_object(w);
    cw_json_add_bool_member(w, CW_STR("valid"), false);
    add_location(w, p);
    cw_json_add_string_member(w, CW_STR("error"), p->message);
}

static void add_basic(cw_json_writer *w, const cw_schema_report *report)
{
    for (size_t i = 0; i < report->n; i++) {
        open_unit(w, &report->problems[i]);
        cw_json_close(w);
    }
}

/* Whether `inner` is evaluated below `outer`. */
static bool is_below(const cw_schema_problem *inner, const cw_schema_problem *outer)
{
    cw_str path = inner->keyword_path;
    cw_str above = outer->keyword_path;
    return inner->level > outer->level && cw_str_starts(path, above) && path.n > above.n &&
           path.p[above.n] == '/';
}

/* The problem right above problem i, or n. */
static size_t parent_of(const cw_schema_report *report, size_t i)
{
    size_t best = report->n;
    for (size_t j = 0; j < report->n; j++) {
        const cw_schema_problem *p = &report->problems[j];
        if (j != i && is_below(&report->problems[i], p) &&
            (best == report->n || p->keyword_path.n > report->problems[best].keyword_path.n))
            best = j;
    }
    return best;
}

static void add_detailed(cw_json_writer *w, const cw_schema_report *report, size_t parent,
                         unsigned depth)
{
    for (size_t i = 0; i < report->n; i++) {
        if (parent_of(report, i) != parent)
            continue;
        open_unit(w, &report->problems[i]);
        bool below = false;
        for (size_t j = 0; j < report->n && !below; j++)
            below = parent_of(report, j) == i;
        if (below && depth < CW_JSON_WRITE_DEPTH / 4) {
            cw_json_add_key(w, CW_STR("errors"));
            cw_json_open_array(w);
            add_detailed(w, report, i, depth + 1);
            cw_json_close(w);
        }
        cw_json_close(w);
    }
}

void cw_schema_write_output(const cw_schema_report *report, cw_schema_output format, cw_buf *out)
{
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_bool_member(&w, CW_STR("valid"), report->valid);
    if (format != CW_SCHEMA_FLAG && !report->valid) {
        cw_json_add_key(&w, CW_STR("errors"));
        cw_json_open_array(&w);
        if (format == CW_SCHEMA_BASIC)
            add_basic(&w, report);
        else
            add_detailed(&w, report, report->n, 0);
        cw_json_close(&w);
    }
    cw_json_close(&w);
    /* A failure is sticky in the buffer. */
    (void)!cw_json_writer_end(&w, NULL);
}
