/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top.c - a live view of a running server on the terminal: sources, tools, running and last calls. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/lib/admin.h"
#include "cli/lib/table.h"

#define ROWS_DEFAULT 24
#define COLUMNS_DEFAULT 80
#define ROWS_MIN 12
#define COLUMNS_MIN 40
#define COLUMNS_MAX 512
#define CLEAR "\033[H\033[2J"
#define SCREEN_ON "\033[?1049h\033[?25l"
#define SCREEN_OFF "\033[?25h\033[?1049l"

typedef struct view {
    cw_cli_admin admin;
    int64_t interval_s;
    bool is_once;
    struct termios before;
    bool is_raw;
    int rows, columns;
} view;

static volatile sig_atomic_t is_ending;

static void on_signal(int signum)
{
    (void)signum;
    is_ending = 1;
}

/* ---- the terminal ---- */

static void read_size(view *v)
{
    struct winsize size = {0};
    v->rows = ROWS_DEFAULT;
    v->columns = COLUMNS_DEFAULT;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col)
        return;
    v->rows = size.ws_row < ROWS_MIN ? ROWS_MIN : size.ws_row;
    v->columns = size.ws_col < COLUMNS_MIN ? COLUMNS_MIN : size.ws_col;
    if (v->columns > COLUMNS_MAX)
        v->columns = COLUMNS_MAX;
}

static void enter(view *v)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (tcgetattr(STDIN_FILENO, &v->before) == 0) {
        struct termios raw = v->before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        v->is_raw = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
    }
    (void)!write(STDOUT_FILENO, SCREEN_ON, sizeof SCREEN_ON - 1);
}

static void leave(const view *v)
{
    (void)!write(STDOUT_FILENO, SCREEN_OFF, sizeof SCREEN_OFF - 1);
    if (v->is_raw)
        tcsetattr(STDIN_FILENO, TCSANOW, &v->before);
}

/* Wait for the next look; false: the operator ends it. */
static bool wait_for_key(const view *v)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    uint64_t until = cw_clock_ms() + (uint64_t)v->interval_s * 1000;
    while (!is_ending) {
        uint64_t now = cw_clock_ms();
        char key;
        if (now >= until)
            return true;
        int n = poll(&input, 1, (int)(until - now));
        if (n <= 0)
            continue;
        if (read(STDIN_FILENO, &key, 1) != 1 || key == 'q')
            return false;
        if (key == ' ')
            return true;
    }
    return false;
}

/* ---- lines ---- */

static bool begins_character(char c)
{
    return ((unsigned char)c & 0xC0) != 0x80;
}

/* Characters; a wide one counts as one too. */
static size_t count_columns(cw_str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++)
        n += begins_character(text.p[i]);
    return n;
}

/* The bytes of the first `max` characters. */
static size_t cut_columns(cw_str text, size_t max)
{
    size_t i = 0;
    for (size_t n = 0; i < text.n; i++) {
        if (begins_character(text.p[i]) && n++ == max)
            break;
    }
    return i;
}

/* End a line: cut it at the width of the terminal. */
static void end_line(const view *v, cw_buf *out, size_t start)
{
    cw_str line = cw_str_make(out->p + start, out->n - start);
    if (out->code)
        return;
    size_t n = cut_columns(line, (size_t)v->columns);
    out->n = start + n;
    cw_buf_add_char(out, '\n');
}

/* A text without control characters, in a column of this width. */
static void add_column(cw_buf *out, cw_str text, size_t width)
{
    size_t start = out->n;
    cw_cli_add_text(out, text);
    if (out->code)
        return;
    size_t n = cut_columns(cw_str_make(out->p + start, out->n - start), width);
    out->n = start + n;
    for (size_t used = count_columns(cw_str_make(out->p + start, n)); used < width; used++)
        cw_buf_add_char(out, ' ');
}

static void add_duration(cw_buf *out, const cw_json *us)
{
    int64_t value;
    char text[16];
    if (!us || !cw_json_to_i64(us, &value))
        snprintf(text, sizeof text, "-");
    else if (value < 10000)
        snprintf(text, sizeof text, "%.1fms", (double)value / 1000.0);
    else if (value < 10000000)
        snprintf(text, sizeof text, "%lldms", (long long)(value / 1000));
    else
        snprintf(text, sizeof text, "%llds", (long long)(value / 1000000));
    cw_buf_printf(out, "%9s", text);
}

static double rate_of(const cw_json *row)
{
    double value = 0;
    const cw_json *v = cw_json_get(row, CW_STR("per_s"));
    return v && cw_json_to_double(v, &value) ? value : 0;
}

