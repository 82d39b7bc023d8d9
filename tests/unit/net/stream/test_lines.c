/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/stream/lines.h"
#include "support/oom.h"
#include "support/test.h"

#define MAX_LINE 1000u
#define MAX_QUEUE 4096u

static cw_loop loop;
static cw_lines lines;
static int to_us, from_us; /* the client's ends */
static cw_buf got;         /* lines that came, each in brackets */
static cw_buf skipped;     /* of lines that were too long */
static unsigned n_dropped, n_last, n_gone, n_deaf, n_drained, n_left, pause_after;
static cw_code why_dropped;
static bool is_closed;

static void on_line(cw_lines *l, cw_str text)
{
    cw_buf_add_char(&got, '[');
    cw_buf_add(&got, text);
    cw_buf_add_char(&got, ']');
    if (pause_after && --pause_after == 0)
        cw_lines_pause(l, true);
}

static void on_skipped(cw_lines *l, cw_str piece)
{
    (void)l;
    cw_buf_add(&skipped, piece);
}

static void on_dropped(cw_lines *l, cw_code why)
{
    (void)l;
    n_dropped++;
    why_dropped = why;
}

static void on_last(cw_lines *l)
{
    (void)l;
    n_last++;
}

static void on_end(cw_lines *l, cw_code why)
{
    (void)l;
    if (why == CW_GONE)
        n_gone++;
    else
        n_deaf++;
}

static void on_drained(cw_lines *l)
{
    (void)l;
    n_drained++;
}

static void on_closed(cw_lines *l)
{
    (void)l;
    is_closed = true;
}

static void on_left(cw_line *line)
{
    (void)line;
    n_left++;
}

static const cw_lines_ops ops = {on_line, on_skipped, on_dropped, on_last,
                                 on_end,  on_drained, on_closed};

static void open_fds(int in, int out)
{
    cw_err err;
    cw_lines_opts opts = {.in = in, .out = out, .max_line = MAX_LINE, .max_queue = MAX_QUEUE};
    signal(SIGPIPE, SIG_IGN);
    n_dropped = n_last = n_gone = n_deaf = n_drained = n_left = pause_after = 0;
    is_closed = false;
    cw_buf_init(&got, 1 << 20);
    cw_buf_init(&skipped, 1 << 20);
    assert_int_equal(cw_loop_init(&loop, 64, &err), CW_OK);
    assert_int_equal(cw_lines_open(&lines, &loop, &opts, &ops, &err), CW_OK);
}

static void open_pipes(void)
{
    int in[2], out[2];
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    to_us = in[1];
    from_us = out[0];
    open_fds(in[0], out[1]);
    close(in[0]);
    close(out[1]);
}

static void turn(void)
{
    for (int i = 0; i < 10; i++)
        uv_run(&loop.uv, UV_RUN_NOWAIT);
}

static void end_loop(void)
{
    cw_lines_close(&lines);
    cw_loop_end(&loop);
    cw_loop_run(&loop);
    cw_loop_done(&loop);
    assert_true(is_closed);
    cw_buf_done(&got);
    cw_buf_done(&skipped);
}

static void close_pipes(void)
{
    end_loop();
    if (to_us >= 0)
        close(to_us);
    if (from_us >= 0)
        close(from_us);
}

static void come(const char *text)
{
    assert_int_equal(write(to_us, text, strlen(text)), (ssize_t)strlen(text));
    turn();
}

static void assert_got(const char *text)
{
    assert_int_equal(got.n, strlen(text));
    assert_memory_equal(cw_buf_str(&got).p, text, got.n);
}

static void assert_read(const char *text)
{
    char bytes[256];
    ssize_t n = read(from_us, bytes, sizeof bytes);
    assert_int_equal(n, (ssize_t)strlen(text));
    assert_memory_equal(bytes, text, (size_t)n);
}

TEST(lines_come_one_by_one)
{
    open_pipes();
    come("one\ntwo\r\n\n\r\n  \n \t\r\nthr");
    assert_got("[one][two]");
    come("ee");
    assert_got("[one][two]");
    come("\n");
    assert_got("[one][two][three]");
    close_pipes();
}

TEST(the_end_of_the_input_ends_the_last_line)
{
    open_pipes();
    come("one\nhalf");
    close(to_us);
    to_us = -1;
    turn();
    assert_got("[one][half]");
    assert_int_equal(n_last, 1);
    assert_int_equal(n_gone, 1);
    assert_int_equal(n_deaf, 0);
    close_pipes();
}

