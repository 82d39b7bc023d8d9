/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of sources with loaders of our own: a test says when a load ends, and how. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "source/registry/registry_int.h"
#include "source/remote/state_files.h"
#include "support/oom.h"
#include "support/patience.h"
#include "support/test.h"

/* ---- loaders ---- */

#define MAX_LOADS 64

typedef struct load {
    bool is_open;
    cw_plugin_loaded_fn on_plugin;
    cw_remote_loaded_fn on_remote;
    void (*announced)(void *ctx, unsigned lists);
    cw_source *before; /* the source that it would replace */
    void *ctx;
    char name[64];
} load;

static load loads[MAX_LOADS];
static bool may_pass; /* what is wrong with plugins */
static size_t n_loads;
static size_t n_cancelled;
/* Of services: what loads end with, what calls were told last, and how often a call raises a doubt.
 */
static cw_remote_credentials found, credentials;
static int doubts;
static cw_code refuse_with; /* of the next load */
static int live_sources;

static cw_code begin(load l, cw_str name, void **ret_job, cw_err *err)
{
    if (refuse_with) {
        cw_code rc = refuse_with;
        refuse_with = CW_OK;
        return cw_fail(err, rc, "refused");
    }
    assert_true(n_loads < MAX_LOADS);
    l.is_open = true;
    snprintf(l.name, sizeof l.name, "%.*s", CW_STR_ARG(name));
    loads[n_loads] = l;
    *ret_job = &loads[n_loads++];
    return CW_OK;
}

cw_code cw_plugin_load(cw_loop *loop, const cw_plugin_opts *opts, cw_str name, const char *path,
                       cw_plugin_loaded_fn fn, void *ctx, cw_plugin_job **ret_job, cw_err *err)
{
    (void)loop;
    (void)path;
    assert_string_equal(opts->host, "host");
    void *job = NULL;
    cw_code rc = begin((load){.on_plugin = fn, .ctx = ctx}, name, &job, err);
    *ret_job = job;
    return rc;
}

cw_code cw_remote_load(cw_loop *loop, const cw_remote_opts *opts, cw_remote_loaded_fn fn, void *ctx,
                       cw_remote_job **ret_job, cw_err *err)
{
    (void)loop;
    void *job = NULL;
    load l = {.on_remote = fn, .announced = opts->announced, .before = opts->before, .ctx = ctx};
    cw_code rc = begin(l, opts->config->name, &job, err);
    *ret_job = job;
    return rc;
}

static void cancel(void *job)
{
    load *l = job;
    assert_true(l->is_open);
    l->is_open = false;
    n_cancelled++;
}

void cw_plugin_load_cancel(cw_plugin_job *job)
{
    cancel(job);
}

void cw_remote_load_cancel(cw_remote_job *job, bool loops_ended)
{
    (void)loops_ended;
    cancel(job);
}

/* ---- credentials of services ---- */

void cw_remote_set_credentials(const cw_source *s, cw_remote_credentials now)
{
    (void)s;
    credentials = now;
}

bool cw_remote_needs_recheck(const cw_source *s)
{
    bool is_doubted = s && doubts > 0;
    doubts -= is_doubted;
    return is_doubted;
}

/* ---- sources ---- */

typedef struct fake {
    cw_source base;
    cw_method method;
    cw_mark mark;
    char id[64];
} fake;

static void free_fake(cw_source *s)
{
    live_sources--;
    free(s);
}

static const cw_source_ops fake_ops = {.name = "fake", .free = free_fake};

static cw_source *new_source(const char *id)
{
    fake *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    live_sources++;
    snprintf(f->id, sizeof f->id, "%s", id);
    f->base.ops = &fake_ops;
    atomic_init(&f->base.refs, 1);
    f->method = (cw_method){.id = cw_str_from(f->id),
                            .usage = CW_STR_INIT(""),
                            .mark = &f->mark,
                            .is_callable = true,
                            .source = &f->base};
    f->mark.title = CW_STR("");
    f->base.methods = &f->method;
    f->base.n_methods = 1;
    return &f->base;
}

