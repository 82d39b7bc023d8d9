/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <signal.h>
#include <stdatomic.h>

#include "audit/audit.c" /* NOLINT(bugprone-suspicious-include) */
#include "audit/timestamp.h"
#include "base/file.h"
#include "base/log.h"
#include "support/oom.h"
#include "support/test.h"

#define ROOM (64u * 1024u)

static char folder[] = "/tmp/cw-audit-XXXXXX";
static char path[128];
static cw_buf text;
static cw_arena arena;
static atomic_int n_failures, n_recoveries; /* counted by the writer thread */

/* In front of the C library: a disk that does not answer, and the file that was written to it last. */
static atomic_bool disk_hangs;
static atomic_uint n_hanging;
static _Thread_local ino_t synced; /* by this thread: others may still end */

int fdatasync(int fd);
int fdatasync(int fd)
{
    struct stat st;
    if (fstat(fd, &st) == 0)
        synced = st.st_ino;
    atomic_fetch_add(&n_hanging, 1);
    while (atomic_load(&disk_hangs))
        usleep(1000);
    atomic_fetch_sub(&n_hanging, 1);
    return (int)syscall(SYS_fdatasync, fd);
}

static void on_status(void *ctx, const cw_err *err)
{
    (void)ctx;
    if (err)
        atomic_fetch_add(&n_failures, 1);
    else
        atomic_fetch_add(&n_recoveries, 1);
}

static cw_audit_opts options(void)
{
    return (cw_audit_opts){.path = path, .files = 3, .room = ROOM};
}

static void remove_files(void)
{
    char name[160];
    unlink(path);
    for (int i = 1; i < 10; i++) {
        snprintf(name, sizeof name, "%s.%d", path, i);
        unlink(name);
    }
}

SETUP(set_up)
{
    snprintf(path, sizeof path, "%s/audit", folder);
    cw_buf_init(&text, 16u << 20);
    cw_arena_init(&arena, 256u << 20);
    atomic_store(&n_failures, 0);
    atomic_store(&n_recoveries, 0);
    return 0;
}

TEARDOWN(tear_down)
{
    remove_files();
    cw_buf_done(&text);
    cw_arena_done(&arena);
    return 0;
}

/* Prepare and use settings. */
static cw_code configure(cw_audit *a, const cw_audit_opts *opts, cw_err *err)
{
    cw_audit_setup *fresh;
    cw_code rc = cw_audit_prepare(a, opts, &fresh, err);
    if (!rc)
        cw_audit_use(a, fresh);
    return rc;
}

static cw_audit *start_audit(const cw_audit_opts *opts)
{
    cw_audit *a;
    assert_int_equal(cw_audit_new(on_status, NULL, &a, NULL), CW_OK);
    assert_false(cw_audit_is_on(a));
    assert_int_equal(configure(a, opts, NULL), CW_OK);
    return a;
}

static cw_audit_record call_of(const char *method)
{
    return (cw_audit_record){.kind = CW_AUDIT_CALL,
                             .door = "mcp",
                             .outcome = "ok",
                             .caller = CW_STR("alice"),
                             .caller_id = CW_STR("1"),
                             .method = cw_str_from(method)};
}

static const cw_json *parse(cw_str line)
{
    const cw_json *root;
    assert_int_equal(cw_json_read(line, NULL, &arena, &root, NULL, NULL), CW_OK);
    return root;
}

static unsigned read_lines(const char *name, const cw_json **ret, unsigned max)
{
    unsigned n = 0;
    cw_buf_clear(&text);
    assert_int_equal(cw_file_read(name, CW_FILE_PLAIN, &text, NULL), CW_OK);
    cw_str rest = cw_buf_str(&text);
    while (rest.n) {
        const char *end = memchr(rest.p, '\n', rest.n);
        assert_non_null(end);
        const cw_json *record = parse(cw_str_make(rest.p, (size_t)(end - rest.p)));
        if (n < max)
            ret[n] = record;
        n++;
        rest = cw_str_make(end + 1, rest.n - (size_t)(end + 1 - rest.p));
    }
    return n;
}

static void assert_member(const cw_json *record, const char *name, const char *value)
{
    const cw_json *v = cw_json_get(record, cw_str_from(name));
    assert_non_null(v);
    assert_true(cw_str_is(cw_json_text(v), value));
}

/* ---- lines ---- */

