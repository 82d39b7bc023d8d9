/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin_rig.h - a loop, a spawner and a loaded plugin, and calls that remember what they heard.
 *
 * Threads: a rig belongs to one thread; rigs of several threads may share a source.
 */
#ifndef CW_TESTS_PLUGIN_RIG_H
#define CW_TESTS_PLUGIN_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "source/plugin.h"

/* argv of a test: the host, then the folder with echo.so and faults.so, then a pattern for
 * the names of the tests to run. */
extern const char *rig_host, *rig_folder;
#define RIG_MAIN(argc, argv)                                                                       \
    do {                                                                                           \
        assert_true((argc) >= 3);                                                                  \
        rig_host = (argv)[1];                                                                      \
        rig_folder = (argv)[2];                                                                    \
        if ((argc) > 3)                                                                            \
            cmocka_set_test_filter((argv)[3]);                                                     \
    } while (0)

/* How much slower sanitizers make what is measured. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RIG_SLOW 8u
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RIG_SLOW 8u
#endif
#endif
#ifndef RIG_SLOW
#define RIG_SLOW 1u
#endif

typedef struct rig {
    cw_loop loop;
    cw_spawner *spawner;
    cw_plugin_opts opts;
    cw_source *source;
    int n_loaded;  /* calls of the callback */
    int n_handles; /* of the empty loop */
    char problem[2048];
} rig;

/* Defaults for opts; rig_load fills the rest. */
#define RIG_OPTS                                                                                   \
    {                                                                                              \
        .n_loops = 1, .workers = 4, .queue = 1000, .call_ms = 10000, .grace_ms = 100,              \
        .load_ms = 5000, .files = 64, .frame_size = 1024 * 1024,                                   \
    }

/* Loop and spawner. */
void rig_init(rig *r);
/* Begin to load FOLDER/NAME.so and wait for the outcome, and for the end of the loading worker. */
void rig_load(rig *r, const char *name);
/* The same, of any file and with any name; false when it could not be begun. */
bool rig_load_file(rig *r, const char *name, const char *path);
/* End the loop, and check that no child is left. */
void rig_done(rig *r);
void rig_turn(rig *r);
/* Run the loop until *counter is at least `value`; fails after `ms`. */
void rig_until(rig *r, const int *counter, int value, uint32_t ms);
void rig_for(rig *r, uint32_t ms);
/* Run the loop until nothing but itself is open. */
void rig_settle(rig *r);
const cw_method *rig_method(const cw_source *s, const char *id);

/* One call and what became of it. */
typedef struct probe {
    cw_sink sink;
    cw_source_call call;
    cw_source *source;
    cw_arena arena;
    int n_done, n_progress, n_log;
    int *total; /* counts the done of many; may be NULL */
    void (*on_done)(struct probe *p);
    cw_outcome_kind kind;
    cw_fault fault;
    int64_t code;
    double progress;
    char result[256], message[256], detail[256];
    uint64_t began_ms, done_ms;
} probe;

/* CW_OK, or what start said, with fault and message in the probe. */
cw_code probe_start(probe *p, cw_loop *loop, cw_source *s, const char *method, const char *params);
void probe_cancel(probe *p);
/* Free; the call must be over. */
void probe_done(probe *p);

/* Processes that run this host and are children of ours. */
int rig_count_workers(int *ret_one_pid);

#endif
