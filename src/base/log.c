/* SPDX-License-Identifier: GPL-2.0-or-later */
/* log.c - levels, lines, and the thread that writes them. */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ids.h"
#include "base/journal.h"
#include "base/log_line.h"
#include "base/thread.h"

/* ---- levels ----
 *
 * Levels are read on every request, by every thread, while a reload may change them. So they are
 * atomics, and the table of components only grows: a slot is filled before `used` counts it, and
 * keeps its name.
 */

/* The component has no level of its own (any more). */
#define INHERIT (-2)

static struct {
    atomic_int level;   /* of components without one of their own */
    atomic_int highest; /* of any component: what is above it is off everywhere */
    atomic_uint scan;   /* slots to look at; 0 when no component has its own level */
    unsigned used;      /* slots with a name; main thread only */
    struct {
        char name[CW_LOG_COMPONENT_MAX + 1];
        atomic_int level;
    } slots[CW_LOG_COMPONENTS_MAX];
    atomic_bool has_focus;
    atomic_int form; /* cw_log_form */
} settings = {.level = CW_LOG_INFO, .highest = CW_LOG_INFO};

static cw_log_form current_form(void)
{
    return (cw_log_form)atomic_load_explicit(&settings.form, memory_order_relaxed);
}

typedef struct override {
    cw_str component;
    cw_log_level level;
} override;

static bool is_component(cw_str name)
{
    if (name.n == 0 || name.n > CW_LOG_COMPONENT_MAX)
        return false;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-' && c != '_' && c != '.')
            return false;
    }
    return true;
}

/* "net=debug,access=off" into `out`. Blanks around names and an empty text are fine. */
static cw_code parse_levels(cw_str text, override out[CW_LOG_COMPONENTS_MAX], size_t *ret_n,
                            cw_err *err)
{
    size_t n = 0;
    cw_str rest = cw_str_trim(text);
    if (rest.n == 0)
        rest.p = NULL;
    while (rest.p) {
        cw_str value;
        cw_str item = cw_str_cut(rest, ',', &rest);
        cw_str name = cw_str_trim(cw_str_cut(item, '=', &value));
        if (!value.p || !is_component(name))
            return cw_fail(err, CW_CONFIG, "log level '%.*s': expected component=level",
                           CW_STR_ARG(item));
        if (n == CW_LOG_COMPONENTS_MAX)
            return cw_fail(err, CW_LIMIT, "log levels for more than %u components",
                           CW_LOG_COMPONENTS_MAX);
        if (!cw_log_level_parse(cw_str_trim(value), &out[n].level))
            return cw_fail(err, CW_CONFIG,
                           "log level '%.*s': expected error, warn, info, debug or off",
                           CW_STR_ARG(item));
        out[n++].component = name;
    }
    *ret_n = n;
    return CW_OK;
}

/* The slot of a component, or `used` when it has none. */
static unsigned find_slot(cw_str component)
{
    unsigned i = 0;
    while (i < settings.used && !cw_str_is(component, settings.slots[i].name))
        i++;
    return i;
}

static cw_code check_room(const override *list, size_t n, cw_err *err)
{
    size_t fresh = 0;
    for (size_t i = 0; i < n; i++)
        if (find_slot(list[i].component) == settings.used)
            fresh++;
    if (fresh > CW_LOG_COMPONENTS_MAX - settings.used)
        return cw_fail(err, CW_LIMIT, "log levels for more than %u components since the start",
                       CW_LOG_COMPONENTS_MAX);
    return CW_OK;
}

static bool is_listed(const override *list, size_t n, const char *component)
{
    for (size_t i = 0; i < n; i++)
        if (cw_str_is(list[i].component, component))
            return true;
    return false;
}