TEST(a_line_of_the_greatest_length_comes_and_a_longer_one_is_dropped)
{
    char text[MAX_LINE + 64];
    open_pipes();
    memset(text, 'x', sizeof text);
    memcpy(text + MAX_LINE, "\r\n", 3);
    come(text);
    assert_int_equal(got.n, MAX_LINE + 2);
    cw_buf_clear(&got);
    memcpy(text + MAX_LINE, "y\nnext\n", 8);
    come(text);
    assert_int_equal(n_dropped, 1);
    assert_int_equal(why_dropped, CW_LIMIT);
    assert_got("[next]");
    assert_int_equal(skipped.n, MAX_LINE + 1);
    cw_buf_clear(&skipped);
    /* In pieces: none is lost, and the end is reported once. */
    memset(text, 'x', sizeof text);
    text[MAX_LINE + 10] = '\0';
    come(text);
    assert_int_equal(n_dropped, 1);
    come(text);
    come("abc");
    assert_int_equal(n_dropped, 1);
    come("d\nlast\n");
    assert_int_equal(n_dropped, 2);
    assert_int_equal(skipped.n, 2 * (MAX_LINE + 10) + 4);
    assert_memory_equal(skipped.p + skipped.n - 4, "abcd", 4);
    assert_got("[next][last]");
    close_pipes();
}

TEST(the_end_of_the_input_ends_a_line_that_is_too_long)
{
    char text[MAX_LINE + 64];
    open_pipes();
    memset(text, 'x', sizeof text);
    text[MAX_LINE + 10] = '\0';
    come(text);
    assert_int_equal(n_dropped, 0);
    close(to_us);
    to_us = -1;
    turn();
    assert_int_equal(n_dropped, 1);
    assert_int_equal(skipped.n, MAX_LINE + 10);
    assert_int_equal(n_gone, 1);
    close_pipes();
}

TEST(a_pause_keeps_the_lines)
{
    open_pipes();
    pause_after = 1;
    come("one\ntwo\nthree\n");
    assert_got("[one]");
    close(to_us);
    to_us = -1;
    turn();
    assert_int_equal(n_last, 1);
    assert_int_equal(n_gone, 0);
    pause_after = 1;
    cw_lines_pause(&lines, false);
    turn();
    assert_got("[one][two]");
    cw_lines_pause(&lines, false);
    turn();
    assert_got("[one][two][three]");
    assert_int_equal(n_gone, 1);
    close_pipes();
}

TEST(a_paused_reader_reads_little_ahead)
{
    open_pipes();
    cw_lines_pause(&lines, true);
    assert_int_equal(fcntl(to_us, F_SETPIPE_SZ, 1 << 20), 1 << 20);
    char *text = malloc(1 << 20);
    assert_non_null(text);
    memset(text, '\n', 1 << 20);
    assert_int_equal(write(to_us, text, 1 << 20), 1 << 20);
    turn();
    assert_in_range(lines.buffer.n, MAX_LINE + 1, 128 * 1024);
    cw_lines_pause(&lines, false);
    for (int i = 0; i < 10; i++)
        turn();
    assert_int_equal(lines.buffer.n, 0);
    free(text);
    close_pipes();
}

TEST(lines_leave_together_and_in_order)
{
    cw_line a = {.text = CW_STR("one"), .on_left = on_left};
    cw_line b = {.text = CW_STR("two"), .on_left = on_left};
    open_pipes();
    cw_lines_send(&lines, &a);
    cw_lines_send(&lines, &b);
    assert_int_equal(n_left, 0);
    assert_true(cw_lines_has_queue(&lines));
    turn();
    assert_int_equal(n_left, 2);
    assert_false(cw_lines_has_queue(&lines));
    assert_read("one\ntwo\n");
    close_pipes();
}

TEST(a_slow_reader_gets_everything)
{
    enum { N = 200, SIZE = 5000 };
    char *text = malloc(SIZE);
    cw_line *all = calloc(N, sizeof *all);
    char bytes[30000];
    size_t total = 0;
    assert_true(text && all);
    memset(text, 'x', SIZE);
    open_pipes();
    for (size_t i = 0; i < N; i++) {
        all[i] = (cw_line){.text = cw_str_make(text, SIZE - i % 7), .on_left = on_left};
        cw_lines_send(&lines, &all[i]);
    }
    turn();
    assert_true(cw_lines_is_full(&lines));
    assert_int_equal(n_drained, 0);
    size_t want = 0, breaks = 0;
    for (size_t i = 0; i < N; i++)
        want += all[i].text.n + 1;
    while (total < want) {
        turn();
        ssize_t n = read(from_us, bytes, sizeof bytes);
        assert_true(n > 0);
        for (ssize_t i = 0; i < n; i++)
            breaks += bytes[i] == '\n';
        total += (size_t)n;
    }
    assert_int_equal(total, want);
    assert_int_equal(breaks, N);
    assert_int_equal(n_left, N);
    assert_int_equal(n_drained, 1);
    close_pipes();
    free(all);
    free(text);
}

