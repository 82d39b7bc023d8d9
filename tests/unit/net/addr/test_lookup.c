/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names whose servers are silent: getaddrinfo is ours here, and takes as long as the name says. */
#include <stdatomic.h>
#include <unistd.h>

#include "net/addr/lookup.h"
#include "support/test.h"

static atomic_bool is_free; /* names that hang end */
static atomic_uint n_ended; /* of them */
static unsigned n_slow;     /* lookups of such a name that were begun */

int __real_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                       struct addrinfo **res);
int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                       struct addrinfo **res);

int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                       struct addrinfo **res)
{
    if (strcmp(node, "slow.test") != 0)
        return strcmp(node, "none.test") == 0 ? EAI_NONAME
                                              : __real_getaddrinfo(node, service, hints, res);
    while (!atomic_load(&is_free))
        usleep(1000);
    atomic_fetch_add(&n_ended, 1);
    return EAI_AGAIN;
}

typedef struct told {
    unsigned calls;
    bool is_found;
    char why[100];
} told;

static void on_told(void *ctx, const char *why, const struct addrinfo *found)
{
    told *t = ctx;
    t->calls++;
    t->is_found = found != NULL;
    snprintf(t->why, sizeof t->why, "%s", why ? why : "");
}

static void run_until_told(cw_loop *loop, const told *t)
{
    for (unsigned i = 0; i < 10000 && !t->calls; i++) {
        uv_run(&loop->uv, UV_RUN_NOWAIT);
        usleep(1000);
    }
    assert_int_equal(t->calls, 1);
}

/* Begin a lookup. Threads that have just ended give up their places a moment later. */
static void start_when_free(cw_loop *loop, const char *host, told *t, cw_lookup **ret)
{
    cw_err err = {0};
    cw_code rc = CW_IO;
    for (unsigned i = 0; i < 10000 && rc; i++) {
        rc = cw_lookup_start(loop, host, on_told, t, ret, &err);
        if (!rc)
            break;
        assert_non_null(strstr(err.msg, "too many lookups"));
        uv_run(&loop->uv, UV_RUN_NOWAIT);
        usleep(1000);
    }
    assert_int_equal(rc, CW_OK);
    n_slow += strcmp(host, "slow.test") == 0;
}

static void close_loop(cw_loop *loop)
{
    cw_loop_end(loop);
    cw_loop_run(loop);
    cw_loop_done(loop);
}

/* Also of lookups whose thread has not run yet: it must not hang in the next test. */
static void let_go(void)
{
    atomic_store(&is_free, true);
    for (unsigned i = 0; i < 10000 && atomic_load(&n_ended) < n_slow; i++)
        usleep(1000);
    assert_int_equal(atomic_load(&n_ended), n_slow);
}

TEST(a_name_is_found_or_it_is_said_why_not)
{
    cw_loop loop;
    cw_lookup *lookup;
    told found = {0}, none = {0};
    assert_int_equal(cw_loop_init(&loop, 1024, NULL), CW_OK);
    assert_int_equal(cw_lookup_start(&loop, "localhost", on_told, &found, &lookup, NULL), CW_OK);
    run_until_told(&loop, &found);
    assert_true(found.is_found);
    assert_int_equal(cw_lookup_start(&loop, "none.test", on_told, &none, &lookup, NULL), CW_OK);
    run_until_told(&loop, &none);
    assert_false(none.is_found);
    assert_string_equal(none.why, gai_strerror(EAI_NONAME));
    close_loop(&loop);
}

TEST(names_that_hang_keep_neither_others_nor_the_end_waiting)
{
    cw_loop loop;
    cw_lookup *slow[20], *lookup;
    told never = {0}, found = {0};
    atomic_store(&is_free, false);
    assert_int_equal(cw_loop_init(&loop, 1024, NULL), CW_OK);
    for (size_t i = 0; i < CW_COUNT(slow); i++)
        start_when_free(&loop, "slow.test", &never, &slow[i]);
    assert_int_equal(cw_lookup_start(&loop, "localhost", on_told, &found, &lookup, NULL), CW_OK);
    run_until_told(&loop, &found);
    for (size_t i = 0; i < CW_COUNT(slow); i++)
        cw_lookup_forget(slow[i]);
    close_loop(&loop); /* while all of them hang */
    assert_int_equal(never.calls, 0);
    let_go();
}

TEST(there_is_a_ceiling_for_those_that_hang)
{
    static cw_lookup *slow[CW_LOOKUPS_MAX];
    cw_loop loop;
    cw_lookup *lookup;
    told never = {0}, found = {0};
    cw_err err;
    atomic_store(&is_free, false);
    assert_int_equal(cw_loop_init(&loop, 2048, NULL), CW_OK);
    for (size_t i = 0; i < CW_LOOKUPS_MAX; i++)
        start_when_free(&loop, "slow.test", &never, &slow[i]);
    assert_int_equal(cw_lookup_start(&loop, "localhost", on_told, &found, &lookup, &err), CW_IO);
    assert_non_null(strstr(err.msg, "too many lookups"));
    for (size_t i = 0; i < CW_LOOKUPS_MAX; i++)
        cw_lookup_forget(slow[i]);
    let_go();
    start_when_free(&loop, "localhost", &found, &lookup);
    run_until_told(&loop, &found);
    close_loop(&loop);
}

TEST(a_name_that_is_too_long_is_refused)
{
    cw_loop loop;
    cw_lookup *lookup;
    told never = {0};
    char name[300];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = 0;
    assert_int_equal(cw_loop_init(&loop, 1024, NULL), CW_OK);
    assert_int_equal(cw_lookup_start(&loop, name, on_told, &never, &lookup, NULL), CW_IO);
    close_loop(&loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_found_or_it_is_said_why_not),
        cmocka_unit_test(names_that_hang_keep_neither_others_nor_the_end_waiting),
        cmocka_unit_test(there_is_a_ceiling_for_those_that_hang),
        cmocka_unit_test(a_name_that_is_too_long_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
