/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/process/child.h"
#include "support/oom.h"
#include "support/test.h"

static cw_loop loop;
static cw_spawner *spawner;
static cw_child child;
static int n_done, n_exits, n_closed, status;

static void on_child_exit(cw_child *c, int st, void *ctx)
{
    assert_ptr_equal(c, &child);
    assert_ptr_equal(ctx, &loop);
    n_exits++;
    status = st;
}

static void on_closed(cw_child *c, void *ctx)
{
    (void)c;
    (void)ctx;
    n_closed++;
}

static void on_done(cw_spawn *job)
{
    n_done++;
    if (job->code)
        return;
    assert_int_equal(cw_child_watch(&child, job, on_child_exit, &loop, NULL), CW_OK);
}

SETUP(set_up)
{
    n_done = n_exits = n_closed = 0;
    assert_int_equal(cw_loop_init(&loop, 64, NULL), CW_OK);
    assert_int_equal(cw_spawner_new(&spawner, NULL), CW_OK);
    return 0;
}

TEARDOWN(tear_down)
{
    cw_loop_end(&loop);
    cw_loop_run(&loop);
    cw_spawner_free(spawner);
    cw_loop_done(&loop);
    /* Nobody was left behind. */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    return 0;
}

static void run_until(const int *counter, int value)
{
    uint64_t until = cw_clock_ms() + 10000;
    while (*counter < value && cw_clock_ms() < until)
        uv_run(&loop.uv, UV_RUN_NOWAIT);
    assert_int_equal(*counter, value);
}

static const char *const no_env[] = {"ONLY=this", NULL};

static cw_spawn shell(const char *const *argv)
{
    return (cw_spawn){
        .path = "/bin/sh", .argv = argv, .env = no_env, .loop = &loop, .done = on_done};
}

static void close_child(void)
{
    cw_child_close(&child, on_closed);
    run_until(&n_closed, 1);
}

TEST(threat_D7_a_child_gets_its_descriptors_and_environment_and_no_others)
{
    int out[2], other[2];
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(other, O_CLOEXEC), 0);
    const char *const argv[] = {"sh", "-c",
                                "/bin/ls /proc/self/fd >&4; /usr/bin/env | grep ONLY >&4;"
                                " [ $(/usr/bin/env | wc -l) -le 4 ] && echo few >&4;"
                                " read x || echo eof >&4; cat <&3 >&4",
                                NULL};
    cw_spawn job = shell(argv);
    /* Sources that are each other's targets must not overwrite one another. */
    int three = fcntl(other[0], F_DUPFD_CLOEXEC, 3);
    job.fds[0] = other[0];
    job.fds[1] = out[1];
    job.n_fds = 2;
    assert_int_equal(write(other[1], "from three", 10), 10);
    close(other[1]);
    assert_int_equal(cw_spawner_ask(spawner, &job, NULL), CW_OK);
    run_until(&n_done, 1);
    assert_int_equal(job.code, CW_OK);
    close(out[1]);
    close(other[0]);
    close(three);
    run_until(&n_exits, 1);
    char text[512] = "";
    size_t n = 0;
    for (ssize_t got = 1; got > 0; n += (size_t)got) {
        got = read(out[0], text + n, sizeof text - 1 - n);
        assert_true(got >= 0);
    }
    close(out[0]);
    assert_string_equal(text, "0\n1\n2\n3\n4\n5\nONLY=this\nfew\neof\nfrom three");
    assert_true(WIFEXITED(status));
    close_child();
}

TEST(threat_D7_arguments_arrive_as_they_are)
{
    int out[2];
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    /* The shell here is the child itself: it prints what it was given. */
    const char *const argv[] = {"sh",        "-c",       "printf '<%s>' \"$@\" >&3",
                                "name",      "; echo x", "$(echo x)",
                                "`echo x`",  "a\nb",     "",
                                "'\"\\ * ~", "> /dev/x", NULL};
    cw_spawn job = shell(argv);
    job.fds[0] = out[1];
    job.n_fds = 1;
    assert_int_equal(cw_spawner_ask(spawner, &job, NULL), CW_OK);
    run_until(&n_exits, 1);
    close(out[1]);
    char text[256] = "";
    assert_true(read(out[0], text, sizeof text - 1) > 0);
    close(out[0]);
    assert_string_equal(text, "<; echo x><$(echo x)><`echo x`><a\nb><><'\"\\ * ~><> /dev/x>");
    close_child();
}

TEST(swapped_descriptors_arrive_in_their_places)
{
    int a[2], b[2];
    assert_int_equal(pipe2(a, O_CLOEXEC), 0);
    assert_int_equal(pipe2(b, O_CLOEXEC), 0);
    assert_int_equal(write(a[1], "A", 1), 1);
    assert_int_equal(write(b[1], "B", 1), 1);
    /* Kept free by main. */
    assert_int_equal(dup3(a[0], 4, O_CLOEXEC), 4);
    assert_int_equal(dup3(b[0], 3, O_CLOEXEC), 3);
    const char *const argv[] = {
        "sh", "-c", "[ $(head -c1 <&3) = A ] && [ $(head -c1 <&4) = B ] && exit 7", NULL};
    static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    cw_spawn job = shell(argv);
    job.env = env;
    job.fds[0] = 4;
    job.fds[1] = 3;
    job.n_fds = 2;
    assert_int_equal(cw_spawner_ask(spawner, &job, NULL), CW_OK);
    run_until(&n_exits, 1);
    assert_int_equal(WEXITSTATUS(status), 7);
    for (int i = 0; i < 2; i++) {
        close(a[i]);
        close(b[i]);
    }
    close_child();
}

