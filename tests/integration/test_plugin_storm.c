/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_plugin_storm.c - hundreds of calls at once on two loops, with deaths of every kind among
 * them. Every call hears of its end exactly once, and only those fail that were meant to.
 */
#include "support/plugin_fixture.h"

#define SLOTS 48u
#define N_LOOPS 2u
/* Of each kind, on all loops together. */
#define FAULTS (SANITIZER_SLOWNESS > 1 ? 20u : 100u)
#define HEALTHY (SANITIZER_SLOWNESS > 1 ? 1000u : 10000u)

typedef enum ends { LIVES, DIES, HANGS } ends;

static const struct kind {
    const char *method;
    ends ends;
} kinds[] = {
    {"faults.ok", LIVES},       {"faults.segv", DIES},    {"faults.abort", DIES},
    {"faults.exit", DIES},      {"faults.garbage", DIES}, {"faults.half", DIES},
    {"faults.oversized", DIES}, {"faults.memory", DIES},  {"faults.hang", HANGS},
    {"faults.deadlock", HANGS},
};
#define N_KINDS CW_COUNT(kinds)

typedef struct storm storm;

typedef struct slot {
    plugin_call call;
    storm *storm;
    size_t kind;
    cw_deadline deadline;
    bool will_cancel;
} slot;

struct storm {
    cw_loop loop;
    cw_message begin;
    cw_source *source;
    uint64_t seed;
    unsigned left[N_KINDS]; /* to start */
    unsigned ended[N_KINDS], cancelled[N_KINDS], refused[N_KINDS], died[N_KINDS];
    unsigned running;
    cw_deadline_list patience;
    slot slots[SLOTS];
};

static storm storms[N_LOOPS];
static const char *problem; /* a test's assertions belong to its own thread */

static uint32_t random_below(storm *s, uint32_t n)
{
    s->seed = s->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(s->seed >> 33) % n;
}

/* By chance, each kind as often as there is of it. */
static bool choose(storm *s, size_t *ret)
{
    unsigned total = 0;
    for (size_t i = 0; i < N_KINDS; i++)
        total += s->left[i];
    if (total == 0)
        return false;
    unsigned at = random_below(s, total);
    size_t i = 0;
    for (; at >= s->left[i]; i++)
        at -= s->left[i];
    *ret = i;
    return true;
}

static void next_call(slot *sl);

static void check(const plugin_call *p, const struct kind *kind, storm *s, size_t i)
{
    if (p->n_done != 1)
        problem = "told twice";
    if (kind->ends == LIVES && p->kind != CW_OUTCOME_RESULT) {
        fprintf(stderr, "healthy: fault %d, %s, %s\n", (int)p->fault, p->message, p->detail);
        problem = "a healthy call failed";
    }
    if (kind->ends == DIES && (p->kind != CW_OUTCOME_FAILED || p->fault != CW_FAULT_DIED)) {
        fprintf(stderr, "%s: kind %d, fault %d, %s\n", kind->method, (int)p->kind, (int)p->fault,
                p->message);
        problem = "a call that was meant to die did not";
    }
    if (kind->ends == HANGS)
        problem = "a hanging call ended";
    s->died[i] += p->fault == CW_FAULT_DIED;
}

static void end_if_last(storm *s)
{
    if (s->running == 0)
        cw_loop_end(&s->loop);
}

static void on_done(plugin_call *p)
{
    slot *sl = CW_CONTAINER(p, slot, call);
    storm *s = sl->storm;
    cw_deadline_clear(&sl->deadline);
    check(p, &kinds[sl->kind], s, sl->kind);
    s->ended[sl->kind]++;
    s->running--;
    next_call(sl);
    end_if_last(s);
}

static void on_impatient(cw_deadline *d)
{
    slot *sl = CW_CONTAINER(d, slot, deadline);
    storm *s = sl->storm;
    plugin_call_cancel(&sl->call);
    s->cancelled[sl->kind]++;
    s->running--;
    next_call(sl);
    end_if_last(s);
}

