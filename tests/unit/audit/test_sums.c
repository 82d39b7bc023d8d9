/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "audit/sums.h"

#include "base/clock.h"
#include "base/map.h"
#include "support/oom.h"
#include "support/test.h"

#define BEGIN 1000000u
#define REFUSALS (CW_AUDIT_WINDOW_MS / CW_AUDIT_REFUSED_MS)
#define CALLS (CW_AUDIT_WINDOW_MS / CW_AUDIT_CALLED_MS)

static cw_audit_sums s;
static const char hidden[] = "hidden", wrong[] = "wrong", ok[] = "ok", mcp[] = "mcp";

SETUP(setup)
{
    return cw_audit_sums_init(&s, NULL);
}

TEARDOWN(teardown)
{
    cw_audit_sums_done(&s);
    cw_audit_sums_done(&s);
    return 0;
}

static cw_audit_record refusal_of(const char *address)
{
    return (cw_audit_record){.kind = CW_AUDIT_REFUSAL,
                             .door = mcp,
                             .outcome = hidden,
                             .caller = CW_STR("anonymous"),
                             .is_anonymous = true,
                             .address = cw_str_from(address)};
}

static bool count(const cw_audit_record *r, uint64_t now)
{
    cw_network network;
    cw_network_of(r->address, &network);
    return cw_audit_sums_count(&s, r, &network, now);
}

/* How many of n records are written. */
static unsigned written(const cw_audit_record *r, unsigned n, uint64_t now)
{
    unsigned count_written = 0;
    for (unsigned i = 0; i < n; i++)
        count_written += !count(r, now);
    return count_written;
}

static unsigned n_sums(uint64_t now, uint64_t *ret_records)
{
    unsigned n = 0;
    size_t at = 0;
    const cw_audit_sum *sum;
    *ret_records = 0;
    while ((sum = cw_audit_sums_next(&s, &at, now))) {
        *ret_records += sum->count;
        n++;
    }
    return n;
}

TEST(threat_D11_refusals_beyond_the_budget_become_one_record)
{
    cw_audit_record r = refusal_of("203.0.113.9");
    size_t at = 0;
    assert_int_equal(written(&r, 5000, BEGIN), REFUSALS);
    assert_null(cw_audit_sums_next(&s, &at, BEGIN + CW_AUDIT_SUM_MS - 1));
    cw_audit_sum *sum = cw_audit_sums_next(&s, &at, BEGIN + CW_AUDIT_SUM_MS);
    assert_non_null(sum);
    cw_audit_record counted = cw_audit_sum_record(sum);
    assert_int_equal(counted.count, 5000 - REFUSALS);
    assert_true(counted.since > 0 && counted.since <= cw_clock_wall_ms());
    assert_int_equal(counted.kind, CW_AUDIT_REFUSAL);
    assert_ptr_equal(counted.outcome, hidden);
    assert_ptr_equal(counted.door, mcp);
    assert_true(cw_str_is(counted.address, "203.0.113.9"));
    assert_true(cw_str_is(counted.caller, "anonymous"));
    assert_null(cw_audit_sums_next(&s, &at, BEGIN + CW_AUDIT_SUM_MS));
    sum->count = 0;
    cw_audit_sums_refresh(&s);
    assert_true(s.due_ms == UINT64_MAX);
}

TEST(a_count_of_one_is_a_record_like_others)
{
    static char method[300];
    cw_audit_record r = refusal_of("2001:db8::9");
    size_t at = 0;
    memset(method, 'm', sizeof method);
    written(&r, REFUSALS, BEGIN);
    r.method = cw_str_make(method, sizeof method);
    r.detail = CW_STR("and 2 more");
    assert_true(count(&r, BEGIN));
    cw_audit_sum *sum = cw_audit_sums_next(&s, &at, BEGIN + CW_AUDIT_SUM_MS);
    assert_non_null(sum);
    cw_audit_record one = cw_audit_sum_record(sum);
    assert_true(one.count == 0 && one.since == 0);
    assert_true(cw_str_is(one.address, "2001:db8::9"));
    assert_true(cw_str_is(one.caller, "anonymous") && cw_str_is(one.caller_id, "0"));
    assert_true(cw_str_eq(one.method, cw_str_make(method, CW_AUDIT_SUM_TEXT - 1)));
    assert_true(cw_str_is(one.detail, "and 2 more"));
    /* The next one makes it a count, of the network. */
    r.address = CW_STR("2001:db8::a");
    assert_true(count(&r, BEGIN));
    one = cw_audit_sum_record(sum);
    assert_int_equal(one.count, 2);
    assert_true(one.method.n == 0 && !cw_str_is(one.address, "2001:db8::9"));
}

TEST(time_brings_the_budget_back)
{
    cw_audit_record r = refusal_of("203.0.113.9");
    written(&r, 1000, BEGIN);
    assert_int_equal(written(&r, 10, BEGIN + CW_AUDIT_REFUSED_MS), 1);
    assert_int_equal(written(&r, 1000, BEGIN + 10u * CW_AUDIT_WINDOW_MS), REFUSALS);
}

