/* SPDX-License-Identifier: GPL-2.0-or-later */
/* app_state.c - state for the process that takes over, as JSON in a file in memory. */
#include "server/app_state.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"

#define VERSION 1
#define DEPTH 8u

static cw_code write_state(cw_app *app, cw_buf *out, cw_err *err)
{
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_i64_member(&w, CW_STR("version"), VERSION);
    if (app->accounts) {
        cw_json_add_key(&w, CW_STR("failures"));
        cw_accounts_write_failures(app->accounts, &w);
    }
    cw_json_add_key(&w, CW_STR("sessions"));
    cw_mcp_write_sessions(app->mcp, &w);
    cw_json_close(&w);
    return cw_json_writer_end(&w, err);
}

static cw_code write_file(int fd, cw_str text, cw_err *err)
{
    while (text.n) {
        ssize_t n = write(fd, text.p, text.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return cw_fail_errno(err, errno, "write state");
        text = cw_str_make(text.p + n, text.n - (size_t)n);
    }
    return lseek(fd, 0, SEEK_SET) == 0 ? CW_OK : cw_fail_errno(err, errno, "write state");
}

cw_code cw_app_state_save(cw_app *app, int *ret_fd, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_APP_STATE_MAX);
    cw_code rc = write_state(app, &text, err);
    if (rc)
        return rc;
    int fd = memfd_create("causeway-state", MFD_CLOEXEC);
    if (fd < 0)
        return cw_fail_errno(err, errno, "a file in memory");
    rc = write_file(fd, cw_buf_str(&text), err);
    if (rc)
        close(fd);
    else
        *ret_fd = fd;
    return rc;
}

static void use(cw_app *app, const cw_json *state)
{
    if (app->accounts)
        cw_accounts_read_failures(app->accounts, cw_json_get(state, CW_STR("failures")));
    cw_mcp_read_sessions(app->mcp, cw_json_get(state, CW_STR("sessions")));
}

static cw_code read_text(cw_app *app, cw_str text, cw_err *err)
{
    cw_arena arena;
    const cw_json *state = NULL;
    int64_t version = 0;
    cw_json_opts opts = {.max_bytes = CW_APP_STATE_MAX, .max_depth = DEPTH};
    cw_arena_init(&arena, 16 * CW_APP_STATE_MAX);
    cw_code rc = cw_json_read(text, &opts, &arena, &state, NULL, err);
    const cw_json *number = rc ? NULL : cw_json_get(state, CW_STR("version"));
    if (!rc && (!number || !cw_json_to_i64(number, &version) || version != VERSION))
        rc = cw_fail(err, CW_PARAMS, "the state is of another version");
    if (!rc)
        use(app, state);
    cw_arena_done(&arena);
    return rc;
}

cw_code cw_app_state_load(cw_app *app, int fd, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_APP_STATE_MAX);
    cw_code rc = cw_file_read_fd(fd, "state", &text, err);
    close(fd);
    return rc ? rc : read_text(app, cw_buf_str(&text), err);
}
