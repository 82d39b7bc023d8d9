/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notifications about jobs: those that are kept, their listeners, and each allocation failing in turn. */
#include "source/upstream/job_news.h"

#include "support/assert_str.h"
#include "support/oom.h"
#include "support/test.h"

static const cw_config_job_notice notices[] = {
    {.method = CW_STR_INIT("on.end"),
     .id = CW_STR_INIT("/id"),
     .ends = true,
     .error = CW_STR_INIT("/why")},
    {.method = CW_STR_INIT("on.step"), .id = CW_STR_INIT("/id")},
};
static const cw_config_job job = {.notifications = {notices, CW_COUNT(notices)}};
static const cw_config_jobs jobs = {&job, 1};

static unsigned n_told;

static void on_news(void *ctx, cw_str id)
{
    (void)ctx;
    assert_str(id, "\"7\"");
    n_told++;
}

static void add(cw_job_news *news, const char *method, const char *params)
{
    cw_arena arena;
    const cw_json *v;
    cw_arena_init(&arena, 1 << 20);
    if (!cw_json_read(cw_str_from(params), NULL, &arena, &v, NULL, NULL))
        cw_job_news_add(news, &jobs, cw_str_from(method), v);
    cw_arena_done(&arena);
}

static void run_once(void *ctx)
{
    cw_loop loop;
    cw_arena arena;
    cw_job_end end;
    (void)ctx;
    n_told = 0;
    if (cw_loop_init(&loop, 64, NULL))
        return;
    cw_arena_init(&arena, 1 << 20);
    cw_job_news *news = cw_job_news_new();
    cw_job_listener *listener = news ? cw_job_news_listen(news, &loop, on_news, NULL) : NULL;
    if (news) {
        uint64_t since = cw_job_news_now(news);
        add(news, "on.other", "{\"id\":\"7\"}");
        add(news, "on.step", "{\"id\":\"7\"}");
        assert_false(cw_job_news_find(news, CW_STR("\"7\""), since, &arena, &end));
        add(news, "on.end", "{\"id\":\"7\",\"why\":null}");
        bool is_found = cw_job_news_find(news, CW_STR("\"7\""), since, &arena, &end);
        assert_true(is_found || oom_was_hit());
        if (is_found) {
            assert_str(end.data, "{\"id\":\"7\",\"why\":null}");
            assert_str(end.error, "/why");
        }
        assert_false(cw_job_news_find(news, CW_STR("\"8\""), since, &arena, &end));
        assert_false(cw_job_news_find(news, CW_STR("\"7\""), cw_job_news_now(news), &arena, &end));
    }
    for (int i = 0; i < 3; i++)
        uv_run(&loop.uv, UV_RUN_NOWAIT);
    assert_true(n_told == 2 || oom_was_hit());
    cw_job_listener_free(listener);
    cw_job_news_unref(news);
    cw_loop_end(&loop);
    cw_loop_run(&loop);
    cw_loop_done(&loop);
    cw_arena_done(&arena);
}

TEST(listeners_are_told_and_every_failed_allocation_is_survived)
{
    assert_true(oom_each(run_once, NULL) >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listeners_are_told_and_every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests_name("job_news", tests, NULL, NULL);
}
