/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of tasks in a store: what one table has written, the next one reads. */
#include "support/temp_db.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "base/list.h"
#include "store/task.h"
#include "support/assert_str.h"
#include "support/oom.h"
#include "support/patience.h"
#include "task/tasks_int.h"

#define ENDED_PROCESS "no boot/no namespace/1/1"
#define OTHER_PROCESS "no boot/no namespace/2/1"

static cw_err err;
static const cw_config_tasks roomy = {.ttl_ms = 60000,
                                      .max = 1000,
                                      .max_per_caller = 1000,
                                      .max_size = 1 << 24,
                                      .max_size_per_caller = 1 << 20};

static void on_status(void *ctx, const cw_err *problem)
{
    (void)ctx;
    (void)problem;
}

static void on_change(void *ctx)
{
    (void)ctx;
}

typedef struct server {
    cw_store *store;
    cw_tasks *tasks;
} server;

static server start_with(bool may_create, const cw_config_tasks *limits)
{
    server s = {0};
    cw_store_opts opts = {
        .db = {TEMP_DB, .may_create = may_create}, .on_status = on_status, .on_change = on_change};
    assert_int_equal(cw_store_new(&opts, &s.store, &err), CW_OK);
    assert_int_equal(cw_tasks_new(&s.tasks, &err), CW_OK);
    cw_tasks_set_store(s.tasks, s.store, limits);
    cw_tasks_flush(s.tasks, 5000);
    return s;
}

static server start(bool may_create)
{
    return start_with(may_create, &roomy);
}

static void tick(server *s, bool has_others)
{
    cw_tasks_tick(s->tasks, /* number= */ 7, has_others);
}

static void stop(server *s)
{
    cw_tasks_flush(s->tasks, 5000);
    cw_store_free(s->store);
    cw_tasks_free(s->tasks);
}

static cw_task *add(server *s)
{
    cw_task *task = NULL;
    cw_task_start one = {.owner = CW_STR("+1"),
                         .caller = CW_STR("alice"),
                         .tool = CW_STR("the.tool"),
                         .method = CW_STR("the.method")};
    assert_int_equal(cw_tasks_add(s->tasks, &roomy, &one, &task), CW_OK);
    assert_int_equal(cw_task_save(task), CW_OK); /* no loop is told */
    return task;
}

typedef struct found {
    cw_loop loop;
    cw_code rc;
    cw_task *task; /* a reference */
    bool has_changed;
} found;

static void on_found(void *ctx, cw_code rc, cw_task *task, bool has_changed)
{
    found *f = ctx;
    f->rc = rc;
    f->task = task ? cw_task_ref(task) : NULL;
    f->has_changed = has_changed;
    cw_loop_end(&f->loop);
}

/* A reference; NULL: f->rc says why. */
static cw_task *look_up(server *s, cw_str owner, cw_str id, bool cancels, found *f)
{
    cw_task_lookup *lookup = NULL;
    memset(f, 0, sizeof *f);
    assert_int_equal(cw_loop_init(&f->loop, 1024, &err), CW_OK);
    const cw_task_query query = {
        .owner = owner, .id = id, .loop = &f->loop, .fn = on_found, .ctx = f, .cancels = cancels};
    f->rc = cw_tasks_look_up(s->tasks, &query, &lookup);
    if (f->rc)
        cw_loop_end(&f->loop);
    cw_loop_run(&f->loop);
    cw_loop_done(&f->loop);
    return f->task;
}

static void write_state(server *s, cw_str id, cw_buf *out)
{
    found f;
    cw_task *task = NULL;
    cw_buf_clear(out);
    if (cw_tasks_find(s->tasks, CW_STR("+1"), id, &task))
        task = look_up(s, CW_STR("+1"), id, /* cancels= */ false, &f);
    assert_non_null(task);
    cw_task_write(task, 1000, /* is_full= */ true, out);
    cw_task_unref(task);
}

static bool has_state(server *s, cw_str id, const char *part)
{
    CW_CLEANUP(cw_buf_done) cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    write_state(s, id, &b);
    return str_has(cw_buf_str(&b), part);
}

static void until_state(server *s, cw_str id, const char *part)
{
    uint64_t end = cw_clock_ms() + patience(5000);
    while (!has_state(s, id, part) && cw_clock_ms() < end) {
        tick(s, /* has_others= */ true);
        usleep(5000);
    }
    assert_true(has_state(s, id, part));
}

