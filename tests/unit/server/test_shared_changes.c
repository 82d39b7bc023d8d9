/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_shared_changes.c - changes that go to other servers by letter, and changes from there. */
#include "server/shared_changes.c" /* NOLINT(bugprone-suspicious-include) */

#include "store/letter.h"
#include "support/replica_fixture.h"
#include "support/temp_db.h"

#define FILE_SOURCE CW_STR("files")

static cw_err err;
static replica_fixture servers;
static cw_shared_changes *changes;

/* The changes that subscribers here learn of. */
static unsigned n_told;
static char told_uri[64];
static unsigned told_lists;

static void on_told(cw_change_sink *sink, const cw_change *change)
{
    (void)sink;
    n_told++;
    told_lists = change->lists;
    snprintf(told_uri, sizeof told_uri, "%.*s", CW_STR_ARG(change->uri));
}

static cw_change_sink here = {.tell = on_told};

static void on_letter(const cw_letter *letter, void *ctx)
{
    (void)letter;
    (void)ctx;
}

SETUP(start)
{
    n_told = 0;
    if (temp_db_setup(state))
        return -1;
    replica_fixture_open(&servers, on_letter);
    const cw_shared_changes_opts own = {
        .loop = &servers.loop, .here = &here, .replicas = servers.replicas};
    return cw_shared_changes_new(&own, &changes, &err) ? -1 : 0;
}

/* From now on letters are sent. */
static void join(void)
{
    replica_fixture_join(&servers);
}

TEARDOWN(stop)
{
    replica_fixture_stop(&servers);
    cw_shared_changes_free(changes);
    replica_fixture_close(&servers);
    return temp_db_teardown(state);
}

static void report(cw_str from, const char *uri, unsigned lists)
{
    cw_change_sink *sink = cw_shared_changes_sink(changes);
    sink->tell(sink, &(cw_change){.from = from, .uri = cw_str_from(uri), .lists = lists});
}

/* ---- letters of this server, as the other one gets them ---- */

static unsigned n_letters;
static char letter[1 << 16];
static size_t n_letter;

static cw_code take_row(cw_str body, void *ctx, cw_err *e)
{
    CW_CLEANUP(cw_arena_wipe) cw_arena arena;
    cw_str plain;
    (void)ctx;
    (void)e;
    cw_arena_init(&arena, 4 * CW_DB_LETTER);
    assert_int_equal(cw_seal_open(&servers.seal, CW_STR("letter"), body, &arena, &plain), CW_OK);
    n_letters++;
    /* Behind the head of a letter, which replica/letters.c knows: the rest are our records. */
    size_t head = 16;
    assert_in_range(plain.n, head, head + sizeof letter);
    n_letter = plain.n - head;
    memcpy(letter, plain.p + head, n_letter);
    return CW_OK;
}

static bool has_letter(void)
{
    assert_int_equal(cw_db_take_letters(servers.db, REPLICA_FIXTURE_OTHER, take_row, NULL, &err),
                     CW_OK);
    return n_letters > 0;
}

static size_t count_records(void)
{
    size_t n = 0, at = 0;
    while (at < n_letter) {
        record head;
        memcpy(&head, letter + at, sizeof head);
        at += sizeof head + head.n_from + head.n_uri;
        n++;
    }
    assert_int_equal(at, n_letter);
    return n;
}

static size_t records_of_next_letter(void)
{
    n_letters = 0;
    replica_fixture_wait_until(&servers, has_letter);
    return count_records();
}

/* As if their last letter and notification were long ago. */
static void let_time_pass(void)
{
    for (size_t i = 0; i < changes->n; i++)
        changes->entries[i].sent_at = changes->entries[i].told_at = 0;
}

TEST(a_change_without_other_servers_is_told_here_only)
{
    report(FILE_SOURCE, "file:///a", 0);
    assert_int_equal(n_told, 1);
    assert_string_equal(told_uri, "file:///a");
    assert_int_equal(changes->n, 0);
}

TEST(a_change_that_all_servers_learn_of_is_not_sent)
{
    join();
    report(CW_STR(""), "file:///a", 0);
    assert_int_equal(n_told, 1);
    assert_int_equal(changes->n, 0);
}