static void install_levels(cw_log_level level, const override *list, size_t n, bool has_focus)
{
    int highest = has_focus ? CW_LOG_DEBUG : level;
    for (unsigned i = 0; i < settings.used; i++)
        if (!is_listed(list, n, settings.slots[i].name))
            atomic_store(&settings.slots[i].level, INHERIT);
    for (size_t i = 0; i < n; i++) {
        unsigned at = find_slot(list[i].component);
        if (at == settings.used) {
            memcpy(settings.slots[at].name, list[i].component.p, list[i].component.n);
            settings.used++;
        }
        atomic_store(&settings.slots[at].level, list[i].level);
        if ((int)list[i].level > highest)
            highest = list[i].level;
    }
    atomic_store(&settings.level, level);
    atomic_store(&settings.has_focus, has_focus);
    atomic_store_explicit(&settings.scan, n > 0 ? settings.used : 0, memory_order_release);
    atomic_store(&settings.highest, highest);
}

static int level_of(const char *component)
{
    unsigned n = atomic_load_explicit(&settings.scan, memory_order_acquire);
    for (unsigned i = 0; i < n; i++) {
        if (strcmp(settings.slots[i].name, component) != 0)
            continue;
        int level = atomic_load_explicit(&settings.slots[i].level, memory_order_relaxed);
        if (level != INHERIT)
            return level;
        break;
    }
    return atomic_load_explicit(&settings.level, memory_order_relaxed);
}

/* Not blocking, so that a FIFO without a reader is an error here and not a hang; it changes nothing
 * for a file. */
static cw_code open_path(const char *path, int *ret_fd, cw_err *err)
{
    int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    int fd = open(path, flags, 0640);
    if (fd < 0)
        return cw_fail_errno(err, errno, "open log '%s'", path);
    *ret_fd = fd;
    return CW_OK;
}

/* ---- the queue and its thread ----
 *
 *     put_line -> fill ==swap==> batch -> write
 *
 * Callers append to `fill` under the lock. The thread swaps the two buffers and writes the batch
 * without the lock, so a slow disk delays no caller. In state IDLE there is no thread, and the
 * caller writes under the lock.
 *
 * `out` belongs to the thread while there is one, else to the holder of the lock.
 */

/* How long a stop, or a line without a thread, waits for a reader that does not read. */
#define PATIENCE_MS 1000u
/* How often a wait looks up whether the log is being stopped or moved, and how often writing is
 * tried again to report lost lines while no new line comes. */
#define POLL_MS 50u
#define RETRY_MS 1000u
/* How long a first line waits for others, so that a busy server pays for one wake-up and one write
 * every few milliseconds and not for each line; and how much is enough to write at once. */
#define BATCH_MS 2u
#define BATCH_BYTES (CW_LOG_QUEUE_MAX / 4)

typedef enum writer_state {
    IDLE,
    RUNNING,
    STOPPING,
    STUCK, /* told to stop, but the kernel does not give the thread back */
} writer_state;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake;  /* to the thread: lines, a new descriptor, or stop */
    pthread_cond_t ended; /* from the thread */
    pthread_t thread;
    writer_state state;
    char *fill;
    size_t fill_n;
    char *batch;
    size_t batch_n;
    int next_fd; /* to be used from the next batch on, when has_next */
    atomic_bool has_next;
    atomic_uint_fast64_t stop_by; /* monotonic ms after which nothing is waited for */
    atomic_uint_fast64_t dropped;
} w = {.lock = PTHREAD_MUTEX_INITIALIZER, .stop_by = UINT64_MAX};

static struct {
    int fd;
    bool stream;  /* a pipe, socket or terminal: writing may have to wait */
    bool journal; /* a socket of journald: a line is an entry */
    bool torn;    /* the last write ended within a line */
    uint64_t reported;
} out = {.fd = STDERR_FILENO, .stream = true};

static void drop(uint64_t lines)
{
    atomic_fetch_add(&w.dropped, lines);
}

uint64_t cw_log_dropped(void)
{
    return atomic_load(&w.dropped);
}

static uint64_t count_lines(const char *p, size_t n)
{
    uint64_t lines = 0;
    for (const char *end = p + n; p < end && (p = memchr(p, '\n', (size_t)(end - p))); p++)
        lines++;
    return lines;
}

/* Whether to stop trying: the time is up, or the lines are wanted elsewhere. */
static bool is_over(uint64_t limit)
{
    uint64_t now = cw_clock_ms();
    return now >= limit || now >= atomic_load(&w.stop_by) || atomic_load(&w.has_next);
}