TEST(the_end_of_a_task_is_read_by_the_next_table)
{
    CW_CLEANUP(cw_buf_done) cw_buf before, after;
    char id[CW_TASK_ID] = "";
    cw_buf_init(&before, CW_BUF_MAX);
    cw_buf_init(&after, CW_BUF_MAX);
    server s = start(/* may_create= */ true);
    cw_task *task = add(&s);
    memcpy(id, cw_task_id(task).p, CW_TASK_ID - 1);
    assert_int_equal(cw_task_end(task, CW_TASK_COMPLETED, CW_STR("all"), CW_STR("{\"n\":1}")),
                     CW_AGAIN);
    cw_tasks_flush(s.tasks, 5000);
    write_state(&s, cw_str_from(id), &before);
    assert_true(str_has(cw_buf_str(&before), "\"result\":{\"n\":1}"));
    cw_task_unref(task);
    stop(&s);
    s = start(/* may_create= */ false);
    write_state(&s, cw_str_from(id), &after);
    assert_true(cw_str_eq(cw_buf_str(&before), cw_buf_str(&after)));
    stop(&s);
}

/* A task of the anonymous clients of a network that needs so many bytes. */
static cw_code add_anonymous(server *s, const cw_config_tasks *limits, size_t size, cw_task **ret)
{
    cw_task_start one = {.owner = CW_STR("-192.0.2.1"),
                         .tool = CW_STR("the.tool"),
                         .method = CW_STR("the.method"),
                         .size = size,
                         .is_anonymous = true};
    return cw_tasks_add(s->tasks, limits, &one, ret);
}

TEST(anonymous_callers_have_half_of_the_memory_after_a_restart)
{
    static char result[40000];
    cw_config_tasks limits = roomy;
    cw_task *task = NULL;
    limits.max_size = limits.max_size_per_caller = 100000;
    memset(result, '1', sizeof result);
    server s = start_with(/* may_create= */ true, &limits);
    assert_int_equal(add_anonymous(&s, &limits, 0, &task), CW_OK);
    assert_int_equal(cw_task_save(task), CW_OK);
    assert_int_equal(
        cw_task_end(task, CW_TASK_COMPLETED, CW_STR(""), cw_str_make(result, sizeof result)),
        CW_AGAIN);
    cw_task_unref(task);
    stop(&s);
    s = start_with(/* may_create= */ false, &limits);
    assert_int_equal(s.tasks->tasks.n, 1);
    assert_int_equal(add_anonymous(&s, &limits, 20000, &task), CW_LIMIT);
    stop(&s);
}

TEST(a_task_of_another_server_is_read_from_its_row)
{
    server one = start(/* may_create= */ true);
    cw_task *task = add(&one);
    cw_tasks_flush(one.tasks, 5000);
    server two = start(/* may_create= */ false); /* as if it were another process */
    assert_true(has_state(&two, cw_task_id(task), "\"working\""));
    /* Its state, its questions and its end, while there are other servers. */
    tick(&one, /* has_others= */ true);
    cw_task_set_message(task, CW_STR("half"));
    tick(&one, /* has_others= */ true);
    until_state(&two, cw_task_id(task), "\"statusMessage\":\"half\"");
    /* Two states of one millisecond have different times, here by a clock that stands still. */
    int64_t ahead = task->updated = cw_clock_wall_ms() + 60000;
    cw_task_set_message(task, CW_STR("most"));
    assert_true(task->updated > ahead);
    assert_int_equal(cw_task_ask(task, CW_STR("k"), CW_STR("{\"method\":\"m\"}")), CW_OK);
    until_state(&two, cw_task_id(task), "\"inputRequests\":{\"k\":{\"method\":\"m\"}}");
    assert_true(cw_task_answer(task, CW_STR("k")));
    until_state(&two, cw_task_id(task), "\"working\"");
    assert_int_equal(cw_task_end(task, CW_TASK_COMPLETED, CW_STR(""), CW_STR("{}")), CW_AGAIN);
    until_state(&two, cw_task_id(task), "\"completed\"");
    cw_task_unref(task);
    stop(&two);
    stop(&one);
}

TEST(a_message_from_before_the_row_is_read_by_another_server)
{
    cw_task *task = NULL;
    cw_task_start first = {.owner = CW_STR("+1"), .tool = CW_STR("t"), .method = CW_STR("m")};
    server one = start(/* may_create= */ true);
    tick(&one, /* has_others= */ true);
    assert_int_equal(cw_tasks_add(one.tasks, &roomy, &first, &task), CW_OK);
    cw_task_set_message(task, CW_STR("early"));
    assert_int_equal(cw_task_save(task), CW_OK);
    cw_tasks_flush(one.tasks, 5000);
    tick(&one, /* has_others= */ true);
    cw_tasks_flush(one.tasks, 5000);
    server two = start(/* may_create= */ false);
    assert_true(has_state(&two, cw_task_id(task), "\"statusMessage\":\"early\""));
    cw_task_unref(task);
    stop(&two);
    stop(&one);
}

