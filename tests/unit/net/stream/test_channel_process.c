/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_channel_process.c - channels to programs that we start. */
#include "support/channel_fixture.h"

#include <sys/wait.h>

#include "base/log.h"

static channel_record s;
static char log_path[] = "/tmp/cw-channel-log-XXXXXX";

SETUP(set_up)
{
    memset(&s, 0, sizeof s);
    assert_int_equal(cw_spawner_new(&channel_spawner, NULL), CW_OK);
    return channel_fixture_setup(state);
}

TEARDOWN(tear_down)
{
    if (s.channel)
        close_channel(&s);
    channel_fixture_teardown(state);
    cw_spawner_free(channel_spawner);
    /* Nobody was left behind. */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    return 0;
}

static const char *const environment[] = {"PATH=/usr/bin:/bin", "ONLY=this", NULL};

static cw_code start(const char *const *command)
{
    return open_channel(&s, (cw_channel_opts){.command = command, .environment = environment});
}

static cw_code start_shell(const char *script)
{
    const char *const command[] = {"/bin/sh", "-c", script, NULL};
    return start(command);
}

/* Whether a process runs; one that is dead and not reaped by its parent does not. */
static bool runs(int pid)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    const char *end = n ? strrchr(text, ')') : NULL;
    return end && end[2] != 'Z' && end[2] != 'X';
}

static uint64_t time_to_close(void)
{
    uint64_t began = cw_clock_ms();
    close_channel(&s);
    return cw_clock_ms() - began;
}

/* The time to close a script once `*count` has grown. The fastest of some that is at most `enough`,
 * because a busy machine may delay one. */
static uint64_t fastest_close(const char *script, const unsigned *count, uint64_t enough)
{
    uint64_t fastest = UINT64_MAX;
    for (int i = 0; i < 5 && fastest > enough; i++) {
        s = (channel_record){0};
        assert_int_equal(start_shell(script), CW_OK);
        channel_run_until(*count);
        uint64_t took = time_to_close();
        fastest = took < fastest ? took : fastest;
    }
    return fastest;
}

TEST(messages_go_to_a_program_and_back)
{
    static const char *const cat[] = {"cat", NULL};
    assert_int_equal(start(cat), CW_OK);
    channel_run_until(s.opens);
    assert_int_equal(channel_send_text(&s, "{1}"), CW_OK);
    assert_int_equal(channel_send_text(&s, "{2}"), CW_OK);
    channel_run_until(s.messages == 2);
    assert_string_equal(s.text, "{1}|{2}|");
    size_t n = 3u << 20;
    char *text = malloc(n);
    memset(text, '1', n);
    cw_str piece = {text, n};
    assert_int_equal(cw_channel_send(s.channel, &piece, 1), CW_OK);
    channel_run_until(s.messages == 3);
    assert_string_equal(s.text, "{1}|{2}|3145728|");
    free(text);
}

TEST(a_program_that_ends_with_its_input_is_not_waited_for)
{
    const uint64_t enough = CW_CHANNEL_GRACE_MS - 100;
    assert_in_range(fastest_close("echo 1; exec cat", &s.messages, enough), 0, enough);
}

TEST(threat_D7_a_program_gets_its_environment_folder_and_three_descriptors)
{
    char folder[] = "/tmp/cw-channel-XXXXXX", want[256];
    assert_non_null(mkdtemp(folder));
    const char *const command[] = {"/bin/sh",
                                   "-c",
                                   "pwd; echo \"$ONLY $1\"; env | grep -c .; ls /proc/self/fd |"
                                   " tr '\\n' ' '; echo; set -- $(cat /proc/$$/stat);"
                                   " [ $5 = $$ ] && echo leads; cat",
                                   "sh",
                                   "; echo $HOME",
                                   NULL};
    assert_int_equal(open_channel(&s, (cw_channel_opts){.command = command,
                                                        .environment = environment,
                                                        .folder = folder}),
                     CW_OK);
    channel_run_until(s.messages == 5);
    /* PATH, ONLY, PWD and perhaps _ and OLDPWD: the shell's own. The fourth descriptor is that of
     * ls itself. */
    snprintf(want, sizeof want, "%s|this ; echo $HOME|", folder);
    assert_memory_equal(s.text, want, strlen(want));
    assert_in_range(s.text[strlen(want)], '2', '5');
    assert_string_equal(s.text + strlen(want) + 1, "|0 1 2 3 |leads|");
    close_channel(&s);
    rmdir(folder);
}

