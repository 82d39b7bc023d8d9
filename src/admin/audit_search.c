/* SPDX-License-Identifier: GPL-2.0-or-later */
/* audit_search.c - the method that finds records of the audit. */
#include "admin/audit_search.h"

#include <inttypes.h>
#include <stdio.h>

#include "admin/admin.h"
#include "audit/search.h"
#include "audit/timestamp.h"
#include "config/syntax/quote.h"
#include "config/syntax/units.h"

#define DAY_MS UINT64_C(86400000)
#define DAYS_MAX UINT64_C(36500)
#define LIMIT 100                              /* unless the caller sets another */
#define SEARCH_BYTES (CW_ADMIN_RESULT_MAX / 2) /* older records are left for another call */

bool cw_admin_parse_since(cw_str text, char out[CW_CLOCK_ISO_LEN + 1])
{
    uint64_t ago;
    int64_t when;
    if (!cw_audit_parse_time(text, &when)) {
        bool is_days = cw_str_ends(text, CW_STR("d"));
        if (is_days && cw_str_to_u64(cw_str_make(text.p, text.n - 1), &ago) && ago <= DAYS_MAX)
            ago *= DAY_MS;
        else if (!cw_units_parse_duration(text, &ago))
            return false;
        when = cw_clock_wall_ms() - (int64_t)ago;
    }
    cw_clock_format_iso(when, out);
    return true;
}

/* A word that no record has would find nothing, and look as if nothing had happened. */
static cw_code check_word(const char *param, cw_str word, const char *known, cw_err *err)
{
    char shown[CW_EXCERPT_SIZE];
    if (!word.n || cw_audit_is_word(known, word))
        return CW_OK;
    return cw_fail(err, CW_PARAMS, "%s: expected one of %s, not %s", param, known,
                   cw_excerpt(word, shown));
}

static cw_code read_filter(const cw_admin_call *c, cw_audit_filter *ret, cw_err *err)
{
    cw_str since = cw_admin_text(c, "since");
    *ret = (cw_audit_filter){.caller = cw_admin_text(c, "caller"),
                             .tool = cw_admin_text(c, "tool"),
                             .outcome = cw_admin_text(c, "outcome"),
                             .kind = cw_admin_text(c, "kind")};
    if (since.n && !cw_admin_parse_since(since, ret->since))
        return cw_fail(err, CW_PARAMS,
                       "since: expected a time such as 2026-11-15T08:00:00Z, or an "
                       "age such as 90m or 7d");
    cw_code rc = check_word("kind", ret->kind, cw_audit_kinds, err);
    return rc ? rc : check_word("outcome", ret->outcome, cw_audit_outcomes, err);
}

#define PLACE_NUMBERS 3u
#define PLACE_SIZE 72u /* three numbers of 64 bits, and hyphens */

static bool parse_place(cw_str text, cw_audit_place *ret)
{
    uint64_t numbers[PLACE_NUMBERS];
    cw_str rest = text;
    for (size_t i = 0; i < CW_COUNT(numbers); i++) {
        if (!rest.p || !cw_str_to_u64(cw_str_cut(rest, '-', &rest), &numbers[i]))
            return false;
    }
    *ret = (cw_audit_place){numbers[0], numbers[1], numbers[2]};
    return !rest.p && ret->inode;
}

static void write_place(cw_json_writer *w, const cw_audit_place *place)
{
    char text[PLACE_SIZE];
    cw_json_add_key(w, CW_STR("next"));
    snprintf(text, sizeof text, "%" PRIu64 "-%" PRIu64 "-%" PRIu64, place->inode, place->file,
             place->offset);
    if (place->inode)
        cw_json_add_string(w, cw_str_from(text));
    else
        cw_json_add_null(w);
}

typedef struct found {
    cw_admin_call *c;
    int64_t n, limit;
    bool has_more;
} found;

/* The hash too: short arguments can be guessed from it. */
static bool is_about_arguments(cw_str member)
{
    return cw_str_is(member, "arguments") || cw_str_is(member, "arguments_hash");
}

static cw_code on_record(const cw_json *record, void *ctx, cw_err *err)
{
    found *f = ctx;
    cw_json_writer *w = f->c->out;
    (void)err;
    if (f->n == f->limit || (f->n && w->out->n > SEARCH_BYTES)) {
        f->has_more = true;
        return CW_DONE;
    }
    f->n++;
    cw_json_open_object(w);
    for (const cw_json *k = cw_json_first(record); k; k = cw_json_next_key(k)) {
        if (!f->c->sees_arguments && is_about_arguments(cw_json_text(k)))
            continue;
        cw_json_add_key(w, cw_json_text(k));
        cw_json_add_value(w, cw_json_value(k));
    }
    cw_json_close(w);
    return w->out->code;
}

static cw_code search(cw_admin_call *c, cw_err *err)
{
    found f = {.c = c, .limit = cw_admin_number(c, "limit", LIMIT)};
    cw_audit_search s = {.path = c->config->audit.path.p,
                         .files = c->config->audit.files,
                         .fn = on_record,
                         .ctx = &f};
    if (!c->config->audit.path.n)
        return cw_fail(err, CW_CONFIG, "nothing is recorded: set audit.path in the configuration");
    cw_code rc = read_filter(c, &s.filter, err);
    if (rc)
        return rc;
    cw_str cursor = cw_admin_text(c, "cursor");
    if (cursor.n && !parse_place(cursor, &s.from))
        return cw_fail(err, CW_PARAMS, "cursor: expected the member next of a result");
    cw_json_add_key(c->out, CW_STR("records"));
    cw_json_open_array(c->out);
    rc = cw_audit_search_run(&s, err);
    cw_json_close(c->out);
    cw_json_add_bool_member(c->out, CW_STR("more"), f.has_more || s.is_late);
    cw_json_add_i64_member(c->out, CW_STR("damaged"), (int64_t)s.n_damaged);
    if (s.oldest[0])
        cw_json_add_string_member(c->out, CW_STR("searched_to"), cw_str_from(s.oldest));
    write_place(c->out, &s.end);
    return rc;
}

#define TEXT "{\"type\":\"string\"}"

const cw_admin_method cw_admin_audit_methods[] = {
    {.name = "causeway.audit.search",
     .about = "Return records of the audit, the newest first",
     .permission = CW_PERMISSION_VIEW_AUDIT,
     .params =
         "[{\"name\":\"since\",\"description\":\"Only newer records: 2026-11-15T08:00:00Z, or "
         "an age such as 90m or 7d\",\"schema\":" TEXT "},"
         "{\"name\":\"caller\",\"description\":\"Name or id\",\"schema\":" TEXT "},"
         "{\"name\":\"tool\",\"description\":\"Name of a tool or method\",\"schema\":" TEXT
         "},{\"name\":\"outcome\",\"schema\":" TEXT "},"
         "{\"name\":\"kind\",\"schema\":" TEXT "},"
         "{\"name\":\"cursor\",\"description\":\"Go on where a search ended: its "
         "next\",\"schema\":" TEXT "},"
         "{\"name\":\"limit\",\"description\":\"Maximum number of records; 100 by default\","
         "\"schema\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000}}]",
     .result = "{\"records\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
               "\"more\":{\"type\":\"boolean\"},\"damaged\":{\"type\":\"integer\"},"
               "\"searched_to\":" TEXT ",\"next\":{\"type\":[\"string\",\"null\"]}}",
     .place = CW_ADMIN_FILES,
     .run = search},
    {.name = NULL},
};