TEST(a_cancel_at_another_server_stays_and_the_call_ends)
{
    found f;
    server one = start(/* may_create= */ true);
    cw_task *cancelled = add(&one), *late = add(&one), *done = add(&one);
    cw_tasks_flush(one.tasks, 5000);
    server two = start(/* may_create= */ false);
    assert_null(look_up(&two, CW_STR("+2"), cw_task_id(cancelled), /* cancels= */ true, &f));
    assert_int_equal(f.rc, CW_NOTFOUND);
    assert_int_equal(cw_task_status_of(cancelled), CW_TASK_WORKING);
    cw_task *seen = look_up(&two, CW_STR("+1"), cw_task_id(cancelled), /* cancels= */ true, &f);
    assert_true(f.has_changed && cw_task_is_elsewhere(seen));
    assert_int_equal(cw_task_status_of(seen), CW_TASK_CANCELLED);
    cw_task_unref(seen);
    /* A hint: its server reads the row. */
    cw_tasks_check(one.tasks, cw_task_id(cancelled));
    cw_tasks_flush(one.tasks, 5000);
    assert_int_equal(cw_task_status_of(cancelled), CW_TASK_CANCELLED);
    /* The hint was lost: its server finds the end when it writes its own. */
    cw_task_unref(look_up(&two, CW_STR("+1"), cw_task_id(late), /* cancels= */ true, &f));
    assert_int_equal(cw_task_end(late, CW_TASK_COMPLETED, CW_STR(""), CW_STR("{}")), CW_AGAIN);
    cw_tasks_flush(one.tasks, 5000);
    assert_int_equal(cw_task_status_of(late), CW_TASK_CANCELLED);
    /* One that has ended is not cancelled. */
    assert_int_equal(cw_task_end(done, CW_TASK_COMPLETED, CW_STR(""), CW_STR("{}")), CW_AGAIN);
    cw_tasks_flush(one.tasks, 5000);
    cw_task_unref(look_up(&two, CW_STR("+1"), cw_task_id(done), /* cancels= */ true, &f));
    assert_false(f.has_changed);
    assert_true(has_state(&two, cw_task_id(done), "\"completed\""));
    cw_task_unref(cancelled);
    cw_task_unref(late);
    cw_task_unref(done);
    stop(&two);
    stop(&one);
}

/* The events that the loop of a task received. */
typedef struct told {
    cw_loop loop;
    bool is_cancelled;
} told;

static void on_saved(void *self)
{
    (void)self;
}

static void on_cancel(void *self)
{
    told *t = self;
    t->is_cancelled = true;
}

static void on_end(void *self)
{
    told *t = self;
    cw_loop_end(&t->loop);
}

TEST(saving_a_task_that_was_cancelled_already_waits_for_nothing)
{
    static const cw_task_ops ops = {.on_saved = on_saved, .on_cancel = on_cancel, .on_end = on_end};
    told t = {0};
    cw_task *task = NULL;
    cw_task_start one = {.owner = CW_STR("+1"), .tool = CW_STR("t"), .method = CW_STR("m")};
    server s = start(/* may_create= */ true);
    assert_int_equal(cw_loop_init(&t.loop, 1024, &err), CW_OK);
    assert_int_equal(cw_tasks_add(s.tasks, &roomy, &one, &task), CW_OK);
    assert_true(cw_task_run(task, &t.loop, &ops, &t));
    assert_int_equal(cw_tasks_cancel(s.tasks, cw_task_id(task), /* db= */ NULL, &err), CW_OK);
    /* Its request is answered now: its call may end before the row is written. */
    assert_int_equal(cw_task_save(task), CW_OK);
    cw_loop_run(&t.loop);
    assert_true(t.is_cancelled);
    cw_task_leave(task);
    cw_tasks_flush(s.tasks, 5000);
    server two = start(/* may_create= */ false);
    assert_true(has_state(&two, cw_task_id(task), "\"cancelled\""));
    cw_task_unref(task);
    cw_loop_done(&t.loop);
    stop(&two);
    stop(&s);
}

static cw_code insert_row(cw_db *db, const char *id, const char *process, int64_t alive,
                          int64_t status)
{
    int64_t now = cw_clock_wall_ms();
    cw_db_task row = {.id = cw_str_from(id),
                      .owner = CW_STR("+1"),
                      .caller = CW_STR("alice"),
                      .tool = CW_STR("the.tool"),
                      .method = CW_STR("the.method"),
                      .process = cw_str_from(process),
                      .status = status,
                      .created = now,
                      .ended = status ? now : 0,
                      .expires = now + 60000,
                      .alive = alive};
    return cw_db_add_task(db, &row, &err);
}