/* ---- the screen ---- */

static void add_head(const view *v, cw_buf *out, const cw_json *stats)
{
    char date[CW_CLOCK_ISO_LEN + 1];
    size_t start = out->n;
    cw_clock_format_iso(cw_clock_wall_ms(), date);
    cw_buf_add(out, CW_STR("causeway top: "));
    cw_cli_admin_add_server(out, stats);
    cw_buf_printf(out, "  %.8s UTC", date + 11);
    end_line(v, out, start);
    start = out->n;
    cw_buf_printf(out, "running %lld of %lld calls, %lld connections",
                  (long long)cw_cli_admin_number(stats, "running_now"),
                  (long long)cw_cli_admin_number(stats, "max_calls"),
                  (long long)cw_cli_admin_number(stats, "connections"));
    end_line(v, out, start);
}

/* The numbers of a row of sources or tools. */
static void add_numbers(cw_buf *out, const cw_json *row)
{
    cw_buf_printf(out, " %8.1f %8lld %7lld", rate_of(row),
                  (long long)cw_cli_admin_number(row, "calls"),
                  (long long)cw_cli_admin_number(row, "failed"));
    add_duration(out, cw_json_get(row, CW_STR("p50_us")));
    add_duration(out, cw_json_get(row, CW_STR("p95_us")));
}

static int add_sources(const view *v, cw_buf *out, const cw_json *stats, int max)
{
    size_t width = (size_t)v->columns - 60, start = out->n;
    int n = 0;
    add_column(out, CW_STR("SOURCE"), width);
    cw_buf_add(out, CW_STR(" STATE       CALLS/S    CALLS  FAILED      P50      P95 RUN"));
    end_line(v, out, start);
    const cw_json *row = cw_cli_admin_items(cw_json_get(stats, CW_STR("sources")));
    for (; row && n < max; row = cw_json_next(row), n++) {
        start = out->n;
        add_column(out, cw_cli_admin_text(row, "name"), width);
        cw_buf_add_char(out, ' ');
        add_column(out, cw_cli_admin_text(row, "state"), 9);
        add_numbers(out, row);
        cw_buf_printf(out, "%4lld", (long long)(cw_cli_admin_number(row, "running")));
        end_line(v, out, start);
    }
    return n;
}

static int add_tools(const view *v, cw_buf *out, const cw_json *stats, int max)
{
    size_t width = (size_t)v->columns - 46, start = out->n;
    int n = 0;
    add_column(out, CW_STR("TOOL"), width);
    cw_buf_add(out, CW_STR("  CALLS/S    CALLS  FAILED      P50      P95"));
    end_line(v, out, start);
    const cw_json *row = cw_cli_admin_items(cw_json_get(stats, CW_STR("tools")));
    for (; row && n < max; row = cw_json_next(row), n++) {
        start = out->n;
        add_column(out, cw_cli_admin_text(row, "name"), width);
        add_numbers(out, row);
        end_line(v, out, start);
    }
    return n;
}

/* The columns that running and last calls share. */
static void end_call(const view *v, cw_buf *out, const cw_json *row, size_t start)
{
    cw_str caller = cw_cli_admin_text(row, "caller");
    cw_buf_add_char(out, ' ');
    add_column(out, cw_cli_admin_text(row, "door"), 7);
    add_duration(out, cw_json_get(row, CW_STR("us")));
    cw_buf_add_char(out, ' ');
    add_column(out, caller.n ? caller : CW_STR("-"), 11);
    end_line(v, out, start);
}

/* Calls that run now, the oldest first; without any there is no heading. Returns the lines. */
static int add_running(const view *v, cw_buf *out, const cw_json *running, int max)
{
    size_t width = (size_t)v->columns - 50, start = out->n;
    const cw_json *row = cw_cli_admin_items(cw_json_get(running, CW_STR("calls")));
    int n = 1;
    if (!row || max < 2)
        return 0;
    add_column(out, CW_STR("RUNNING CALLS"), width);
    cw_buf_add(out, CW_STR(" SOURCE   STATE       DOOR    TIME      CALLER"));
    end_line(v, out, start);
    for (; row && n < max; row = cw_json_next(row), n++) {
        start = out->n;
        add_column(out, cw_cli_admin_text(row, "tool"), width);
        cw_buf_add_char(out, ' ');
        add_column(out, cw_cli_admin_text(row, "source"), 8);
        cw_buf_add_char(out, ' ');
        add_column(out, cw_cli_admin_text(row, "state"), 11);
        end_call(v, out, row, start);
    }
    return n;
}

