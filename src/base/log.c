/* SPDX-License-Identifier: GPL-2.0-or-later */
/* log.c - levels, options and the entry points.
 *
 * Levels are asked for on every request, by every thread, while a reload may
 * change them. So they are atomics, and the table of components only grows: a
 * slot is filled before `used` counts it and keeps its name for ever after.
 */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>

#include "base/log_int.h"

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
    atomic_bool json;
} state = {.level = CW_LOG_INFO, .highest = CW_LOG_INFO};

static const char *const level_names[] = {"error", "warn", "info", "debug"};

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
    while (i < state.used && !cw_str_is(component, state.slots[i].name))
        i++;
    return i;
}

static cw_code check_room(const override *list, size_t n, cw_err *err)
{
    size_t fresh = 0;
    for (size_t i = 0; i < n; i++)
        if (find_slot(list[i].component) == state.used)
            fresh++;
    if (fresh > CW_LOG_COMPONENTS_MAX - state.used)
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

static void install_levels(cw_log_level level, const override *list, size_t n)
{
    int highest = level;
    for (unsigned i = 0; i < state.used; i++)
        if (!is_listed(list, n, state.slots[i].name))
            atomic_store(&state.slots[i].level, INHERIT);
    for (size_t i = 0; i < n; i++) {
        unsigned at = find_slot(list[i].component);
        if (at == state.used) {
            memcpy(state.slots[at].name, list[i].component.p, list[i].component.n);
            state.used++;
        }
        atomic_store(&state.slots[at].level, list[i].level);
        if ((int)list[i].level > highest)
            highest = list[i].level;
    }
    atomic_store(&state.level, level);
    atomic_store_explicit(&state.scan, n > 0 ? state.used : 0, memory_order_release);
    atomic_store(&state.highest, highest);
}

static int level_of(const char *component)
{
    unsigned n = atomic_load_explicit(&state.scan, memory_order_acquire);
    for (unsigned i = 0; i < n; i++) {
        if (strcmp(state.slots[i].name, component) != 0)
            continue;
        int level = atomic_load_explicit(&state.slots[i].level, memory_order_relaxed);
        if (level != INHERIT)
            return level;
        break;
    }
    return atomic_load_explicit(&state.level, memory_order_relaxed);
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
    atomic_store(&state.json, opts->json);
    install_levels(opts->level, list, n);
    cw_log_use(fd);
    return CW_OK;
}

bool cw_log_level_parse(cw_str name, cw_log_level *ret)
{
    for (size_t i = 0; i < CW_COUNT(level_names); i++) {
        if (cw_str_is(name, level_names[i])) {
            *ret = (cw_log_level)i;
            return true;
        }
    }
    if (!cw_str_is(name, "off"))
        return false;
    *ret = CW_LOG_OFF;
    return true;
}

const char *cw_log_level_name(cw_log_level level)
{
    return level >= 0 && (size_t)level < CW_COUNT(level_names) ? level_names[level] : "off";
}

bool cw_log_is_json(void)
{
    return atomic_load_explicit(&state.json, memory_order_relaxed);
}

bool cw_log_on(cw_log_level level, const char *component)
{
    /* Most calls end here: debug lines while the level is higher. */
    if ((int)level > atomic_load_explicit(&state.highest, memory_order_relaxed) || (int)level < 0)
        return false;
    return (int)level <= level_of(component);
}

void cw_log_event(cw_log_level level, const char *component, const char *message,
                  const cw_log_field *fields)
{
    CW_UNINIT char line[CW_LOG_LINE_MAX];
    if (!cw_log_on(level, component))
        return;
    size_t n = cw_log_format(line, cw_log_is_json(), level, component, message, fields);
    cw_log_put(line, n);
}

void cw_log_err(cw_log_level level, const char *component, const char *what, const cw_err *err)
{
    const char *text = "no details";
    if (err)
        text = err->msg[0] ? err->msg : cw_code_text(err->code);
    cw_log(level, component, what, CW_KV("error", cw_str_from(text)));
}