static cw_db *open_db(void)
{
    cw_db *db = NULL;
    cw_db_opts opts = {TEMP_DB, .may_create = true, .busy_ms = 2000};
    assert_int_equal(cw_db_open(&opts, &db, &err), CW_OK);
    assert_int_equal(cw_db_begin(db, &err), CW_OK);
    return db;
}

static void add_row(const char *id, const char *process, int64_t alive, int64_t status)
{
    cw_db *db = open_db();
    assert_int_equal(cw_db_end(db, insert_row(db, id, process, alive, status), &err), CW_OK);
    cw_db_close(db);
}

static void make_id(char id[CW_TASK_ID], char digit)
{
    memset(id, digit, CW_TASK_ID - 1);
    id[CW_TASK_ID - 1] = '\0';
}

TEST(a_task_whose_process_is_gone_has_failed)
{
    char lost[CW_TASK_ID], far[CW_TASK_ID];
    make_id(lost, 'a');
    make_id(far, 'b');
    add_row(lost, ENDED_PROCESS, cw_clock_wall_ms() - 1, CW_TASK_WORKING);
    add_row(far, OTHER_PROCESS, cw_clock_wall_ms() + 60000, CW_TASK_WORKING);
    server s = start(/* may_create= */ false);
    assert_true(has_state(&s, cw_str_from(lost), "\"failed\""));
    assert_true(has_state(&s, cw_str_from(lost), "The server has ended while the task ran."));
    /* It has promised to be alive. */
    assert_true(has_state(&s, cw_str_from(far), "\"working\""));
    stop(&s);
}

/* As if the time had passed that the process has promised to be alive. */
static void end_lease(const char *process)
{
    cw_db *db = open_db();
    cw_code rc = cw_db_renew_tasks(db, cw_str_from(process), cw_clock_wall_ms() - 1, &err);
    assert_int_equal(cw_db_end(db, rc, &err), CW_OK);
    cw_db_close(db);
}

/* The time has come to judge. The thread of the store is idle. */
static void judge_alone(server *s)
{
    s->tasks->judge_at = 0;
    tick(s, /* has_others= */ false);
    cw_tasks_flush(s->tasks, 5000);
}

TEST(a_task_of_a_lost_server_fails_after_its_lease_though_no_other_server_was_seen)
{
    char lost[CW_TASK_ID], later[CW_TASK_ID];
    make_id(lost, 'a');
    make_id(later, 'b');
    add_row(lost, OTHER_PROCESS, cw_clock_wall_ms() + 20000, CW_TASK_WORKING);
    server s = start(/* may_create= */ false);
    assert_true(has_state(&s, cw_str_from(lost), "\"working\""));
    judge_alone(&s);
    assert_true(has_state(&s, cw_str_from(lost), "\"working\""));
    end_lease(OTHER_PROCESS);
    judge_alone(&s);
    assert_true(has_state(&s, cw_str_from(lost), "\"failed\""));
    /* All leases from before the start have ended: the server need not look any more. */
    s.tasks->loaded -= 25000;
    judge_alone(&s);
    add_row(later, OTHER_PROCESS, cw_clock_wall_ms() - 1, CW_TASK_WORKING);
    judge_alone(&s);
    assert_true(has_state(&s, cw_str_from(later), "\"working\""));
    stop(&s);
}

/* As another server does with the tasks of one that it takes for lost. */
static void fail_row(cw_str id)
{
    cw_db *db = open_db();
    const cw_db_task end = {.id = id,
                            .status = CW_TASK_FAILED,
                            .message = CW_STR("lost"),
                            .payload = CW_STR("{\"code\":-32603,\"message\":\"lost\"}"),
                            .ended = cw_clock_wall_ms()};
    assert_int_equal(cw_db_end(db, cw_db_end_task(db, &end, &err), &err), CW_OK);
    cw_db_close(db);
}

/* The last look at all tasks was so long ago. The thread of the store is idle. */
static void look_again_after(server *s, int64_t ms)
{
    s->tasks->judge_at = 0;
    s->tasks->judged = cw_clock_wall_ms() - ms;
    tick(s, /* has_others= */ true);
    cw_tasks_flush(s->tasks, 5000);
    tick(s, /* has_others= */ true);
    cw_tasks_flush(s->tasks, 5000);
}