/* Whether a write to a stream can go on. */
static bool wait_ready(uint64_t limit)
{
    struct pollfd p = {.fd = out.fd, .events = POLLOUT};
    while (poll(&p, 1, POLL_MS) <= 0)
        if (is_over(limit))
            return false;
    return true;
}

/* How much to write at once. A stream that polls writable takes PIPE_BUF bytes without blocking;
 * ending at a line keeps our lines whole among those of other programs. */
static size_t chunk(const char *p, size_t n)
{
    if (!out.stream || n <= PIPE_BUF)
        return n;
    const char *last = memrchr(p, '\n', PIPE_BUF);
    return last ? (size_t)(last - p) + 1 : PIPE_BUF;
}

/* Bytes written: all, or fewer when the descriptor refuses or `limit` has passed. */
static size_t send_all(const char *p, size_t n, uint64_t limit);

static size_t write_all(const char *p, size_t n, uint64_t limit)
{
    size_t done = 0;
    if (out.journal)
        return send_all(p, n, limit);
    while (done < n) {
        if (out.stream && !wait_ready(limit))
            break;
        ssize_t got = write(out.fd, p + done, chunk(p + done, n - done));
        if (got > 0)
            done += (size_t)got;
        else if (got == 0 || (errno != EINTR && errno != EAGAIN) || is_over(limit))
            break;
    }
    return done;
}

/* The same for entries of the journal. A line of another form was written before a reload. */
static size_t send_all(const char *p, size_t n, uint64_t limit)
{
    size_t done = 0;
    while (done < n) {
        const char *end = memchr(p + done, '\n', n - done);
        size_t size = end ? (size_t)(end - p) + 1 - done : n - done;
        int rc = cw_journal_send(out.fd, p + done, size);
        if (rc == 0)
            done += size;
        else if (rc != EAGAIN || !wait_ready(limit))
            break;
    }
    return done;
}

/* Say how many lines were lost, if any were. False when that cannot be written either. */
static bool report_drops(uint64_t limit)
{
    uint64_t count = atomic_load(&w.dropped) - out.reported;
    if (count == 0)
        return true;
    char line[1 + CW_LOG_LINE_MAX] = "\n";
    const cw_log_field fields[] = {CW_KN("count", count), {0}};
    size_t n =
        cw_log_line_format(line + 1, current_form(), CW_LOG_WARN, "log", "lines dropped", fields);
    /* The newline in front ends a line that was written in part. */
    const char *p = out.torn ? line : line + 1;
    n += out.torn ? 1 : 0;
    size_t done = write_all(p, n, limit);
    if (done > 0)
        out.torn = p[done - 1] != '\n';
    if (done < n)
        return false;
    out.reported += count;
    return true;
}

static void write_lines(const char *p, size_t n, uint64_t limit)
{
    size_t done = 0;
    if (report_drops(limit))
        done = write_all(p, n, limit);
    if (done == n)
        return;
    if (done > 0)
        out.torn = p[done - 1] != '\n';
    drop(count_lines(p + done, n - done));
}

static void use_fd(int fd)
{
    struct stat st;
    if (out.fd != STDERR_FILENO)
        close(out.fd);
    out.fd = fd < 0 ? STDERR_FILENO : fd;
    out.stream = fstat(out.fd, &st) != 0 || !S_ISREG(st.st_mode);
    out.journal = out.fd != STDERR_FILENO && cw_journal_is_socket(out.fd);
    out.torn = false;
}

/* ---- lines whose number is limited ---- */

/* The lock may be taken with that of the writer held, not the other way round. */
static struct {
    pthread_mutex_t lock;
    cw_log_kind *first;
} kinds = {.lock = PTHREAD_MUTEX_INITIALIZER};

typedef struct left_out {
    const cw_log_kind *kind;
    cw_log_limit_report report;
} left_out;

/* Take the next count that is due, or (`all`) any. */
static bool next_left_out(bool all, left_out *ret)
{
    bool is_found = false;
    pthread_mutex_lock(&kinds.lock);
    for (cw_log_kind *k = kinds.first; k && !is_found; k = k->next) {
        ret->kind = k;
        is_found = cw_log_limit_next(&k->limit, cw_clock_ms(), all, &ret->report);
    }
    pthread_mutex_unlock(&kinds.lock);
    return is_found;
}

