/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/process.h"

#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_tells_whether_its_process_lives),
        cmocka_unit_test(a_process_of_another_machine_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