TEST(a_record_becomes_one_line_with_everything_that_is_known)
{
    const cw_json *lines[4];
    unsigned char hash[CW_AUDIT_HASH];
    cw_audit_opts opts = options();
    cw_audit *a = start_audit(&opts);
    cw_audit_hash(CW_STR("{\"nid\":1}"), hash);
    cw_audit_record r = call_of("nodes.get");
    r.tool = CW_STR("nodes_get");
    r.address = CW_STR("192.0.2.1");
    r.detail = CW_STR("line\nbreak \"quoted\"");
    r.us = 1234;
    r.has_us = true;
    r.code = -5;
    r.has_code = true;
    r.arguments_hash = hash;
    r.arguments = CW_STR("{\"nid\":1}");
    cw_audit_add(a, &r);
    assert_int_equal(cw_audit_free(a), 0);
    assert_int_equal(read_lines(path, lines, 4), 1);
    assert_member(lines[0], "kind", "call");
    assert_member(lines[0], "door", "mcp");
    assert_member(lines[0], "caller", "alice");
    assert_member(lines[0], "caller_id", "1");
    assert_member(lines[0], "method", "nodes.get");
    assert_member(lines[0], "tool", "nodes_get");
    assert_member(lines[0], "outcome", "ok");
    assert_member(lines[0], "code", "-5");
    assert_member(lines[0], "address", "192.0.2.1");
    assert_member(lines[0], "detail", "line\nbreak \"quoted\"");
    assert_member(lines[0], "us", "1234");
    /* printf '{"nid":1}' | b2sum -l 256 */
    assert_member(lines[0], "arguments_hash",
                  "a62830fa48225d211de2b474c40472435f03c0dd497ef2ae3385133017a823a3");
    assert_null(cw_json_get(lines[0], CW_STR("arguments")));
    int64_t when;
    const cw_json *time = cw_json_get(lines[0], CW_STR("time"));
    assert_true(cw_audit_parse_time(cw_json_text(time), &when));
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

TEST(names_are_cut_at_a_character)
{
    const cw_json *lines[1];
    char name[2 * CW_AUDIT_MAX_NAME];
    for (size_t i = 0; i + 1 < sizeof name; i += 2)
        memcpy(name + i, "\xC3\xA4", 2);
    cw_audit_opts opts = options();
    cw_audit *a = start_audit(&opts);
    cw_audit_record r = call_of("x");
    r.caller = cw_str_make(name, sizeof name);
    r.detail = cw_str_make(name + 1, sizeof name - 1); /* ill-formed at its beginning */
    cw_audit_add(a, &r);
    assert_int_equal(cw_audit_free(a), 0);
    assert_int_equal(read_lines(path, lines, 1), 1);
    assert_int_equal(cw_json_text(cw_json_get(lines[0], CW_STR("caller"))).n, CW_AUDIT_MAX_NAME);
}

TEST(threat_B10_what_drives_a_terminal_is_escaped)
{
    const cw_json *lines[1];
    static const char hostile[] = "A\xC2\x9B"
                                  "31m\xE2\x80\xAE"
                                  "B\xE2\x80\xA8\xC3\xA4\x7F";
    cw_audit_opts opts = options();
    opts.arguments = 256;
    cw_audit *a = start_audit(&opts);
    cw_audit_record r = call_of(hostile);
    r.arguments = CW_STR("{\"x\":\"\xE2\x81\xA6\"}");
    cw_audit_add(a, &r);
    assert_int_equal(cw_audit_free(a), 0);
    assert_int_equal(read_lines(path, lines, 1), 1);
    assert_member(lines[0], "method", hostile);
    assert_non_null(memmem(text.p, text.n, "\"A\\u009b31m\\u202eB\\u2028\xC3\xA4\\u007f\"", 33));
    assert_non_null(memmem(text.p, text.n, "{\"x\":\"\\u2066\"}", 14));
}

TEST(arguments_are_recorded_without_what_is_redacted)
{
    static const cw_str redact[] = {CW_STR_INIT("/password"), CW_STR_INIT("/users/*/key"),
                                    CW_STR_INIT("/a~1b"), CW_STR_INIT("/list/1")};
    const cw_json *lines[4];
    cw_audit_opts opts = options();
    opts.arguments = 256;
    opts.redact = redact;
    opts.n_redact = CW_COUNT(redact);
    cw_audit *a = start_audit(&opts);
    cw_audit_record r = call_of("x");
    r.arguments =
        CW_STR("{\"password\":{\"deep\":\"s3cret\"},\"users\":[{\"key\":\"s3cret\",\"n\":1},"
               "{\"n\":2}],\"a/b\":\"s3cret\",\"list\":[1,\"s3cret\",3],\"keep\":1.50}");
    cw_audit_add(a, &r);
    char longer[400] = "";
    memset(longer, ' ', sizeof longer);
    r.arguments = cw_str_make(longer, sizeof longer);
    cw_audit_add(a, &r);
    r.arguments = CW_STR("[\"s3cret\"]"); /* by position: nobody knows which is which */
    cw_audit_add(a, &r);
    assert_int_equal(cw_audit_free(a), 0);
    assert_int_equal(read_lines(path, lines, 4), 3);
    assert_null(memmem(text.p, text.n, "s3cret", 6));
    cw_str exposed = cw_json_span(cw_json_get(lines[0], CW_STR("arguments")));
    assert_true(cw_str_is(
        exposed, "{\"password\":\"[redacted]\",\"users\":[{\"key\":\"[redacted]\",\"n\":1},"
                 "{\"n\":2}],\"a/b\":\"[redacted]\",\"list\":[1,\"[redacted]\",3],"
                 "\"keep\":1.50}"));
    for (int i = 1; i < 3; i++) {
        assert_null(cw_json_get(lines[i], CW_STR("arguments")));
        assert_true(cw_json_is(cw_json_get(lines[i], CW_STR("arguments_left_out")), CW_JSON_TRUE));
    }
}

TEST(a_wrong_pointer_is_refused)
{
    static const cw_str wrong[] = {CW_STR_INIT("password"), CW_STR_INIT(""), CW_STR_INIT("/a~2"),
                                   CW_STR_INIT("/a~")};
    cw_audit *a;
    assert_int_equal(cw_audit_new(NULL, NULL, &a, NULL), CW_OK);
    for (size_t i = 0; i < CW_COUNT(wrong); i++) {
        cw_audit_opts opts = options();
        cw_err err = {0};
        opts.redact = &wrong[i];
        opts.n_redact = 1;
        assert_int_equal(configure(a, &opts, &err), CW_PARAMS);
        assert_non_null(strstr(err.msg, "not a JSON pointer"));
    }
    assert_int_equal(cw_audit_free(a), 0);
}

/* ---- lanes ---- */

TEST(nothing_is_recorded_while_it_is_off)
{
    cw_audit *a;
    cw_audit_record r = call_of("x");
    assert_false(cw_audit_is_on(NULL));
    assert_int_equal(cw_audit_new(NULL, NULL, &a, NULL), CW_OK);
    cw_audit_add(a, &r);
    assert_int_equal(configure(a, &(cw_audit_opts){.path = ""}, NULL), CW_OK);
    cw_audit_add(a, &r);
    assert_int_equal(cw_audit_free(a), 0);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(cw_audit_free(NULL), 0);
}

TEST(records_stand_in_the_order_they_came)
{
    const cw_json *lines[300];
    cw_audit_opts opts = options();
    cw_audit *a = start_audit(&opts);
    for (int i = 0; i < 300; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        cw_audit_record r = call_of(name);
        r.kind = i % 3 ? CW_AUDIT_CALL : CW_AUDIT_REFUSAL;
        cw_audit_add(a, &r);
        if (i == 150)
            usleep(30000);
    }
    assert_int_equal(cw_audit_free(a), 0);
    assert_int_equal(read_lines(path, lines, 300), 300);
    for (int i = 0; i < 300; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        assert_member(lines[i], "method", name);
    }
}

static cw_audit_record refusal_of(const char *name)
{
    cw_audit_record r = call_of(name);
    r.kind = CW_AUDIT_REFUSAL;
    r.outcome = "hidden";
    r.address = CW_STR("203.0.113.9");
    return r;
}

TEST(threat_D11_an_anonymous_flood_becomes_a_count_and_others_keep_their_records)
{
    static const cw_json *lines[1000];
    cw_audit_opts opts = options();
    cw_audit *a = start_audit(&opts);
    cw_audit_record flood = refusal_of("no.such"), known = refusal_of("test.admin");
    flood.is_anonymous = true;
    for (int i = 0; i < 100000; i++) {
        cw_audit_add(a, &flood);
        if (i % 500 == 0)
            cw_audit_add(a, &known);
    }
    assert_int_equal(cw_audit_free(a), 0);
    unsigned n = read_lines(path, lines, 1000), n_known = 0;
    int64_t n_flood = 0, count;
    assert_in_range(n, 0, 500);
    for (unsigned i = 0; i < n; i++) {
        const cw_json *counted = cw_json_get(lines[i], CW_STR("count"));
        cw_str method =
            counted ? CW_STR("") : cw_json_text(cw_json_get(lines[i], CW_STR("method")));
        count = 1;
        assert_true(!counted || cw_json_to_i64(counted, &count));
        n_known += cw_str_is(method, "test.admin");
        n_flood += cw_str_is(method, "test.admin") ? 0 : count;
    }
    assert_int_equal(n_known, 200);
    assert_int_equal(n_flood, 100000);
    assert_member(lines[n - 1], "kind", "refusal");
    assert_member(lines[n - 1], "outcome", "hidden");
    assert_member(lines[n - 1], "address", "203.0.113.9");
    int64_t when;
    const cw_json *since = cw_json_get(lines[n - 1], CW_STR("since"));
    assert_true(cw_audit_parse_time(cw_json_text(since), &when));
}

TEST(a_count_is_written_when_it_is_due)
{
    const cw_json *lines[200];
    cw_audit_opts opts = options();
    cw_audit *a = start_audit(&opts);
    cw_audit_record flood = refusal_of("no.such");
    flood.is_anonymous = true;
    for (int i = 0; i < 100; i++)
        cw_audit_add(a, &flood);
    /* A minute passes. */
    pthread_mutex_lock(&a->lock);
    for (unsigned i = 0; i < CW_AUDIT_SUMS; i++)
        a->sums.items[i].due_ms = a->sums.items[i].count ? cw_clock_ms() : 0;
    a->sums.due_ms = cw_clock_ms();
    pthread_cond_signal(&a->wake);
    pthread_mutex_unlock(&a->lock);
    unsigned n = 0;
    for (int i = 0; i < 3000 && n < 61; i++) {
        usleep(10000);
        n = read_lines(path, lines, 200);
    }
    assert_in_range(n, 61, 64);
    assert_non_null(cw_json_get(lines[n - 1], CW_STR("count")));
    assert_int_equal(cw_audit_free(a), 0);
    assert_int_equal(read_lines(path, lines, 200), n);
}

/* A disk that is full, as far as this process can tell. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes == RLIM_INFINITY ? limit.rlim_max : bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void wait_for(const atomic_int *count)
{
    for (int i = 0; i < 3000 && atomic_load(count) == 0; i++)
        usleep(10000);
    assert_int_not_equal(atomic_load(count), 0);
}

static unsigned count_kind(const cw_json **lines, unsigned n, const char *kind)
{
    unsigned found = 0;
    for (unsigned i = 0; i < n; i++)
        found += cw_str_is(cw_json_text(cw_json_get(lines[i], CW_STR("kind"))), kind);
    return found;
}

TEST(threat_D11_a_full_disk_is_reported_and_loses_no_security_record)
{
    static const cw_json *lines[4096];
    enum { REFUSALS = 300, N_CALLS = 1000 };
    cw_audit_opts opts = options();
    cw_audit *a = start_audit(&opts);
    limit_files(0);
    cw_audit_record call = call_of("call"), refusal = call_of("refused");
    refusal.kind = CW_AUDIT_REFUSAL;
    cw_audit_add(a, &call);
    wait_for(&n_failures);
    assert_true(cw_audit_is_failing(a));
    for (int i = 0; i < N_CALLS; i++)
        cw_audit_add(a, &call);
    for (int i = 0; i < REFUSALS; i++)
        cw_audit_add(a, &refusal);
    uint64_t lost = count_lost(a);
    assert_in_range(lost, 1, N_CALLS - 1);
    limit_files(RLIM_INFINITY);
    wait_for(&n_recoveries);
    assert_int_equal(cw_audit_free(a), lost);
    assert_int_equal(atomic_load(&n_failures), 1);
    unsigned n = read_lines(path, lines, 4096);
    assert_member(lines[0], "kind", "refusal"); /* the first call came before, and waits */
    assert_int_equal(count_kind(lines, n, "refusal"), REFUSALS);
    assert_int_equal(count_kind(lines, n, "call"), N_CALLS + 1 - lost);
    assert_int_equal(count_kind(lines, n, "lost"), 1);
    for (unsigned i = 0; i < n; i++) {
        if (!cw_str_is(cw_json_text(cw_json_get(lines[i], CW_STR("kind"))), "lost"))
            continue;
        int64_t calls, security;
        assert_true(cw_json_to_i64(cw_json_get(lines[i], CW_STR("calls")), &calls));
        assert_true(cw_json_to_i64(cw_json_get(lines[i], CW_STR("security")), &security));
        assert_int_equal(calls, lost);
        assert_int_equal(security, 0);
    }
}

