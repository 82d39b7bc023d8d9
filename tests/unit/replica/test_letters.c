/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_letters.c - letters between servers: queues, bounds, and letters that are not for this one. */
#include "replica/letters.c" /* NOLINT(bugprone-suspicious-include) */

#include "base/clock.h"
#include "support/oom.h"
#include "support/replica_fixture.h"
#include "support/temp_db.h"

static cw_err err;
static replica_fixture servers;
static cw_replicas *replicas; /* of this server */
static cw_db *db;             /* of the other server */

static unsigned n_letters;
static cw_letter last;
static char last_credentials[64], last_bytes[64];

static void keep(char out[64], cw_str text)
{
    snprintf(out, 64, "%.*s", CW_STR_ARG(text));
}

static void on_letter(const cw_letter *letter, void *ctx)
{
    (void)ctx;
    n_letters++;
    last = *letter;
    keep(last_credentials, letter->credentials);
    keep(last_bytes, letter->bytes);
}

SETUP(start)
{
    n_letters = 0;
    if (temp_db_setup(state))
        return -1;
    replica_fixture_open(&servers, on_letter);
    replica_fixture_join(&servers);
    replicas = servers.replicas;
    db = servers.db;
    return 0;
}

TEARDOWN(stop)
{
    replica_fixture_stop(&servers);
    replica_fixture_close(&servers);
    return temp_db_teardown(state);
}

static void wait_until(bool (*check)(void))
{
    replica_fixture_wait_until(&servers, check);
}

/* ---- receiving ---- */

static letter_head head_to_us(void)
{
    letter_head head;
    memset(&head, 0, sizeof head);
    head.form = CW_LETTER_FORM;
    head.to = cw_replicas_number(replicas);
    head.loop = 3;
    head.kind = 4;
    head.n_credentials = 5;
    return head;
}

/* As the other server sends it. */
static void post_sealed(const cw_seal *with, const void *bytes, size_t n)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_str body;
    int64_t sent = 0;
    cw_arena_init(&arena, 1 << 20);
    assert_int_equal(cw_seal_close(with, PURPOSE, cw_str_make(bytes, n), &arena, &body, &err),
                     CW_OK);
    assert_int_equal(cw_db_send_letter(db, REPLICA_FIXTURE_OTHER, cw_replicas_number(replicas),
                                       body, &sent, &err),
                     CW_OK);
    assert_int_equal(sent, 1);
}

static void post_head(letter_head head)
{
    char bytes[sizeof head + 9];
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, "Basicbody", 9);
    post_sealed(&servers.seal, bytes, sizeof bytes);
}

static void receive(void)
{
    (void)cw_replicas_read_news(replicas, db, /* is_new= */ false);
    for (int i = 0; i < 5; i++)
        uv_run(&servers.loop.uv, UV_RUN_NOWAIT);
}

TEST(a_letter_is_delivered_on_the_main_loop)
{
    post_head(head_to_us());
    receive();
    assert_int_equal(n_letters, 1);
    assert_int_equal(last.loop, 3);
    assert_int_equal(last.kind, 4);
    assert_string_equal(last_credentials, "Basic");
    assert_string_equal(last_bytes, "body");
    receive();
    assert_int_equal(n_letters, 1);
}

TEST(letters_of_another_key_form_or_receiver_are_ignored)
{
    cw_seal foreign;
    letter_head head = head_to_us();
    assert_int_equal(cw_seal_init(&foreign, &err), CW_OK);
    post_sealed(&foreign, &head, sizeof head);
    head.form = CW_LETTER_FORM + 1;
    post_head(head);
    head = head_to_us();
    head.to = (uint32_t)servers.other;
    post_head(head);
    head = head_to_us();
    head.n_credentials = 10; /* one more than follow */
    post_head(head);
    head = head_to_us();
    post_sealed(&servers.seal, &head, sizeof head - 1);
    post_sealed(&servers.seal, "", 0);
    post_sealed(&servers.seal, "x", 1);
    receive();
    assert_int_equal(n_letters, 0);
    /* Those that follow arrive. */
    post_head(head_to_us());
    receive();
    assert_int_equal(n_letters, 1);
}