TEST(a_program_that_is_not_there_is_told)
{
    static const char *const none[] = {"no-such-program-anywhere", NULL};
    static const char *const cat[] = {"cat", NULL};
    assert_int_equal(start(none), CW_OK);
    channel_run_until(s.ends);
    assert_channel_ended(&s, CW_IO, "start 'no-such-program-anywhere': No such file");
    close_channel(&s);
    memset(&s, 0, sizeof s);
    assert_int_equal(open_channel(&s, (cw_channel_opts){.command = cat, .folder = "/nonexistent"}),
                     CW_OK);
    channel_run_until(s.ends);
    assert_channel_ended(&s, CW_IO, "start 'cat' in /nonexistent: No such file");
    assert_int_equal(s.opens, 0);
}

TEST(what_it_wrote_before_its_exit_counts)
{
    assert_int_equal(start_shell("echo '{1}'; echo '{2}'; exit 3"), CW_OK);
    channel_run_until(s.ends);
    assert_string_equal(s.text, "{1}|{2}|");
    assert_channel_ended(&s, CW_GONE, "exited with 3");
    close_channel(&s);
    assert_in_range(fastest_close("exit 3", &s.ends, 200), 0, 200);
}

TEST(an_exit_is_told_though_others_hold_its_output)
{
    /* Not of its group, so that it lives on. */
    assert_int_equal(start_shell("setsid sleep 2 & sleep 0.05; exit 4"), CW_OK);
    uint64_t began = cw_clock_ms();
    channel_run_until(s.ends);
    assert_channel_ended(&s, CW_GONE, "exited with 4");
    assert_true(cw_clock_ms() - began < patience(1500));
}

TEST(a_program_that_closes_its_output_is_at_its_end)
{
    static const char script[] = "exec >&-; exec sleep 1000";
    assert_int_equal(start_shell(script), CW_OK);
    channel_run_until(s.ends);
    assert_channel_ended(&s, CW_GONE, "closed its output");
    close_channel(&s);
    /* It heeds the first signal only. */
    const uint64_t enough = 2 * CW_CHANNEL_GRACE_MS - 50;
    assert_in_range(fastest_close(script, &s.ends, enough), CW_CHANNEL_GRACE_MS - 50, enough);
}

TEST(a_program_that_closes_its_input_is_at_its_end)
{
    assert_int_equal(start_shell("exec <&-; echo 1; exec sleep 1000"), CW_OK);
    channel_run_until(s.messages);
    assert_int_equal(channel_send_text(&s, "{}"), CW_OK);
    channel_run_until(s.ends);
    assert_channel_ended(&s, CW_GONE, "closed its input");
}

TEST(a_program_that_heeds_nothing_is_killed)
{
    static const char script[] = "trap '' TERM; echo $$; while :; do sleep 0.02; echo x; done";
    assert_int_equal(start_shell(script), CW_OK);
    channel_run_until(s.messages);
    int pid = (int)strtol(s.text, NULL, 10);
    assert_true(runs(pid));
    s.text[0] = 0;
    close_channel(&s);
    assert_false(runs(pid));
    const uint64_t enough = 3 * CW_CHANNEL_GRACE_MS;
    assert_in_range(fastest_close(script, &s.messages, enough), 2 * CW_CHANNEL_GRACE_MS - 100,
                    enough);
}