TEST(the_reserved_room_has_an_end_and_says_so)
{
    cw_audit_opts opts = options();
    cw_audit *a = start_audit(&opts);
    limit_files(0);
    cw_audit_record refusal = call_of("refused");
    refusal.kind = CW_AUDIT_REFUSAL;
    /* What the thread has taken and cannot write still counts. */
    cw_audit_add(a, &refusal);
    wait_for(&n_failures);
    unsigned n = 1;
    while (count_lost(a) == 0 && n < 100000) {
        cw_audit_add(a, &refusal);
        n++;
    }
    assert_int_equal(n, CW_AUDIT_ROOM / packed_size(&refusal, 0) + 1);
    /* All of it is lost with the process, and the last one said so already. */
    assert_int_equal(cw_audit_free(a), n);
    limit_files(RLIM_INFINITY);
}

/* ---- files ---- */

TEST(a_full_file_is_rotated_and_the_oldest_goes)
{
    const cw_json *lines[64];
    char name[160];
    cw_audit_opts opts = options();
    opts.rotate_bytes = 400;
    for (int i = 0; i < 20; i++) {
        cw_audit_record r = call_of("x");
        snprintf(name, sizeof name, "%d", i);
        r.method = cw_str_from(name);
        assert_int_equal(cw_audit_write(&opts, &r, NULL), CW_OK);
    }
    unsigned total = read_lines(path, lines, 64);
    assert_member(lines[total - 1], "method", "19");
    for (int i = 1; i <= 3; i++) {
        snprintf(name, sizeof name, "%s.%d", path, i);
        struct stat st;
        assert_int_equal(stat(name, &st), 0);
        assert_in_range(st.st_size, 1, 400);
    }
    snprintf(name, sizeof name, "%s.4", path);
    assert_int_not_equal(access(name, F_OK), 0);
}

