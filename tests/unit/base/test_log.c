/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The log as a whole: levels, the writer thread, and disks and readers that fail. The tests wrap
 * write(2), so that it can fail, stop halfway or hang, and the clock, so that it can stand still. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.c" /* NOLINT(bugprone-suspicious-include) */
#include "support/oom.h"
#include "support/patience.h"
#include "support/test.h"

ssize_t __real_write(int fd, const void *p, size_t n);
ssize_t __wrap_write(int fd, const void *p, size_t n);

static atomic_int write_error; /* errno of every write, or 0 */
static atomic_int write_part;  /* bytes that the next write takes before it fails, or -1 */
static atomic_bool write_hangs;

uint64_t __real_cw_clock_ms(void);
uint64_t __wrap_cw_clock_ms(void);

static atomic_ullong stopped_ms; /* the time while the clock stands still; 0: it runs */

uint64_t __wrap_cw_clock_ms(void)
{
    uint64_t stopped = atomic_load(&stopped_ms);
    return stopped ? stopped : __real_cw_clock_ms();
}

static char dir[64];
static char path[128];
static char text[4 * 1024 * 1024];

ssize_t __wrap_write(int fd, const void *p, size_t n)
{
    struct timespec pause = {.tv_nsec = 1000000};
    while (atomic_load(&write_hangs))
        nanosleep(&pause, NULL);
    int part = atomic_exchange(&write_part, -1);
    if (part >= 0) {
        atomic_store(&write_error, ENOSPC);
        return __real_write(fd, p, (size_t)part < n ? (size_t)part : n);
    }
    if (atomic_load(&write_error) == 0)
        return __real_write(fd, p, n);
    errno = atomic_load(&write_error);
    return -1;
}

SETUP(make_dir)
{
    snprintf(dir, sizeof(dir), "%s/cw-log-XXXXXX", P_tmpdir);
    signal(SIGPIPE, SIG_IGN);
    return mkdtemp(dir) ? 0 : -1;
}

TEARDOWN(remove_dir)
{
    return rmdir(dir);
}

SETUP(set_up)
{
    atomic_store(&write_error, 0);
    atomic_store(&write_part, -1);
    atomic_store(&write_hangs, false);
    atomic_store(&stopped_ms, 0);
    snprintf(path, sizeof(path), "%s/log", dir);
    return 0;
}

TEARDOWN(tear_down)
{
    unlink(path);
    set_up(state);
    cw_log_stop();
    return cw_log_configure(&(cw_log_opts){.level = CW_LOG_INFO}, NULL);
}

static void configure(const cw_log_opts *opts)
{
    cw_err err = {0};
    if (cw_log_configure(opts, &err) != CW_OK)
        fail_msg("%s", err.msg);
}

static void use_file(void)
{
    configure(&(cw_log_opts){.path = path, .level = CW_LOG_INFO});
}

static void start(void)
{
    assert_int_equal(cw_log_start(NULL), CW_OK);
}

/* The file's bytes, in a static buffer. */
static const char *read_log(const char *name)
{
    int fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    size_t n = 0;
    ssize_t got;
    while ((got = read(fd, text + n, sizeof(text) - 1 - n)) > 0)
        n += (size_t)got;
    close(fd);
    text[n] = '\0';
    return text;
}

static size_t count_in(const char *haystack, const char *needle)
{
    size_t n = 0;
    for (const char *p = haystack; (p = strstr(p, needle)); p += strlen(needle))
        n++;
    return n;
}

/* Lines that the log itself says it has lost. */
static uint64_t sum_of_reports(const char *log)
{
    static const char mark[] = "lines dropped count=";
    uint64_t sum = 0;
    for (const char *p = log; (p = strstr(p, mark)); p += strlen(mark))
        sum += strtoull(p + strlen(mark), NULL, 10);
    return sum;
}

static void wait_for_drops(uint64_t expected)
{
    struct timespec pause = {.tv_nsec = 1000000};
    uint64_t until = __real_cw_clock_ms() + patience(5000);
    while (atomic_load(&w.dropped) < expected && __real_cw_clock_ms() < until)
        nanosleep(&pause, NULL);
    assert_int_equal(atomic_load(&w.dropped), expected);
}