TEST(a_server_past_its_lease_takes_over_the_ends_that_others_have_written)
{
    server s = start(/* may_create= */ true);
    cw_task *lost = add(&s), *running = add(&s);
    cw_tasks_flush(s.tasks, 5000);
    look_again_after(&s, 5000);
    fail_row(cw_task_id(lost));
    /* A server that has renewed its row in time does not read all its rows again. */
    look_again_after(&s, 5000);
    assert_int_equal(cw_task_status_of(lost), CW_TASK_WORKING);
    look_again_after(&s, 11000);
    assert_int_equal(cw_task_status_of(lost), CW_TASK_FAILED);
    assert_int_equal(cw_task_status_of(running), CW_TASK_WORKING);
    /* The end of its call comes too late. */
    assert_int_equal(cw_task_end(lost, CW_TASK_COMPLETED, CW_STR(""), CW_STR("{}")), CW_DONE);
    assert_true(has_state(&s, cw_task_id(lost), "\"failed\""));
    cw_task_unref(lost);
    cw_task_unref(running);
    stop(&s);
}

static void number_id(char id[CW_TASK_ID], unsigned n)
{
    char digits[8];
    make_id(id, 'a');
    snprintf(digits, sizeof digits, "%05u", n);
    memcpy(id + 20, digits, 5);
}

TEST(followed_tasks_have_a_ceiling_and_callers_have_shares)
{
    enum { SHARE = CW_TASKS_FOLLOWED / 2 };
    const cw_fair_key by = {{1, 2, 3}}, other = {{4, 5, 6}};
    found f;
    char id[CW_TASK_ID];
    cw_task *followed[SHARE + 1];
    int64_t alive = cw_clock_wall_ms() + 60000;
    cw_db *db = open_db();
    for (unsigned i = 0; i <= SHARE; i++) {
        number_id(id, i);
        assert_int_equal(insert_row(db, id, OTHER_PROCESS, alive, CW_TASK_WORKING), CW_OK);
    }
    assert_int_equal(cw_db_end(db, CW_OK, &err), CW_OK);
    cw_db_close(db);
    server s = start(/* may_create= */ false);
    for (unsigned i = 0; i <= SHARE; i++) {
        number_id(id, i);
        followed[i] = look_up(&s, CW_STR("+1"), cw_str_from(id), /* cancels= */ false, &f);
        assert_non_null(followed[i]);
        assert_int_equal(cw_task_follow(followed[i], &by), i < SHARE ? CW_OK : CW_LIMIT);
    }
    assert_int_equal(cw_task_follow(followed[0], &by), CW_OK); /* as before */
    assert_int_equal(cw_task_follow(followed[SHARE], &other), CW_OK);
    /* Those that no client watches any more make room. */
    tick(&s, /* has_others= */ true);
    assert_int_equal(cw_task_follow(followed[SHARE], &by), CW_OK);
    for (unsigned i = 0; i <= SHARE; i++)
        cw_task_unref(followed[i]);
    stop(&s);
}

static void on_task_change(void *ctx, cw_str id)
{
    (void)id;
    cw_loop_end(ctx);
}

/* The database removes rows whose time is over, also before they are read. */
TEST(a_followed_task_whose_row_is_gone_fails_when_its_time_is_over)
{
    const cw_fair_key by = {{1, 2, 3}};
    found f;
    cw_loop loop;
    server one = start(/* may_create= */ true);
    cw_task *task = add(&one);
    cw_tasks_flush(one.tasks, 5000);
    server two = start(/* may_create= */ false);
    assert_int_equal(cw_loop_init(&loop, 1024, &err), CW_OK);
    cw_tasks_set_listener(
        two.tasks, &(cw_tasks_listener){.loop = &loop, .on_change = on_task_change, .ctx = &loop});
    cw_task *copy = look_up(&two, CW_STR("+1"), cw_task_id(task), /* cancels= */ false, &f);
    cw_task_watch(copy, 1);
    assert_int_equal(cw_task_follow(copy, &by), CW_OK);
    temp_db_run("DELETE FROM task");
    /* Its server has a moment to write its end. */
    copy->until = cw_clock_wall_ms();
    tick(&two, /* has_others= */ true);
    assert_int_equal(cw_task_status_of(copy), CW_TASK_WORKING);
    copy->until = cw_clock_wall_ms() - 60000;
    tick(&two, /* has_others= */ true);
    assert_int_equal(cw_task_status_of(copy), CW_TASK_FAILED);
    assert_string_equal(copy->message, "The time of the task is over.");
    assert_false(cw_list_is_in(&copy->follow_node));
    cw_loop_run(&loop); /* those who watch it are told */
    cw_task_watch(copy, -1);
    cw_task_unref(copy);
    cw_task_unref(task);
    stop(&two);
    stop(&one);
    cw_loop_done(&loop);
}

