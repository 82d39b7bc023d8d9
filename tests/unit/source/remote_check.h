/* SPDX-License-Identifier: GPL-2.0-or-later */
/* remote_check.h - what tests of remote sources share: a description in a file, and loading it. */
#ifndef CW_TESTS_REMOTE_CHECK_H
#define CW_TESTS_REMOTE_CHECK_H

#include <fcntl.h>

#include "../net/client_check.h"
#include "access/caller.h"
#include "source/remote_int.h"

#define DOCUMENT                                                                                   \
    "{\"openrpc\":\"1.3.2\",\"info\":{\"title\":\"t\",\"version\":\"1\"},\"methods\":["            \
    "{\"name\":\"echo\",\"summary\":\"Says it again\",\"params\":[{\"name\":\"text\","             \
    "\"required\":true,\"schema\":{\"type\":\"string\"}}],"                                        \
    "\"result\":{\"name\":\"r\",\"schema\":{\"type\":\"string\"}},"                                \
    "\"x-mcp-tool\":{\"title\":\"I mark myself\"}},"                                               \
    "{\"name\":\"add\",\"params\":[{\"name\":\"a\",\"schema\":{\"type\":\"number\"}}],"            \
    "\"paramStructure\":\"by-position\"},"                                                         \
    "{\"name\":\"wipe\",\"params\":[]}]}"

typedef struct load {
    unsigned calls;
    cw_source *source;
    char problem[1024], warnings[1024], missing[1024];
} load;

static inline void on_loaded(const cw_remote_loaded *loaded, void *ctx)
{
    load *l = ctx;
    l->calls++;
    l->source = loaded->source;
    assert_true(cw_str_is(loaded->name, "shop"));
    snprintf(l->problem, sizeof l->problem, "%.*s", CW_STR_ARG(loaded->problem));
    snprintf(l->warnings, sizeof l->warnings, "%.*s", CW_STR_ARG(loaded->warnings));
    snprintf(l->missing, sizeof l->missing, "%.*s", CW_STR_ARG(loaded->missing));
}

static char folder[64], file[96];

static inline int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s/cw-remote-XXXXXX", P_tmpdir);
    if (!mkdtemp(folder))
        return -1;
    snprintf(file, sizeof file, "%s/openrpc.json", folder);
    return 0;
}

static inline int remove_folder(void **state)
{
    (void)state;
    unlink(file);
    return rmdir(folder);
}

static inline void write_file(const char *text)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static inline cw_config_remote config_of(const char *url, const char *openrpc,
                                         const cw_config_overlay *items, size_t n)
{
    return (cw_config_remote){
        .name = CW_STR("shop"),
        .url = cw_str_from(url),
        .openrpc = cw_str_from(openrpc),
        .prefix = CW_STR("shop."),
        .timeout_ms = 2000,
        .connections = 2,
        .methods = {items, n},
    };
}

static inline cw_code begin_load(bench *b, load *l, const cw_config_remote *config,
                                 cw_remote_job **job, cw_err *err)
{
    cw_remote_opts opts = {.config = config, .n_loops = 1, .answer_size = ANSWER_MAX};
    *l = (load){0};
    return cw_remote_load(&b->loop, &opts, on_loaded, l, job, err);
}

static inline void load_all(bench *b, load *l, const cw_config_remote *config)
{
    cw_err err = {0};
    cw_code rc = begin_load(b, l, config, NULL, &err);
    if (rc)
        fail_msg("%s", err.msg);
    assert_int_equal(l->calls, 0);
    run_until(b, l->calls);
}

#endif