TEST(kinds_outcomes_and_doors_are_counted_apart)
{
    cw_audit_record r = refusal_of("203.0.113.9");
    uint64_t records;
    written(&r, REFUSALS, BEGIN);
    assert_true(count(&r, BEGIN));
    r.door = "rest";
    assert_true(count(&r, BEGIN));
    r.kind = CW_AUDIT_LOGIN;
    assert_true(count(&r, BEGIN));
    r.outcome = wrong;
    assert_true(count(&r, BEGIN));
    assert_int_equal(n_sums(BEGIN + CW_AUDIT_SUM_MS, &records), 4);
    assert_int_equal(records, 4);
}

TEST(a_claimed_name_is_not_the_caller_of_a_count)
{
    cw_audit_record r = refusal_of("203.0.113.9");
    size_t at = 0;
    r.kind = CW_AUDIT_LOGIN;
    r.caller = CW_STR("alice");
    written(&r, REFUSALS + 2, BEGIN);
    cw_audit_record counted =
        cw_audit_sum_record(cw_audit_sums_next(&s, &at, BEGIN + CW_AUDIT_SUM_MS));
    assert_int_equal(counted.caller.n, 0);
    assert_int_equal(counted.caller_id.n, 0);
}

TEST(calls_that_ran_have_a_larger_budget_of_their_own)
{
    cw_audit_record r = refusal_of("203.0.113.9");
    written(&r, 1000, BEGIN);
    r.kind = CW_AUDIT_CALL;
    r.outcome = ok;
    r.has_us = true;
    assert_int_equal(written(&r, 5000, BEGIN), CALLS);
}

TEST(another_network_has_its_own_budget)
{
    cw_audit_record flood = refusal_of("203.0.113.9"), quiet = refusal_of("203.0.113.10");
    written(&flood, 100000, BEGIN);
    assert_int_equal(written(&quiet, REFUSALS, BEGIN), REFUSALS);
}

/* A customer with a /48 has 65536 networks of the narrowest level. */
TEST(threat_D11_a_customer_with_many_networks_has_few_records_and_counts)
{
    unsigned n_written = 0;
    uint64_t records;
    for (unsigned i = 0; i < 65536; i++) {
        char address[64];
        snprintf(address, sizeof address, "2001:db8:1:%x::1", i);
        cw_audit_record r = refusal_of(address);
        n_written += written(&r, 2, BEGIN);
    }
    assert_in_range(n_written, REFUSALS, REFUSALS * CW_AUDIT_WIDER * CW_AUDIT_WIDER);
    assert_in_range(n_sums(BEGIN + CW_AUDIT_SUM_MS, &records), 1, 32);
    assert_int_equal(n_written + records, 2 * 65536);
    cw_audit_record other = refusal_of("2001:db8:2::1");
    assert_int_equal(written(&other, REFUSALS, BEGIN), REFUSALS);
}

/* More addresses than places: changing the address does not bring a new budget for ever. */
TEST(threat_D11_very_many_addresses_do_not_push_records_through)
{
    unsigned n_written = 0;
    uint64_t records, n = 0;
    for (unsigned round = 0; round < 100; round++) {
        for (unsigned i = 0; i < 2 * CW_AUDIT_BUDGETS; i++, n++) {
            char address[64];
            snprintf(address, sizeof address, "10.%u.%u.%u", i >> 16, i >> 8 & 255, i & 255);
            cw_audit_record r = refusal_of(address);
            n_written += written(&r, 1, BEGIN);
        }
    }
    assert_in_range(n_written, 1, REFUSALS * CW_AUDIT_BUDGETS);
    unsigned n_counts = n_sums(BEGIN + CW_AUDIT_SUM_MS, &records);
    assert_in_range(n_counts, 1, CW_AUDIT_SUMS + CW_AUDIT_OTHER_SUMS);
    assert_int_equal(n_written + records, n);
    /* The counts that found no place have no address. */
    assert_true(s.items[CW_AUDIT_SUMS].count > 0);
    assert_int_equal(cw_audit_sum_record(&s.items[CW_AUDIT_SUMS]).address.n, 0);
}

static void start_once(void *ctx)
{
    cw_audit_sums fresh;
    (void)ctx;
    cw_code rc = cw_audit_sums_init(&fresh, NULL);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_audit_sums_done(&fresh);
}

TEST(starting_survives_every_failed_allocation)
{
    assert_int_equal(oom_each(start_once, NULL), 1 + CW_NETWORK_LEVELS);
}

#define SUMS_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    /* Networks share budgets by chance: always the same ones here. */
    if (!cw_hash_use_secret((const uint64_t[]){1, 2}))
        return 1;
    const struct CMUnitTest tests[] = {
        SUMS_TEST(threat_D11_refusals_beyond_the_budget_become_one_record),
        SUMS_TEST(a_count_of_one_is_a_record_like_others),
        SUMS_TEST(time_brings_the_budget_back),
        SUMS_TEST(kinds_outcomes_and_doors_are_counted_apart),
        SUMS_TEST(a_claimed_name_is_not_the_caller_of_a_count),
        SUMS_TEST(calls_that_ran_have_a_larger_budget_of_their_own),
        SUMS_TEST(another_network_has_its_own_budget),
        SUMS_TEST(threat_D11_a_customer_with_many_networks_has_few_records_and_counts),
        SUMS_TEST(threat_D11_very_many_addresses_do_not_push_records_through),
        SUMS_TEST(starting_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