TEST(all_who_use_a_task_of_another_server_share_one_copy)
{
    found f;
    server one = start(/* may_create= */ true);
    cw_task *task = add(&one);
    cw_tasks_flush(one.tasks, 5000);
    server two = start(/* may_create= */ false);
    cw_task *a = look_up(&two, CW_STR("+1"), cw_task_id(task), /* cancels= */ false, &f);
    cw_task *b = look_up(&two, CW_STR("+1"), cw_task_id(task), /* cancels= */ false, &f);
    assert_non_null(a);
    assert_ptr_equal(a, b);
    cw_task_unref(b);
    assert_null(look_up(&two, CW_STR("+2"), cw_task_id(task), /* cancels= */ false, &f));
    /* A reading brings all of them up to date. */
    assert_int_equal(cw_task_end(task, CW_TASK_COMPLETED, CW_STR(""), CW_STR("{}")), CW_AGAIN);
    cw_tasks_flush(one.tasks, 5000);
    b = look_up(&two, CW_STR("+1"), cw_task_id(task), /* cancels= */ false, &f);
    assert_ptr_equal(a, b);
    assert_int_equal(cw_task_status_of(a), CW_TASK_COMPLETED);
    cw_task_unref(b);
    /* It is there as long as it is used. */
    tick(&two, /* has_others= */ true);
    assert_int_equal(two.tasks->copied.n, 1);
    cw_task_unref(a);
    tick(&two, /* has_others= */ true);
    assert_int_equal(two.tasks->copied.n, 0);
    assert_true(has_state(&two, cw_task_id(task), "\"completed\""));
    cw_task_unref(task);
    stop(&two);
    stop(&one);
}

TEST(rows_for_which_there_is_no_room_are_looked_up)
{
    char id[CW_TASK_ID];
    cw_task *task;
    const cw_config_tasks none = {.max = 0};
    make_id(id, 'a');
    add_row(id, ENDED_PROCESS, 0, CW_TASK_FAILED);
    server s = start(/* may_create= */ false);
    assert_int_equal(cw_tasks_find(s.tasks, CW_STR("+1"), cw_str_from(id), &task), CW_OK);
    cw_task_unref(task);
    stop(&s);
    s = start_with(/* may_create= */ false, &none);
    assert_int_equal(cw_tasks_find(s.tasks, CW_STR("+1"), cw_str_from(id), &task), CW_NOTFOUND);
    assert_true(has_state(&s, cw_str_from(id), "\"failed\""));
    stop(&s);
}

/* A job that keeps the store's thread until it is told to end. */
typedef struct blocker {
    cw_store_job job;
    atomic_bool is_running, may_end, is_done;
} blocker;

static cw_code run_blocker(cw_store_job *job, cw_db *db, cw_err *problem)
{
    blocker *b = CW_CONTAINER(job, blocker, job);
    (void)db;
    (void)problem;
    atomic_store(&b->is_running, true);
    while (!atomic_load(&b->may_end))
        usleep(1000);
    return CW_OK;
}

static void done_blocker(cw_store_job *job, cw_code rc)
{
    (void)rc;
    atomic_store(&CW_CONTAINER(job, blocker, job)->is_done, true);
}

static void until_set(atomic_bool *flag)
{
    while (!atomic_load(flag))
        usleep(1000);
}

TEST(lookups_have_a_ceiling_for_each_owner_and_in_all)
{
    blocker b = {.job = {.run = run_blocker, .done = done_blocker}};
    cw_loop loop;
    cw_task_lookup *lookup;
    char id[CW_TASK_ID], owner[16];
    make_id(id, 'a');
    server s = start(/* may_create= */ true);
    assert_int_equal(cw_loop_init(&loop, 1024, &err), CW_OK);
    cw_task_query query = {.owner = CW_STR("+1"), .id = CW_STR("short"), .loop = &loop};
    assert_int_equal(cw_tasks_look_up(s.tasks, &query, &lookup), CW_NOTFOUND);
    query.id = cw_str_from(id);
    assert_int_equal(cw_store_ask(s.store, &b.job), CW_OK);
    until_set(&b.is_running);
    for (unsigned i = 0; i < CW_TASKS_LOOKUPS_SHARE; i++)
        assert_int_equal(cw_tasks_look_up(s.tasks, &query, &lookup), CW_OK);
    assert_int_equal(cw_tasks_look_up(s.tasks, &query, &lookup), CW_LIMIT);
    for (unsigned i = CW_TASKS_LOOKUPS_SHARE; i < CW_TASKS_LOOKUPS; i++) {
        snprintf(owner, sizeof owner, "+%u", i);
        query.owner = cw_str_from(owner);
        assert_int_equal(cw_tasks_look_up(s.tasks, &query, &lookup), CW_OK);
    }
    query.owner = CW_STR("+2");
    assert_int_equal(cw_tasks_look_up(s.tasks, &query, &lookup), CW_LIMIT);
    /* The loop ends while they wait. */
    cw_loop_end(&loop);
    cw_loop_run(&loop);
    cw_loop_done(&loop);
    atomic_store(&b.may_end, true);
    until_set(&b.is_done);
    stop(&s);
}