TEST(more_letters_than_the_inbox_holds_are_lost_and_later_ones_arrive)
{
    letter_head head = head_to_us();
    for (unsigned i = 0; i < 2; i++) {
        CW_CLEANUP(cw_arena_done) cw_arena arena;
        cw_str body;
        cw_arena_init(&arena, 1 << 20);
        head.n_credentials = 0;
        assert_int_equal(cw_seal_close(&servers.seal, PURPOSE,
                                       cw_str_make((const char *)&head, sizeof head), &arena, &body,
                                       &err),
                         CW_OK);
        for (unsigned n = 0; n < CW_LETTERS_MAX + 10; n++)
            assert_int_equal(on_body(body, replicas, &err), CW_OK);
        for (int turns = 0; turns < 5; turns++)
            uv_run(&servers.loop.uv, UV_RUN_NOWAIT);
        assert_int_equal(n_letters, (i + 1) * CW_LETTERS_MAX);
    }
}

/* As many ends of sessions as the database keeps. */
TEST(all_lasting_letters_reach_a_server_that_starts)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_str body;
    letter_head head = head_to_us();
    head.to = CW_LETTER_ALL;
    head.n_credentials = 0;
    cw_arena_init(&arena, 1 << 20);
    assert_int_equal(cw_seal_close(&servers.seal, PURPOSE,
                                   cw_str_make((const char *)&head, sizeof head), &arena, &body,
                                   &err),
                     CW_OK);
    const cw_db_lasting letter = {.body = body, .until = INT64_C(9000000000000)};
    assert_int_equal(cw_db_keep_letter(db, &letter, &err), CW_OK);
    temp_db_run(
        "WITH RECURSIVE c(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM c WHERE n < 32768)"
        " INSERT INTO letter (to_node, body, until) SELECT to_node, body, until FROM letter, c");
    receive();
    assert_int_equal(n_letters, CW_DB_LASTING_LETTERS);
    receive();
    assert_int_equal(n_letters, CW_DB_LASTING_LETTERS);
}

static void keep_sealed(const cw_seal *with)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_str body;
    letter_head head = head_to_us();
    head.to = CW_LETTER_ALL;
    head.n_credentials = 0;
    cw_arena_init(&arena, 1 << 20);
    assert_int_equal(cw_seal_close(with, PURPOSE, cw_str_make((const char *)&head, sizeof head),
                                   &arena, &body, &err),
                     CW_OK);
    const cw_db_lasting letter = {.body = body, .until = INT64_C(9000000000000)};
    assert_int_equal(cw_db_keep_letter(db, &letter, &err), CW_OK);
}

/* A server that starts without its database has other keys until it is back. */
TEST(lasting_letters_that_no_key_opened_are_read_again_with_new_keys)
{
    cw_seal foreign;
    size_t n;
    assert_int_equal(cw_seal_init(&foreign, &err), CW_OK);
    keep_sealed(&foreign);
    receive();
    receive();
    assert_int_equal(n_letters, 0);
    assert_int_equal(cw_seal_set_keys(&servers.seal, cw_seal_get_keys(&foreign, &n), 1, &err),
                     CW_OK);
    receive();
    assert_int_equal(n_letters, 1);
    receive();
    assert_int_equal(n_letters, 1);
}

static void fill_inbox(void)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_str body;
    letter_head head = head_to_us();
    char *bytes = calloc(1, CW_LETTER_MAX);
    head.n_credentials = 0;
    memcpy(bytes, &head, sizeof head);
    cw_arena_init(&arena, 4 * CW_DB_LETTER);
    assert_int_equal(cw_seal_close(&servers.seal, PURPOSE, cw_str_make(bytes, CW_LETTER_MAX),
                                   &arena, &body, &err),
                     CW_OK);
    for (unsigned i = 0; i < CW_LETTERS_BYTES / CW_LETTER_MAX; i++)
        assert_int_equal(on_body(body, replicas, &err), CW_OK);
    free(bytes);
}

TEST(a_full_inbox_delays_lasting_letters_and_loses_none)
{
    keep_sealed(&servers.seal);
    fill_inbox();
    receive(); /* reads, and then the loop empties the inbox */
    n_letters = 0;
    receive();
    assert_int_equal(n_letters, 1);
    receive();
    assert_int_equal(n_letters, 1);
}

/* ---- sending ---- */

static unsigned n_written, one_at;

