/* SPDX-License-Identifier: GPL-2.0-or-later */
/* progress.c - draws a line of progress on a terminal. */
#include "cli/lib/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "config/syntax/quote.h"

#define PROGRESS_AFTER_MS 500u
#define PROGRESS_EVERY_MS 200u
#define LINE_MAX_BYTES 4096u
#define WIDTH 80u

static size_t width(void)
{
    struct winsize size = {0};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col < 2)
        return WIDTH;
    return size.ws_col;
}

/* Not in the middle of a character. */
static size_t cut(cw_str text, size_t columns)
{
    size_t i = 0;
    for (size_t n = 0; i < text.n; i++) {
        bool is_begin = ((unsigned char)text.p[i] & 0xC0) != 0x80;
        n += is_begin;
        if (n > columns)
            return i;
    }
    return i;
}

static void on_draw(uv_timer_t *timer)
{
    cw_cli_progress *p = timer->data;
    CW_CLEANUP(cw_buf_done) cw_buf raw;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&raw, LINE_MAX_BYTES);
    cw_buf_init(&text, 8 * LINE_MAX_BYTES);
    p->write(&raw, p->ctx);
    cw_quote_shown(&text, cw_buf_str(&raw));
    unsigned long seconds = (unsigned long)(uv_now(timer->loop) - p->begun) / 1000;
    cw_buf_printf(&text, " (%lu s)", seconds);
    if (text.code)
        return;
    fprintf(stderr, "\r\033[K%.*s", (int)cut(cw_buf_str(&text), width() - 1), text.p);
    fflush(stderr);
    p->is_shown = true;
}

/* A dumb terminal cannot erase a line. */
bool cw_cli_progress_can_draw(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) == 1 && !(term && strcmp(term, "dumb") == 0);
}

void cw_cli_progress_start(cw_cli_progress *p, uv_loop_t *loop,
                           void (*write)(cw_buf *out, void *ctx), void *ctx)
{
    *p = (cw_cli_progress){.write = write, .ctx = ctx};
    if (!cw_cli_progress_can_draw())
        return;
    uv_update_time(loop);
    p->begun = uv_now(loop);
    uv_timer_init(loop, &p->timer);
    p->timer.data = p;
    uv_timer_start(&p->timer, on_draw, PROGRESS_AFTER_MS, PROGRESS_EVERY_MS);
    p->is_on = true;
}

void cw_cli_progress_hide(cw_cli_progress *p)
{
    if (p->is_shown)
        fputs("\r\033[K", stderr);
    p->is_shown = false;
}

void cw_cli_progress_stop(cw_cli_progress *p)
{
    cw_cli_progress_hide(p);
    if (p->is_on)
        uv_close((uv_handle_t *)&p->timer, NULL);
    p->is_on = false;
}
