/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_stdio.c - standard input of `causeway stdio`, as a file. These hold:
 *
 *   - it ends, and everything is closed
 *   - whatever is written is lines, each of them a JSON-RPC message or a batch of answers
 *   - a line leads to two others at most: an answer, and the word that changes will be told
 */
#include "fuzz.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "door/mcp/stdio.h"
#include "json/json.h"

#define LINE_SIZE 4096u

static cw_loop loop;
static cw_runtime *runtime;
static cw_mcp *door;
static bool is_over;

static void set_up(void)
{
    static const cw_str may[] = {CW_STR_INIT("access mcp tool discovery"),
                                 CW_STR_INIT("use jsonrpc services")};
    static const cw_offer_ops no_sources = {0};
    cw_loop *loops[] = {&loop};
    static const cw_config_source source = {
        .text = CW_STR_INIT("page_size: 10\nlimits: {batch: 10, subscriptions: 10}\n"
                            "mcp: {page_size: 10, elicitation_timeout: 10s}\n")};
    cw_runtime_settings settings = {.calls = 10};
    cw_config_problems problems;
    cw_snapshot *snapshot;
    cw_caller *caller;
    static cw_seal seal;
    cw_err err;
    signal(SIGPIPE, SIG_IGN);
    cw_config_problems_init(&problems);
    CHECK(!cw_config_load(&source, &settings.config, &problems, &err));
    cw_config_problems_done(&problems);
    CHECK(!cw_loop_init(&loop, 64, &err));
    CHECK(!cw_runtime_new(&(cw_runtime_opts){.n_loops = 1}, &runtime, &err));
    cw_runtime_attach(runtime, loops);
    CHECK(!cw_seal_init(&seal, &err) && !cw_mcp_new(runtime, 1, &seal, &door, &err));
    CHECK(!cw_snapshot_build(NULL, 0, &no_sources, NULL, &snapshot, &err));
    CHECK(!cw_caller_new_anonymous(may, CW_COUNT(may), &caller, &err));
    CHECK(!cw_runtime_publish(runtime, snapshot, caller, &settings, NULL, 0, &err));
    cw_caller_unref(caller);
    cw_runtime_started(runtime);
}

static void on_end(void *ctx)
{
    (void)ctx;
    is_over = true;
}

static void check_message(const cw_json *v)
{
    const cw_json *version = cw_json_get(v, CW_STR("jsonrpc"));
    CHECK(cw_json_is(version, CW_JSON_STRING) && cw_str_is(cw_json_text(version), "2.0"));
    CHECK(cw_json_get(v, CW_STR("result")) || cw_json_get(v, CW_STR("error")) ||
          cw_json_get(v, CW_STR("method")));
}

static size_t check_output(int fd)
{
    off_t n = lseek(fd, 0, SEEK_END);
    size_t n_lines = 0;
    char *bytes = malloc((size_t)n + 1);
    CHECK(bytes && pread(fd, bytes, (size_t)n, 0) == n);
    CHECK(n == 0 || bytes[n - 1] == '\n');
    for (cw_str rest = cw_str_make(bytes, (size_t)n); rest.n;) {
        cw_str line = cw_str_cut(rest, '\n', &rest);
        const cw_json *root;
        cw_arena arena;
        cw_arena_init(&arena, (size_t)64 << 20);
        CHECK(!cw_json_read(line, NULL, &arena, &root, NULL, NULL));
        if (cw_json_is(root, CW_JSON_ARRAY)) {
            for (const cw_json *v = cw_json_first(root); v; v = cw_json_next(v))
                check_message(v);
        } else {
            check_message(root);
        }
        cw_arena_done(&arena);
        n_lines++;
    }
    free(bytes);
    return n_lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cw_err err;
    if (!runtime)
        set_up();
    int in = memfd_create("in", MFD_CLOEXEC), out = memfd_create("out", MFD_CLOEXEC);
    CHECK(in >= 0 && out >= 0);
    CHECK(write(in, data, size) == (ssize_t)size && lseek(in, 0, SEEK_SET) == 0);
    cw_stdio_opts opts = {.door = door,
                          .runtime = runtime,
                          .loop = &loop,
                          .in = in,
                          .out = out,
                          .line_size = LINE_SIZE,
                          .queue_size = 65536,
                          .calls = 4,
                          .file_ms = 2000,
                          .on_end = on_end};
    cw_stdio *s;
    CHECK(!cw_stdio_new(&opts, &s, &err));
    cw_stdio_go(s);
    is_over = false;
    while (!is_over)
        uv_run(&loop.uv, UV_RUN_ONCE);
    cw_stdio_close(s);
    for (int i = 0; i < 3; i++)
        uv_run(&loop.uv, UV_RUN_NOWAIT);
    size_t n_breaks = 0;
    for (size_t i = 0; i < size; i++)
        n_breaks += data[i] == '\n';
    /* One answer a line at most, and one message that is said on each stream of changes. */
    CHECK(check_output(out) <= 2 * (n_breaks + 1));
    close(in);
    close(out);
    return 0;
}
