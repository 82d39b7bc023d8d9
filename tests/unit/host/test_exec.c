/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process between the server and the program of a source: it ends as the program did, and takes
 * everything that the program has started with it. */
#include "host/exec.h"

#include <errno.h>
#include <linux/landlock.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "support/oom.h"
#include "support/test.h"

/* A supervisor, and the standard output and error of its program. */
typedef struct running {
    pid_t pid;
    int out;
} running;

static running start_with(cw_host_program program, size_t failed_allocation)
{
    int out[2];
    assert_int_equal(pipe(out), 0);
    fflush(NULL);
    running r = {.pid = fork(), .out = out[0]};
    if (r.pid == 0) {
        dup2(out[1], STDOUT_FILENO);
        dup2(out[1], STDERR_FILENO);
        close(out[0]);
        close(out[1]);
        oom_fail_at(failed_allocation);
        int status = cw_host_exec(&program);
        oom_reset();
        exit(status);
    }
    close(out[1]);
    return r;
}

static running start(const char *script)
{
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)(uintptr_t)script, NULL};
    return start_with((cw_host_program){.argv = argv, .parent = (uint64_t)getpid()}, 0);
}

/* The next line of the program; empty at the end. */
static void read_line(const running *r, char ret[256])
{
    size_t n = 0;
    while (n < 255 && read(r->out, ret + n, 1) == 1 && ret[n] != '\n')
        n++;
    ret[n] = 0;
}

/* The status of waitpid. */
static int end_of(running *r)
{
    int status;
    assert_int_equal(waitpid(r->pid, &status, 0), r->pid);
    close(r->out);
    return status;
}

static void assert_exits(running r, int expected)
{
    int status = end_of(&r);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), expected);
}

static void assert_gone(const char *number)
{
    pid_t pid = (pid_t)strtol(number, NULL, 10);
    assert_true(pid > 1);
    assert_true(kill(pid, 0) < 0 && errno == ESRCH);
}

TEST(it_exits_as_the_program_did)
{
    assert_exits(start("exit 0"), 0);
    assert_exits(start("exit 7"), 7);
}

TEST(it_is_killed_as_the_program_was)
{
    static const int signals[] = {SIGABRT, SIGKILL, SIGTERM};
    for (size_t i = 0; i < CW_COUNT(signals); i++) {
        char script[32];
        snprintf(script, sizeof script, "kill -%d $$", signals[i]);
        running r = start(script);
        int status = end_of(&r);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), signals[i]);
    }
}

TEST(the_end_of_an_orphan_is_not_that_of_the_program)
{
    assert_exits(start("(exit 5 & true); sleep 0.3; exit 3"), 3);
}

TEST(orphans_end_with_the_program)
{
    char number[256];
    running r = start("(sleep 1000 & echo $!); exit 4");
    read_line(&r, number);
    assert_exits(r, 4);
    assert_gone(number);
}

TEST(a_signal_of_the_server_kills_all_at_once)
{
    char number[256], other[256];
    running r = start("trap '' TERM; (sleep 1000 & echo $!); echo $$; sleep 1000");
    read_line(&r, number);
    read_line(&r, other);
    assert_int_equal(kill(r.pid, SIGUSR1), 0);
    int status = end_of(&r);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_gone(number);
    assert_gone(other);
}

TEST(a_program_that_cannot_be_started_is_named)
{
    char line[256];
    char *argv[] = {(char[]){"/no/such/program"}, NULL};
    running r = start_with((cw_host_program){.argv = argv, .parent = (uint64_t)getpid()}, 0);
    read_line(&r, line);
    assert_string_equal(line, "causeway-plugin-host: start '/no/such/program': No such file or "
                              "directory");
    assert_exits(r, 127);
}

TEST(a_program_that_cannot_be_confined_is_not_started)
{
    char line[256];
    char *argv[] = {(char[]){"echo"}, (char[]){"started"}, NULL};
    if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < 2)
        skip();
    running r = start_with((cw_host_program){.argv = argv, .parent = (uint64_t)getpid()}, 1);
    read_line(&r, line);
    assert_string_equal(line, "causeway-plugin-host: landlock: Cannot allocate memory");
    assert_exits(r, 126);
}

TEST(a_program_of_a_server_that_has_ended_is_not_started)
{
    char line[256];
    char *argv[] = {(char[]){"echo"}, (char[]){"started"}, NULL};
    running r = start_with((cw_host_program){.argv = argv, .parent = (uint64_t)getppid()}, 0);
    read_line(&r, line);
    assert_string_equal(line, "");
    assert_exits(r, 126);
}

TEST(limits_are_those_of_the_program)
{
    char line[256];
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"},
                    (char[]){"echo $(ulimit -n) $(ulimit -d) $(ulimit -c)"}, NULL};
    running r = start_with(
        (cw_host_program){
            .argv = argv, .parent = (uint64_t)getpid(), .memory = 512u << 20, .files = 40},
        0);
    read_line(&r, line);
    assert_string_equal(line, "40 524288 0");
    assert_exits(r, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_exits_as_the_program_did),
        cmocka_unit_test(it_is_killed_as_the_program_was),
        cmocka_unit_test(the_end_of_an_orphan_is_not_that_of_the_program),
        cmocka_unit_test(orphans_end_with_the_program),
        cmocka_unit_test(a_signal_of_the_server_kills_all_at_once),
        cmocka_unit_test(a_program_that_cannot_be_started_is_named),
        cmocka_unit_test(a_program_that_cannot_be_confined_is_not_started),
        cmocka_unit_test(a_program_of_a_server_that_has_ended_is_not_started),
        cmocka_unit_test(limits_are_those_of_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