/* End a load: with a source that has one method, or with a problem. */
static void end_load(size_t index, const char *id, const char *problem)
{
    load *l = &loads[index];
    assert_true(index < n_loads && l->is_open);
    l->is_open = false;
    cw_source *source = id ? new_source(id) : NULL;
    cw_str name = cw_str_from(l->name), why = cw_str_from(problem);
    if (l->on_plugin)
        l->on_plugin(&(cw_plugin_loaded){source, name, why, may_pass}, l->ctx);
    else
        l->on_remote(
            &(cw_remote_loaded){
                .source = source, .name = name, .problem = why, .credentials = found},
            l->ctx);
}

/* ---- the fixture ---- */

static cw_loop loop;
static cw_sources *sources;
static cw_snapshot *latest;
static size_t n_published, n_retired, n_settled;
static char folder[64];

static void on_publish(cw_snapshot *snapshot, cw_source *const *retired, size_t n, void *ctx)
{
    assert_ptr_equal(ctx, &loop);
    for (size_t i = 0; i < n; i++)
        assert_true(atomic_load(&retired[i]->retired));
    cw_snapshot_unref(latest);
    latest = snapshot;
    n_published++;
    n_retired += n;
}

static void on_settled(void *ctx)
{
    assert_ptr_equal(ctx, &loop);
    n_settled++;
}

static void write_file(const char *name, const char *content)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
    close(fd);
}

static void remove_file(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(unlink(path), 0);
}

static void rename_file(const char *from, const char *to)
{
    char old[128], new[128];
    snprintf(old, sizeof old, "%s/%s", folder, from);
    snprintf(new, sizeof new, "%s/%s", folder, to);
    assert_int_equal(rename(old, new), 0);
}

static cw_config *config_of(const char *text)
{
    cw_config *config = NULL;
    cw_config_problems problems;
    cw_config_problems_init(&problems);
    assert_int_equal(cw_config_read(cw_str_from(text), "t.yaml", &config, &problems, NULL), CW_OK);
    cw_config_problems_done(&problems);
    return config;
}

/* `more` is YAML; %s in it stands for the folder. */
static void configure(const char *more)
{
    char text[2048];
    int n = 0;
    const char *mark = strstr(more, "%s");
    if (mark)
        n = snprintf(text, sizeof text, "%.*s%s%s", (int)(mark - more), more, folder, mark + 2);
    else
        n = snprintf(text, sizeof text, "%s", more);
    assert_true(n > 0 && (size_t)n < sizeof text);
    cw_config *config = config_of(text);
    assert_int_equal(cw_sources_configure(sources, config, NULL), CW_OK);
    cw_config_unref(config);
}

static void on_time(uv_timer_t *timer)
{
    uv_stop(timer->loop);
}

/* Let the loop run for so long. */
static void run_for(uint64_t ms)
{
    static uv_timer_t timer;
    uv_timer_init(&loop.uv, &timer);
    uv_update_time(&loop.uv);
    uv_timer_start(&timer, on_time, ms, 0);
    uv_run(&loop.uv, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&loop.uv, UV_RUN_NOWAIT);
}

/* Until `*count` is at least `wanted`; fails after `ms`. */
static void run_until(const size_t *count, size_t wanted, unsigned ms)
{
    for (unsigned waited = 0; *count < wanted && waited < patience(ms); waited += 10)
        run_for(10);
    assert_true(*count >= wanted);
}

static bool has(const char *id)
{
    return latest && cw_snapshot_find_method(latest, cw_str_from(id)) != NULL;
}

/* Announcements that go to clients: how many, and the last one. */
static size_t n_told;
static cw_change told;

static void on_told(cw_change_sink *sink, const cw_change *change)
{
    (void)sink;
    n_told++;
    told = *change;
}

static void open_sources(void)
{
    static cw_change_sink sink = {.tell = on_told};
    const cw_sources_opts opts = {
        .loop = &loop,
        .n_loops = 2,
        .host = "host",
        .publish = on_publish,
        .settled = on_settled,
        .change = &sink,
        .ctx = &loop,
    };
    assert_int_equal(cw_sources_new(&opts, &sources, NULL), CW_OK);
}