TEST(an_old_file_is_rotated)
{
    const cw_json *lines[4];
    char name[160];
    cw_audit_opts opts = options();
    opts.rotate_ms = 3600000;
    cw_audit_record r = call_of("x");
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    static const char old[] = "{\"time\":\"2020-01-01T00:00:00.000Z\",\"kind\":\"call\"}\n";
    assert_int_equal(write(fd, old, sizeof old - 1), sizeof old - 1);
    close(fd);
    assert_int_equal(cw_audit_write(&opts, &r, NULL), CW_OK);
    assert_int_equal(cw_audit_write(&opts, &r, NULL), CW_OK);
    assert_int_equal(read_lines(path, lines, 4), 2);
    snprintf(name, sizeof name, "%s.1", path);
    assert_int_equal(read_lines(name, lines, 4), 1);
}

TEST(an_unfinished_line_does_not_swallow_the_next)
{
    cw_audit_opts opts = options();
    cw_audit_record r = call_of("x");
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "{\"time\":\"20", 11), 11);
    close(fd);
    assert_int_equal(cw_audit_write(&opts, &r, NULL), CW_OK);
    cw_buf_clear(&text);
    assert_int_equal(cw_file_read(path, CW_FILE_PLAIN, &text, NULL), CW_OK);
    const char *end = memchr(text.p, '\n', text.n);
    assert_int_equal(end - text.p, 11);
    parse(cw_str_make(end + 1, text.n - 13));
}