static cw_code count_row(cw_str body, void *ctx, cw_err *e)
{
    CW_CLEANUP(cw_arena_wipe) cw_arena arena;
    cw_str plain;
    (void)ctx;
    (void)e;
    cw_arena_init(&arena, 4 * CW_DB_LETTER);
    assert_int_equal(cw_seal_open(&servers.seal, PURPOSE, body, &arena, &plain), CW_OK);
    keep(last_bytes, cw_str_make(plain.p + sizeof(letter_head), plain.n - sizeof(letter_head)));
    n_written++;
    if (strcmp(last_bytes, "one") == 0)
        one_at = n_written;
    return CW_OK;
}

static unsigned n_expected;

static bool are_written(void)
{
    assert_int_equal(cw_db_take_letters(db, REPLICA_FIXTURE_OTHER, count_row, NULL, &err), CW_OK);
    return n_written >= n_expected;
}

static void assert_written(unsigned n)
{
    n_expected = n;
    wait_until(are_written);
    assert_int_equal(n_written, n);
    n_written = 0;
}

TEST(a_letter_to_a_number_and_to_all_becomes_a_row_that_is_sealed)
{
    const cw_letter to_one = {
        .to = (uint32_t)servers.other, .credentials = CW_STR("a"), .bytes = CW_STR("bc")};
    const cw_letter to_all = {.to = CW_LETTER_ALL, .bytes = CW_STR("d")};
    const cw_letter to_nobody = {.to = 1000, .bytes = CW_STR("e")};
    n_written = 0;
    assert_int_equal(cw_replicas_send(replicas, &to_nobody, 0), CW_OK);
    assert_int_equal(cw_replicas_send(replicas, &to_one, 0), CW_OK);
    assert_written(1);
    assert_string_equal(last_bytes, "abc");
    assert_int_equal(cw_replicas_send(replicas, &to_all, 0), CW_OK);
    assert_written(1);
    assert_string_equal(last_bytes, "d");
}

static unsigned n_returned, n_without_receiver;

static void on_returned(const cw_letter *letter, bool has_no_receiver, void *ctx)
{
    (void)ctx;
    n_returned++;
    n_without_receiver += has_no_receiver;
    last = *letter;
    keep(last_credentials, letter->credentials);
    keep(last_bytes, letter->bytes);
}

static bool are_returned(void)
{
    return n_returned >= n_expected;
}

TEST(a_letter_that_reaches_no_server_comes_back)
{
    const cw_letter to_one = {.to = (uint32_t)servers.other, .bytes = CW_STR("arrives")};
    const cw_letter to_none = {.to = 1000,
                               .loop = 3,
                               .kind = 4,
                               .credentials = CW_STR("Basic"),
                               .bytes = CW_STR("returns")};
    n_returned = n_without_receiver = n_written = 0;
    replicas->opts.on_returned = on_returned;
    assert_int_equal(cw_replicas_send(replicas, &to_one, 0), CW_OK);
    assert_int_equal(cw_replicas_send(replicas, &to_none, 0), CW_OK);
    n_expected = 1;
    wait_until(are_returned);
    assert_int_equal(last.to, 1000);
    assert_int_equal(last.loop, 3);
    assert_int_equal(last.kind, 4);
    assert_string_equal(last_credentials, "Basic");
    assert_string_equal(last_bytes, "returns");
    assert_written(1);
    assert_string_equal(last_bytes, "arrives");
    assert_int_equal(n_returned, 1);
    assert_int_equal(n_without_receiver, 1);
    assert_int_equal(n_letters, 0);
}

/* ---- a store that is busy ---- */

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool is_held;

static cw_code wait_at_gate(cw_store_job *job, cw_db *of, cw_err *e)
{
    (void)job;
    (void)of;
    (void)e;
    atomic_store(&is_held, true);
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    return CW_OK;
}

static void on_gate_done(cw_store_job *job, cw_code rc)
{
    (void)job;
    (void)rc;
}

static cw_store_job gate_job = {.run = wait_at_gate, .done = on_gate_done};

static void hold_store(void)
{
    atomic_store(&is_held, false);
    pthread_mutex_lock(&gate);
    assert_int_equal(cw_store_ask(servers.store, &gate_job), CW_OK);
    while (!atomic_load(&is_held))
        usleep(200);
}