TEST(several_changes_of_one_resource_within_a_second_are_one_letter)
{
    join();
    for (int i = 0; i < 10; i++)
        report(FILE_SOURCE, "file:///a", 0);
    report(FILE_SOURCE, "", CW_CHANGED_TOOLS);
    report(FILE_SOURCE, "", CW_CHANGED_PROMPTS);
    assert_int_equal(n_told, 12);
    assert_int_equal(records_of_next_letter(), 2);
    /* A change right after it waits for a tick, later than a second. */
    report(FILE_SOURCE, "file:///a", 0);
    cw_shared_changes_tick(changes, NULL);
    assert_int_equal(changes->entries[0].pending, RESOURCE);
    let_time_pass();
    cw_shared_changes_tick(changes, NULL);
    assert_int_equal(records_of_next_letter(), 1);
}

TEST(more_resources_than_the_maximum_are_dropped_and_there_is_room_again)
{
    char uri[32];
    join();
    for (unsigned i = 0; i < CW_SHARED_CHANGES_MAX + 10; i++) {
        snprintf(uri, sizeof uri, "file:///%u", i);
        report(FILE_SOURCE, uri, 0);
    }
    assert_int_equal(n_told, CW_SHARED_CHANGES_MAX + 10);
    assert_int_equal(changes->n, CW_SHARED_CHANGES_MAX);
    assert_int_equal(changes->n_lost, 10);
    assert_int_equal(records_of_next_letter(), CW_SHARED_CHANGES_MAX);
    assert_int_equal(changes->n_lost, 0);
    let_time_pass();
    report(FILE_SOURCE, "file:///another", 0);
    assert_int_equal(records_of_next_letter(), 1);
}

/* ---- letters of others ---- */

static cw_str record_of(char out[64], unsigned what, cw_str from, cw_str uri)
{
    record head = {.what = (uint8_t)what, .n_from = (uint8_t)from.n, .n_uri = (uint16_t)uri.n};
    memcpy(out, &head, sizeof head);
    memcpy(out + sizeof head, from.p, from.n);
    memcpy(out + sizeof head + from.n, uri.p, uri.n);
    return cw_str_make(out, sizeof head + from.n + uri.n);
}

TEST(a_change_of_another_server_is_told_here_and_not_sent_back)
{
    char bytes[64];
    join();
    cw_shared_changes_receive(changes, record_of(bytes, RESOURCE, FILE_SOURCE, CW_STR("file:///b")),
                              NULL);
    assert_int_equal(n_told, 1);
    assert_string_equal(told_uri, "file:///b");
    assert_int_equal(changes->entries[0].pending, 0);
    /* The next one within a second waits. */
    cw_shared_changes_receive(changes, record_of(bytes, RESOURCE, FILE_SOURCE, CW_STR("file:///b")),
                              NULL);
    assert_int_equal(n_told, 1);
    let_time_pass();
    cw_shared_changes_tick(changes, NULL);
    assert_int_equal(n_told, 2);
}

TEST(damaged_records_end_a_letter)
{
    char bytes[64];
    cw_str whole = record_of(bytes, RESOURCE, FILE_SOURCE, CW_STR("file:///c"));
    for (size_t n = 0; n < whole.n; n++) {
        char *copy = malloc(n + 1); /* of its size, for the sanitizers */
        memcpy(copy, whole.p, n);
        cw_shared_changes_receive(changes, cw_str_make(copy, n), NULL);
        free(copy);
    }
    cw_shared_changes_receive(changes, record_of(bytes, RESOURCE, CW_STR(""), CW_STR("x:y")), NULL);
    assert_int_equal(n_told, 0);
    assert_int_equal(changes->n, 0);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, start, stop)
    const struct CMUnitTest tests[] = {
        CASE(a_change_without_other_servers_is_told_here_only),
        CASE(a_change_that_all_servers_learn_of_is_not_sent),
        CASE(several_changes_of_one_resource_within_a_second_are_one_letter),
        CASE(more_resources_than_the_maximum_are_dropped_and_there_is_room_again),
        CASE(a_change_of_another_server_is_told_here_and_not_sent_back),
        CASE(damaged_records_end_a_letter),
    };
    return cmocka_run_group_tests_name("shared_changes", tests, NULL, NULL);
}