static uint64_t next_due(void)
{
    uint64_t due = UINT64_MAX;
    pthread_mutex_lock(&kinds.lock);
    for (const cw_log_kind *k = kinds.first; k; k = k->next) {
        uint64_t of_kind = cw_log_limit_due(&k->limit);
        due = of_kind < due ? of_kind : due;
    }
    pthread_mutex_unlock(&kinds.lock);
    return due;
}

/* The line with a count; 0: it is off. */
static size_t format_left_out(char to[CW_LOG_LINE_MAX], const left_out *l)
{
    const cw_log_kind *k = l->kind;
    uint64_t seconds = (l->report.ms + 999) / 1000;
    char message[CW_LOG_FIELD_MAX];
    const cw_log_field fields[] = {CW_KN("count", l->report.count),
                                   CW_KN("seconds", seconds),
                                   l->report.name[0] ? CW_KV(k->key, cw_str_from(l->report.name))
                                                     : (cw_log_field){0},
                                   {0}};
    if (!cw_log_on(k->level, k->component))
        return 0;
    snprintf(message, sizeof message, "%s: %llu more like this in the last %llu seconds",
             k->message, (unsigned long long)l->report.count, (unsigned long long)seconds);
    return cw_log_line_format(to, current_form(), k->level, k->component, message, fields);
}

/* ---- the writer thread ---- */

/* With the lock held: sleep until there is something to do. */
static void wait_for_work(void)
{
    while (w.fill_n == 0 && w.state == RUNNING && !atomic_load(&w.has_next)) {
        uint64_t now = cw_clock_ms(), due = next_due();
        bool has_drops = atomic_load(&w.dropped) != out.reported;
        if (has_drops && due > now + RETRY_MS)
            due = now + RETRY_MS;
        if (due == UINT64_MAX) {
            pthread_cond_wait(&w.wake, &w.lock);
            continue;
        }
        struct timespec until = cw_thread_deadline(due > now ? due - now : 0);
        if (due <= now || pthread_cond_timedwait(&w.wake, &w.lock, &until) == ETIMEDOUT)
            return;
    }
}

/* With the lock held. */
static void queue_line(const char *line, size_t n)
{
    if (n > CW_LOG_QUEUE_MAX - w.fill_n - w.batch_n) {
        drop(1);
        return;
    }
    memcpy(w.fill + w.fill_n, line, n);
    w.fill_n += n;
}

/* With the lock held. */
static void queue_left_out(void)
{
    left_out l;
    while (next_left_out(/* all= */ false, &l)) {
        CW_UNINIT char line[CW_LOG_LINE_MAX];
        queue_line(line, format_left_out(line, &l));
    }
}

/* With the lock held. */
static void collect_lines(void)
{
    struct timespec until = cw_thread_deadline(BATCH_MS);
    while (w.fill_n > 0 && w.fill_n < BATCH_BYTES)
        if (pthread_cond_timedwait(&w.wake, &w.lock, &until) == ETIMEDOUT)
            return;
}

/* With the lock held. The descriptor is only closed here, where no write uses it. */
static void take_next_fd(void)
{
    if (!atomic_load(&w.has_next))
        return;
    use_fd(w.next_fd);
    atomic_store(&w.has_next, false);
}

static void swap_buffers(void)
{
    char *empty = w.batch;
    w.batch = w.fill;
    w.batch_n = w.fill_n;
    w.fill = empty;
    w.fill_n = 0;
}

/* With the lock held: back to IDLE. The thread frees the buffers itself, as cw_log_stop may have
 * stopped waiting for it. */
static void end_thread(void)
{
    take_next_fd();
    free(w.fill);
    free(w.batch);
    w.fill = w.batch = NULL;
    w.fill_n = w.batch_n = 0;
    w.state = IDLE;
    atomic_store(&w.stop_by, UINT64_MAX);
    pthread_cond_signal(&w.ended);
}

/* With the lock held, after a batch: whether the thread may end. A stop ends with an empty batch,
 * which has reported what the one before it could not write; or with its time, whatever waits. */