SETUP(setup)
{
    n_loads = n_cancelled = n_published = n_retired = n_settled = n_told = 0;
    refuse_with = CW_OK;
    may_pass = false;
    latest = NULL;
    const cw_log_opts quiet = {.level = CW_LOG_OFF};
    assert_int_equal(cw_log_configure(&quiet, NULL), CW_OK);
    snprintf(folder, sizeof folder, "/tmp/cw-sources-XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(cw_loop_init(&loop, 64, NULL), CW_OK);
    open_sources();
    return 0;
}

static void remove_folder(void)
{
    DIR *dir = opendir(folder);
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        if (e->d_name[0] != '.')
            remove_file(e->d_name);
    }
    if (dir)
        closedir(dir);
    rmdir(folder);
}

TEARDOWN(teardown)
{
    cw_sources_free(sources);
    cw_snapshot_unref(latest);
    cw_loop_end(&loop);
    cw_loop_run(&loop);
    cw_loop_done(&loop);
    remove_folder();
    assert_int_equal(live_sources, 0);
    return 0;
}

#define PLUGINS "plugins: {directory: \"%s\"}\n"
#define SERVICE(url) "sources: [{name: far, url: \"" url "\"}]\n"

/* ---- tests ---- */

TEST(without_sources_it_settles_at_once_with_an_empty_catalogue)
{
    configure("loops: 1\n");
    assert_int_equal(n_settled, 1);
    assert_int_equal(n_published, 1);
    size_t n;
    cw_snapshot_entries(latest, &n);
    assert_int_equal(n, 0);
}

TEST(plugins_of_the_folder_are_loaded_and_others_are_not)
{
    write_file("b.so", "1");
    write_file("a.so", "1");
    write_file("off.so.disabled", "1");
    write_file(".c.so.new", "1");
    write_file(".hidden.so", "1");
    write_file("readme", "1");
    configure(PLUGINS);
    assert_int_equal(n_loads, 2);
    assert_int_equal(n_settled, 0);
    end_load(0, "one", "");
    assert_int_equal(n_settled, 0);
    end_load(1, "two", "");
    /* Whoever waits for the end of the start has the catalogue by then. */
    assert_int_equal(n_settled, 1);
    assert_int_equal(n_published, 1);
    assert_true(has("one") && has("two"));
}

TEST(a_slow_source_does_not_keep_the_others_back)
{
    write_file("a.so", "1");
    write_file("b.so", "1");
    configure(PLUGINS);
    end_load(0, "one", "");
    assert_int_equal(n_published, 0);
    run_for(200);
    assert_true(has("one"));
    assert_int_equal(n_settled, 0);
    end_load(1, NULL, "b: broken");
    assert_int_equal(n_settled, 1);
}

TEST(a_new_file_is_loaded_and_a_removed_one_is_retired)
{
    configure(PLUGINS);
    write_file("a.so", "1");
    run_until(&n_loads, 1, 2000);
    end_load(0, "one", "");
    run_for(20);
    assert_true(has("one"));
    remove_file("a.so");
    run_until(&n_retired, 1, 2000);
    assert_false(has("one"));
    assert_int_equal(live_sources, 0);
}

/* The time until a new file is loaded, the fastest of some: a busy machine may delay one. */
static uint64_t time_until_load(bool is_written_on)
{
    uint64_t fastest = UINT64_MAX;
    for (int i = 0; i < 5 && fastest > patience(500); i++) {
        char name[] = {is_written_on ? 'b' : 'a', (char)('0' + i), '.', 's', 'o', '\0'};
        size_t before = n_loads;
        uint64_t began = cw_clock_ms();
        write_file(name, "1");
        while (n_loads == before && cw_clock_ms() - began < 2000) {
            run_for(20);
            if (is_written_on && n_loads == before)
                write_file(name, "more");
        }
        uint64_t took = cw_clock_ms() - began;
        fastest = took < fastest ? took : fastest;
    }
    return fastest;
}

TEST(a_change_is_acted_on_within_half_a_second)
{
    configure(PLUGINS);
    assert_in_range(time_until_load(false), 0, patience(500));
    /* Also when it is written to all the time. */
    assert_in_range(time_until_load(true), 0, patience(500));
}

