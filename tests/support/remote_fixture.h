/* SPDX-License-Identifier: GPL-2.0-or-later */
/* remote_fixture.h - a remote source "shop" that is loaded from a description in a file.
 *
 * remote_fixture_setup and remote_fixture_teardown are the setup and teardown of the group.
 */
#ifndef CW_TESTS_REMOTE_FIXTURE_H
#define CW_TESTS_REMOTE_FIXTURE_H

#include "access/caller.h"
#include "source/remote/remote_int.h"
#include "support/client_fixture.h"
#include "support/temp_dir.h"

/* A description with the methods echo, add and wipe. */
#define REMOTE_OPENRPC                                                                             \
    "{\"openrpc\":\"1.3.2\",\"info\":{\"title\":\"t\",\"version\":\"1\"},\"methods\":["            \
    "{\"name\":\"echo\",\"summary\":\"Says it again\",\"params\":[{\"name\":\"text\","             \
    "\"required\":true,\"schema\":{\"type\":\"string\"}}],"                                        \
    "\"result\":{\"name\":\"r\",\"schema\":{\"type\":\"string\"}},"                                \
    "\"x-mcp-tool\":{\"title\":\"I mark myself\"}},"                                               \
    "{\"name\":\"add\",\"params\":[{\"name\":\"a\",\"schema\":{\"type\":\"number\"}}],"            \
    "\"paramStructure\":\"by-position\"},"                                                         \
    "{\"name\":\"wipe\",\"params\":[]}]}"

/* The outcome of loading; `calls` counts the callback. */
typedef struct remote_load_result {
    unsigned calls;
    cw_source *source;
    char problem[1024], warnings[1024], missing[1024];
} remote_load_result;

extern char openrpc_path[96]; /* the file of the description, in temp_dir */

int remote_fixture_setup(void **state);
int remote_fixture_teardown(void **state);
void write_openrpc(const char *text);

/* The configuration of the source, with the prefix "shop." and these overlay items. */
cw_config_remote remote_config(const char *url, const char *openrpc, const cw_config_overlay *items,
                               size_t n);
/* Begin to load; the outcome is recorded in `l`. `job` may be NULL. Fails as cw_remote_load does.
 */
cw_code remote_load_start(client_fixture *f, remote_load_result *l, const cw_config_remote *config,
                          cw_remote_job **job, cw_err *err);
/* Load and wait for the outcome; the caller releases l->source. */
void remote_load_wait(client_fixture *f, remote_load_result *l, const cw_config_remote *config);

#endif
