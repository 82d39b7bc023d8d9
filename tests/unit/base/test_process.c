/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/process.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/temp_dir.h"

/* The name of a child that lives until `gate` is closed. */
static pid_t start_child(int gate[2], char name[CW_PROCESS_ID])
{
    int names[2];
    assert_int_equal(pipe(gate), 0);
    assert_int_equal(pipe(names), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char own[CW_PROCESS_ID], rest;
        close(gate[1]);
        cw_process_name(own);
        ssize_t n = write(names[1], own, sizeof own);
        _exit(n < 0 || read(gate[0], &rest, 1) < 0);
    }
    close(gate[0]);
    assert_int_equal(read(names[0], name, CW_PROCESS_ID), CW_PROCESS_ID);
    close(names[0]);
    close(names[1]);
    return pid;
}

TEST(a_name_tells_whether_its_process_lives)
{
    int gate[2];
    char own[CW_PROCESS_ID], child[CW_PROCESS_ID];
    cw_process_name(own);
    pid_t pid = start_child(gate, child);
    assert_string_not_equal(own, child);
    assert_int_equal(cw_process_state_of(cw_str_from(own)), CW_PROCESS_ALIVE);
    assert_int_equal(cw_process_state_of(cw_str_from(child)), CW_PROCESS_ALIVE);
    assert_int_equal(cw_process_parent(pid), getpid());
    close(gate[1]);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(cw_process_state_of(cw_str_from(child)), CW_PROCESS_ENDED); /* a zombie */
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(cw_process_state_of(cw_str_from(child)), CW_PROCESS_ENDED);
    assert_int_equal(cw_process_parent(pid), -1);
}

TEST(a_process_of_another_machine_is_unknown)
{
    char own[CW_PROCESS_ID];
    cw_process_name(own);
    own[0] = own[0] == 'a' ? 'b' : 'a';
    assert_int_equal(cw_process_state_of(cw_str_from(own)), CW_PROCESS_UNKNOWN);
    assert_int_equal(cw_process_state_of(CW_STR("")), CW_PROCESS_UNKNOWN);
    cw_process_name(own);
    own[strlen(own) - 1] = 'x';
    assert_int_equal(cw_process_state_of(cw_str_from(own)), CW_PROCESS_UNKNOWN);
}

/* ---- ancestors ---- */

/* The number of a process that has ended: as one that cannot be seen. */
static pid_t end_child(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return pid;
}

TEST(children_are_below_their_ancestors_and_others_are_not)
{
    int gate[2];
    char name[CW_PROCESS_ID];
    pid_t pid = start_child(gate, name);
    assert_true(cw_process_is_below(getpid(), getpid()));
    assert_true(cw_process_is_below(pid, getpid()));
    assert_true(cw_process_is_below(pid, getppid()));
    assert_false(cw_process_is_below(getppid(), getpid()));
    close(gate[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    if (geteuid() == 0) /* which could leave a control group */
        assert_true(cw_process_is_below(pid, getpid()));
}

/* A view of the machine in which this process is in a control group, by files that the test writes.
 * False: it is not possible here. */
static bool make_groups(const char *line)
{
    const char *own = temp_dir_path("own");
    temp_dir_write("own", line);
    return chmod(own, 0644) == 0 && unshare(CLONE_NEWNS) == 0 &&
           mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", "/sys/fs/cgroup", "tmpfs", 0, NULL) == 0 &&
           mount(own, "/proc/self/cgroup", NULL, MS_BIND, NULL) == 0;
}

static void write_members(const char *folder, pid_t a, pid_t b)
{
    char path[128];
    snprintf(path, sizeof path, "%s/cgroup.procs", folder);
    FILE *file = fopen(path, "w");
    if (!file || fprintf(file, "%d\n%d\n", (int)a, (int)b) < 0 || fclose(file))
        abort();
}

/* As a user without rights. */
static bool is_below(pid_t pid)
{
    if (seteuid(65534))
        abort();
    bool is = cw_process_is_below(pid, getpid());
    if (seteuid(0))
        abort();
    return is;
}

enum { IMPOSSIBLE = 64 };

/* In a process of its own: a bit for each answer that is wrong. */
static int look_from_group(const char *line, const char *folder, bool is_group)
{
    char sub[96];
    pid_t gone = end_child();
    if (!make_groups(line) || mkdir("/sys/fs/cgroup/systemd", 0755) || mkdir(folder, 0755))
        return IMPOSSIBLE;
    write_members(folder, getpid(), getppid());
    int wrong = cw_process_is_below(gone, getpid()) ? 0 : 1; /* root may leave a group */
    wrong |= is_below(gone) == is_group ? 2 : 0;
    write_members(folder, getpid(), gone);
    wrong |= is_below(gone) ? 0 : 4;
    write_members(folder, getppid(), getppid()); /* a group that is not ours */
    wrong |= is_below(gone) ? 0 : 8;
    write_members(folder, getpid(), getppid());
    snprintf(sub, sizeof sub, "%s/sub", folder); /* its groups are not looked through */
    wrong |= mkdir(sub, 0755) || is_below(gone) ? 0 : 16;
    return wrong;
}

TEST(an_invisible_process_is_below_unless_it_is_outside_our_control_group)
{
    static const struct {
        const char *line, *folder;
        bool is_group;
    } cases[] = {
        {"1:name=systemd:/\n0::/g\n", "/sys/fs/cgroup/g", true},
        {"1:name=systemd:/g\n0::/\n", "/sys/fs/cgroup/systemd/g", true},
        {"4:memory:/g\n0::/\n", "/sys/fs/cgroup/g", false}, /* the root of all */
    };
    if (geteuid() != 0)
        skip();
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        int status;
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0)
            exit(look_from_group(cases[i].line, cases[i].folder, cases[i].is_group));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(unlink(temp_dir_path("own")), 0);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) & IMPOSSIBLE)
            skip();
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_tells_whether_its_process_lives),
        cmocka_unit_test(a_process_of_another_machine_is_unknown),
        cmocka_unit_test(children_are_below_their_ancestors_and_others_are_not),
        cmocka_unit_test_setup_teardown(
            an_invisible_process_is_below_unless_it_is_outside_our_control_group, temp_dir_setup,
            temp_dir_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