TEST(a_replaced_file_gives_a_new_version_and_retires_the_old)
{
    write_file("a.so", "1");
    configure(PLUGINS);
    end_load(0, "one", "");
    write_file("a.new", "22");
    rename_file("a.new", "a.so");
    run_until(&n_loads, 2, 2000);
    assert_true(has("one"));
    end_load(1, "two", "");
    run_for(20);
    assert_true(has("two") && !has("one"));
    assert_int_equal(n_retired, 1);
    assert_int_equal(live_sources, 1);
}

TEST(a_version_that_cannot_be_loaded_leaves_the_old_one)
{
    write_file("a.so", "1");
    configure(PLUGINS);
    end_load(0, "one", "");
    write_file("a.so", "half");
    run_until(&n_loads, 2, 2000);
    end_load(1, NULL, "a: file too short\na: and more");
    run_for(300);
    assert_true(has("one"));
    assert_int_equal(n_retired, 0);
    assert_int_equal(n_loads, 2);
    /* The rest of it arrives. */
    write_file("a.so", "half and half");
    run_until(&n_loads, 3, 2000);
    end_load(2, "two", "");
    run_for(20);
    assert_true(has("two"));
}

TEST(a_file_that_was_only_touched_elsewhere_is_not_loaded_again)
{
    write_file("a.so", "1");
    configure(PLUGINS);
    end_load(0, "one", "");
    write_file("notes.txt", "1");
    run_for(500);
    assert_int_equal(n_loads, 1);
}

TEST(a_change_while_loading_waits_for_the_end_of_the_load)
{
    write_file("a.so", "1");
    configure(PLUGINS);
    write_file("a.so", "22");
    run_for(400);
    write_file("a.so", "333");
    run_for(400);
    assert_int_equal(n_loads, 1);
    end_load(0, "one", "");
    assert_int_equal(n_loads, 2);
    end_load(1, "two", "");
    run_for(50);
    assert_int_equal(n_loads, 2);
    assert_true(has("two") && !has("one"));
}

TEST(a_file_that_goes_while_it_is_loaded_is_cancelled)
{
    write_file("a.so", "1");
    configure(PLUGINS);
    remove_file("a.so");
    run_until(&n_cancelled, 1, 2000);
    run_until(&n_settled, 1, 100);
    assert_false(has("one"));
}

TEST(disabling_and_enabling_is_renaming)
{
    write_file("a.so", "1");
    configure(PLUGINS);
    end_load(0, "one", "");
    rename_file("a.so", "a.so.disabled");
    run_until(&n_retired, 1, 2000);
    assert_false(has("one"));
    rename_file("a.so.disabled", "a.so");
    run_until(&n_loads, 2, 2000);
    end_load(1, "one", "");
    run_for(20);
    assert_true(has("one"));
}

TEST(a_folder_that_comes_later_is_found)
{
    rmdir(folder);
    configure(PLUGINS);
    assert_int_equal(n_settled, 1);
    assert_int_equal(mkdir(folder, 0777), 0);
    write_file("a.so", "1");
    run_until(&n_loads, 1, 4000);
    end_load(0, "one", "");
    run_for(20);
    /* From now on it is watched. */
    write_file("b.so", "1");
    run_until(&n_loads, 2, 600);
}

TEST(a_folder_that_is_replaced_is_watched_again)
{
    write_file("a.so", "1");
    configure(PLUGINS);
    end_load(0, "one", "");
    char away[80];
    snprintf(away, sizeof away, "%s.old", folder);
    assert_int_equal(rename(folder, away), 0);
    assert_int_equal(mkdir(folder, 0777), 0);
    write_file("b.so", "1");
    run_until(&n_loads, 2, 4000);
    end_load(1, "two", "");
    run_for(20);
    assert_true(has("two") && !has("one"));
    char file[96];
    snprintf(file, sizeof file, "%s/a.so", away);
    unlink(file);
    rmdir(away);
}

