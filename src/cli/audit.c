/* SPDX-License-Identifier: GPL-2.0-or-later */
/* audit: prints the records of calls, refusals, logins and changes. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "audit/timestamp.h"
#include "base/buf.h"
#include "base/clock.h"
#include "cli/lib/cli.h"
#include "cli/lib/table.h"
#include "config/syntax/quote.h"
#include "config/syntax/units.h"
#include "json/json.h"

#define FOLLOW_US 200000u
#define OUTPUT_PIECE 65536u
#define DAY_MS UINT64_C(86400000)
#define DAYS_MAX UINT64_C(36500)
/* Longer lines count as damaged. */
#define LINE_MAX_BYTES (16u * 1024u * 1024u)
#define PIECE 65536u
/* Rotating takes a few renames. */
#define MOVE_TRIES 10
#define MOVE_US 5000u

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

/* ---- reader: the lines of an audit and of its rotated files, oldest first ----
 *
 * Files are identified by device and inode, not by name, because a server may rotate them
 * meanwhile. At the end of a file the reader finds its current position in the chain and
 * continues with the next younger file.
 *
 *     audit.2 ─► audit.1 ─► audit ─► (follow: wait for more)
 */

typedef struct audit_reader {
    const char *path;
    unsigned files; /* the number of rotated files */
    int fd;         /* -1: none yet */
    dev_t dev;
    ino_t ino;
    cw_buf text; /* read and not yet returned */
    size_t at;   /* the position of the next line in it */
    bool is_skipping;
    uint64_t n_damaged;
} audit_reader;

static void reader_init(audit_reader *r, const char *path, unsigned files)
{
    *r = (audit_reader){.path = path, .files = files, .fd = -1};
    cw_buf_init(&r->text, LINE_MAX_BYTES + PIECE);
}

static void reader_done(audit_reader *r)
{
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
    cw_buf_done(&r->text);
}

static void name_of(const audit_reader *r, unsigned index, char out[PATH_MAX + 16])
{
    if (index)
        snprintf(out, PATH_MAX + 16, "%s.%u", r->path, index);
    else
        snprintf(out, PATH_MAX + 16, "%s", r->path);
}

/* Find the current position of the open file in the chain; false: it was removed. */
static bool find_place(const audit_reader *r, unsigned *ret)
{
    char name[PATH_MAX + 16];
    struct stat st;
    for (unsigned i = 0; i <= r->files; i++) {
        name_of(r, i, name);
        if (stat(name, &st) == 0 && st.st_dev == r->dev && st.st_ino == r->ino) {
            *ret = i;
            return true;
        }
    }
    return false;
}

/* The file with this number, or -1. */
static int open_index(const audit_reader *r, unsigned index)
{
    char name[PATH_MAX + 16];
    name_of(r, index, name);
    return open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* Go on with this file. False: there is none. */
static bool adopt(audit_reader *r, int fd)
{
    struct stat st;
    if (fd < 0)
        return false;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
        close(fd);
        return false;
    }
    if (r->fd >= 0)
        close(r->fd);
    r->fd = fd;
    r->dev = st.st_dev;
    r->ino = st.st_ino;
    /* An unfinished line of the previous file does not continue in this one. */
    if (r->text.n > r->at)
        r->n_damaged++;
    r->is_skipping = false;
    cw_buf_clear(&r->text);
    r->at = 0;
    return true;
}

static bool adopt_oldest(audit_reader *r)
{
    for (unsigned i = r->files + 1; i-- > 0;) {
        if (adopt(r, open_index(r, i)))
            return true;
    }
    return false;
}

/* The next younger one. While it is looked for, all may move on: the open one must have kept its
 * place. */
static bool adopt_younger(audit_reader *r, unsigned place)
{
    unsigned now;
    int fd = open_index(r, place - 1);
    if (fd >= 0 && find_place(r, &now) && now == place)
        return adopt(r, fd);
    if (fd >= 0)
        close(fd);
    return false;
}