TEST(a_close_takes_the_whole_group)
{
    static const char script[] = "(trap '' TERM; sleep 1000) & echo $!; cat";
    assert_int_equal(start_shell(script), CW_OK);
    channel_run_until(s.messages);
    int pid = (int)strtol(s.text, NULL, 10);
    assert_true(pid > 1 && runs(pid));
    close_channel(&s);
    channel_run_until(!runs(pid));
    /* The shell ends with its input, the other is killed when it has. */
    const uint64_t enough = CW_CHANNEL_GRACE_MS - 50;
    assert_in_range(fastest_close(script, &s.messages, enough), 0, enough);
}

TEST(an_exit_takes_the_rest_of_the_group)
{
    assert_int_equal(start_shell("sleep 1000 & echo $!; exit 0"), CW_OK);
    channel_run_until(s.ends);
    int pid = (int)strtol(s.text, NULL, 10);
    assert_true(pid > 1);
    channel_run_until(!runs(pid));
}

TEST(it_may_be_closed_while_it_starts)
{
    for (int turns = 0; turns < 12; turns++) {
        memset(&s, 0, sizeof s);
        assert_int_equal(start_shell("exec cat"), CW_OK);
        for (int i = 0; i < turns; i++)
            uv_run(&channel_loop.uv, UV_RUN_NOWAIT);
        cw_channel_close(s.channel);
        channel_run_until(s.closes);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    }
}

static void end_loop_after(int turns, bool closes)
{
    assert_int_equal(start_shell("exec cat"), CW_OK);
    for (int i = 0; i < turns; i++)
        uv_run(&channel_loop.uv, UV_RUN_NOWAIT);
    if (closes)
        cw_channel_close(s.channel);
    uv_close((uv_handle_t *)&channel_tick, NULL);
    cw_loop_end(&channel_loop);
    cw_loop_run(&channel_loop);
    assert_int_equal(s.closes, 1);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

TEST(the_end_of_the_loop_ends_it)
{
    for (int turns = 0; turns < 5; turns++) {
        end_loop_after(turns, turns % 2);
        cw_loop_done(&channel_loop);
        memset(&s, 0, sizeof s);
        channel_fixture_setup(state);
    }
    end_loop_after(0, /* closes= */ false);
}

static const char *read_log(void)
{
    static char text[64 * 1024];
    FILE *file = fopen(log_path, "re");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof text - 1, file);
    text[n] = 0;
    fclose(file);
    return text;
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, part)); p++)
        n++;
    return n;
}

