/* SPDX-License-Identifier: GPL-2.0-or-later */
/* audit: prints the records of calls, refusals, logins and changes. */
#include <stdio.h>
#include <unistd.h>

#include "audit/timestamp.h"
#include "base/clock.h"
#include "cli/audit_read.h"
#include "cli/lib/cli.h"
#include "cli/lib/table.h"
#include "config/syntax/quote.h"
#include "config/syntax/units.h"
#include "json/json.h"

#define FOLLOW_US 200000u
#define OUTPUT_PIECE 65536u
#define DAY_MS UINT64_C(86400000)
#define DAYS_MAX UINT64_C(36500)

/* The words of records, as docs/audit.md explains them. */
static const char kinds[] = "call, refusal, login, change, lost";
static const char outcomes[] = "ok, error, failed, asks, cancelled, invalid, unavailable, hidden, "
                               "login, scopes, forbidden, too_many, wrong, clear_text, forged, "
                               "logout";

/* The requested values; NULL: all. */
typedef struct filter {
    const char *caller, *tool, *outcome, *kind;
    char since[CW_CLOCK_ISO_LEN + 1]; /* "": from the beginning */
} filter;

typedef struct show {
    filter filter;
    bool json;
    cw_arena arena;
    cw_buf out;
    uint64_t n_damaged;
} show;

/* ---- filter ---- */

static cw_str text_of(const cw_json *record, const char *name)
{
    const cw_json *v = cw_json_get(record, cw_str_from(name));
    return cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : CW_STR("");
}

static bool is_one_of(const cw_json *record, const char *a, const char *b, const char *wanted)
{
    return !wanted || cw_str_is(text_of(record, a), wanted) ||
           (b && cw_str_is(text_of(record, b), wanted));
}

/* Times are all written alike, so their order is that of their texts. */
static bool is_wanted(const filter *f, const cw_json *record)
{
    return cw_str_cmp(text_of(record, "time"), cw_str_from(f->since)) >= 0 &&
           is_one_of(record, "caller", "caller_id", f->caller) &&
           is_one_of(record, "method", "tool", f->tool) &&
           is_one_of(record, "outcome", NULL, f->outcome) &&
           is_one_of(record, "kind", NULL, f->kind);
}

/* A word that no record has would find nothing, and look as if nothing had happened. */
static int check_word(const char *option, const char *word, const char *known)
{
    char exposed[CW_EXCERPT_SIZE];
    for (cw_str rest = cw_str_from(known); word && rest.p;) {
        if (cw_str_is(cw_str_trim(cw_str_cut(rest, ',', &rest)), word))
            return -1;
    }
    return word ? cw_cli_usage("--%s takes one of %s, not %s", option, known,
                               cw_excerpt(cw_str_from(word), exposed))
                : -1;
}

/* "2026-11-15T08:00:00Z", or how long ago: "90m", "7d". */
static bool parse_since(const char *text, char out[CW_CLOCK_ISO_LEN + 1])
{
    cw_str s = cw_str_from(text);
    uint64_t ago;
    int64_t when;
    if (!cw_audit_parse_time(s, &when)) {
        bool is_days = cw_str_ends(s, CW_STR("d"));
        if (is_days && cw_str_to_u64(cw_str_make(s.p, s.n - 1), &ago) && ago <= DAYS_MAX)
            ago *= DAY_MS;
        else if (!cw_units_parse_duration(s, &ago))
            return false;
        when = cw_clock_wall_ms() - (int64_t)ago;
    }
    cw_clock_format_iso(when, out);
    return true;
}

/* ---- output ---- */

static void add_column(cw_buf *out, const cw_json *record, const char *name, size_t width)
{
    cw_str text = text_of(record, name);
    cw_cli_add_column(out, text.n ? text : CW_STR("-"), width);
}

static void add_number(cw_buf *out, const cw_json *record, const char *name)
{
    int64_t value;
    const cw_json *v = cw_json_get(record, cw_str_from(name));
    if (v && cw_json_to_i64(v, &value))
        cw_buf_printf(out, "  %s %lld", name, (long long)value);
}

static void add_line(cw_buf *out, const cw_json *record)
{
    double us;
    const cw_json *took = cw_json_get(record, CW_STR("us"));
    add_column(out, record, "time", CW_CLOCK_ISO_LEN);
    add_column(out, record, "kind", 7);
    add_column(out, record, "outcome", 11);
    add_column(out, record, "door", 7);
    add_column(out, record, "caller", 16);
    cw_str method = text_of(record, "method");
    cw_cli_add_text(out, method.n ? method : CW_STR("-"));
    if (took && cw_json_to_double(took, &us))
        cw_buf_printf(out, "  %.3f ms", us / 1000);
    add_number(out, record, "code");
    add_number(out, record, "security");
    add_number(out, record, "calls");
    static const char *const others[] = {"address", "detail"};
    for (size_t i = 0; i < CW_COUNT(others); i++) {
        cw_str text = text_of(record, others[i]);
        if (!text.n)
            continue;
        cw_buf_add(out, CW_STR("  "));
        cw_cli_add_text(out, text);
    }
    cw_buf_add_char(out, '\n');
}