TEST(a_file_that_was_moved_away_is_made_again)
{
    const cw_json *lines[4];
    char moved[160];
    cw_audit_opts opts = options();
    cw_audit *a = start_audit(&opts);
    cw_audit_record r = call_of("x");
    r.kind = CW_AUDIT_CHANGE;
    cw_audit_add(a, &r);
    struct stat st = {0};
    for (int i = 0; i < 3000 && st.st_size == 0; i++) {
        usleep(10000);
        assert_int_equal(stat(path, &st), 0);
    }
    snprintf(moved, sizeof moved, "%s.9", path);
    assert_int_equal(rename(path, moved), 0);
    cw_audit_add(a, &r);
    assert_int_equal(cw_audit_free(a), 0);
    assert_int_equal(read_lines(path, lines, 4), 1);
    assert_int_equal(read_lines(moved, lines, 4), 1);
}

TEST(another_path_is_used_from_the_next_record_on)
{
    const cw_json *lines[4];
    char other[160];
    cw_audit_opts opts = options();
    cw_audit *a = start_audit(&opts);
    cw_audit_record r = call_of("first");
    cw_audit_add(a, &r);
    snprintf(other, sizeof other, "%s.8", path);
    opts.path = other;
    assert_int_equal(configure(a, &opts, NULL), CW_OK);
    usleep(100000);
    r.method = CW_STR("second");
    cw_audit_add(a, &r);
    opts.path = "/nonexistent/audit";
    assert_int_equal(configure(a, &opts, NULL), CW_IO);
    assert_true(cw_audit_is_on(a));
    assert_int_equal(cw_audit_free(a), 0);
    assert_int_equal(read_lines(path, lines, 4), 1);
    assert_int_equal(read_lines(other, lines, 4), 1);
    assert_member(lines[0], "method", "second");
}