static cw_code run_nothing(cw_store_job *job, cw_db *db, cw_err *problem)
{
    (void)job;
    (void)db;
    (void)problem;
    return CW_OK;
}

static void done_nothing(cw_store_job *job, cw_code rc)
{
    (void)job;
    (void)rc;
}

TEST(lookups_that_wait_fail_when_the_queue_of_the_store_is_full)
{
    static cw_store_job many[CW_STORE_MAX_JOBS];
    blocker b = {.job = {.run = run_blocker, .done = done_blocker}};
    found f = {0};
    cw_task_lookup *lookup;
    char id[CW_TASK_ID];
    make_id(id, 'a');
    server s = start(/* may_create= */ true);
    assert_int_equal(cw_loop_init(&f.loop, 1024, &err), CW_OK);
    assert_int_equal(cw_store_ask(s.store, &b.job), CW_OK);
    until_set(&b.is_running);
    for (unsigned i = 0; i < CW_STORE_MAX_JOBS; i++) {
        many[i] = (cw_store_job){.run = run_nothing, .done = done_nothing};
        assert_int_equal(cw_store_ask(s.store, &many[i]), CW_OK);
    }
    /* It comes while an earlier lookup runs, and that one ends. */
    s.tasks->is_looking = true;
    const cw_task_query query = {
        .owner = CW_STR("+1"), .id = cw_str_from(id), .loop = &f.loop, .fn = on_found, .ctx = &f};
    assert_int_equal(cw_tasks_look_up(s.tasks, &query, &lookup), CW_OK);
    s.tasks->look.done(&s.tasks->look, CW_OK);
    assert_int_equal(s.tasks->n_lookups, 0);
    cw_loop_run(&f.loop);
    assert_int_equal(f.rc, CW_LIMIT);
    cw_loop_done(&f.loop);
    atomic_store(&b.may_end, true);
    until_set(&b.is_done);
    stop(&s);
}

TEST(a_row_that_makes_no_sense_is_left_out)
{
    char id[CW_TASK_ID];
    cw_task *task;
    make_id(id, 'c');
    add_row("short", ENDED_PROCESS, 0, CW_TASK_FAILED);
    add_row(id, ENDED_PROCESS, 0, CW_TASK_COMPLETED); /* without a result */
    id[0] = 'd';
    add_row(id, ENDED_PROCESS, 0, 77);
    server s = start(/* may_create= */ false);
    assert_int_equal(cw_tasks_find(s.tasks, CW_STR("+1"), cw_str_from(id), &task), CW_NOTFOUND);
    id[0] = 'c';
    assert_int_equal(cw_tasks_find(s.tasks, CW_STR("+1"), cw_str_from(id), &task), CW_NOTFOUND);
    assert_int_equal(cw_tasks_find(s.tasks, CW_STR("+1"), CW_STR("short"), &task), CW_NOTFOUND);
    stop(&s);
}

TEST(without_a_database_tasks_are_in_memory_and_unknown_ones_may_come)
{
    found f;
    cw_task *other;
    char missing[CW_TASK_ID];
    make_id(missing, '0');
    server s = start(/* may_create= */ false);
    cw_task *task = add(&s);
    assert_null(look_up(&s, CW_STR("+1"), cw_str_from(missing), /* cancels= */ false, &f));
    assert_true(f.rc != CW_OK && f.rc != CW_NOTFOUND);
    assert_int_equal(cw_task_end(task, CW_TASK_COMPLETED, CW_STR(""), CW_STR("{}")), CW_AGAIN);
    until_state(&s, cw_task_id(task), "\"completed\"");
    /* When the database is there, it is written. */
    char id[CW_TASK_ID];
    make_id(id, 'e');
    add_row(id, ENDED_PROCESS, 0, CW_TASK_FAILED);
    uint64_t end = cw_clock_ms() + patience(10000);
    while (cw_tasks_find(s.tasks, CW_STR("+1"), cw_str_from(id), &other) && cw_clock_ms() < end) {
        tick(&s, /* has_others= */ false);
        usleep(20000);
    }
    cw_task_unref(other);
    cw_tasks_flush(s.tasks, 5000);
    server next = start(/* may_create= */ false);
    assert_true(has_state(&next, cw_task_id(task), "\"completed\""));
    stop(&next);
    cw_task_unref(task);
    stop(&s);
}

