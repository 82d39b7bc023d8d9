/* SPDX-License-Identifier: GPL-2.0-or-later */
/* channel_process.c - a program whose standard input and output are the channel.
 *
 *     start:  pipes ─► spawner ─► on_started ─► OPEN
 *     end:    its exit, or the end of its output ─► OUTPUT_GRACE for the exit, which explains more ─► ENDED
 *     close:  end of its input ─ GRACE ─► SIGTERM ─ GRACE ─► SIGKILL ─► reaped ─► freed
 *             of a launcher: … SIGTERM ─ GRACE ─► SIGUSR1 ─ GRACE ─► SIGKILL …
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "net/stream/channel_int.h"

/* A program that exits closes its output first. On a busy machine the exit follows much later. */
#define OUTPUT_GRACE_MS 500u

/* ---- standard error ---- */

static void close_errors(cw_channel *ch)
{
    cw_child_output_close(ch->errors);
    ch->errors = NULL;
    if (ch->log.component)
        cw_child_output_log_done(&ch->log);
    ch->log.component = NULL;
}

/* ---- the exit ---- */

static void on_child_closed(cw_child *child, void *ctx)
{
    cw_channel *ch = ctx;
    (void)child;
    ch->has_child = false;
    cw_spawner_sweep(ch->opts.spawner, ch->job.mark);
    cw_spawner_unref(ch->opts.spawner);
    cw_channel_close_end(&ch->in);
    close_errors(ch);
    cw_channel_settle(ch);
}

static void on_exit_of(cw_child *child, int status, void *ctx)
{
    cw_channel *ch = ctx;
    char why[64];
    /* Output that it wrote before it exited counts. */
    cw_channel_drain(ch);
    close_errors(ch);
    if (ch->closing)
        cw_child_close(child, on_child_closed);
    else
        cw_channel_ended(ch, CW_GONE, cw_child_status_text(status, why, sizeof why));
}

static void on_faded(uv_timer_t *timer)
{
    cw_channel *ch = timer->data;
    cw_channel_ended(ch, CW_GONE,
                     ch->in ? "the program has closed its input"
                            : "the program has closed its output");
}

void cw_channel_on_output_closed(cw_channel *ch)
{
    if (ch->state == CHANNEL_OPEN && !ch->closing)
        cw_channel_wait(ch, on_faded, OUTPUT_GRACE_MS);
}

/* ---- the start ---- */

static void close_job_fds(cw_channel *ch)
{
    for (size_t i = 0; i < CW_COUNT(ch->job_fds); i++) {
        if (ch->job_fds[i] >= 0)
            close(ch->job_fds[i]);
        ch->job_fds[i] = -1;
    }
}

static void on_started(cw_spawn *job)
{
    cw_channel *ch = job->ctx;
    cw_err err;
    cw_code rc = job->code;
    close_job_fds(ch);
    if (rc) {
        err = job->err;
    } else {
        rc = cw_child_watch(&ch->child, job, on_exit_of, ch, &err);
        ch->has_child = !rc;
    }
    if (!rc)
        (void)cw_spawner_ref(ch->opts.spawner);
    if (ch->closing)
        cw_channel_stop_program(ch);
    else if (rc)
        cw_channel_ended(ch, rc == CW_NOMEM ? rc : CW_IO, err.msg);
    else
        cw_channel_opened(ch);
}

/* A pipe of which the program gets the end `i`, its descriptor of that number. */
static cw_code add_pipe(cw_channel *ch, int i, cw_channel_end **ret, cw_err *err)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC))
        return cw_fail_errno(err, errno, "pipe");
    bool is_input = i == STDIN_FILENO;
    ch->job_fds[i] = fds[is_input ? 0 : 1];
    return cw_channel_add_end(ch, fds[is_input ? 1 : 0], ret, err);
}

void cw_channel_start_program(cw_channel *ch)
{
    cw_err err;
    ch->state = CHANNEL_STARTING;
    cw_code rc = add_pipe(ch, STDIN_FILENO, &ch->out, &err);
    if (!rc)
        rc = add_pipe(ch, STDOUT_FILENO, &ch->in, &err);
    cw_child_output_log_init(&ch->log, "source", "standard error", ch->opts.name, ch->opts.secrets,
                             CW_CHANNEL_LINES);
    if (!rc)
        rc = cw_child_output_open(&ch->log, ch->loop, &ch->errors, &ch->job_fds[STDERR_FILENO],
                                  &err);
    ch->job = (cw_spawn){.path = ch->opts.command[0],
                         .argv = ch->opts.command,
                         .env = ch->opts.environment,
                         .stdio = ch->job_fds,
                         .folder = ch->opts.folder,
                         .confinement = ch->opts.confinement,
                         .has_own_group = true,
                         .searches_path = true,
                         .loop = ch->loop,
                         .done = on_started,
                         .ctx = ch};
    if (!rc)
        rc = cw_spawner_ask(ch->opts.spawner, &ch->job, &err);
    if (!rc)
        return;
    close_job_fds(ch);
    cw_channel_ended(ch, rc == CW_NOMEM ? rc : CW_IO, err.msg);
}

/* ---- the end ---- */

static void on_last_grace(uv_timer_t *timer)
{
    cw_channel *ch = timer->data;
    cw_child_close(&ch->child, on_child_closed);
}

/* A launcher that is killed cannot end what the program has started. */
static void on_launcher_grace(uv_timer_t *timer)
{
    cw_channel *ch = timer->data;
    cw_child_signal(&ch->child, SIGUSR1);
    cw_channel_wait(ch, on_last_grace, CW_CHANNEL_GRACE_MS);
}

static void on_grace(uv_timer_t *timer)
{
    cw_channel *ch = timer->data;
    cw_child_signal(&ch->child, SIGTERM);
    cw_channel_wait(ch, ch->opts.confinement ? on_launcher_grace : on_last_grace,
                    CW_CHANNEL_GRACE_MS);
}

void cw_channel_stop_program(cw_channel *ch)
{
    cw_channel_close_end(&ch->out);
    if (ch->job.ticket)
        return; /* on_started goes on */
    if (!ch->has_child) {
        cw_channel_close_end(&ch->in);
        close_errors(ch);
        cw_channel_settle(ch);
        return;
    }
    if (ch->child.exited) {
        cw_child_close(&ch->child, on_child_closed);
        return;
    }
    cw_channel_watch(ch);
    cw_channel_wait(ch, on_grace, CW_CHANNEL_GRACE_MS);
}

void cw_channel_cancel_start(cw_channel *ch)
{
    if (!ch->job.ticket)
        return;
    cw_spawner_cancel(ch->opts.spawner, &ch->job);
    close_job_fds(ch);
    if (ch->closing)
        cw_channel_stop_program(ch);
}