TEST(what_is_no_plain_file_is_refused)
{
    cw_audit_opts opts = options();
    cw_audit_record r = call_of("x");
    opts.path = "/dev/null";
    assert_int_equal(cw_audit_write(&opts, &r, NULL), CW_IO);
    opts.path = folder;
    assert_int_equal(cw_audit_write(&opts, &r, NULL), CW_IO);
}

static void write_once(void *ctx)
{
    static const cw_str redact = CW_STR_INIT("/a/b");
    cw_audit_opts opts = options();
    cw_audit_record r = call_of("x");
    (void)ctx;
    opts.arguments = 100;
    opts.redact = &redact;
    opts.n_redact = 1;
    r.arguments = CW_STR("{\"a\":{\"b\":1}}");
    cw_code rc = cw_audit_write(&opts, &r, NULL);
    assert_true(rc == CW_OK || rc == CW_NOMEM);
}

TEST(a_record_survives_every_failed_allocation)
{
    assert_true(oom_each(write_once, NULL) >= 5);
    cw_buf_clear(&text);
    assert_int_equal(cw_file_read(path, CW_FILE_PLAIN, &text, NULL), CW_OK);
    assert_null(memmem(text.p, text.n, "\"b\":1", 5));
}

static void configure_once(void *ctx)
{
    cw_audit *a = NULL;
    cw_audit_opts opts = options();
    (void)ctx;
    cw_code rc = cw_audit_new(NULL, NULL, &a, NULL);
    if (!rc)
        rc = configure(a, &opts, NULL);
    assert_true(rc == CW_OK || rc == CW_NOMEM || rc == CW_IO);
    cw_audit_free(a);
}

TEST(starting_survives_every_failed_allocation)
{
    assert_true(oom_each(configure_once, NULL) >= 5);
}

/* ---- disks and files that fail ---- */

static nlink_t count_threads(void)
{
    struct stat st;
    assert_int_equal(stat("/proc/self/task", &st), 0);
    return st.st_nlink;
}

/* The disk answers again. The writer ends by itself, and writes to the file of the next test until then. */
static void revive_disk(nlink_t n_threads)
{
    atomic_store(&disk_hangs, false);
    for (int i = 0; i < 3000 && count_threads() > n_threads; i++)
        usleep(10000);
    assert_int_equal(count_threads(), n_threads);
}

TEST(what_a_dead_disk_has_not_taken_is_counted)
{
    static cw_audit *a; /* stays: its thread still has it */
    const nlink_t n_threads = count_threads();
    cw_audit_opts opts = options();
    a = start_audit(&opts);
    atomic_store(&disk_hangs, true);
    cw_audit_record r = call_of("x");
    cw_audit_add(a, &r);
    for (int i = 0; i < 3000 && !atomic_load(&n_hanging); i++)
        usleep(10000);
    assert_int_equal(atomic_load(&n_hanging), 1);
    r.kind = CW_AUDIT_REFUSAL;
    cw_audit_add(a, &r);
    cw_audit_add(a, &r);
    /* Whether the first got there, nobody knows. */
    assert_int_equal(cw_audit_free(a), 3);
    revive_disk(n_threads);
}