TEST(a_reader_that_is_gone_is_told_once)
{
    cw_line a = {.text = CW_STR("one"), .on_left = on_left};
    cw_line b = a;
    open_pipes();
    close(from_us);
    from_us = -1;
    cw_lines_send(&lines, &a);
    turn();
    assert_int_equal(n_deaf, 1);
    assert_int_equal(n_left, 1);
    cw_lines_send(&lines, &b);
    turn();
    assert_int_equal(n_deaf, 1);
    assert_int_equal(n_left, 2);
    close_pipes();
}

TEST(closing_drops_what_waits)
{
    cw_line a = {.text = CW_STR("one"), .on_left = on_left};
    open_pipes();
    cw_lines_send(&lines, &a);
    close_pipes();
    assert_int_equal(n_left, 1);
}

TEST(files_are_read_to_their_end)
{
    FILE *in = tmpfile(), *out = tmpfile();
    char bytes[16] = "";
    cw_line a = {.text = CW_STR("answer"), .on_left = on_left};
    assert_true(in && out);
    fputs("one\ntwo", in);
    fflush(in);
    rewind(in);
    open_fds(fileno(in), fileno(out));
    assert_true(cw_lines_is_file(&lines));
    cw_lines_send(&lines, &a);
    turn();
    assert_got("[one][two]");
    assert_int_equal(n_gone, 1);
    end_loop();
    rewind(out);
    assert_int_equal(fread(bytes, 1, sizeof bytes, out), 7);
    assert_string_equal(bytes, "answer\n");
    fclose(in);
    fclose(out);
}

TEST(flags_of_shared_descriptors_are_as_before)
{
    int pair[2], in[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    open_fds(in[0], pair[0]);
    /* A pipe is opened anew; a socket cannot be. */
    assert_false(fcntl(in[0], F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(pair[0], F_GETFL) & O_NONBLOCK);
    end_loop();
    assert_false(fcntl(pair[0], F_GETFL) & O_NONBLOCK);
    for (int i = 0; i < 2; i++) {
        close(pair[i]);
        close(in[i]);
    }
}

static void read_once(void *ctx)
{
    (void)ctx;
    int in[2], out[2];
    cw_err err;
    cw_lines_opts opts = {.max_line = MAX_LINE, .max_queue = MAX_QUEUE};
    n_dropped = n_last = n_gone = 0;
    is_closed = false;
    char space[4096];
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    cw_buf_init(&got, sizeof space);
    opts.in = in[0];
    opts.out = out[1];
    assert_int_equal(write(in[1], "one\ntwo\n", 8), 8);
    if (cw_loop_init(&loop, 64, &err) == CW_OK) {
        assert_int_equal(cw_lines_open(&lines, &loop, &opts, &ops, &err), CW_OK);
        turn();
        /* What could not be read was told of, and what follows can be read. */
        assert_true(got.n || got.code || n_dropped);
        close(in[1]);
        in[1] = -1;
        turn();
        assert_int_equal(n_gone, 1);
        cw_lines_close(&lines);
        cw_loop_end(&loop);
        cw_loop_run(&loop);
        cw_loop_done(&loop);
        assert_true(is_closed);
    }
    cw_buf_done(&got);
    close(in[0]);
    if (in[1] >= 0)
        close(in[1]);
    close(out[0]);
    close(out[1]);
}

TEST(reading_survives_every_failed_allocation)
{
    assert_true(oom_each(read_once, NULL) >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_one_by_one),
        cmocka_unit_test(the_end_of_the_input_ends_the_last_line),
        cmocka_unit_test(a_line_of_the_greatest_length_comes_and_a_longer_one_is_dropped),
        cmocka_unit_test(the_end_of_the_input_ends_a_line_that_is_too_long),
        cmocka_unit_test(a_pause_keeps_the_lines),
        cmocka_unit_test(a_paused_reader_reads_little_ahead),
        cmocka_unit_test(lines_leave_together_and_in_order),
        cmocka_unit_test(a_slow_reader_gets_everything),
        cmocka_unit_test(a_reader_that_is_gone_is_told_once),
        cmocka_unit_test(closing_drops_what_waits),
        cmocka_unit_test(files_are_read_to_their_end),
        cmocka_unit_test(flags_of_shared_descriptors_are_as_before),
        cmocka_unit_test(reading_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
