/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin_fixture.h - a loop, a spawner and a loaded plugin, and calls that record their outcome.
 *
 *     plugin_fixture_init(&f);
 *     plugin_fixture_load(&f, "echo");
 *     plugin_call_start(&call, &f.loop, f.source, "echo.say", "[1]");
 *     plugin_fixture_until(&f, &call.n_done, 1, 5000);
 *     plugin_call_done(&call);
 *     plugin_fixture_done(&f);
 *
 * Threads: a fixture belongs to one thread; fixtures of several threads may share a source.
 */
#ifndef CW_TESTS_PLUGIN_FIXTURE_H
#define CW_TESTS_PLUGIN_FIXTURE_H

#include "source/plugin/plugin.h"
#include "support/patience.h"
#include "support/test.h"

/* Arguments of a test program: the host, the folder with echo.so and faults.so, and optionally a
 * pattern for the names of the tests to run. */
extern const char *plugin_fixture_host, *plugin_fixture_folder;
#define PLUGIN_FIXTURE_MAIN(argc, argv)                                                            \
    do {                                                                                           \
        assert_true((argc) >= 3);                                                                  \
        plugin_fixture_host = (argv)[1];                                                           \
        plugin_fixture_folder = (argv)[2];                                                         \
        if ((argc) > 3)                                                                            \
            cmocka_set_test_filter((argv)[3]);                                                     \
    } while (0)

typedef struct plugin_fixture {
    cw_loop loop;
    cw_spawner *spawner;
    cw_plugin_opts opts;
    cw_source *source;
    int n_loaded;  /* calls of the callback */
    int n_handles; /* of the empty loop */
    char problem[2048];
} plugin_fixture;

/* Defaults for opts; plugin_fixture_load sets the rest. */
#define PLUGIN_FIXTURE_OPTS                                                                        \
    {                                                                                              \
        .n_loops = 1, .workers = 4, .queue = 1000, .call_ms = 10000, .grace_ms = 100,              \
        .load_ms = 5000, .files = 64, .frame_size = 1024 * 1024,                                   \
    }

/* Loop and spawner. */
void plugin_fixture_init(plugin_fixture *f);
/* Begin to load FOLDER/NAME.so and wait for the outcome, and for the end of the loading worker. */
void plugin_fixture_load(plugin_fixture *f, const char *name);
/* The same, of any file and with any name; false when it could not be begun. */
bool plugin_fixture_load_file(plugin_fixture *f, const char *name, const char *path);
/* End the loop, and check that no child is left. */
void plugin_fixture_done(plugin_fixture *f);
void plugin_fixture_turn(plugin_fixture *f);
/* Run the loop until *counter is at least `value`; fails after `ms`. */
void plugin_fixture_until(plugin_fixture *f, const int *counter, int value, uint32_t ms);
void plugin_fixture_for(plugin_fixture *f, uint32_t ms);
/* Run the loop until nothing but itself is open. */
void plugin_fixture_settle(plugin_fixture *f);
const cw_method *plugin_fixture_method(const cw_source *s, const char *id);

/* A call and its outcome. */
typedef struct plugin_call {
    cw_sink sink;
    cw_source_call call;
    cw_source *source;
    cw_arena arena;
    int n_done, n_progress, n_log;
    int *total; /* counts the done of many; may be NULL */
    void (*on_done)(struct plugin_call *p);
    cw_outcome_kind kind;
    cw_fault fault;
    int64_t code;
    double progress;
    char result[256], message[256], detail[256];
    uint64_t began_ms, done_ms;
} plugin_call;

/* Start a call. On failure `fault` and `message` hold the reason. */
cw_code plugin_call_start(plugin_call *p, cw_loop *loop, cw_source *s, const char *method,
                          const char *params);
void plugin_call_cancel(plugin_call *p);
/* Free; the call must have ended. */
void plugin_call_done(plugin_call *p);

/* Processes that run this host and are children of ours. */
int plugin_fixture_count_workers(int *ret_one_pid);

#endif