static void next_call(slot *sl)
{
    storm *s = sl->storm;
    size_t i;
    while (choose(s, &i)) {
        s->left[i]--;
        cw_arena_reset(&sl->call.arena);
        cw_arena arena = sl->call.arena;
        sl->call = (plugin_call){.on_done = on_done, .arena = arena};
        sl->kind = i;
        cw_code rc = plugin_call_start(&sl->call, &s->loop, s->source, kinds[i].method, "{}");
        if (rc == CW_OK) {
            s->running++;
            /* Some that would live are left, too, at any moment. */
            if (kinds[i].ends == HANGS || random_below(s, 20) == 0)
                cw_loop_set_deadline(&s->loop, &sl->deadline, &s->patience);
            return;
        }
        if (kinds[i].ends == LIVES) {
            fprintf(stderr, "refused: %s\n", sl->call.message);
            problem = "a healthy call was refused";
        }
        s->refused[i]++;
    }
}

static void begin(cw_message *message)
{
    storm *s = CW_CONTAINER(message, storm, begin);
    for (size_t i = 0; i < SLOTS; i++) {
        s->slots[i].storm = s;
        cw_arena_init(&s->slots[i].call.arena, 1 << 20);
        next_call(&s->slots[i]);
    }
}

static void prepare(storm *s, unsigned index, cw_source *source)
{
    *s = (storm){.source = source, .seed = 20261115u + index};
    assert_int_equal(cw_loop_init(&s->loop, 256, NULL), CW_OK);
    s->loop.index = index;
    for (size_t i = 0; i < N_KINDS; i++)
        s->left[i] = (kinds[i].ends == LIVES ? HEALTHY : FAULTS) / N_LOOPS;
    if (SANITIZER_SLOWNESS > 1)
        s->left[7] = 0; /* sanitizers do not live with a memory limit */
    cw_deadline_list_init(&s->patience, 10, on_impatient);
    cw_loop_watch(&s->loop, &s->patience);
    s->begin.fn = begin;
    cw_loop_post(&s->loop, &s->begin);
}

TEST(only_those_fail_that_were_meant_to)
{
    static plugin_fixture r;
    plugin_fixture_init(&r);
    r.opts.n_loops = N_LOOPS;
    r.opts.grace_ms = 20;
    r.opts.memory = 64u << 20;
    plugin_fixture_load(&r, "faults");
    for (unsigned i = 0; i < N_LOOPS; i++)
        prepare(&storms[i], i, r.source);
    uint64_t began = cw_clock_ms();
    for (unsigned i = 0; i < N_LOOPS; i++)
        assert_int_equal(cw_loop_start(&storms[i].loop, NULL), CW_OK);
    for (unsigned i = 0; i < N_LOOPS; i++)
        pthread_join(storms[i].loop.thread, NULL);
    for (unsigned i = 0; i < N_LOOPS; i++) {
        storm *s = &storms[i];
        for (size_t k = 0; k < N_KINDS; k++)
            print_message("loop %u %-16s ended %u (died %u) cancelled %u refused %u\n", i,
                          kinds[k].method, s->ended[k], s->died[k], s->cancelled[k], s->refused[k]);
        for (size_t k = 0; k < SLOTS; k++)
            cw_arena_done(&s->slots[k].call.arena);
        cw_loop_done(&s->loop);
    }
    print_message("%u ms\n", (unsigned)(cw_clock_ms() - began));
    plugin_fixture_done(&r);
    if (problem)
        fail_msg("%s", problem);
}

int main(int argc, char **argv)
{
    PLUGIN_FIXTURE_MAIN(argc, argv);
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_those_fail_that_were_meant_to)};
    return cmocka_run_group_tests_name("integration/plugin_storm", tests, NULL, NULL);
}