TEST(two_plugins_with_one_method_leave_the_second_out)
{
    write_file("a.so", "1");
    write_file("b.so", "1");
    configure(PLUGINS);
    end_load(0, "same", "");
    end_load(1, "same", "");
    assert_int_equal(n_published, 1);
    size_t n;
    cw_snapshot_problems(latest, &n);
    assert_int_equal(n, 1);
    /* It comes in when the other one goes. */
    remove_file("a.so");
    run_until(&n_retired, 1, 2000);
    assert_true(has("same"));
}

TEST(a_version_that_cannot_be_published_leaves_the_old_one)
{
    write_file("a.so", "1");
    write_file("b.so", "1");
    configure(PLUGINS);
    const char *first = strcmp(loads[0].name, "a") == 0 ? "one" : "two";
    end_load(0, first, "");
    end_load(1, first[0] == 'o' ? "two" : "one", "");
    write_file("b.so", "22");
    run_until(&n_loads, 3, 2000);
    end_load(2, "one", "");
    run_for(20);
    assert_true(has("one") && has("two"));
    assert_int_equal(n_retired, 0);
    assert_int_equal(live_sources, 2);
}

TEST(a_service_is_tried_again_after_growing_pauses)
{
    configure(SERVICE("http://127.0.0.1:1/"));
    assert_int_equal(n_loads, 1);
    end_load(0, NULL, "nobody there");
    assert_int_equal(n_settled, 1);
    uint64_t before = cw_clock_ms();
    run_until(&n_loads, 2, 3000);
    assert_in_range(cw_clock_ms() - before, 900, patience(1500));
    end_load(1, NULL, "nobody there");
    before = cw_clock_ms();
    run_until(&n_loads, 3, 4000);
    assert_in_range(cw_clock_ms() - before, 1900, patience(2600));
    end_load(2, "far.away", "");
    run_for(20);
    assert_true(has("far.away"));
}

TEST(a_service_that_refuses_our_credentials_is_asked_again_by_order_only)
{
    configure(SERVICE("http://127.0.0.1:1/"));
    end_load(0, "far.away", "");
    found = CW_REMOTE_CREDENTIALS_REFUSED;
    assert_true(cw_sources_refresh(sources, CW_STR("far"), NULL));
    assert_int_equal(credentials, CW_REMOTE_CREDENTIALS_NEW);
    end_load(1, NULL, "HTTP status 401: it refuses our credentials");
    assert_int_equal(credentials, CW_REMOTE_CREDENTIALS_REFUSED);
    run_for(1500);
    assert_int_equal(n_loads, 2);
    configure(SERVICE("http://127.0.0.1:1/"));
    assert_int_equal(n_loads, 3);
    end_load(2, NULL, "HTTP status 401: it refuses our credentials");
    found = CW_REMOTE_CREDENTIALS_UNKNOWN;
    assert_true(cw_sources_refresh(sources, CW_STR("far"), NULL));
    end_load(3, NULL, "nobody there");
    run_until(&n_loads, 5, 3000);
    end_load(4, "far.away", "");
}

TEST(a_call_that_was_refused_has_the_service_asked)
{
    configure(SERVICE("http://127.0.0.1:1/"));
    end_load(0, "far.away", "");
    doubts = 1;
    run_until(&n_loads, 2, 3000);
    end_load(1, "far.away", "");
    run_for(1200);
    assert_int_equal(n_loads, 2);
}

TEST(an_unchanged_service_is_asked_again_by_a_reload_and_kept_when_it_fails)
{
    configure(SERVICE("http://127.0.0.1:1/"));
    end_load(0, "far.away", "");
    configure(SERVICE("http://127.0.0.1:1/"));
    assert_int_equal(n_loads, 2);
    end_load(1, NULL, "nobody there");
    run_for(20);
    assert_true(has("far.away"));
    assert_int_equal(n_retired, 0);
}

TEST(a_service_configured_otherwise_goes_when_its_load_fails)
{
    configure(SERVICE("http://127.0.0.1:1/"));
    end_load(0, "far.away", "");
    run_for(20);
    configure(SERVICE("http://127.0.0.1:2/"));
    run_for(20);
    assert_true(has("far.away"));
    end_load(1, NULL, "nobody there");
    run_for(20);
    assert_false(has("far.away"));
    assert_int_equal(n_retired, 1);
}