TEST(signals_are_at_their_default_and_unblocked)
{
    signal(SIGPIPE, SIG_IGN);
    const char *const argv[] = {
        "sh", "-c",
        "grep -qE 'SigBlk:.0+$' "
        "/proc/self/status && grep -qE 'SigIgn:.*0000000$' /proc/self/status",
        NULL};
    cw_spawn job = shell(argv);
    static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    job.env = env;
    assert_int_equal(cw_spawner_ask(spawner, &job, NULL), CW_OK);
    run_until(&n_exits, 1);
    assert_int_equal(status, 0);
    close_child();
}

TEST(an_exit_is_told_with_its_reason)
{
    char text[64];
    const char *const argv[] = {"sh", "-c", "exit 3", NULL};
    cw_spawn job = shell(argv);
    assert_int_equal(cw_spawner_ask(spawner, &job, NULL), CW_OK);
    run_until(&n_exits, 1);
    assert_string_equal(cw_child_status_text(status, text, sizeof text), "exited with 3");
    cw_child_signal(&child, SIGTERM); /* nothing happens */
    close_child();
    n_closed = 0;
    const char *const crash[] = {"sh", "-c", "kill -SEGV $$", NULL};
    job = shell(crash);
    assert_int_equal(cw_spawner_ask(spawner, &job, NULL), CW_OK);
    run_until(&n_exits, 2);
    assert_string_equal(cw_child_status_text(status, text, sizeof text), "killed by SIGSEGV");
    assert_string_equal(cw_child_status_text(SIGRTMIN, text, sizeof text), "killed by signal 34");
    close_child();
}

static const char *const sleeper[] = {"sh", "-c", "exec sleep 1000", NULL};

TEST(closing_kills_and_reaps_without_on_exit)
{
    static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    cw_spawn job = shell(sleeper);
    job.env = env;
    assert_int_equal(cw_spawner_ask(spawner, &job, NULL), CW_OK);
    run_until(&n_done, 1);
    close_child();
    assert_int_equal(n_exits, 0);
    assert_int_equal(kill(job.pid, 0), -1);
}

TEST(a_program_that_is_not_there_is_an_error)
{
    cw_spawn job = shell(sleeper);
    job.path = "/nonexistent/program";
    assert_int_equal(cw_spawner_ask(spawner, &job, NULL), CW_OK);
    run_until(&n_done, 1);
    assert_int_equal(job.code, CW_IO);
    assert_string_equal(job.err.msg, "start '/nonexistent/program': No such file or directory");
    assert_int_equal(job.pidfd, -1);
    assert_null(job.ticket);
}

TEST(a_job_can_be_taken_back_in_every_state)
{
    for (int delay_us = 0; delay_us < 6000; delay_us += 150) {
        cw_spawn job = shell(sleeper);
        assert_int_equal(cw_spawner_ask(spawner, &job, NULL), CW_OK);
        usleep((useconds_t)delay_us);
        cw_spawner_cancel(spawner, &job);
        assert_null(job.ticket);
        cw_spawner_cancel(spawner, &job);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        /* Sometimes the message is on its way. */
        if (delay_us % 300)
            uv_run(&loop.uv, UV_RUN_NOWAIT);
    }
    assert_int_equal(n_done, 0);
}

TEST(jobs_that_wait_are_dropped_with_the_spawner)
{
    cw_spawn jobs[8];
    for (size_t i = 0; i < CW_COUNT(jobs); i++) {
        jobs[i] = shell(sleeper);
        assert_int_equal(cw_spawner_ask(spawner, &jobs[i], NULL), CW_OK);
    }
    usleep(3000);
    cw_loop_drop_messages(&loop);
    cw_spawner_free(spawner);
    spawner = NULL;
    for (size_t i = 0; i < CW_COUNT(jobs); i++)
        assert_null(jobs[i].ticket);
    assert_int_equal(n_done, 0);
}

static void make_and_ask(void *ctx)
{
    (void)ctx;
    cw_spawner *s;
    cw_code rc = cw_spawner_new(&s, NULL);
    if (rc) {
        assert_int_equal(rc, CW_NOMEM);
        return;
    }
    cw_spawn job = shell(sleeper);
    rc = cw_spawner_ask(s, &job, NULL);
    assert_true(rc == CW_OK || rc == CW_NOMEM);
    if (!rc)
        cw_spawner_cancel(s, &job);
    uv_run(&loop.uv, UV_RUN_NOWAIT); /* the message of a job that was taken back */
    cw_spawner_free(s);
}

TEST(no_failed_allocation_leaves_anything)
{
    assert_true(oom_each(make_and_ask, NULL) >= 2);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    /* No loop shall have these numbers: a test uses them. Two more, as a careless parent's. */
    for (int fd = 3; fd <= 4; fd++)
        dup2(0, fd);
    fcntl(0, F_DUPFD, 20);
    const struct CMUnitTest tests[] = {
        T(threat_D7_a_child_gets_its_descriptors_and_environment_and_no_others),
        T(threat_D7_arguments_arrive_as_they_are),
        T(swapped_descriptors_arrive_in_their_places),
        T(signals_are_at_their_default_and_unblocked),
        T(an_exit_is_told_with_its_reason),
        T(closing_kills_and_reaps_without_on_exit),
        T(a_program_that_is_not_there_is_an_error),
        T(a_job_can_be_taken_back_in_every_state),
        T(jobs_that_wait_are_dropped_with_the_spawner),
        T(no_failed_allocation_leaves_anything),
    };
    return cmocka_run_group_tests_name("net/child", tests, NULL, NULL);
}