TEST(a_letter_that_is_too_large_is_refused)
{
    char *bytes = calloc(1, CW_LETTER_MAX);
    cw_letter letter = {.to = (uint32_t)servers.other, .bytes = cw_str_make(bytes, CW_LETTER_MAX)};
    n_written = 0;
    assert_int_equal(cw_replicas_send(replicas, &letter, 0), CW_LIMIT);
    letter.bytes.n = CW_LETTER_MAX - sizeof(letter_head);
    assert_int_equal(cw_replicas_send(replicas, &letter, 0), CW_OK);
    assert_written(1);
    letter.credentials = CW_STR("x");
    assert_int_equal(cw_replicas_send(replicas, &letter, 0), CW_LIMIT);
    free(bytes);
}

TEST(more_letters_or_bytes_than_may_wait_are_refused)
{
    char *bytes = calloc(1, CW_LETTER_MAX);
    cw_letter small = {.to = 1000, .bytes = CW_STR("x")};
    cw_letter large = {.to = 1000,
                       .bytes = cw_str_make(bytes, CW_LETTER_MAX - sizeof(letter_head))};
    hold_store();
    for (unsigned i = 0; i < CW_LETTERS_MAX / 2; i++)
        assert_int_equal(cw_replicas_send(replicas, &small, 0), CW_OK);
    assert_int_equal(cw_replicas_send(replicas, &small, 0), CW_LIMIT);
    pthread_mutex_unlock(&gate);
    /* The store takes them all. */
    small.to = (uint32_t)servers.other;
    n_written = 0;
    while (cw_replicas_send(replicas, &small, 0) == CW_LIMIT)
        usleep(500);
    assert_written(1);
    hold_store();
    for (unsigned i = 1; i < CW_LETTERS_BYTES / CW_LETTER_MAX / 2; i++)
        assert_int_equal(cw_replicas_send(replicas, &large, 0), CW_OK);
    assert_int_equal(cw_replicas_send(replicas, &large, 0), CW_LIMIT);
    pthread_mutex_unlock(&gate);
    free(bytes);
}

TEST(callers_take_turns_and_one_leaves_room_to_others)
{
    char *bytes = calloc(1, CW_LETTER_MAX);
    const cw_fair_key many = {{1, 1, 1}}, few = {{2, 2, 2}};
    cw_letter large = {.to = 1000, .by = many, .bytes = cw_str_make(bytes, CW_LETTER_MAX / 2)};
    cw_letter small = {.to = (uint32_t)servers.other, .by = many, .bytes = CW_STR("many")};
    const cw_letter one = {.to = (uint32_t)servers.other, .by = few, .bytes = CW_STR("one")};
    n_written = one_at = 0;
    hold_store();
    while (cw_replicas_send(replicas, &large, 0) == CW_OK)
        ;
    while (cw_replicas_send(replicas, &small, 0) == CW_OK)
        ;
    assert_int_equal(cw_replicas_send(replicas, &one, 0), CW_OK);
    pthread_mutex_unlock(&gate);
    n_expected = 2;
    wait_until(are_written);
    assert_int_equal(one_at, 1);
    free(bytes);
}

/* ---- lasting letters ---- */

#define LATER INT64_C(9000000000000)

static bool is_quiet(void)
{
    pthread_mutex_lock(&replicas->lock);
    bool is_mailing = replicas->is_mailing;
    pthread_mutex_unlock(&replicas->lock);
    return !is_mailing;
}

static unsigned n_waiting(void)
{
    pthread_mutex_lock(&replicas->lock);
    unsigned n = cw_letters_count_lasting(replicas);
    pthread_mutex_unlock(&replicas->lock);
    return n;
}

static int64_t n_read; /* the last one */

static bool are_kept(void)
{
    assert_int_equal(cw_db_read_letters(db, &n_read, count_row, NULL, &err), CW_OK);
    return n_written >= n_expected;
}

static void assert_kept(unsigned n)
{
    n_expected = n;
    wait_until(are_kept);
    assert_int_equal(n_written, n);
    n_written = 0;
}

static void send_lasting_text(cw_str text, int64_t until)
{
    const cw_letter letter = {.to = CW_LETTER_ALL, .bytes = text};
    assert_int_equal(cw_replicas_send(replicas, &letter, until), CW_OK);
}