TEST(without_a_database_a_task_that_has_ended_leaves_when_its_time_is_over)
{
    server s = start(/* may_create= */ false);
    cw_task *task = add(&s), *running = add(&s);
    assert_int_equal(cw_task_end(task, CW_TASK_COMPLETED, CW_STR(""), CW_STR("{}")), CW_AGAIN);
    cw_tasks_flush(s.tasks, 5000);
    assert_true(cw_list_is_in(&task->save_node));
    task->until = running->until = cw_clock_wall_ms();
    tick(&s, /* has_others= */ false);
    cw_tasks_flush(s.tasks, 5000);
    assert_false(cw_list_is_in(&task->save_node));
    /* Its call goes on for a moment, and writes its end. */
    assert_true(cw_list_is_in(&running->save_node));
    cw_task_unref(task);
    cw_task_unref(running);
    stop(&s);
}

/* Its row is in the database, and the table does not reach it. */
TEST(an_end_that_cannot_be_written_is_read_when_the_time_of_the_task_is_over)
{
    server s = start(/* may_create= */ false);
    cw_task *task = add(&s);
    cw_tasks_flush(s.tasks, 5000);
    task->row = CW_TASK_ROW;
    tick(&s, /* has_others= */ true);
    assert_int_equal(cw_task_end(task, CW_TASK_COMPLETED, CW_STR(""), CW_STR("{}")), CW_AGAIN);
    cw_tasks_flush(s.tasks, 5000);
    assert_int_equal(cw_task_status_of(task), CW_TASK_WORKING);
    task->until = cw_clock_wall_ms();
    tick(&s, /* has_others= */ true);
    cw_tasks_flush(s.tasks, 5000);
    assert_int_equal(cw_task_status_of(task), CW_TASK_COMPLETED);
    assert_false(cw_list_is_in(&task->save_node));
    cw_task_unref(task);
    stop(&s);
}

/* The thread of the store allocates too. What fails there is tried again. */
static void read_once(void *ctx)
{
    server s = {0};
    cw_task *task = NULL;
    cw_store_opts opts = {.db = {TEMP_DB}, .on_status = on_status, .on_change = on_change};
    if (!cw_store_new(&opts, &s.store, &err) && !cw_tasks_new(&s.tasks, &err)) {
        cw_tasks_set_store(s.tasks, s.store, &roomy);
        cw_tasks_flush(s.tasks, 5000);
        tick(&s, /* has_others= */ false);
        cw_tasks_flush(s.tasks, 5000);
        cw_code rc = cw_tasks_find(s.tasks, CW_STR("+1"), cw_str_from(ctx), &task);
        assert_true(rc == CW_OK || (rc == CW_NOTFOUND && oom_was_hit()));
        cw_task_unref(task);
    }
    cw_store_free(s.store);
    cw_tasks_free(s.tasks);
}

TEST(reading_survives_every_failed_allocation)
{
    char id[CW_TASK_ID];
    make_id(id, 'f');
    add_row(id, ENDED_PROCESS, 0, CW_TASK_FAILED);
    assert_true(oom_each(read_once, id) >= 3);
    read_once(id);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, temp_db_setup, temp_db_teardown)
    const struct CMUnitTest tests[] = {
        T(the_end_of_a_task_is_read_by_the_next_table),
        T(anonymous_callers_have_half_of_the_memory_after_a_restart),
        T(a_task_of_another_server_is_read_from_its_row),
        T(a_message_from_before_the_row_is_read_by_another_server),
        T(a_cancel_at_another_server_stays_and_the_call_ends),
        T(saving_a_task_that_was_cancelled_already_waits_for_nothing),
        T(a_task_whose_process_is_gone_has_failed),
        T(a_task_of_a_lost_server_fails_after_its_lease_though_no_other_server_was_seen),
        T(a_server_past_its_lease_takes_over_the_ends_that_others_have_written),
        T(followed_tasks_have_a_ceiling_and_callers_have_shares),
        T(a_followed_task_whose_row_is_gone_fails_when_its_time_is_over),
        T(all_who_use_a_task_of_another_server_share_one_copy),
        T(rows_for_which_there_is_no_room_are_looked_up),
        T(lookups_have_a_ceiling_for_each_owner_and_in_all),
        T(lookups_that_wait_fail_when_the_queue_of_the_store_is_full),
        T(a_row_that_makes_no_sense_is_left_out),
        T(without_a_database_tasks_are_in_memory_and_unknown_ones_may_come),
        T(without_a_database_a_task_that_has_ended_leaves_when_its_time_is_over),
        T(an_end_that_cannot_be_written_is_read_when_the_time_of_the_task_is_over),
        T(reading_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