static void add_calls(const view *v, cw_buf *out, const cw_json *recent, int max)
{
    size_t width = (size_t)v->columns - 50, start = out->n;
    int n = 0;
    add_column(out, CW_STR("LAST CALLS"), width);
    cw_buf_add(out, CW_STR(" AT       OUTCOME     DOOR    TIME      CALLER"));
    end_line(v, out, start);
    const cw_json *row = cw_cli_admin_items(cw_json_get(recent, CW_STR("calls")));
    for (; row && n < max; row = cw_json_next(row), n++) {
        char date[CW_CLOCK_ISO_LEN + 1];
        start = out->n;
        cw_clock_format_iso(cw_cli_admin_number(row, "at"), date);
        add_column(out, cw_cli_admin_text(row, "tool"), width);
        cw_buf_printf(out, " %.8s ", date + 11);
        add_column(out, cw_cli_admin_text(row, "outcome"), 11);
        end_call(v, out, row, start);
    }
}

/* The lists share the rows that the head and the headings leave. */
static void draw(const view *v, cw_buf *out, const cw_json *stats, const cw_json *running,
                 const cw_json *recent)
{
    int left = v->rows - 8; /* two lines of head, three headings, two empty lines, the last line */
    add_head(v, out, stats);
    cw_buf_add_char(out, '\n');
    left -= add_sources(v, out, stats, left / 3);
    cw_buf_add_char(out, '\n');
    left -= add_tools(v, out, stats, left / 2);
    left -= add_running(v, out, running, left / 2);
    add_calls(v, out, recent, left);
}

static void add_limit(cw_json_writer *w, const void *ctx)
{
    (void)ctx;
    cw_json_add_i64_member(w, CW_STR("limit"), 50);
}

/* -1, or the exit code of a problem that was reported. */
static int look(view *v)
{
    const cw_json *stats, *running, *recent;
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    int code = cw_cli_admin_call(&v->admin, "causeway.stats", NULL, NULL, &stats);
    if (code < 0)
        code = cw_cli_admin_call(&v->admin, "causeway.calls.running", NULL, NULL, &running);
    if (code < 0)
        code = cw_cli_admin_call(&v->admin, "causeway.calls.recent", add_limit, NULL, &recent);
    if (code >= 0)
        return code;
    read_size(v);
    if (!v->is_once)
        cw_buf_add(&out, CW_STR(CLEAR));
    draw(v, &out, stats, running, recent);
    if (!v->is_once && out.n)
        out.n--; /* the last line break would scroll the screen */
    code = out.code ? cw_cli_failure("out of memory") : cw_cli_print(cw_buf_str(&out));
    cw_arena_reset(&v->admin.arena);
    return code ? code : -1;
}

static int watch(view *v)
{
    int code = -1;
    enter(v);
    while (code < 0 && wait_for_key(v))
        code = look(v);
    leave(v);
    return code < 0 ? CW_EXIT_OK : code;
}

int cw_cli_top(int argc, char **argv)
{
    cw_cli_target target = {0};
    view v = {0};
    const char *interval = NULL;
    const cw_cli_option options[] = {
        CW_CLI_TARGET_OPTIONS(&target),
        {"interval", 'i', CW_CLI_TEXT, &interval, "SECONDS",
         "time between two refreshes; default: 2"},
        {"once", 0, CW_CLI_FLAG, &v.is_once, NULL, "print the view once, and end"},
        {0},
    };
    const cw_cli_spec spec = {
        "top", "",
        "Show the running server on the terminal: its sources, the busiest tools, the\n"
        "running calls and the last ones. Space refreshes the view; q ends. It needs the\n"
        "permission \"view traffic\", and metrics.enabled in the configuration of the\n"
        "server.",
        options, 0};
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    uint64_t seconds = 0;
    if (code < 0 && (!cw_str_to_u64(cw_str_from(interval ? interval : "2"), &seconds) || !seconds ||
                     seconds > 3600))
        code = cw_cli_usage("--interval: expected a number of seconds from 1 to 3600");
    v.interval_s = (int64_t)seconds;
    if (code < 0)
        code = cw_cli_admin_open(&target, &v.admin);
    if (code >= 0)
        return code;
    code = look(&v);
    if (code < 0)
        code = v.is_once ? CW_EXIT_OK : watch(&v);
    cw_cli_admin_close(&v.admin);
    return code;
}