static void start_log(void)
{
    int fd = mkstemp(log_path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(cw_log_configure(&(cw_log_opts){.path = log_path, .level = CW_LOG_INFO}, NULL),
                     CW_OK);
}

static void end_log(void)
{
    assert_int_equal(cw_log_configure(&(cw_log_opts){.level = CW_LOG_INFO}, NULL), CW_OK);
    unlink(log_path);
    memset(log_path + strlen(log_path) - 6, 'X', 6);
}

TEST(standard_error_goes_to_the_log_line_by_line)
{
    start_log();
    assert_int_equal(start_shell("printf 'one\\r\\n\\n\\033[31mtwo\\t\\n' >&2;"
                                 "head -c 498 /dev/zero | tr '\\0' x >&2;"
                                 "printf '\\303\\244\\303\\244behind\\nlast' >&2; exit 1"),
                     CW_OK);
    channel_run_until(s.ends);
    const char *text = read_log();
    assert_non_null(strstr(text, "info source: standard error source=\"probe\" text=\"one\""));
    assert_non_null(strstr(text, "text=\"[31mtwo\""));
    assert_non_null(strstr(text, "xx\xc3\xa4\""));
    assert_null(strstr(text, "behind"));
    assert_non_null(strstr(text, "text=\"last\""));
    assert_int_equal(count(text, "\n"), 4);
    end_log();
}

TEST(standard_error_has_so_many_lines_a_minute)
{
    start_log();
    assert_int_equal(start_shell("i=0; while [ $i -lt 50 ]; do i=$((i+1)); echo line $i. >&2;"
                                 " done; echo 1; cat"),
                     CW_OK);
    channel_run_until(s.messages);
    close_channel(&s);
    const char *text = read_log();
    assert_int_equal(count(text, "standard error source="), 20);
    assert_non_null(strstr(text, "line 20."));
    assert_null(strstr(text, "line 21."));
    assert_non_null(strstr(text, "warn source: lines of standard error left out"
                                 " source=\"probe\" lines=30"));
    end_log();
}

/* In a process of its own: start a program and die. */
static void die_with_a_program(int out)
{
    channel_fixture_setup(NULL);
    if (cw_spawner_new(&channel_spawner, NULL) || start_shell("echo $$; exec cat"))
        _exit(1);
    while (!s.messages)
        channel_turn();
    if (write(out, s.text, strlen(s.text)) < 0)
        _exit(1);
    raise(SIGKILL);
}

TEST(a_program_sees_the_end_of_its_input_when_we_die)
{
    int out[2], status;
    char text[32] = "";
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0)
        die_with_a_program(out[1]);
    close(out[1]);
    assert_true(read(out[0], text, sizeof text - 1) > 0);
    close(out[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    int pid = (int)strtol(text, NULL, 10);
    assert_true(pid > 1);
    channel_run_until(!runs(pid));
}

static void talk_once(void *ctx)
{
    (void)ctx;
    memset(&s, 0, sizeof s);
    static const char *const cat[] = {"/bin/cat", NULL};
    cw_code rc = start(cat);
    if (rc) {
        assert_int_equal(rc, CW_NOMEM);
        return;
    }
    channel_run_until(s.opens || s.ends);
    if (s.opens) {
        rc = channel_send_text(&s, "{}");
        assert_true(rc == CW_OK || rc == CW_NOMEM);
        if (rc == CW_OK)
            channel_run_until(s.messages || s.ends);
    }
    if (s.ends) {
        assert_int_equal(s.code, CW_NOMEM);
        assert_true(oom_was_hit());
    }
    close_channel(&s);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

TEST(no_failed_allocation_leaves_a_program_behind)
{
    assert_true(oom_each(talk_once, NULL) >= 5);
}

#define CHANNEL_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First: no thread may run where a process is copied. */
        cmocka_unit_test_setup_teardown(a_program_sees_the_end_of_its_input_when_we_die,
                                        channel_fixture_setup, channel_fixture_teardown),
        CHANNEL_TEST(messages_go_to_a_program_and_back),
        CHANNEL_TEST(a_program_that_ends_with_its_input_is_not_waited_for),
        CHANNEL_TEST(threat_D7_a_program_gets_its_environment_folder_and_three_descriptors),
        CHANNEL_TEST(a_program_that_is_not_there_is_told),
        CHANNEL_TEST(what_it_wrote_before_its_exit_counts),
        CHANNEL_TEST(an_exit_is_told_though_others_hold_its_output),
        CHANNEL_TEST(a_program_that_closes_its_output_is_at_its_end),
        CHANNEL_TEST(a_program_that_closes_its_input_is_at_its_end),
        CHANNEL_TEST(a_program_that_heeds_nothing_is_killed),
        CHANNEL_TEST(a_close_takes_the_whole_group),
        CHANNEL_TEST(an_exit_takes_the_rest_of_the_group),
        CHANNEL_TEST(it_may_be_closed_while_it_starts),
        CHANNEL_TEST(the_end_of_the_loop_ends_it),
        CHANNEL_TEST(standard_error_goes_to_the_log_line_by_line),
        CHANNEL_TEST(standard_error_has_so_many_lines_a_minute),
        CHANNEL_TEST(no_failed_allocation_leaves_a_program_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