TEST(a_load_of_the_configuration_before_is_not_waited_for)
{
    configure(SERVICE("http://127.0.0.1:1/"));
    end_load(0, "far.away", "");
    run_for(20);
    configure(SERVICE("http://127.0.0.1:1/")); /* asked again */
    configure(SERVICE("http://127.0.0.1:2/"));
    assert_int_equal(n_cancelled, 1);
    assert_int_equal(n_loads, 3);
    end_load(2, NULL, "nobody there");
    run_for(20);
    assert_false(has("far.away"));
    assert_int_equal(n_retired, 1);
}

static cw_source *owner_of(const char *id)
{
    const cw_entry *entry = cw_snapshot_find_method(latest, cw_str_from(id));
    return entry ? entry->method->source : NULL;
}

TEST(a_service_does_not_take_what_one_before_it_has)
{
    configure("sources: [{name: far, url: \"http://127.0.0.1:1/\"}, "
              "{name: near, url: \"http://127.0.0.1:2/\"}]\n");
    end_load(0, "far.x", "");
    end_load(1, "near.x", "");
    run_for(20);
    cw_source *far = owner_of("far.x");
    assert_true(far && has("near.x"));
    assert_true(cw_sources_refresh(sources, CW_STR("near"), NULL));
    end_load(2, "far.x", "");
    run_for(20);
    assert_false(has("near.x")); /* it does not offer that any more */
    assert_ptr_equal(owner_of("far.x"), far);
    /* What the one before does not want any more can be had. */
    assert_true(cw_sources_refresh(sources, CW_STR("far"), NULL));
    end_load(3, "far.y", "");
    run_for(20);
    assert_true(has("far.x") && has("far.y"));
}

/* The service announces lists, is asked, and describes itself as before. */
static void announce_same(unsigned lists)
{
    size_t n = n_loads;
    loads[0].announced(loads[0].ctx, lists);
    run_until(&n_loads, n + 1, 4000);
    loads[n].is_open = false;
    cw_remote_loaded same = {.source = cw_source_ref(loads[n].before), .name = CW_STR("far")};
    loads[n].on_remote(&same, loads[n].ctx);
}

TEST(announcements_of_the_same_lists_are_passed_on_and_slowed_down)
{
    configure(SERVICE("http://127.0.0.1:1/"));
    end_load(0, "far.x", "");
    run_until(&n_published, 1, 2000);
    uint64_t begun = cw_loop_now(&loop);
    loads[0].announced(loads[0].ctx, CW_CHANGED_PROMPTS);
    announce_same(CW_CHANGED_TOOLS);
    assert_int_equal(n_told, 1);
    assert_int_equal(told.lists, CW_CHANGED_TOOLS | CW_CHANGED_PROMPTS);
    assert_ptr_equal(told.source, owner_of("far.x"));
    announce_same(0); /* it was away */
    for (size_t i = 0; i < 4; i++)
        announce_same(CW_CHANGED_TOOLS);
    assert_int_equal(n_told, 5);
    assert_true(cw_loop_now(&loop) - begun >= 2000);
}

TEST(services_are_not_asked_again_all_at_once)
{
    enum { SERVICES = 8, HOUR = 3600 * 1000 };
    char text[1024] = "sources:\n";
    for (int i = 0; i < SERVICES; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "  - {name: s%d, url: \"http://127.0.0.1:1/\", refresh: 1h}\n", i);
    configure(text);
    uint64_t now = cw_loop_now(&loop), first = UINT64_MAX, last = 0;
    for (int i = 0; i < SERVICES; i++) {
        char id[16];
        snprintf(id, sizeof id, "s%d.x", i);
        end_load((size_t)i, id, "");
    }
    for (const cw_registry_item *item = sources->items; item; item = item->next) {
        assert_in_range(item->retry_at - now, HOUR * 9 / 10, HOUR * 11 / 10 + 1000);
        first = item->retry_at < first ? item->retry_at : first;
        last = item->retry_at > last ? item->retry_at : last;
    }
    assert_true(last - first > 1000);
}