static const char *wait_for_text(const char *needle)
{
    struct timespec pause = {.tv_nsec = 5000000};
    uint64_t until = __real_cw_clock_ms() + patience(5000);
    while (!strstr(read_log(path), needle)) {
        if (__real_cw_clock_ms() > until)
            fail_msg("no '%s' in: %s", needle, text);
        nanosleep(&pause, NULL);
    }
    return text;
}

static void say(int n)
{
    cw_log(CW_LOG_INFO, "test", "line", CW_KN("n", n));
}

TEST(level_names_are_parsed)
{
    static const char *const names[] = {"off", "error", "warn", "info", "debug"};
    cw_log_level level = CW_LOG_OFF;
    for (int i = 0; i < 5; i++) {
        assert_true(cw_log_level_parse(cw_str_from(names[i]), &level));
        assert_int_equal(level, i - 1);
    }
    static const char *const bad[] = {"", "Info", "information", "inf", "3", "off "};
    for (size_t i = 0; i < CW_COUNT(bad); i++)
        assert_false(cw_log_level_parse(cw_str_from(bad[i]), &level));
    assert_int_equal(level, CW_LOG_DEBUG);
}

TEST(default_is_text_from_info_on_standard_error)
{
    int saved = dup(STDERR_FILENO);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    dup2(fd, STDERR_FILENO);
    cw_log(CW_LOG_INFO, "net", "seen");
    cw_log(CW_LOG_DEBUG, "net", "unseen");
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(fd);
    assert_non_null(strstr(read_log(path), " info net: seen\n"));
    assert_null(strstr(text, "unseen"));
}

TEST(lines_without_a_thread_are_written_at_once)
{
    use_file();
    say(1);
    assert_int_equal(count_in(read_log(path), "\n"), 1);
    assert_non_null(strstr(text, " info test: line n=1\n"));
    start();
    start();
    say(2);
    cw_log_stop();
    cw_log_stop();
    assert_non_null(strstr(read_log(path), "n=2\n"));
    say(3);
    assert_non_null(strstr(read_log(path), "n=2\n"));
    assert_non_null(strstr(text, "n=3\n"));
}

TEST(errors_are_logged_with_their_message)
{
    configure(&(cw_log_opts){.path = path, .level = CW_LOG_INFO, .json = true});
    cw_err err = {0};
    cw_fail(&err, CW_IO, "disk \"a\"");
    cw_log_err(CW_LOG_ERROR, "store", "cannot save", &err);
    assert_non_null(strstr(read_log(path),
                           "\"level\":\"error\",\"component\":\"store\",\"message\":"
                           "\"cannot save\",\"error\":\"disk \\\"a\\\"\"}\n"));
    cw_log_err(CW_LOG_ERROR, "store", "x", &(cw_err){.code = CW_TIMEOUT});
    assert_non_null(strstr(read_log(path), "\"error\":\"timed out\""));
    cw_log_err(CW_LOG_ERROR, "store", "x", NULL);
    assert_int_equal(count_in(read_log(path), "\n"), 3);
    cw_log_err(CW_LOG_DEBUG, "store", "x", &err);
    assert_int_equal(count_in(read_log(path), "\n"), 3);
}

TEST(components_have_levels_of_their_own)
{
    configure(
        &(cw_log_opts){.path = path, .level = CW_LOG_WARN, .levels = " net=debug , access=off"});
    assert_true(cw_log_on(CW_LOG_DEBUG, "net"));
    assert_false(cw_log_on(CW_LOG_ERROR, "access"));
    assert_true(cw_log_on(CW_LOG_WARN, "json"));
    assert_false(cw_log_on(CW_LOG_INFO, "json"));
    assert_false(cw_log_on(CW_LOG_INFO, "ne"));
    assert_false(cw_log_on(CW_LOG_INFO, "net2"));
    assert_false(cw_log_on(CW_LOG_OFF, "net"));
    /* The last of several counts. */
    configure(&(cw_log_opts){.path = path, .level = CW_LOG_OFF, .levels = "json=info,json=warn"});
    assert_true(cw_log_on(CW_LOG_WARN, "json"));
    assert_false(cw_log_on(CW_LOG_INFO, "json"));
    assert_false(cw_log_on(CW_LOG_ERROR, "net"));
    assert_false(cw_log_on(CW_LOG_ERROR, "access"));
    configure(&(cw_log_opts){.path = path, .level = CW_LOG_INFO, .levels = ""});
    assert_true(cw_log_on(CW_LOG_INFO, "json"));
    assert_false(cw_log_on(CW_LOG_DEBUG, "net"));
    assert_true(cw_log_on(CW_LOG_INFO, "access"));
}