TEST(a_count_that_a_dead_disk_has_not_taken_is_lost_as_many)
{
    static cw_audit *a; /* stays: its thread still has it */
    const nlink_t n_threads = count_threads();
    cw_audit_opts opts = options();
    a = start_audit(&opts);
    cw_audit_record flood = refusal_of("no.such");
    flood.is_anonymous = true;
    atomic_store(&disk_hangs, true);
    cw_audit_add(a, &flood);
    for (int i = 0; i < 3000 && !atomic_load(&n_hanging); i++)
        usleep(10000);
    for (int i = 0; i < 1000; i++)
        cw_audit_add(a, &flood);
    assert_in_range(cw_audit_free(a), 1000, 1001);
    revive_disk(n_threads);
}

TEST(a_file_is_on_the_disk_before_it_is_left)
{
    struct stat st;
    char moved[160];
    cw_audit_opts opts = options();
    opts.rotate_bytes = 10;
    cw_audit_record r = call_of("x");
    assert_int_equal(cw_audit_write(&opts, &r, NULL), CW_OK);
    cw_audit_file f;
    assert_int_equal(cw_audit_file_open(&f, &opts, NULL), CW_OK);
    assert_int_equal(stat(path, &st), 0);
    synced = 0;
    assert_int_equal(cw_audit_file_append(&f, CW_STR("{}\n"), 0, NULL), CW_OK); /* rotates */
    assert_int_equal(synced, st.st_ino);
    f.rotate_bytes = 0;
    assert_int_equal(stat(path, &st), 0);
    synced = 0;
    assert_int_equal(cw_audit_file_append(&f, CW_STR("{}\n"), 0, NULL), CW_OK);
    assert_int_equal(synced, 0);
    snprintf(moved, sizeof moved, "%s.9", path);
    assert_int_equal(rename(path, moved), 0);
    assert_int_equal(cw_audit_file_append(&f, CW_STR("{}\n"), 0, NULL), CW_OK);
    assert_int_equal(synced, st.st_ino);
    cw_audit_file_close(&f);
}

static unsigned count_in_text(const char *wanted)
{
    unsigned n = 0;
    cw_buf_add_char(&text, 0);
    for (const char *p = text.p; (p = strstr(p, wanted)); p++)
        n++;
    return n;
}

static unsigned count_text(const char *name, const char *wanted)
{
    cw_buf_clear(&text);
    assert_int_equal(cw_file_read(name, CW_FILE_PLAIN, &text, NULL), CW_OK);
    return count_in_text(wanted);
}

/* Of a file that need not exist: the writer may move it right now. */
static unsigned count_lines(const char *name)
{
    cw_buf_clear(&text);
    return cw_file_read(name, CW_FILE_PLAIN, &text, NULL) ? 0 : count_in_text("\n");
}

TEST(a_file_that_cannot_be_moved_is_reported_and_nothing_is_lost)
{
    char log[160], first[160], aside[160];
    cw_audit_opts opts = options();
    cw_audit_record r = call_of("x");
    opts.rotate_bytes = 10;
    opts.files = 1;
    snprintf(log, sizeof log, "%s.log", path);
    snprintf(first, sizeof first, "%s.1", path);
    snprintf(aside, sizeof aside, "%s.0", path);
    assert_int_equal(cw_log_configure(&(cw_log_opts){.path = log, .level = CW_LOG_INFO}, NULL),
                     CW_OK);
    assert_int_equal(mkdir(first, 0700), 0);
    cw_audit *a = start_audit(&opts);
    /* Records that are written together would be one attempt to rotate. */
    for (unsigned i = 1; i <= 4; i++) {
        cw_audit_add(a, &r);
        for (int j = 0; j < 3000 && count_lines(path) + count_lines(aside) < i; j++)
            usleep(10000);
    }
    assert_int_equal(cw_audit_free(a), 0);
    assert_int_equal(cw_log_configure(&(cw_log_opts){.level = CW_LOG_INFO}, NULL), CW_OK);
    assert_int_equal(count_lines(path) + count_lines(aside), 4);
    assert_in_range(count_text(log, "files cannot be rotated"), 1, 2);
    assert_int_equal(rmdir(first), 0);
    unlink(aside);
    unlink(log);
}