TEST(a_service_that_is_not_configured_any_more_goes)
{
    configure(SERVICE("http://127.0.0.1:1/"));
    end_load(0, "far.away", "");
    configure("loops: 1\n");
    run_for(20);
    assert_false(has("far.away"));
    assert_int_equal(n_retired, 1);
}

TEST(other_limits_load_all_plugins_anew)
{
    write_file("a.so", "1");
    configure(PLUGINS);
    end_load(0, "one", "");
    configure(PLUGINS);
    assert_int_equal(n_loads, 1);
    configure("plugins: {directory: \"%s\", workers: 3}\n");
    assert_int_equal(n_loads, 2);
    end_load(1, "one", "");
    run_for(20);
    assert_int_equal(n_retired, 1);
}

TEST(another_folder_replaces_the_plugins)
{
    write_file("a.so", "1");
    configure(PLUGINS);
    end_load(0, "one", "");
    configure("loops: 1\n");
    run_for(20);
    assert_false(has("one"));
    /* The old folder is not looked at any more. */
    write_file("b.so", "1");
    run_for(500);
    assert_int_equal(n_loads, 1);
}

TEST(a_load_that_cannot_begin_for_lack_of_memory_is_tried_again)
{
    write_file("a.so", "1");
    refuse_with = CW_NOMEM;
    configure(PLUGINS);
    assert_int_equal(n_settled, 1);
    run_until(&n_loads, 1, 2000);
    end_load(0, "one", "");
    run_for(20);
    assert_true(has("one"));
}

TEST(a_plugin_whose_process_could_not_be_started_is_tried_again)
{
    write_file("a.so", "1");
    configure(PLUGINS);
    may_pass = true;
    end_load(0, NULL, "no process");
    assert_int_equal(n_settled, 1);
    run_until(&n_loads, 2, 3000);
    may_pass = false;
    end_load(1, NULL, "a mistake in it");
    run_for(2500);
    assert_int_equal(n_loads, 2);
}

TEST(few_of_many_plugins_are_loaded_at_once)
{
    char name[16], id[16];
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "p%02d.so", i);
        write_file(name, "1");
    }
    configure(PLUGINS);
    assert_int_equal(n_loads, 4);
    for (size_t i = 0; i < 10; i++) {
        snprintf(id, sizeof id, "m%zu", i);
        end_load(i, id, "");
        assert_int_equal(n_loads, 5 + i);
    }
    /* Those that are cancelled make room too, and those that wait may go. */
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "p%02d.so", i);
        remove_file(name);
    }
    run_until(&n_retired, 10, 2000);
    size_t open = 0;
    for (size_t i = 0; i < n_loads; i++)
        open += loads[i].is_open;
    assert_int_equal(open, 0);
    assert_int_equal(n_settled, 1);
}

TEST(a_file_that_cannot_be_read_waits_for_its_next_change)
{
    write_file("a.so", "1");
    refuse_with = CW_IO;
    configure(PLUGINS);
    run_for(1500);
    assert_int_equal(n_loads, 0);
    write_file("a.so", "22");
    run_until(&n_loads, 1, 2000);
}

TEST(freeing_in_the_middle_of_a_load_cancels_it)
{
    write_file("a.so", "1");
    configure(PLUGINS SERVICE("http://127.0.0.1:1/"));
    cw_sources_free(sources);
    run_for(10);
    assert_int_equal(n_cancelled, 2);
    open_sources();
}

/* Start, publish and replace, with one allocation failing: nothing leaks, and in the end everything
 * is there, if it can be made at all. */