TEST(events_below_the_level_are_not_written)
{
    configure(&(cw_log_opts){.path = path, .level = CW_LOG_WARN, .levels = "loud=debug"});
    cw_log_event(CW_LOG_INFO, "quiet", "no", NULL);
    cw_log(CW_LOG_INFO, "quiet", "no");
    cw_log_event(CW_LOG_DEBUG, "loud", "yes", NULL);
    assert_int_equal(count_in(read_log(path), "\n"), 1);
    assert_non_null(strstr(text, "debug loud: yes"));
}

TEST(bad_options_leave_the_old_ones)
{
    static const char *const bad[] = {"net",       "net=",       "=debug",
                                      "net=loud",  "net=debug,", ",net=info",
                                      "n t=debug", "Net=info",   "a=b=c"};
    configure(&(cw_log_opts){.path = path, .level = CW_LOG_WARN, .levels = "net=debug"});
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        cw_err err = {0};
        cw_log_opts opts = {.level = CW_LOG_INFO, .json = true, .levels = bad[i]};
        assert_int_equal(cw_log_configure(&opts, &err), CW_CONFIG);
        assert_string_not_equal(err.msg, "");
    }
    cw_err err = {0};
    char missing[160];
    snprintf(missing, sizeof(missing), "%s/none/log", dir);
    cw_log_opts opts = {.level = CW_LOG_INFO, .json = true, .path = missing};
    assert_int_equal(cw_log_configure(&opts, &err), CW_IO);
    assert_non_null(strstr(err.msg, "No such file"));
    assert_true(cw_log_on(CW_LOG_DEBUG, "net"));
    assert_false(cw_log_on(CW_LOG_INFO, "json"));
    cw_log(CW_LOG_WARN, "json", "still text");
    assert_non_null(strstr(read_log(path), " warn json: still text\n"));
}

TEST(reload_reopens_the_file)
{
    char moved[160];
    snprintf(moved, sizeof(moved), "%s/log.1", dir);
    use_file();
    start();
    say(1);
    wait_for_text("n=1\n");
    assert_int_equal(rename(path, moved), 0);
    configure(&(cw_log_opts){.path = path, .level = CW_LOG_INFO, .json = true});
    say(2);
    cw_log_stop();
    assert_non_null(strstr(read_log(path), "\"n\":2}\n"));
    assert_null(strstr(text, "n=1"));
    assert_non_null(strstr(read_log(moved), "n=1\n"));
    unlink(moved);
}