TEST(what_is_prepared_counts_only_when_it_is_used)
{
    char other[160];
    const cw_json *lines[4];
    cw_audit_opts opts = options();
    cw_audit_setup *ready;
    cw_audit *a = start_audit(&opts);
    cw_audit_record r = call_of("x");
    snprintf(other, sizeof other, "%s.2", path);
    opts.path = other;
    assert_int_equal(cw_audit_prepare(a, &opts, &ready, NULL), CW_OK);
    cw_audit_drop(ready);
    cw_audit_add(a, &r);
    opts.path = "";
    assert_int_equal(cw_audit_prepare(a, &opts, &ready, NULL), CW_OK);
    assert_true(cw_audit_is_on(a));
    cw_audit_use(a, ready);
    assert_false(cw_audit_is_on(a));
    usleep(50000);
    /* What comes right after it is switched on again is not lost. */
    opts.path = path;
    assert_int_equal(configure(a, &opts, NULL), CW_OK);
    cw_audit_add(a, &r);
    assert_int_equal(cw_audit_free(a), 0);
    assert_int_equal(read_lines(path, lines, 4), 2);
    assert_int_equal(read_lines(other, lines, 4), 0);
}

/* ---- times ---- */

TEST(times_are_read)
{
    static const struct {
        const char *text;
        int64_t ms;
    } right[] = {{"1970-01-01", 0},
                 {"1970-01-02T00:00Z", 86400000},
                 {"2026-11-15T08:00:00.123Z", 1794729600123},
                 {"2026-11-15 08:00:00", 1794729600000}};
    static const char *const wrong[] = {"",           "2026",        "2026-13-01",
                                        "2026-01-00", "2026-01-01T", "2026-01-01T25:00",
                                        "yesterday",  "2026-01-01x", "2026-01-01T00:00:00.1Z"};
    int64_t ms;
    for (size_t i = 0; i < CW_COUNT(right); i++) {
        assert_true(cw_audit_parse_time(cw_str_from(right[i].text), &ms));
        assert_int_equal(ms, right[i].ms);
    }
    for (size_t i = 0; i < CW_COUNT(wrong); i++)
        assert_false(cw_audit_parse_time(cw_str_from(wrong[i]), &ms));
}

SETUP(group_setup)
{
    signal(SIGXFSZ, SIG_IGN);
    return mkdtemp(folder) ? 0 : -1;
}

TEARDOWN(group_teardown)
{
    return rmdir(folder);
}

#define AUDIT_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        AUDIT_TEST(a_record_becomes_one_line_with_everything_that_is_known),
        AUDIT_TEST(names_are_cut_at_a_character),
        AUDIT_TEST(threat_B10_what_drives_a_terminal_is_escaped),
        AUDIT_TEST(arguments_are_recorded_without_what_is_redacted),
        AUDIT_TEST(a_wrong_pointer_is_refused),
        AUDIT_TEST(nothing_is_recorded_while_it_is_off),
        AUDIT_TEST(records_stand_in_the_order_they_came),
        AUDIT_TEST(threat_D11_an_anonymous_flood_becomes_a_count_and_others_keep_their_records),
        AUDIT_TEST(a_count_is_written_when_it_is_due),
        AUDIT_TEST(threat_D11_a_full_disk_is_reported_and_loses_no_security_record),
        AUDIT_TEST(the_reserved_room_has_an_end_and_says_so),
        AUDIT_TEST(a_full_file_is_rotated_and_the_oldest_goes),
        AUDIT_TEST(an_old_file_is_rotated),
        AUDIT_TEST(an_unfinished_line_does_not_swallow_the_next),
        AUDIT_TEST(a_file_that_was_moved_away_is_made_again),
        AUDIT_TEST(another_path_is_used_from_the_next_record_on),
        AUDIT_TEST(what_is_no_plain_file_is_refused),
        AUDIT_TEST(a_record_survives_every_failed_allocation),
        AUDIT_TEST(starting_survives_every_failed_allocation),
        AUDIT_TEST(what_a_dead_disk_has_not_taken_is_counted),
        AUDIT_TEST(a_count_that_a_dead_disk_has_not_taken_is_lost_as_many),
        AUDIT_TEST(a_file_is_on_the_disk_before_it_is_left),
        AUDIT_TEST(a_file_that_cannot_be_moved_is_reported_and_nothing_is_lost),
        AUDIT_TEST(what_is_prepared_counts_only_when_it_is_used),
        AUDIT_TEST(times_are_read),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