static void live_once(void *ctx)
{
    cw_config *config = ctx;
    n_loads = n_published = n_retired = n_cancelled = n_settled = 0;
    const cw_sources_opts opts = {
        .loop = &loop,
        .n_loops = 2,
        .host = "host",
        .publish = on_publish,
        .settled = on_settled,
        .ctx = &loop,
    };
    cw_sources *s = NULL;
    cw_code rc = cw_sources_new(&opts, &s, NULL);
    if (!rc)
        rc = cw_sources_configure(s, config, NULL);
    assert_true(rc == CW_OK || rc == CW_NOMEM);
    for (size_t i = 0; i < n_loads; i++) {
        cw_source *source = new_source(loads[i].name);
        loads[i].is_open = false;
        cw_str name = cw_str_from(loads[i].name), why = CW_STR("no memory");
        if (loads[i].on_plugin)
            loads[i].on_plugin(&(cw_plugin_loaded){source, name, why, false}, loads[i].ctx);
        else
            loads[i].on_remote(&(cw_remote_loaded){.source = source, .name = name, .problem = why},
                               loads[i].ctx);
    }
    cw_sources_free(s);
    uv_run(&loop.uv, UV_RUN_NOWAIT);
    cw_snapshot_unref(latest);
    latest = NULL;
}

TEST(every_failed_allocation_is_survived)
{
    write_file("a.so", "1");
    write_file("b.so", "1");
    char text[256];
    snprintf(text, sizeof text, "plugins: {directory: \"%s\"}\n%s", folder,
             SERVICE("http://127.0.0.1:1/"));
    cw_config *config = config_of(text);
    assert_true(oom_each(live_once, config) >= 10);
    cw_config_unref(config);
}

#define REGISTRY_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REGISTRY_TEST(without_sources_it_settles_at_once_with_an_empty_catalogue),
        REGISTRY_TEST(plugins_of_the_folder_are_loaded_and_others_are_not),
        REGISTRY_TEST(a_slow_source_does_not_keep_the_others_back),
        REGISTRY_TEST(a_new_file_is_loaded_and_a_removed_one_is_retired),
        REGISTRY_TEST(a_change_is_acted_on_within_half_a_second),
        REGISTRY_TEST(a_replaced_file_gives_a_new_version_and_retires_the_old),
        REGISTRY_TEST(a_version_that_cannot_be_loaded_leaves_the_old_one),
        REGISTRY_TEST(a_file_that_was_only_touched_elsewhere_is_not_loaded_again),
        REGISTRY_TEST(a_change_while_loading_waits_for_the_end_of_the_load),
        REGISTRY_TEST(a_file_that_goes_while_it_is_loaded_is_cancelled),
        REGISTRY_TEST(disabling_and_enabling_is_renaming),
        REGISTRY_TEST(a_folder_that_comes_later_is_found),
        REGISTRY_TEST(a_folder_that_is_replaced_is_watched_again),
        REGISTRY_TEST(two_plugins_with_one_method_leave_the_second_out),
        REGISTRY_TEST(a_version_that_cannot_be_published_leaves_the_old_one),
        REGISTRY_TEST(a_service_is_tried_again_after_growing_pauses),
        REGISTRY_TEST(a_service_that_refuses_our_credentials_is_asked_again_by_order_only),
        REGISTRY_TEST(a_call_that_was_refused_has_the_service_asked),
        REGISTRY_TEST(an_unchanged_service_is_asked_again_by_a_reload_and_kept_when_it_fails),
        REGISTRY_TEST(a_service_configured_otherwise_goes_when_its_load_fails),
        REGISTRY_TEST(a_load_of_the_configuration_before_is_not_waited_for),
        REGISTRY_TEST(a_service_does_not_take_what_one_before_it_has),
        REGISTRY_TEST(announcements_of_the_same_lists_are_passed_on_and_slowed_down),
        REGISTRY_TEST(services_are_not_asked_again_all_at_once),
        REGISTRY_TEST(a_service_that_is_not_configured_any_more_goes),
        REGISTRY_TEST(other_limits_load_all_plugins_anew),
        REGISTRY_TEST(another_folder_replaces_the_plugins),
        REGISTRY_TEST(a_load_that_cannot_begin_for_lack_of_memory_is_tried_again),
        REGISTRY_TEST(a_plugin_whose_process_could_not_be_started_is_tried_again),
        REGISTRY_TEST(few_of_many_plugins_are_loaded_at_once),
        REGISTRY_TEST(a_file_that_cannot_be_read_waits_for_its_next_change),
        REGISTRY_TEST(freeing_in_the_middle_of_a_load_cancels_it),
        REGISTRY_TEST(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
