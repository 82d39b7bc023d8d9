/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole commands without memory: they say so and leave files as they were, or do all of it. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/import/import.h"
#include "cli/source/source_set.h"
#include "support/oom.h"
#include "support/test.h"

#define TEXT_MAX 16384u
#define METHOD(name, summary, param)                                                               \
    "{\"name\":\"" name "\",\"summary\":\"" summary "\",\"params\":[{\"name\":\"" param            \
    "\",\"schema\":{\"type\":\"string\"}}],\"result\":{\"name\":\"r\",\"schema\":{}}}"
#define DOCUMENT(methods)                                                                          \
    "{\"openrpc\":\"1.3.2\",\"info\":{\"title\":\"t\",\"version\":\"1\"},\"servers\":[{\"name\":"  \
    "\"s\",\"url\":\"http://127.0.0.1:9/rpc\"}],\"methods\":[" methods "]}"

static const char before[] = DOCUMENT(METHOD("get", "Gets", "key") "," METHOD("old", "Goes", "a"));
static const char after[] =
    DOCUMENT(METHOD("get", "Gets a value", "a/b") "," METHOD("delete.all", "Comes", "key"));

static char folder[64];
static char config[2048];
static int real_out, real_err;

/* ---- files ---- */

static void write_text(const char *name, const char *text)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

/* False: there is no such file. */
static bool read_text(const char *name, char text[TEXT_MAX])
{
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, TEXT_MAX - 1);
    close(fd);
    assert_true(n >= 0 && n < (ssize_t)TEXT_MAX - 1);
    text[n] = 0;
    return true;
}

SETUP(setup)
{
    oom_reset();
    snprintf(folder, sizeof folder, "%s", "/tmp/causeway-cli-XXXXXX");
    if (!mkdtemp(folder) || chdir(folder))
        return -1;
    snprintf(
        config, sizeof config,
        "state: {lock: %s/lock}\n"
        "sources:\n"
        "  - {name: one, url: \"http://127.0.0.1:9/\", openrpc: %s/doc.json, methods: [\"*\"]}\n"
        "  - {name: two, url: \"http://127.0.0.1:9/\", openrpc: %s/two.json, methods: [\"*\"]}\n",
        folder, folder, folder);
    write_text("config.yaml", config);
    write_text("doc.json", before);
    write_text("two.json", before);
    real_out = dup(STDOUT_FILENO);
    real_err = dup(STDERR_FILENO);
    return real_out < 0 || real_err < 0 ? -1 : 0;
}

TEARDOWN(teardown)
{
    static const char *const names[] = {"config.yaml", "doc.json", "two.json",
                                        "lock",        "out",      "err"};
    for (size_t i = 0; i < CW_COUNT(names); i++)
        unlink(names[i]);
    close(real_out);
    close(real_err);
    return chdir("/") || rmdir(folder);
}

/* ---- running ---- */

typedef struct run {
    int code;
    char out[TEXT_MAX], err[TEXT_MAX];
} run;

static void redirect(const char *name, int fd)
{
    int file = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(file >= 0 && dup2(file, fd) == fd);
    close(file);
}

static void run_command(int (*command)(int, char **), const char *const *words, run *ret)
{
    /* Commands may move these. */
    char texts[8][64], *argv[9] = {NULL};
    int argc = 0;
    for (; words[argc]; argc++) {
        snprintf(texts[argc], sizeof texts[argc], "%s", words[argc]);
        argv[argc] = texts[argc];
    }
    fflush(stdout);
    redirect("out", STDOUT_FILENO);
    redirect("err", STDERR_FILENO);
    ret->code = command(argc, argv);
    fflush(stdout);
    dup2(real_out, STDOUT_FILENO);
    dup2(real_err, STDERR_FILENO);
    assert_true(read_text("out", ret->out) && read_text("err", ret->err));
}

/* What a command does when nothing fails, and what it must do when something does. */
typedef struct expected {
    int (*command)(int, char **);
    const char *words[8];
    const char *file; /* that it writes; NULL: none */
    const char *old;  /* its text before; NULL: it is not there */
    run good;
    char text[TEXT_MAX]; /* of the file, afterwards */
} expected;

/* Each run approves at its own time. */
static void hide_times(char *text)
{
    static const char name[] = "\"approved_at\":";
    for (char *at = text; (at = strstr(at, name));) {
        at += strlen(name);
        at += strspn(at, " ");
        for (; *at >= '0' && *at <= '9'; at++)
            *at = '1';
    }
}

static void prepare(const expected *e)
{
    if (e->file && e->old)
        write_text(e->file, e->old);
    else if (e->file)
        unlink(e->file);
}