static int flush(show *s)
{
    int code = s->out.code ? cw_cli_failure("%s", cw_code_text(s->out.code)) : CW_EXIT_OK;
    if (code == CW_EXIT_OK && s->out.n)
        code = cw_cli_print(cw_buf_str(&s->out));
    cw_buf_clear(&s->out);
    return code;
}

static void take_line(show *s, cw_str line)
{
    const cw_json *record;
    cw_arena_reset(&s->arena);
    if (cw_json_read(line, NULL, &s->arena, &record, NULL, NULL) ||
        !cw_json_is(record, CW_JSON_OBJECT)) {
        s->n_damaged++;
        return;
    }
    if (!is_wanted(&s->filter, record))
        return;
    if (!s->json) {
        add_line(&s->out, record);
        return;
    }
    cw_buf_add(&s->out, line);
    cw_buf_add_char(&s->out, '\n');
}

static int print_all(show *s, cw_audit_reader *r, bool follow)
{
    cw_err err = {0};
    cw_str line;
    int code = CW_EXIT_OK;
    while (code == CW_EXIT_OK) {
        cw_code rc = cw_audit_reader_next(r, &line, &err);
        if (rc == CW_OK) {
            take_line(s, line);
            if (s->out.n >= OUTPUT_PIECE)
                code = flush(s);
            continue;
        }
        if (rc != CW_DONE)
            return cw_cli_failure("%s", err.msg);
        code = flush(s);
        if (!follow)
            break;
        usleep(FOLLOW_US);
    }
    /* The last line of a server that died. */
    if (cw_audit_reader_rest(r).n) {
        take_line(s, cw_audit_reader_rest(r));
        code = code == CW_EXIT_OK ? flush(s) : code;
    }
    if (s->n_damaged + r->n_damaged)
        fprintf(stderr, "causeway: damaged lines left out: %llu\n",
                (unsigned long long)(s->n_damaged + r->n_damaged));
    return code;
}

static int run(show *s, const cw_config *config, bool follow)
{
    cw_audit_reader reader;
    if (config->audit.path.n == 0)
        return cw_cli_usage("nothing is recorded: set audit.path in the configuration");
    if (!follow && access(config->audit.path.p, R_OK) != 0)
        return cw_cli_failure("'%s' cannot be read", config->audit.path.p);
    cw_arena_init(&s->arena, (size_t)20 * CW_AUDIT_LINE_MAX);
    cw_buf_init(&s->out, OUTPUT_PIECE + 8 * CW_AUDIT_LINE_MAX);
    cw_audit_reader_init(&reader, config->audit.path.p, config->audit.files);
    int code = print_all(s, &reader, follow);
    cw_audit_reader_done(&reader);
    cw_buf_done(&s->out);
    cw_arena_done(&s->arena);
    return code;
}

int cw_cli_audit(int argc, char **argv)
{
    show s = {.n_damaged = 0};
    const char *path = NULL, *since = NULL;
    bool follow = false;
    const cw_cli_option options[] = {
        CW_CLI_CONFIG_OPTION(&path),
        {"follow", 'f', CW_CLI_FLAG, &follow, NULL, "wait for new records and print them"},
        {"since", 's', CW_CLI_TEXT, &since, "TIME",
         "only newer records: 2026-11-15T08:00:00Z, or an age\n"
         "such as 90m or 7d"},
        {"caller", 0, CW_CLI_TEXT, &s.filter.caller, "NAME",
         "only records of this caller, by name or id"},
        {"tool", 0, CW_CLI_TEXT, &s.filter.tool, "NAME", "only records of this tool or method"},
        {"outcome", 0, CW_CLI_TEXT, &s.filter.outcome, "WORD",
         "only this outcome: ok, error, failed, cancelled,\n"
         "invalid, hidden, login, scopes, too_many, wrong, ..."},
        {"kind", 0, CW_CLI_TEXT, &s.filter.kind, "WORD",
         "only this kind: call, refusal, login, change or lost"},
        {"json", 0, CW_CLI_FLAG, &s.json, NULL, "print the records as JSON lines"},
        {0},
    };
    const cw_cli_spec spec = {
        "audit", "",
        "Print the records of calls, refusals, logins and changes, oldest first, from\n"
        "the file named by audit.path and its rotated files.",
        options, 0};
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    if (code >= 0)
        return code;
    if (since && !parse_since(since, s.filter.since))
        return cw_cli_usage("not a time: %s; write 2026-11-15T08:00:00Z, 90m or 7d", since);
    code = check_word("kind", s.filter.kind, kinds);
    if (code < 0)
        code = check_word("outcome", s.filter.outcome, outcomes);
    if (code >= 0)
        return code;
    cw_config *config;
    code = cw_cli_load_config(path, &config);
    if (code >= 0)
        return code;
    code = run(&s, config, follow);
    cw_config_unref(config);
    return code;
}