/* Read on in the open file. CW_DONE at its end. */
static cw_code read_more(audit_reader *r, cw_err *err)
{
    if (r->at) {
        cw_buf_consume(&r->text, r->at);
        r->at = 0;
    }
    if (r->text.n > LINE_MAX_BYTES) {
        r->n_damaged += !r->is_skipping;
        r->is_skipping = true;
        cw_buf_clear(&r->text);
    }
    char *to = cw_buf_reserve(&r->text, PIECE);
    if (!to)
        return cw_fail_nomem(err);
    ssize_t got = read(r->fd, to, PIECE);
    if (got < 0)
        return cw_fail_errno(err, errno, "read '%s'", r->path);
    cw_buf_commit(&r->text, (size_t)got);
    return got ? CW_OK : CW_DONE;
}

/* A whole line of what has been read, if there is one. */
static bool cut_line(audit_reader *r, cw_str *ret)
{
    while (r->at < r->text.n) {
        const char *from = r->text.p + r->at;
        const char *end = memchr(from, '\n', r->text.n - r->at);
        if (!end)
            return false;
        r->at += (size_t)(end - from) + 1;
        bool was_skipping = r->is_skipping;
        r->is_skipping = false;
        *ret = cw_str_make(from, (size_t)(end - from));
        if (!was_skipping)
            return true;
    }
    return false;
}

/* The same, after a running rotation has ended. */
static bool find_settled(const audit_reader *r, unsigned *ret)
{
    for (int i = 0; i < MOVE_TRIES; i++) {
        if (find_place(r, ret))
            return true;
        usleep(MOVE_US);
    }
    return false;
}

/* The end of a file: go on with the next one. CW_DONE: there is none, for now. */
static cw_code go_on(audit_reader *r, cw_err *err)
{
    unsigned place;
    if (r->fd < 0)
        return adopt_oldest(r) ? CW_OK : CW_DONE;
    bool is_there = find_settled(r, &place);
    if (is_there && place == 0)
        return CW_DONE;
    /* Between its end and its renaming more may have been added. */
    cw_code rc = read_more(r, err);
    if (rc != CW_DONE)
        return rc;
    for (int i = 0; is_there && i < MOVE_TRIES; i++) {
        if (adopt_younger(r, place))
            return CW_OK;
        usleep(MOVE_US);
        is_there = find_settled(r, &place);
    }
    if (is_there)
        return CW_DONE;
    return adopt_oldest(r) ? CW_OK : CW_DONE;
}

/* The next line, without its line break. CW_OK; CW_DONE: there are no more for now (ask again to
 * follow); CW_IO, CW_NOMEM. The line lives until the next call. */
static cw_code reader_next(audit_reader *r, cw_str *ret, cw_err *err)
{
    for (;;) {
        if (cut_line(r, ret))
            return CW_OK;
        cw_code rc = r->fd < 0 ? CW_DONE : read_more(r, err);
        if (rc == CW_DONE)
            rc = go_on(r, err);
        if (rc)
            return rc;
    }
}

/* The text after the last line break: an unfinished line. */
static cw_str reader_rest(const audit_reader *r)
{
    return cw_str_make(r->text.p + r->at, r->text.n - r->at);
}

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

static int print_all(show *s, audit_reader *r, bool follow)
{
    cw_err err = {0};
    cw_str line;
    int code = CW_EXIT_OK;
    while (code == CW_EXIT_OK) {
        cw_code rc = reader_next(r, &line, &err);
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
    if (reader_rest(r).n) {
        take_line(s, reader_rest(r));
        code = code == CW_EXIT_OK ? flush(s) : code;
    }
    if (s->n_damaged + r->n_damaged)
        fprintf(stderr, "causeway: damaged lines left out: %llu\n",
                (unsigned long long)(s->n_damaged + r->n_damaged));
    return code;
}

static int run(show *s, const cw_config *config, bool follow)
{
    audit_reader reader;
    if (config->audit.path.n == 0)
        return cw_cli_usage("nothing is recorded: set audit.path in the configuration");
    if (!follow && access(config->audit.path.p, R_OK) != 0)
        return cw_cli_failure("'%s' cannot be read", config->audit.path.p);
    cw_arena_init(&s->arena, (size_t)20 * LINE_MAX_BYTES);
    cw_buf_init(&s->out, OUTPUT_PIECE + 8 * LINE_MAX_BYTES);
    reader_init(&reader, config->audit.path.p, config->audit.files);
    int code = print_all(s, &reader, follow);
    reader_done(&reader);
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
