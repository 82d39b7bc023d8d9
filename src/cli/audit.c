/* SPDX-License-Identifier: GPL-2.0-or-later */
/* audit: prints the records of calls, refusals, logins and changes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admin/audit_search.h"
#include "audit/reader.h"
#include "base/node.h"
#include "cli/lib/admin.h"
#include "cli/lib/table.h"
#include "config/syntax/quote.h"

#define FOLLOW_US 200000u
#define OUTPUT_PIECE 65536u
#define LIMIT_MAX 1000u /* of causeway.audit.search */

#define MAX_FILES 64u /* and nodes whose missing records are counted */
#define MAX_ROTATED 100u

/* The records of one process. Two lanes write them nearly in order. */
typedef struct node_count {
    char node[CW_NODE_TEXT];
    int64_t first, last, n;
} node_count;

typedef struct show {
    cw_audit_filter filter;
    bool json;
    node_count nodes[MAX_FILES];
    size_t n_nodes;
    cw_arena arena;
    cw_buf out;
    uint64_t n_damaged;
} show;

static cw_str text_of(const cw_json *record, const char *name)
{
    const cw_json *v = cw_json_get(record, cw_str_from(name));
    return cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : CW_STR("");
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
    add_number(out, record, "count");
    add_number(out, record, "security");
    add_number(out, record, "calls");
    static const char *const others[] = {"since", "address", "detail"};
    for (size_t i = 0; i < CW_COUNT(others); i++) {
        cw_str text = text_of(record, others[i]);
        if (!text.n)
            continue;
        cw_buf_add(out, i ? CW_STR("  ") : CW_STR(" since "));
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

/* ---- missing records ---- */

static node_count *find_node(show *s, cw_str node)
{
    for (size_t i = 0; i < s->n_nodes; i++) {
        if (cw_str_is(node, s->nodes[i].node))
            return &s->nodes[i];
    }
    if (s->n_nodes == MAX_FILES || node.n >= CW_NODE_TEXT)
        return NULL;
    node_count *c = &s->nodes[s->n_nodes++];
    memcpy(c->node, node.p, node.n);
    c->first = INT64_MAX;
    return c;
}

static void count_record(show *s, const cw_json *record)
{
    int64_t seq;
    cw_str node = text_of(record, "node");
    const cw_json *number = cw_json_get(record, CW_STR("seq"));
    node_count *c = node.n && number && cw_json_to_i64(number, &seq) ? find_node(s, node) : NULL;
    if (!c)
        return;
    c->n++;
    c->first = seq < c->first ? seq : c->first;
    c->last = seq > c->last ? seq : c->last;
}

static void report_missing(const show *s)
{
    for (size_t i = 0; i < s->n_nodes; i++) {
        const node_count *c = &s->nodes[i];
        int64_t missing = c->last - c->first + 1 - c->n;
        if (missing > 0)
            fprintf(stderr, "causeway: records of node %s that are missing: %lld\n", c->node,
                    (long long)missing);
    }
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
    count_record(s, record);
    if (!cw_audit_filter_matches(&s->filter, record))
        return;
    if (!s->json) {
        add_line(&s->out, record);
        return;
    }
    cw_buf_add(&s->out, line);
    cw_buf_add_char(&s->out, '\n');
}

static void report_problems(const show *s)
{
    if (s->n_damaged)
        fprintf(stderr, "causeway: damaged lines left out: %llu\n",
                (unsigned long long)s->n_damaged);
    report_missing(s);
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
    s->n_damaged += r->n_damaged;
    report_problems(s);
    return code;
}

/* ---- several files ---- */

typedef struct input {
    cw_audit_reader reader;
    cw_str line; /* the next one; .p is NULL at the end */
    char time[CW_CLOCK_ISO_LEN + 1];
} input;

static cw_code next_line(show *s, input *in, cw_err *err)
{
    const cw_json *record = NULL;
    cw_code rc = cw_audit_reader_next(&in->reader, &in->line, err);
    in->time[0] = 0;
    if (rc) {
        in->line = (cw_str){NULL, 0};
        return rc == CW_DONE ? CW_OK : rc;
    }
    cw_arena_reset(&s->arena);
    if (cw_json_read(in->line, NULL, &s->arena, &record, NULL, NULL) ||
        !cw_json_is(record, CW_JSON_OBJECT))
        return CW_OK; /* counted as damaged when its turn comes, which is now */
    cw_str time = text_of(record, "time");
    size_t n = time.n < sizeof in->time ? time.n : sizeof in->time - 1;
    memcpy(in->time, time.p, n);
    in->time[n] = 0;
    return CW_OK;
}

static input *oldest(input *all, size_t n)
{
    input *found = NULL;
    for (size_t i = 0; i < n; i++) {
        if (all[i].line.p && (!found || strcmp(all[i].time, found->time) < 0))
            found = &all[i];
    }
    return found;
}

/* The lines of all files by their time. */
static int merge(show *s, input *all, size_t n)
{
    cw_err err = {0};
    cw_code rc = CW_OK;
    int code = CW_EXIT_OK;
    for (size_t i = 0; i < n && !rc; i++)
        rc = next_line(s, &all[i], &err);
    for (input *in; !rc && code == CW_EXIT_OK && (in = oldest(all, n)) != NULL;) {
        take_line(s, in->line);
        if (s->out.n >= OUTPUT_PIECE)
            code = flush(s);
        rc = next_line(s, in, &err);
    }
    if (rc)
        return cw_cli_failure("%s", err.msg);
    if (code == CW_EXIT_OK)
        code = flush(s);
    for (size_t i = 0; i < n; i++)
        s->n_damaged += all[i].reader.n_damaged;
    report_problems(s);
    return code;
}

static int print_files(show *s, const cw_cli_args *files)
{
    for (size_t i = 0; i < files->n; i++) {
        if (!cw_audit_is_readable(files->items[i]))
            return cw_cli_failure("'%s' cannot be read: %s", files->items[i], strerror(errno));
    }
    input *all = calloc(files->n, sizeof *all);
    if (!all)
        return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
    cw_arena_init(&s->arena, (size_t)20 * CW_AUDIT_LINE_MAX);
    for (size_t i = 0; i < files->n; i++)
        cw_audit_reader_init(&all[i].reader, files->items[i], MAX_ROTATED);
    int code = merge(s, all, files->n);
    for (size_t i = 0; i < files->n; i++)
        cw_audit_reader_done(&all[i].reader);
    cw_arena_done(&s->arena);
    free(all);
    return code;
}

static int run(show *s, const cw_config *config, bool follow)
{
    cw_audit_reader reader;
    if (config->audit.path.n == 0)
        return cw_cli_usage("nothing is recorded: set audit.path in the configuration");
    if (!follow && !cw_audit_is_readable(config->audit.path.p))
        return cw_cli_failure("'%s' cannot be read: %s%s", config->audit.path.p, strerror(errno),
                              errno == ENOENT ? "; the first record makes it" : "");
    cw_arena_init(&s->arena, (size_t)20 * CW_AUDIT_LINE_MAX);
    cw_audit_reader_init(&reader, config->audit.path.p, config->audit.files);
    int code = print_all(s, &reader, follow);
    cw_audit_reader_done(&reader);
    cw_arena_done(&s->arena);
    return code;
}

/* ---- the newest records, by the method ---- */

typedef struct query {
    const char *since, *caller, *tool, *outcome, *kind, *limit;
} query;

static void write_text(cw_json_writer *w, const char *name, const char *value)
{
    if (value)
        cw_json_add_string_member(w, cw_str_from(name), cw_str_from(value));
}

static void write_query(cw_json_writer *w, const void *ctx)
{
    const query *q = ctx;
    write_text(w, "since", q->since);
    write_text(w, "caller", q->caller);
    write_text(w, "tool", q->tool);
    write_text(w, "outcome", q->outcome);
    write_text(w, "kind", q->kind);
    uint64_t limit = LIMIT_MAX;
    if (q->limit)
        (void)cw_str_to_u64(cw_str_from(q->limit), &limit);
    cw_json_add_i64_member(w, CW_STR("limit"), (int64_t)limit);
}

static void add_record(show *s, const cw_json *record)
{
    if (!s->json) {
        add_line(&s->out, record);
        return;
    }
    cw_json_writer w;
    cw_json_writer_init(&w, &s->out, CW_JSON_COMPACT);
    cw_json_add_value(&w, record);
    cw_buf_add_char(&s->out, '\n');
}

/* The method returns the newest record first, the command prints it last. */
static int print_found(show *s, cw_cli_admin *a, const cw_json *result)
{
    const cw_json *records = cw_json_get(result, CW_STR("records"));
    size_t n = 0, count = records ? cw_json_count(records) : 0;
    const cw_json **all = cw_arena_calloc(&a->arena, count + 1, sizeof(cw_json *));
    if (!all)
        return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
    for (const cw_json *r = records ? cw_json_first(records) : NULL; r; r = cw_json_next(r))
        all[n++] = r;
    while (n)
        add_record(s, all[--n]);
    int code = flush(s);
    int64_t damaged = 0;
    const cw_json *number = cw_json_get(result, CW_STR("damaged"));
    if (number && cw_json_to_i64(number, &damaged) && damaged)
        fprintf(stderr, "causeway: damaged lines left out: %lld\n", (long long)damaged);
    if (cw_json_is(cw_json_get(result, CW_STR("more")), CW_JSON_TRUE))
        fprintf(stderr, "causeway: older records are left out\n");
    return code;
}

static int search(show *s, const cw_cli_target *target, const query *q)
{
    cw_cli_admin a;
    const cw_json *result = NULL;
    int code = cw_cli_admin_open(target, &a);
    if (code >= 0)
        return code;
    code = cw_cli_admin_call(&a, "causeway.audit.search", write_query, q, &result);
    if (code < 0)
        code = print_found(s, &a, result);
    cw_cli_admin_close(&a);
    return code;
}

/* ---- the command ---- */

static int check_word(const char *option, const char *word, const char *known)
{
    char exposed[CW_EXCERPT_SIZE];
    if (!word || cw_audit_is_word(known, cw_str_from(word)))
        return -1;
    return cw_cli_usage("--%s takes one of %s, not %s", option, known,
                        cw_excerpt(cw_str_from(word), exposed));
}

static int check_query(const query *q, bool follow, cw_audit_filter *ret)
{
    uint64_t limit;
    *ret = (cw_audit_filter){.caller = cw_str_from(q->caller ? q->caller : ""),
                             .tool = cw_str_from(q->tool ? q->tool : ""),
                             .outcome = cw_str_from(q->outcome ? q->outcome : ""),
                             .kind = cw_str_from(q->kind ? q->kind : "")};
    if (q->since && !cw_admin_parse_since(cw_str_from(q->since), ret->since))
        return cw_cli_usage("not a time: %s; write 2026-11-15T08:00:00Z, 90m or 7d", q->since);
    if (q->limit &&
        (!cw_str_to_u64(cw_str_from(q->limit), &limit) || limit < 1 || limit > LIMIT_MAX))
        return cw_cli_usage("--limit takes a number from 1 to 1000");
    if (q->limit && follow)
        return cw_cli_usage("--limit cannot be combined with --follow");
    int code = check_word("kind", q->kind, cw_audit_kinds);
    return code >= 0 ? code : check_word("outcome", q->outcome, cw_audit_outcomes);
}

static int print_audit(show *s, const cw_cli_target *target, const query *q, bool follow)
{
    cw_config *config;
    if (q->limit || target->server)
        return search(s, target, q);
    int code = cw_cli_load_config(target->config, &config);
    if (code >= 0)
        return code;
    code = run(s, config, follow);
    cw_config_unref(config);
    return code;
}

int cw_cli_audit(int argc, char **argv)
{
    show s = {.n_damaged = 0};
    query q = {0};
    cw_cli_target target = {0};
    bool follow = false;
    const cw_cli_option options[] = {
        CW_CLI_TARGET_OPTIONS(&target),
        {"follow", 'f', CW_CLI_FLAG, &follow, NULL, "wait for new records and print them"},
        {"since", 's', CW_CLI_TEXT, &q.since, "TIME",
         "only newer records: 2026-11-15T08:00:00Z, or an age\n"
         "such as 90m or 7d"},
        {"caller", 0, CW_CLI_TEXT, &q.caller, "CALLER",
         "only records of this caller, by name or id"},
        {"tool", 0, CW_CLI_TEXT, &q.tool, "TOOL", "only records of this tool or method"},
        {"outcome", 0, CW_CLI_TEXT, &q.outcome, "OUTCOME",
         "only this outcome: ok, error, failed, cancelled,\n"
         "invalid, hidden, login, scopes, too_many, wrong, ..."},
        {"kind", 0, CW_CLI_TEXT, &q.kind, "KIND",
         "call, refusal, login, change, consent, grant, task\nor lost"},
        {"limit", 'n', CW_CLI_TEXT, &q.limit, "N",
         "only the newest N records, at most 1000; default:\n"
         "all, and 1000 with --server"},
        {"json", 0, CW_CLI_FLAG, &s.json, NULL, "print the records as JSON lines"},
        {0},
    };
    const cw_cli_spec spec = {
        "audit", "[FILE...]",
        "Print the records of calls, refusals, logins and changes, oldest first, from\n"
        "the file named by audit.path and its rotated files. With FILEs, those of\n"
        "several servers are printed together.",
        options, MAX_FILES};
    cw_cli_args files = {0};
    int code = cw_cli_parse(&spec, argc, argv, &files);
    if (code < 0)
        code = check_query(&q, follow, &s.filter);
    if (code >= 0)
        return code;
    if (follow && target.server)
        return cw_cli_usage("--follow cannot be combined with --server");
    if (files.n && (follow || target.server || q.limit))
        return cw_cli_usage("FILE cannot be combined with --follow, --server or --limit");
    cw_buf_init(&s.out, OUTPUT_PIECE + 8 * CW_AUDIT_LINE_MAX);
    code = files.n ? print_files(&s, &files) : print_audit(&s, &target, &q, follow);
    cw_buf_done(&s.out);
    return code;
}