static bool is_finished(void)
{
    if (w.state == RUNNING)
        return false;
    if (cw_clock_ms() < atomic_load(&w.stop_by))
        return w.batch_n == 0 && w.fill_n == 0;
    drop(count_lines(w.fill, w.fill_n));
    return true;
}

static void *writer_main(void *arg)
{
    pthread_mutex_lock(&w.lock);
    do {
        w.batch_n = 0;
        wait_for_work();
        queue_left_out();
        collect_lines();
        take_next_fd();
        swap_buffers();
        pthread_mutex_unlock(&w.lock);
        write_lines(w.batch, w.batch_n, UINT64_MAX);
        pthread_mutex_lock(&w.lock);
    } while (!is_finished());
    end_thread();
    pthread_mutex_unlock(&w.lock);
    return arg;
}

static void init_conds(void)
{
    cw_thread_cond_init(&w.wake);
    cw_thread_cond_init(&w.ended);
}

/* With the lock held and in state IDLE. */
static cw_code start_thread(cw_err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_conds);
    w.fill = malloc(CW_LOG_QUEUE_MAX);
    w.batch = malloc(CW_LOG_QUEUE_MAX);
    int rc = w.fill && w.batch ? cw_thread_start(&w.thread, writer_main, NULL) : ENOMEM;
    if (rc == 0) {
        w.state = RUNNING;
        return CW_OK;
    }
    free(w.fill);
    free(w.batch);
    w.fill = w.batch = NULL;
    return cw_fail_errno(err, rc, "start the log thread");
}

cw_code cw_log_start(cw_err *err)
{
    cw_code rc = CW_OK;
    pthread_mutex_lock(&w.lock);
    if (w.state == IDLE)
        rc = start_thread(err);
    else if (w.state != RUNNING)
        rc = cw_fail(err, CW_IO, "the log thread still hangs in a write");
    pthread_mutex_unlock(&w.lock);
    return rc;
}

static void put_line(const char *line, size_t n);

static void put_left_out(const left_out *l)
{
    CW_UNINIT char line[CW_LOG_LINE_MAX];
    size_t n = format_left_out(line, l);
    if (n)
        put_line(line, n);
}

void cw_log_stop(void)
{
    left_out l;
    while (next_left_out(/* all= */ true, &l))
        put_left_out(&l);
    pthread_mutex_lock(&w.lock);
    if (w.state != RUNNING) {
        pthread_mutex_unlock(&w.lock);
        return;
    }
    w.state = STOPPING;
    atomic_store(&w.stop_by, cw_clock_ms() + PATIENCE_MS);
    pthread_cond_signal(&w.wake);
    /* The thread gives up by itself at stop_by, except within a write that the kernel holds on to:
     * a dead disk. Then the process ends without it. */
    struct timespec until = cw_thread_deadline(PATIENCE_MS + 4 * POLL_MS);
    int rc = 0;
    while (w.state == STOPPING && rc == 0)
        rc = pthread_cond_timedwait(&w.ended, &w.lock, &until);
    bool stuck = w.state == STOPPING;
    if (stuck)
        w.state = STUCK;
    pthread_mutex_unlock(&w.lock);
    if (stuck)
        pthread_detach(w.thread);
    else
        pthread_join(w.thread, NULL);
}

/* Queue one line, or write it at once when no writer thread runs. Never fails: a line that cannot go
 * anywhere is counted. */
static void put_line(const char *line, size_t n)
{
    pthread_mutex_lock(&w.lock);
    if (w.state == IDLE) {
        write_lines(line, n, cw_clock_ms() + PATIENCE_MS);
    } else if (w.state == STUCK) {
        drop(1);
    } else {
        queue_line(line, n);
        /* The thread waits for a first line, and then for this many bytes. */
        if (w.fill_n == n || (w.fill_n >= BATCH_BYTES && w.fill_n - n < BATCH_BYTES))
            pthread_cond_signal(&w.wake);
    }
    pthread_mutex_unlock(&w.lock);
}

/* Use `fd` from the next batch on and close the one before it. -1 stands for standard error. */
static void use_next(int fd)
{
    pthread_mutex_lock(&w.lock);
    if (w.state == IDLE) {
        use_fd(fd);
    } else {
        if (atomic_load(&w.has_next) && w.next_fd >= 0)
            close(w.next_fd);
        w.next_fd = fd;
        atomic_store(&w.has_next, true);
        pthread_cond_signal(&w.wake);
    }
    pthread_mutex_unlock(&w.lock);
}

