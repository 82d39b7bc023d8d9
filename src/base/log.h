/* SPDX-License-Identifier: GPL-2.0-or-later */
/* log.h - one event, one line: text for people or JSON lines for machines.
 *
 * A line is formatted by the caller's thread and handed to a writer thread
 * through a bounded buffer, so that a slow disk never holds up a loop. When the
 * buffer is full or the disk refuses, lines are dropped and counted; the count
 * is reported in a line of its own as soon as writing works again.
 *
 *     cw_log(CW_LOG_WARN, "net", "listener closed", CW_KV("address", addr), CW_KN("code", 7));
 *
 *     text: 2026-11-15T08:00:00.123Z warn net: listener closed address="[::]:80" code=7
 *     json: {"time":"…","level":"warn","component":"net","message":"listener closed",
 *            "address":"[::]:80","code":7}
 *
 * A line that a thread writes while it works on a request ends with the ids of that request (ids.h):
 * request_id, and with a trace trace_id, span_id and trace_flags.
 *
 * In both forms C0, DEL, C1, U+2028/9, the bidirectional controls and ill-formed
 * UTF-8 are escaped, so that a client can neither forge a line nor drive a
 * terminal. The message and each field are cut at CW_LOG_FIELD_MAX bytes and then
 * end in "..."; a field for which the line has no room is left out, and a last
 * field cut=true says so. An ill-formed byte reads \xHH in text, \ufffd in JSON.
 *
 * A client can cause some lines as often as it sends requests. Such a line has a kind, which limits
 * it (log_limit.h): the first lines of each name are written at once, the others are counted. The
 * count becomes a line at the end of the interval, at the latest when the log stops.
 *
 *     static cw_log_kind refused = CW_LOG_KIND(CW_LOG_INFO, "call", "call refused", "network");
 *     cw_log_limited(&refused, network, CW_KV("method", id));
 *
 *     … info call: call refused: 4711 more like this in the last 60 seconds count=4711 seconds=60
 *       network="192.0.2.1"
 *
 * Code below `call` logs at debug level only: it returns errors instead.
 *
 * A write error never ends the program or waits: SIGPIPE must be ignored by the
 * program, the rest (ENOSPC, EIO, EPIPE) is counted and tried anew.
 *
 * Threads: any thread may log; cw_log_configure, _start and _stop belong to the main thread.
 * Limits:  CW_LOG_LINE_MAX per line, CW_LOG_QUEUE_MAX bytes waiting. CW_LOG_COMPONENTS_MAX names
 *          with a level of their own, counted over all reloads: levels are read without a lock,
 *          so a name keeps its place. Kinds of limited lines have static storage.
 */
#ifndef CW_BASE_LOG_H
#define CW_BASE_LOG_H

#include <stdbool.h>

#include "base/err.h"
#include "base/log_limit.h"
#include "base/str.h"

typedef enum cw_log_level {
    CW_LOG_ERROR,
    CW_LOG_WARN,
    CW_LOG_INFO,
    CW_LOG_DEBUG,
    CW_LOG_OFF = -1,
} cw_log_level;

#define CW_LOG_LINE_MAX 8192u
#define CW_LOG_FIELD_MAX 1024u
#define CW_LOG_QUEUE_MAX 1048576u
#define CW_LOG_COMPONENTS_MAX 64u
#define CW_LOG_COMPONENT_MAX 31u /* bytes of one name: a-z, 0-9, '-', '_' and '.' */

typedef struct cw_log_field {
    const char *key; /* NULL ends the list; empty: no field */
    cw_str text;     /* used when text.p is not NULL */
    int64_t number;
} cw_log_field;

#define CW_KV(k, v) ((cw_log_field){.key = (k), .text = (v)})
#define CW_KN(k, v) ((cw_log_field){.key = (k), .number = (int64_t)(v)})

typedef struct cw_log_opts {
    bool json;
    const char *path; /* NULL: standard error */
    /* Without a path: the socket of journald, which gets each line with its fields (journal.h). NULL,
     * or a socket that cannot be used: standard error. */
    const char *journal;
    cw_log_level level;
    /* "net=debug,access=off": levels of single components; NULL: none. */
    const char *levels;
    /* Lines about requests whose ids are focused (ids.h) are written at every level. */
    bool has_focus;
} cw_log_opts;

/* Check and install options; may be called again while running (reload), which also reopens `path`.
 * On failure (CW_CONFIG, CW_LIMIT, CW_IO) the old options stay. Before the first call: text lines
 * from info upwards on standard error. */
CW_MUST_USE cw_code cw_log_configure(const cw_log_opts *opts, cw_err *err);
/* Start the writer thread. Before it, and after cw_log_stop, lines are written at once. */
CW_MUST_USE cw_code cw_log_start(cw_err *err);
/* Write the counts of limited lines and the lines that wait (maximum one second), and end the writer
 * thread. Lines that cannot be written in that time are dropped and counted. */
void cw_log_stop(void);

/* Parse "error", "warn", "info", "debug" or "off". */
bool cw_log_level_parse(cw_str name, cw_log_level *ret);
/* Whether a line of this level and component would be written. Cheap; ask before costly fields. */
bool cw_log_on(cw_log_level level, const char *component);

void cw_log_event(cw_log_level level, const char *component, const char *message,
                  const cw_log_field *fields);
#define cw_log(level, component, ...) CW_LOG_IMPL((level), (component), __VA_ARGS__, {0})
#define CW_LOG_IMPL(level, component, message, ...)                                                \
    do {                                                                                           \
        if (cw_log_on(level, component))                                                           \
            cw_log_event(level, component, message, (const cw_log_field[]){__VA_ARGS__});          \
    } while (0)

/* A kind of line whose number is limited. */
typedef struct cw_log_kind {
    cw_log_level level;
    const char *component, *message;
    const char *key; /* of the field with the name in the line with the count */
    /* The log sets these: */
    cw_log_limit limit;
    struct cw_log_kind *next;
    bool is_listed;
} cw_log_kind;

#define CW_LOG_KIND(level_, component_, message_, key_)                                            \
    {                                                                                              \
        .level = (level_), .component = (component_), .message = (message_), .key = (key_)         \
    }

/* As cw_log_event, for a line that is counted by `name`. */
void cw_log_limited_event(cw_log_kind *kind, cw_str name, const cw_log_field *fields);
#define cw_log_limited(kind, ...) CW_LOG_LIMITED_IMPL((kind), __VA_ARGS__, {0})
#define CW_LOG_LIMITED_IMPL(kind, name, ...)                                                       \
    cw_log_limited_event(kind, name, (const cw_log_field[]){__VA_ARGS__})

/* The error's message as an event: where an error stops, it is logged once with this. */
void cw_log_err(cw_log_level level, const char *component, const char *what, const cw_err *err);

/* Lines that could not be written, since the start. Any thread. */
uint64_t cw_log_dropped(void);

#endif