static size_t count_descriptors(void)
{
    size_t n = 0;
    for (int fd = 0; fd < 1000; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

TEST(many_reloads_leave_no_descriptor_behind)
{
    use_file();
    size_t before = count_descriptors();
    start();
    for (int i = 0; i < 200; i++)
        use_file();
    cw_log_stop();
    assert_int_equal(count_descriptors(), before);
}

TEST(a_full_disk_drops_counts_and_heals)
{
    for (int threaded = 0; threaded < 2; threaded++) {
        uint64_t before = atomic_load(&w.dropped);
        configure(&(cw_log_opts){.path = "/dev/full", .level = CW_LOG_INFO});
        if (threaded)
            start();
        for (int i = 0; i < 10; i++)
            say(i);
        wait_for_drops(before + 10);
        use_file();
        say(77);
        cw_log_stop();
        read_log(path);
        assert_non_null(strstr(text, " warn log: lines dropped count=10\n"));
        assert_non_null(strstr(text, "n=77\n"));
        assert_int_equal(count_in(text, "\n"), 2);
        assert_int_equal(atomic_load(&w.dropped), before + 10);
        tear_down(state);
    }
}

TEST(every_write_error_is_survived)
{
    static const int errors[] = {ENOSPC, EIO, EPIPE, EDQUOT, EBADF, EFBIG};
    for (size_t i = 0; i < CW_COUNT(errors); i++) {
        uint64_t before = atomic_load(&w.dropped);
        use_file();
        start();
        atomic_store(&write_error, errors[i]);
        say(1);
        say(2);
        wait_for_drops(before + 2);
        atomic_store(&write_error, 0);
        say(3);
        cw_log_stop();
        read_log(path);
        assert_non_null(strstr(text, "lines dropped count=2\n"));
        assert_non_null(strstr(text, "n=3\n"));
        tear_down(state);
    }
}

TEST(drops_are_reported_without_a_new_line)
{
    uint64_t before = atomic_load(&w.dropped);
    configure(&(cw_log_opts){.path = path, .level = CW_LOG_INFO, .json = true});
    start();
    atomic_store(&write_error, EIO);
    say(1);
    wait_for_drops(before + 1);
    atomic_store(&write_error, 0);
    wait_for_text("\"component\":\"log\",\"message\":\"lines dropped\",\"count\":1}\n");
}

TEST(a_torn_line_does_not_swallow_the_next)
{
    for (int part = 0; part < 60; part++) {
        uint64_t before = atomic_load(&w.dropped);
        use_file();
        atomic_store(&write_part, part);
        say(1);
        say(2);
        atomic_store(&write_error, 0);
        say(3);
        read_log(path);
        bool whole = part >= (int)strlen("2026-01-01T00:00:00.000Z info test: line n=1\n");
        assert_int_equal(atomic_load(&w.dropped) - before, whole ? 1 : 2);
        assert_int_equal(count_in(text, whole ? "count=1\n" : "count=2\n"), 1);
        assert_int_equal(count_in(text, "n=3\n"), 1);
        assert_int_equal(count_in(text, "\n"), part == 0 ? 2 : 3);
        tear_down(state);
    }
}

TEST(a_vanished_reader_is_no_end)
{
    uint64_t before = atomic_load(&w.dropped);
    assert_int_equal(mkfifo(path, 0600), 0);
    /* Without a reader it cannot be opened, and that does not hang. */
    assert_int_equal(cw_log_configure(&(cw_log_opts){.path = path}, NULL), CW_IO);
    int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    use_file();
    start();
    close(reader);
    say(1);
    wait_for_drops(before + 1);
    reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    say(2);
    cw_log_stop();
    ssize_t n = read(reader, text, sizeof(text) - 1);
    assert_true(n > 0);
    text[n] = '\0';
    assert_non_null(strstr(text, "count=1\n"));
    assert_non_null(strstr(text, "n=2\n"));
    close(reader);
}

/* A reader that is there but does not read: callers go on, the queue fills up to its ceiling, and a
 * stop takes no longer than it says. */
TEST(a_reader_that_does_not_read_delays_nobody)
{
    uint64_t before = atomic_load(&w.dropped);
    assert_int_equal(mkfifo(path, 0600), 0);
    int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    use_file();
    start();
    enum { LINES = 60000 };
    uint64_t t = cw_clock_ms();
    for (int i = 0; i < LINES; i++)
        say(i);
    assert_true(cw_clock_ms() - t < patience(5000));
    uint64_t dropped = atomic_load(&w.dropped) - before;
    assert_in_range(dropped, 1, LINES - 20000);
    t = cw_clock_ms();
    cw_log_stop();
    assert_in_range(cw_clock_ms() - t, 900, patience(1900));
    /* What was not written is dropped, what was comes out. */
    size_t n = 0;
    ssize_t got;
    while ((got = read(reader, text + n, sizeof(text) - 1 - n)) > 0)
        n += (size_t)got;
    text[n] = '\0';
    assert_int_equal(count_in(text, "test: line n="), LINES - (atomic_load(&w.dropped) - before));
    assert_true(n > 0 && text[n - 1] == '\n');
    close(reader);
}

TEST(a_reload_leaves_a_stuck_reader)
{
    assert_int_equal(mkfifo(path, 0600), 0);
    int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    use_file();
    start();
    for (int i = 0; i < 20000; i++)
        say(i);
    unlink(path);
    snprintf(path, sizeof(path), "%s/other", dir);
    use_file();
    wait_for_text("lines dropped");
    say(99999);
    wait_for_text("n=99999\n");
    close(reader);
}

TEST(the_queue_holds_its_ceiling)
{
    uint64_t before = atomic_load(&w.dropped);
    use_file();
    start();
    atomic_store(&write_hangs, true);
    char value[900];
    memset(value, 'v', sizeof(value));
    for (int i = 0; i < 5000; i++)
        cw_log(CW_LOG_INFO, "test", "long", CW_KV("v", cw_str_make(value, sizeof(value))));
    uint64_t dropped = atomic_load(&w.dropped) - before;
    atomic_store(&write_hangs, false);
    cw_log_stop();
    read_log(path);
    size_t lines = count_in(text, "test: long");
    assert_int_equal(lines, 5000 - dropped);
    size_t bytes = lines * (strlen("2026-01-01T00:00:00.000Z info test: long v=\"\"\n") + 900);
    assert_in_range(bytes, CW_LOG_QUEUE_MAX - 1000, CW_LOG_QUEUE_MAX);
    assert_int_equal(sum_of_reports(text), dropped);
    assert_int_equal(atomic_load(&w.dropped) - before, dropped);
}

TEST(a_hanging_write_does_not_hold_up_the_stop)
{
    struct timespec pause = {.tv_nsec = 1000000};
    uint64_t before = atomic_load(&w.dropped);
    use_file();
    start();
    atomic_store(&write_hangs, true);
    say(1);
    uint64_t t = cw_clock_ms();
    cw_log_stop();
    assert_in_range(cw_clock_ms() - t, 900, patience(1900));
    /* Until the kernel gives the thread back, lines are dropped and it cannot be started again. */
    say(2);
    assert_int_equal(atomic_load(&w.dropped), before + 1);
    cw_err err = {0};
    assert_int_equal(cw_log_start(&err), CW_IO);
    atomic_store(&write_hangs, false);
    t = cw_clock_ms();
    while (cw_log_start(NULL) != CW_OK && cw_clock_ms() - t < 5000)
        nanosleep(&pause, NULL);
    say(3);
    cw_log_stop();
    read_log(path);
    assert_non_null(strstr(text, "n=1\n"));
    assert_null(strstr(text, "n=2\n"));
    assert_non_null(strstr(text, "n=3\n"));
    assert_non_null(strstr(text, "count=1\n"));
}

enum { THREADS = 4, PER_THREAD = 4000 };

static void *log_many(void *arg)
{
    const int *who = arg;
    for (int i = 0; i < PER_THREAD; i++) {
        cw_log(CW_LOG_WARN, "many", "event", CW_KN("who", *who), CW_KN("i", i));
        cw_log(CW_LOG_DEBUG, "maybe", "debug");
    }
    return NULL;
}

TEST(threads_log_while_the_options_change)
{
    uint64_t before = atomic_load(&w.dropped);
    pthread_t threads[THREADS];
    int who[THREADS];
    use_file();
    start();
    for (int i = 0; i < THREADS; i++) {
        who[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, log_many, &who[i]), 0);
    }
    for (int i = 0; i < 100; i++) {
        char levels[64];
        snprintf(levels, sizeof(levels), "late%d=off,maybe=%s", i % 8, i % 2 ? "debug" : "off");
        configure(&(cw_log_opts){.path = path, .level = CW_LOG_INFO, .levels = levels});
        if (i == 50)
            cw_log_stop();
        if (i == 60)
            start();
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    cw_log_stop();
    /* Every line is whole and in its thread's order; with enough room none was dropped. */
    int next[THREADS] = {0};
    read_log(path);
    char *save;
    for (char *p = strtok_r(text, "\n", &save); p; p = strtok_r(NULL, "\n", &save)) {
        int writer = 0;
        int i = 0;
        if (strstr(p, " debug maybe: debug") || strstr(p, " warn log: lines dropped"))
            continue;
        assert_int_equal(sscanf(p + 24, " warn many: event who=%d i=%d", &writer, &i), 2);
        assert_in_range(writer, 0, THREADS - 1);
        assert_true(i >= next[writer]);
        next[writer] = i + 1;
    }
    if (atomic_load(&w.dropped) == before)
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(next[i], PER_THREAD);
}

static void start_once(void *ctx)
{
    (void)ctx;
    cw_err err = {0};
    cw_code rc = cw_log_start(&err);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    say(1);
    cw_log_stop();
}

/* ---- lines whose number is limited ---- */

static void say_often(cw_log_kind *kind, const char *name, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        cw_log_limited(kind, cw_str_from(name), CW_KN("n", i));
}

static void stop_clock(void)
{
    atomic_store(&stopped_ms, __real_cw_clock_ms());
}

/* The thread sleeps until the count is due, and no other line wakes it. */
TEST(a_count_is_written_when_it_is_due)
{
    static cw_log_kind kind = CW_LOG_KIND(CW_LOG_INFO, "test", "again", "who");
    use_file();
    start();
    stop_clock();
    say_often(&kind, "me", CW_LOG_LIMIT_LINES + 12);
    wait_for_text("again n=29\n");
    atomic_fetch_add(&stopped_ms, CW_LOG_LIMIT_MS - 50);
    say(1); /* the thread looks at the clock, and will do so again in 50 ms */
    wait_for_text("line n=1\n");
    assert_null(strstr(text, "more like this"));
    atomic_fetch_add(&stopped_ms, 50);
    wait_for_text("again: 12 more like this in the last 60 seconds count=12 seconds=60 "
                  "who=\"me\"\n");
    assert_int_equal(count_in(text, "again n="), CW_LOG_LIMIT_LINES);
    say_often(&kind, "me", 1); /* the next interval */
    cw_log_stop();
    assert_int_equal(count_in(read_log(path), "again n="), CW_LOG_LIMIT_LINES + 1);
    assert_int_equal(count_in(text, "more like this"), 1);
}

TEST(the_first_line_that_is_left_out_wakes_the_thread)
{
    static cw_log_kind kind = CW_LOG_KIND(CW_LOG_INFO, "test", "again", "who");
    use_file();
    start();
    stop_clock();
    say_often(&kind, "me", CW_LOG_LIMIT_LINES);
    wait_for_text("again n=29\n"); /* and sleeps */
    atomic_fetch_add(&stopped_ms, CW_LOG_LIMIT_MS - 50);
    say_often(&kind, "me", 1);
    atomic_fetch_add(&stopped_ms, 50);
    wait_for_text("again: 1 more like this");
}

TEST(a_stop_writes_the_counts)
{
    static cw_log_kind kind = CW_LOG_KIND(CW_LOG_INFO, "test", "again", "who");
    static cw_log_kind other = CW_LOG_KIND(CW_LOG_WARN, "test", "still", "who");
    use_file();
    start();
    stop_clock();
    say_often(&kind, "a", CW_LOG_LIMIT_LINES + 2);
    say_often(&kind, "b", CW_LOG_LIMIT_LINES + 3);
    say_often(&other, "", CW_LOG_LIMIT_LINES + 4);
    cw_log_stop();
    read_log(path);
    assert_non_null(strstr(text, " info test: again: 2 more like this in the last "));
    assert_non_null(strstr(text, " info test: again: 3 more like this in the last "));
    assert_non_null(strstr(text, " warn test: still: 4 more like this in the last "));
    assert_int_equal(count_in(text, "who=\"a\"\n") + count_in(text, "who=\"b\"\n"), 2);
    assert_int_equal(count_in(text, "\n"), 3 * CW_LOG_LIMIT_LINES + 3);
    cw_log_stop();
    assert_int_equal(count_in(read_log(path), "more like this"), 3);
}

TEST(without_a_thread_the_next_line_brings_the_count)
{
    static cw_log_kind kind = CW_LOG_KIND(CW_LOG_INFO, "test", "again", "who");
    use_file();
    stop_clock();
    say_often(&kind, "me", CW_LOG_LIMIT_LINES + 5);
    assert_int_equal(count_in(read_log(path), "\n"), CW_LOG_LIMIT_LINES);
    atomic_fetch_add(&stopped_ms, CW_LOG_LIMIT_MS);
    say_often(&kind, "me", 1);
    assert_non_null(strstr(read_log(path), "again: 5 more like this in the last 60 seconds"));
    assert_int_equal(count_in(text, "\n"), CW_LOG_LIMIT_LINES + 2);
}

TEST(a_kind_that_is_off_is_not_counted)
{
    static cw_log_kind kind = CW_LOG_KIND(CW_LOG_DEBUG, "test", "again", "who");
    use_file();
    say_often(&kind, "me", CW_LOG_LIMIT_LINES + 5);
    cw_log_stop();
    assert_int_equal(count_in(read_log(path), "\n"), 0);
}

TEST(a_failed_start_still_logs)
{
    use_file();
    assert_int_equal(oom_each(start_once, NULL), 2);
    assert_int_equal(count_in(read_log(path), "n=1\n"), 6);
    /* Neither levels nor lines need memory. */
    oom_fail_from(1);
    use_file();
    say(2);
    bool hit = oom_was_hit();
    oom_reset();
    assert_false(hit);
    assert_non_null(strstr(read_log(path), "n=2\n"));
}

/* The last test: names keep their place for the life of the process. */
TEST(components_have_a_ceiling)
{
    char levels[80 * CW_LOG_COMPONENTS_MAX] = "";
    size_t n = 0;
    for (unsigned i = 0; i <= CW_LOG_COMPONENTS_MAX; i++)
        n += (size_t)snprintf(levels + n, sizeof(levels) - n, "%sc%u=off", i ? "," : "", i);
    cw_log_opts opts = {.level = CW_LOG_INFO, .levels = levels};
    assert_int_equal(cw_log_configure(&opts, NULL), CW_LIMIT);
    assert_true(cw_log_on(CW_LOG_INFO, "c0"));
    /* Over several reloads it is the same. */
    cw_code rc = CW_OK;
    unsigned fresh = 0;
    for (; fresh <= CW_LOG_COMPONENTS_MAX && rc == CW_OK; fresh++) {
        snprintf(levels, sizeof(levels), "fresh%u=debug", fresh);
        rc = cw_log_configure(&opts, NULL);
    }
    assert_int_equal(rc, CW_LIMIT);
    assert_in_range(fresh, 20, CW_LOG_COMPONENTS_MAX);
    snprintf(levels, sizeof(levels), "fresh0=debug");
    configure(&opts);
    assert_true(cw_log_on(CW_LOG_DEBUG, "fresh0"));
    assert_false(cw_log_on(CW_LOG_DEBUG, "fresh1"));
    /* A name of 31 bytes fits, one of 32 is refused. */
    snprintf(levels, sizeof(levels), "%032d=debug", 0);
    assert_int_equal(cw_log_configure(&opts, NULL), CW_CONFIG);
}

#define LOG_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOG_TEST(default_is_text_from_info_on_standard_error),
        LOG_TEST(level_names_are_parsed),
        LOG_TEST(lines_without_a_thread_are_written_at_once),
        LOG_TEST(errors_are_logged_with_their_message),
        LOG_TEST(components_have_levels_of_their_own),
        LOG_TEST(events_below_the_level_are_not_written),
        LOG_TEST(bad_options_leave_the_old_ones),
        LOG_TEST(reload_reopens_the_file),
        LOG_TEST(many_reloads_leave_no_descriptor_behind),
        LOG_TEST(a_full_disk_drops_counts_and_heals),
        LOG_TEST(every_write_error_is_survived),
        LOG_TEST(drops_are_reported_without_a_new_line),
        LOG_TEST(a_torn_line_does_not_swallow_the_next),
        LOG_TEST(a_vanished_reader_is_no_end),
        LOG_TEST(a_count_is_written_when_it_is_due),
        LOG_TEST(the_first_line_that_is_left_out_wakes_the_thread),
        LOG_TEST(a_stop_writes_the_counts),
        LOG_TEST(without_a_thread_the_next_line_brings_the_count),
        LOG_TEST(a_kind_that_is_off_is_not_counted),
        LOG_TEST(a_reader_that_does_not_read_delays_nobody),
        LOG_TEST(a_reload_leaves_a_stuck_reader),
        LOG_TEST(the_queue_holds_its_ceiling),
        LOG_TEST(a_hanging_write_does_not_hold_up_the_stop),
        LOG_TEST(threads_log_while_the_options_change),
        LOG_TEST(a_failed_start_still_logs),
        LOG_TEST(components_have_a_ceiling),
    };
    return cmocka_run_group_tests_name("log", tests, make_dir, remove_dir);
}
