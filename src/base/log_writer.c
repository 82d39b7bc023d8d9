/* SPDX-License-Identifier: GPL-2.0-or-later */
/* log_writer.c - the queue of lines, the thread that writes them, and the descriptor.
 *
 *     cw_log_put -> fill ==swap==> batch -> write
 *
 * Callers append to `fill` under the lock. The thread swaps the two buffers and
 * writes the batch without the lock, so a slow disk delays no caller. In state IDLE
 * there is no thread, and the caller writes under the lock.
 *
 * `out` belongs to the thread while there is one, else to the holder of the lock.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log_int.h"
#include "base/thread.h"

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
    bool stream; /* a pipe, socket or terminal: writing may have to wait */
    bool torn;   /* the last write ended within a line */
    uint64_t reported;
} out = {.fd = STDERR_FILENO, .stream = true};

static void drop(uint64_t lines)
{
    atomic_fetch_add(&w.dropped, lines);
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
static size_t write_all(const char *p, size_t n, uint64_t limit)
{
    size_t done = 0;
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

/* Say how many lines were lost, if any were. False when that cannot be written either. */
static bool report_drops(uint64_t limit)
{
    uint64_t count = atomic_load(&w.dropped) - out.reported;
    if (count == 0)
        return true;
    char line[1 + CW_LOG_LINE_MAX] = "\n";
    const cw_log_field fields[] = {CW_KN("count", count), {0}};
    size_t n =
        cw_log_format(line + 1, cw_log_is_json(), CW_LOG_WARN, "log", "lines dropped", fields);
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
    out.torn = false;
}

static struct timespec in_ms(uint64_t ms)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += (time_t)(ms / 1000);
    t.tv_nsec += (long)(ms % 1000) * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    return t;
}

/* With the lock held: sleep until there is something to do. */
static void wait_for_work(void)
{
    while (w.fill_n == 0 && w.state == RUNNING && !atomic_load(&w.has_next)) {
        if (atomic_load(&w.dropped) == out.reported) {
            pthread_cond_wait(&w.wake, &w.lock);
            continue;
        }
        struct timespec until = in_ms(RETRY_MS);
        if (pthread_cond_timedwait(&w.wake, &w.lock, &until) == ETIMEDOUT)
            return;
    }
}

/* With the lock held. */
static void collect_lines(void)
{
    struct timespec until = in_ms(BATCH_MS);
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
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w.wake, &attr);
    pthread_cond_init(&w.ended, &attr);
    pthread_condattr_destroy(&attr);
}

/* With the lock held and in state IDLE. */
static cw_code start(cw_err *err)
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
        rc = start(err);
    else if (w.state != RUNNING)
        rc = cw_fail(err, CW_IO, "the log thread still hangs in a write");
    pthread_mutex_unlock(&w.lock);
    return rc;
}

void cw_log_stop(void)
{
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
    struct timespec until = in_ms(PATIENCE_MS + 4 * POLL_MS);
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

void cw_log_put(const char *line, size_t n)
{
    pthread_mutex_lock(&w.lock);
    if (w.state == IDLE) {
        write_lines(line, n, cw_clock_ms() + PATIENCE_MS);
    } else if (w.state == STUCK || n > CW_LOG_QUEUE_MAX - w.fill_n - w.batch_n) {
        drop(1);
    } else {
        memcpy(w.fill + w.fill_n, line, n);
        w.fill_n += n;
        /* The thread waits for a first line, and then for this many bytes. */
        if (w.fill_n == n || (w.fill_n >= BATCH_BYTES && w.fill_n - n < BATCH_BYTES))
            pthread_cond_signal(&w.wake);
    }
    pthread_mutex_unlock(&w.lock);
}

void cw_log_use(int fd)
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

uint64_t cw_log_dropped(void)
{
    return atomic_load(&w.dropped);
}