/* Another process holds the database: it cannot be written. */
TEST(lasting_letters_wait_for_a_database_that_cannot_be_written)
{
    const cw_letter short_lived = {.to = CW_LETTER_ALL, .bytes = CW_STR("lost")};
    n_written = one_at = 0;
    n_read = 0;
    assert_int_equal(cw_db_begin(db, &err), CW_OK);
    send_lasting_text(CW_STR("first"), LATER);
    wait_until(is_quiet);
    send_lasting_text(CW_STR("one"), cw_clock_wall_ms() + 1);
    send_lasting_text(CW_STR("second"), LATER);
    assert_int_equal(cw_replicas_send(replicas, &short_lived, 0), CW_OK);
    wait_until(is_quiet);
    assert_int_equal(n_waiting(), 3);
    /* Until a tick nothing is tried: a database that is away is not asked again and again. */
    assert_int_equal(cw_db_end(db, CW_OK, &err), CW_OK);
    usleep(5000);
    assert_int_equal(n_waiting(), 3);
    cw_replicas_tick(replicas);
    assert_kept(2);
    /* Which of the others is last depends on the attempt that took the first. */
    assert_int_equal(one_at, 0);
    wait_until(is_quiet);
    assert_int_equal(n_waiting(), 0);
    assert_int_equal(cw_db_take_letters(db, REPLICA_FIXTURE_OTHER, count_row, NULL, &err), CW_OK);
    assert_int_equal(n_written, 0);
}

TEST(letters_to_one_server_come_back_from_a_database_that_cannot_be_written)
{
    cw_letter letter = {.to = (uint32_t)servers.other, .bytes = CW_STR("x")};
    n_returned = n_without_receiver = n_written = 0;
    replicas->opts.on_returned = on_returned;
    assert_int_equal(cw_db_begin(db, &err), CW_OK);
    for (unsigned i = 0; i < MAIL_MAX + 1; i++)
        assert_int_equal(cw_replicas_send(replicas, &letter, 0), CW_OK);
    /* No request waits for a letter to all servers. */
    letter.to = CW_LETTER_ALL;
    assert_int_equal(cw_replicas_send(replicas, &letter, 0), CW_OK);
    n_expected = MAIL_MAX + 1;
    wait_until(are_returned);
    wait_until(is_quiet);
    assert_int_equal(cw_db_end(db, CW_OK, &err), CW_OK);
    assert_int_equal(n_returned, MAIL_MAX + 1);
    assert_int_equal(n_without_receiver, 0);
    assert_int_equal(cw_db_take_letters(db, REPLICA_FIXTURE_OTHER, count_row, NULL, &err), CW_OK);
    assert_int_equal(n_written, 0);
}

TEST(more_lasting_letters_than_one_job_sends_all_arrive)
{
    n_written = 0;
    n_read = 0;
    hold_store();
    for (unsigned i = 0; i < 2 * MAIL_MAX + 1; i++)
        send_lasting_text(CW_STR("x"), LATER);
    pthread_mutex_unlock(&gate);
    assert_kept(2 * MAIL_MAX + 1);
}

static cw_code send_lasting_of(uint64_t caller, cw_str text)
{
    const cw_letter letter = {.to = CW_LETTER_ALL, .by = {{caller, caller, caller}}, .bytes = text};
    return cw_replicas_send(replicas, &letter, LATER);
}

/* Drop those that wait. Returns the place in turn of the letter "one", from 1 on; 0: it was not there. */
static unsigned drop_lasting(void)
{
    cw_list all;
    unsigned n = 0, place = 0;
    pthread_mutex_lock(&replicas->lock);
    take_some(&replicas->lasting, &all, UINT32_MAX);
    pthread_mutex_unlock(&replicas->lock);
    for (cw_list *node; (node = cw_list_take_first(&all));) {
        waiting *w = waiting_at(node);
        n++;
        if (w->n == sizeof(letter_head) + 3 && !memcmp(w->bytes + sizeof(letter_head), "one", 3))
            place = n;
        free_waiting(w);
    }
    return place;
}