static void run_once(void *ctx)
{
    const expected *e = ctx;
    static run r;
    static char text[TEXT_MAX];
    prepare(e);
    run_command(e->command, e->words, &r);
    bool is_whole = r.code == e->good.code && strcmp(r.out, e->good.out) == 0 &&
                    strcmp(r.err, e->good.err) == 0;
    if (!oom_was_hit())
        assert_true(is_whole);
    if (!is_whole) {
        assert_int_equal(r.code, CW_EXIT_FAILURE);
        assert_string_not_equal(r.err, e->good.err);
        assert_non_null(strstr(r.err, "causeway: "));
    }
    if (!e->file)
        return;
    bool is_there = read_text(e->file, text);
    hide_times(text);
    bool is_new = is_there && strcmp(text, e->text) == 0;
    bool is_old = e->old ? is_there && strcmp(text, e->old) == 0 : !is_there;
    assert_true(is_whole ? is_new : is_new || is_old);
}

static void assert_survives(expected *e)
{
    prepare(e);
    run_command(e->command, e->words, &e->good);
    if (e->file)
        assert_true(read_text(e->file, e->text));
    hide_times(e->text);
    assert_true(oom_each(run_once, e) > 20);
    if (e->file)
        unlink(e->file);
}

/* ---- tests ---- */

static char approved[TEXT_MAX];

/* The lock file of how it was before; then the service changes. */
static void approve_before(void)
{
    static run r;
    run_command(cw_cli_source_approve,
                (const char *const[]){"approve", "--config", "config.yaml", NULL}, &r);
    assert_int_equal(r.code, CW_EXIT_OK);
    assert_true(read_text("lock", approved));
    hide_times(approved);
    write_text("doc.json", after);
}

TEST(diff_survives_every_failed_allocation)
{
    static expected e = {.command = cw_cli_source_diff,
                         .words = {"diff", "-c", "config.yaml", "one"}};
    approve_before();
    assert_survives(&e);
    assert_int_equal(e.good.code, CW_EXIT_FAILURE);
    assert_non_null(strstr(e.good.out, "one: get: changed"));
    assert_non_null(strstr(e.good.out, "one: delete.all: new"));
    assert_non_null(strstr(e.good.out, "one: old: gone"));
    assert_string_equal(e.good.err, "");
}

TEST(diff_as_json_survives_every_failed_allocation)
{
    static expected e = {.command = cw_cli_source_diff,
                         .words = {"diff", "-c", "config.yaml", "--json", "one"}};
    approve_before();
    assert_survives(&e);
    assert_non_null(strstr(e.good.out, "\"change\": \"gone\""));
}

TEST(approve_survives_every_failed_allocation)
{
    static expected e = {cw_cli_source_approve,
                         {"approve", "-c", "config.yaml", "one"},
                         .file = "lock",
                         .old = approved};
    approve_before();
    assert_survives(&e);
    assert_int_equal(e.good.code, CW_EXIT_OK);
    assert_non_null(strstr(e.good.out, "one: get: changed"));
    assert_string_not_equal(e.text, approved);
}

TEST(approve_of_one_tool_survives_every_failed_allocation)
{
    static expected e = {cw_cli_source_approve,
                         {"approve", "-c", "config.yaml", "--json", "delete.all"},
                         .file = "lock",
                         .old = approved};
    approve_before();
    assert_survives(&e);
    assert_int_equal(e.good.code, CW_EXIT_OK);
    assert_non_null(strstr(e.good.out, "\"method\": \"delete.all\""));
    assert_null(strstr(e.good.out, "\"get\""));
}

TEST(import_survives_every_failed_allocation)
{
    static expected e = {cw_cli_import, {"import", "doc.json"}, .file = "doc.overlay.yaml"};
    write_text("doc.json", after);
    assert_survives(&e);
    assert_int_equal(e.good.code, CW_EXIT_OK);
    assert_non_null(strstr(e.good.out, "2 methods"));
    assert_non_null(strstr(e.good.out, "url: \"http://127.0.0.1:9/rpc\""));
    assert_non_null(strstr(e.text, "delete.all"));
    assert_int_equal(access("service.overlay.yaml", F_OK), -1);
}

TEST(import_as_json_survives_every_failed_allocation)
{
    static expected e = {cw_cli_import,
                         {"import", "--json", "-o", "o.yaml", "--secret-file", "pass", "doc.json"},
                         .file = "o.yaml"};
    write_text("pass", "alice:s3cret");
    assert_survives(&e);
    assert_int_equal(e.good.code, CW_EXIT_OK);
    assert_non_null(strstr(e.good.out, "as: basic"));
    unlink("pass");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(diff_survives_every_failed_allocation),
        T(diff_as_json_survives_every_failed_allocation),
        T(approve_survives_every_failed_allocation),
        T(approve_of_one_tool_survives_every_failed_allocation),
        T(import_survives_every_failed_allocation),
        T(import_as_json_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