/* ---- entry points ---- */

cw_code cw_log_configure(const cw_log_opts *opts, cw_err *err)
{
    override list[CW_LOG_COMPONENTS_MAX];
    size_t n = 0;
    int fd = -1;
    cw_code rc = parse_levels(cw_str_from(opts->levels), list, &n, err);
    if (!rc)
        rc = check_room(list, n, err);
    if (!rc && opts->path)
        rc = open_path(opts->path, &fd, err);
    if (rc)
        return rc;
    /* Without a journal the lines go to standard error. */
    if (!opts->path && opts->journal)
        fd = cw_journal_open(opts->journal);
    bool is_journal = !opts->path && fd >= 0;
    cw_log_form form = opts->json ? CW_LOG_FORM_JSON : CW_LOG_FORM_TEXT;
    if (is_journal)
        form = CW_LOG_FORM_JOURNAL;
    atomic_store(&settings.form, form);
    install_levels(opts->level, list, n, opts->has_focus);
    use_next(fd);
    return CW_OK;
}

bool cw_log_level_parse(cw_str name, cw_log_level *ret)
{
    for (size_t i = 0; i < CW_COUNT(cw_log_level_names); i++) {
        if (cw_str_is(name, cw_log_level_names[i])) {
            *ret = (cw_log_level)i;
            return true;
        }
    }
    if (!cw_str_is(name, "off"))
        return false;
    *ret = CW_LOG_OFF;
    return true;
}

/* Whether the thread works on a request whose lines are all written. */
static bool is_focused(void)
{
    if (CW_LIKELY(!atomic_load_explicit(&settings.has_focus, memory_order_relaxed)))
        return false;
    const cw_ids *ids = cw_ids_current();
    return ids && ids->is_focused;
}

bool cw_log_on(cw_log_level level, const char *component)
{
    /* Most calls end here: debug lines while the level is higher. */
    if ((int)level > atomic_load_explicit(&settings.highest, memory_order_relaxed) ||
        (int)level < 0)
        return false;
    return (int)level <= level_of(component) || is_focused();
}

void cw_log_event(cw_log_level level, const char *component, const char *message,
                  const cw_log_field *fields)
{
    CW_UNINIT char line[CW_LOG_LINE_MAX];
    if (!cw_log_on(level, component))
        return;
    size_t n = cw_log_line_format(line, current_form(), level, component, message, fields);
    put_line(line, n);
}

/* The thread may sleep without an end. */
static void wake_writer(void)
{
    pthread_mutex_lock(&w.lock);
    if (w.state == RUNNING)
        pthread_cond_signal(&w.wake);
    pthread_mutex_unlock(&w.lock);
}

/* With the lock of the kinds held. */
static void list_kind(cw_log_kind *kind)
{
    if (kind->is_listed)
        return;
    kind->is_listed = true;
    kind->next = kinds.first;
    kinds.first = kind;
}

void cw_log_limited_event(cw_log_kind *kind, cw_str name, const cw_log_field *fields)
{
    left_out l = {.kind = kind};
    if (!cw_log_on(kind->level, kind->component))
        return;
    pthread_mutex_lock(&kinds.lock);
    list_kind(kind);
    cw_log_limit_fate fate = cw_log_limit_take(&kind->limit, name, cw_clock_ms(), &l.report);
    pthread_mutex_unlock(&kinds.lock);
    if (l.report.count)
        put_left_out(&l);
    if (fate == CW_LOG_LIMIT_WRITE)
        cw_log_event(kind->level, kind->component, kind->message, fields);
    else if (fate == CW_LOG_LIMIT_COUNT_FIRST)
        wake_writer();
}

void cw_log_err(cw_log_level level, const char *component, const char *what, const cw_err *err)
{
    const char *text = "no details";
    if (err)
        text = err->msg[0] ? err->msg : cw_code_text(err->code);
    cw_log(level, component, what, CW_KV("error", cw_str_from(text)));
}