TEST(callers_share_the_room_of_lasting_letters)
{
    char *bytes = calloc(1, CW_LETTER_MAX);
    size_t n_large = CW_LETTER_MAX - sizeof(letter_head);
    unsigned n = 0;
    hold_store();
    while (send_lasting_of(1, CW_STR("many")) == CW_OK)
        n++;
    assert_int_equal(n, CW_LETTERS_LASTING / 2);
    assert_int_equal(send_lasting_of(2, CW_STR("one")), CW_OK);
    assert_int_equal(drop_lasting(), 2);
    for (n = 0; send_lasting_of(1, cw_str_make(bytes, n_large)) == CW_OK; n++)
        ;
    assert_in_range(n, 1, CW_LETTERS_LASTING_BYTES / CW_LETTER_MAX / 2);
    assert_int_equal(send_lasting_of(2, CW_STR("one")), CW_OK);
    assert_int_equal(drop_lasting(), 2);
    pthread_mutex_unlock(&gate);
    free(bytes);
}

static void *leave(void *arg)
{
    (void)arg;
    cw_replicas_leave(replicas, 10000);
    return NULL;
}

/* More than one job sends: a client has got its 204 already. */
TEST(lasting_letters_that_wait_are_sent_before_the_server_leaves)
{
    pthread_t thread;
    n_written = 0;
    n_read = 0;
    hold_store();
    for (unsigned i = 0; i < 2 * MAIL_MAX + 1; i++)
        send_lasting_text(CW_STR("x"), LATER);
    assert_int_equal(pthread_create(&thread, NULL, leave, NULL), 0);
    usleep(50000);
    pthread_mutex_unlock(&gate);
    pthread_join(thread, NULL);
    cw_store_free(servers.store);
    servers.store = NULL;
    n_expected = 2 * MAIL_MAX + 1;
    assert_true(are_kept());
    assert_int_equal(n_written, 2 * MAIL_MAX + 1);
}

/* ---- failed allocations ---- */

static void send_once(void *ctx)
{
    const cw_letter letter = {.to = CW_LETTER_ALL, .bytes = CW_STR("x")};
    (void)ctx;
    cw_code rc = cw_replicas_send(replicas, &letter, 0);
    assert_true(rc == CW_OK || (rc == CW_NOMEM && oom_was_hit()));
    /* The store's thread frees it. */
    pthread_mutex_lock(&replicas->lock);
    while (replicas->is_mailing) {
        pthread_mutex_unlock(&replicas->lock);
        usleep(200);
        pthread_mutex_lock(&replicas->lock);
    }
    pthread_mutex_unlock(&replicas->lock);
}

static void receive_once(void *ctx)
{
    const cw_str *body = ctx;
    assert_int_equal(on_body(*body, replicas, &err), CW_OK);
    for (int turns = 0; turns < 3; turns++)
        uv_run(&servers.loop.uv, UV_RUN_NOWAIT);
}

TEST(letters_survive_every_failed_allocation)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_str body;
    letter_head head = head_to_us();
    head.n_credentials = 0;
    cw_arena_init(&arena, 1 << 20);
    assert_int_equal(cw_seal_close(&servers.seal, PURPOSE,
                                   cw_str_make((const char *)&head, sizeof head), &arena, &body,
                                   &err),
                     CW_OK);
    send_once(NULL); /* the groups of the outbox stay */
    assert_true(oom_each(send_once, NULL) >= 1);
    assert_true(oom_each(receive_once, &body) >= 1);
    n_letters = 0;
    receive_once(&body);
    assert_int_equal(n_letters, 1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        T(a_letter_is_delivered_on_the_main_loop),
        T(letters_of_another_key_form_or_receiver_are_ignored),
        T(more_letters_than_the_inbox_holds_are_lost_and_later_ones_arrive),
        T(all_lasting_letters_reach_a_server_that_starts),
        T(lasting_letters_that_no_key_opened_are_read_again_with_new_keys),
        T(a_full_inbox_delays_lasting_letters_and_loses_none),
        T(a_letter_to_a_number_and_to_all_becomes_a_row_that_is_sealed),
        T(a_letter_that_reaches_no_server_comes_back),
        T(a_letter_that_is_too_large_is_refused),
        T(more_letters_or_bytes_than_may_wait_are_refused),
        T(callers_take_turns_and_one_leaves_room_to_others),
        T(lasting_letters_wait_for_a_database_that_cannot_be_written),
        T(letters_to_one_server_come_back_from_a_database_that_cannot_be_written),
        T(more_lasting_letters_than_one_job_sends_all_arrive),
        T(callers_share_the_room_of_lasting_letters),
        T(lasting_letters_that_wait_are_sent_before_the_server_leaves),
        T(letters_survive_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("letters", tests, NULL, NULL);
}
