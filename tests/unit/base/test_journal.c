/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries of the journal, read from a socket in the place of journald's. */
#include "base/journal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/log.h"
#include "support/test.h"

static char dir[64], path[96];
static int journald = -1;

SETUP(listen_as_journald)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(dir, sizeof dir, "%s/cw-journal-XXXXXX", P_tmpdir);
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof path, "%s/socket", dir);
    memcpy(address.sun_path, path, strlen(path));
    journald = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return bind(journald, (const struct sockaddr *)&address, sizeof address);
}

TEARDOWN(leave)
{
    cw_err err;
    (void)!cw_log_configure(&(cw_log_opts){.level = CW_LOG_INFO}, &err);
    close(journald);
    unlink(path);
    return rmdir(dir);
}

static const char *receive(void)
{
    static char text[CW_LOG_LINE_MAX + 1];
    ssize_t n = recv(journald, text, sizeof text - 1, MSG_DONTWAIT);
    assert_true(n >= 0);
    text[n] = '\0';
    return text;
}

static void use_journal(void)
{
    cw_err err;
    cw_log_opts opts = {.level = CW_LOG_DEBUG, .journal = path};
    assert_int_equal(cw_log_configure(&opts, &err), CW_OK);
}

TEST(an_entry_has_the_fields_of_its_line)
{
    use_journal();
    cw_log(CW_LOG_WARN, "net", "listener closed", CW_KV("address", CW_STR("[::]:80")),
           CW_KN("code", 7));
    assert_string_equal(receive(), "MESSAGE=net: listener closed address=\"[::]:80\" code=7\n"
                                   "PRIORITY=4\nSYSLOG_IDENTIFIER=causeway\n"
                                   "CAUSEWAY_COMPONENT=net\nCAUSEWAY_ADDRESS=[::]:80\n"
                                   "CAUSEWAY_CODE=7\n");
}

TEST(each_level_has_its_priority)
{
    static const char *const expected[] = {"\nPRIORITY=3\n", "\nPRIORITY=4\n", "\nPRIORITY=6\n",
                                           "\nPRIORITY=7\n"};
    use_journal();
    for (int level = CW_LOG_ERROR; level <= CW_LOG_DEBUG; level++) {
        cw_log((cw_log_level)level, "net", "x");
        assert_non_null(strstr(receive(), expected[level]));
    }
}

TEST(an_entry_of_a_request_has_its_ids)
{
    cw_ids ids = {.request = 0x0123456789abcdef, .has_trace = true, .flags = 1};
    memset(ids.trace_id, 0xab, sizeof ids.trace_id);
    memset(ids.span_id, 0xcd, sizeof ids.span_id);
    use_journal();
    cw_ids *outer = cw_ids_enter(&ids);
    cw_log(CW_LOG_INFO, "call", "x");
    cw_ids_leave(outer);
    assert_non_null(strstr(receive(), "\nCAUSEWAY_REQUEST_ID=0123456789abcdef\n"
                                      "TRACE_ID=abababababababababababababababab\n"
                                      "SPAN_ID=cdcdcdcdcdcdcdcd\n"));
}

TEST(no_value_can_forge_a_field)
{
    use_journal();
    cw_log(CW_LOG_INFO, "net", "x",
           CW_KV("text", CW_STR("a\nPRIORITY=0\x1e"
                                "b=c\r")),
           CW_KV("odd-name!", CW_STR("1")));
    const char *entry = receive();
    assert_null(strstr(entry, "\nPRIORITY=0"));
    assert_non_null(strstr(entry, "\nCAUSEWAY_TEXT=a\\nPRIORITY=0\\u001eb=c\\r\n"));
    assert_non_null(strstr(entry, "\nCAUSEWAY_ODD_NAME_=1\n"));
}

TEST(the_longest_line_fits)
{
    static char long_text[4096];
    cw_log_field fields[12] = {{0}};
    memset(long_text, 'x', sizeof long_text);
    for (size_t i = 0; i < 11; i++)
        fields[i] = CW_KV("field", cw_str_make(long_text, sizeof long_text));
    use_journal();
    cw_log_event(CW_LOG_INFO, "net", "x", fields);
    const char *entry = receive();
    assert_true(strlen(entry) <= CW_LOG_LINE_MAX);
    assert_int_equal(entry[strlen(entry) - 1], '\n');
    assert_non_null(strstr(entry, "...\"\nPRIORITY=6\n"));
}

TEST(an_entry_that_is_too_long_for_a_datagram_is_a_sealed_file)
{
    char entry[8000], bytes[CMSG_SPACE(sizeof(int))], none;
    struct iovec part = {&none, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = bytes, .msg_controllen = sizeof bytes};
    int file = -1, least = 1, fd = cw_journal_open(path);
    struct stat st;
    memset(entry, 'x', sizeof entry);
    assert_true(cw_journal_is_socket(fd));
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &least, sizeof least), 0);
    assert_int_equal(cw_journal_send(fd, entry, sizeof entry), 0);
    assert_int_equal(recvmsg(journald, &message, MSG_DONTWAIT), 0);
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    assert_non_null(head);
    if (head) /* GCC does not know that the line above returns only with one. */
        memcpy(&file, CMSG_DATA(head), sizeof file);
    assert_int_equal(fstat(file, &st), 0);
    assert_int_equal(st.st_size, sizeof entry);
    assert_int_equal(write(file, "y", 1), -1);
    assert_int_equal(errno, EPERM);
    close(file);
    close(fd);
}

TEST(without_a_journal_lines_go_to_standard_error)
{
    cw_err err;
    cw_log_opts opts = {.level = CW_LOG_INFO, .journal = "/nonexistent/socket"};
    assert_int_equal(cw_journal_open("/nonexistent/socket"), -1);
    assert_int_equal(cw_log_configure(&opts, &err), CW_OK);
    assert_false(cw_journal_is_socket(STDERR_FILENO));
}

TEST(journald_reads_standard_error_if_the_variable_says_so)
{
    struct stat st;
    char stream[64];
    unsetenv("JOURNAL_STREAM");
    assert_null(cw_journal_of_stderr());
    setenv("JOURNAL_STREAM", "1:2", 1);
    assert_null(cw_journal_of_stderr());
    assert_int_equal(fstat(STDERR_FILENO, &st), 0);
    snprintf(stream, sizeof stream, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    setenv("JOURNAL_STREAM", stream, 1);
    assert_string_equal(cw_journal_of_stderr(), CW_JOURNAL_SOCKET);
    unsetenv("JOURNAL_STREAM");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, listen_as_journald, leave)
    const struct CMUnitTest tests[] = {
        T(an_entry_has_the_fields_of_its_line),
        T(each_level_has_its_priority),
        T(an_entry_of_a_request_has_its_ids),
        T(no_value_can_forge_a_field),
        T(the_longest_line_fits),
        T(an_entry_that_is_too_long_for_a_datagram_is_a_sealed_file),
        T(without_a_journal_lines_go_to_standard_error),
        T(journald_reads_standard_error_if_the_variable_says_so),
    };
    return cmocka_run_group_tests_name("base/journal", tests, NULL, NULL);
}
