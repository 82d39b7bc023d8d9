/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files, the command line's addresses, problems and references. */
#include "support/config_fixture.h"

#include <limits.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "support/oom.h"

static char folder[] = "/tmp/cw-test-config-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static const char *write_file(const char *name, cw_str text)
{
    const char *path = path_of(name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text.p, 1, text.n, f), text.n);
    assert_int_equal(fclose(f), 0);
    return path;
}

static cw_code load(const cw_config_source *source, cw_config **ret, cw_config_problems *problems,
                    cw_err *err)
{
    cw_config_problems_init(problems);
    *err = (cw_err){0};
    return cw_config_load(source, ret, problems, err);
}

TEST(no_file_gives_the_defaults)
{
    cw_config *config;
    cw_config_problems problems;
    cw_err err;
    assert_int_equal(load(&(cw_config_source){0}, &config, &problems, &err), CW_OK);
    assert_string_equal(config->listen.items[0].address.text.p, "127.0.0.1:8080");
    cw_config_unref(config);
    cw_config_problems_done(&problems);
}

TEST(a_file_is_read_and_its_folder_counts)
{
    const char *path = write_file("a.yaml", CW_STR("loops: 5\nlog: {file: x.log}\n"));
    char expected[PATH_MAX];
    snprintf(expected, sizeof expected, "%s/x.log", folder);
    cw_config *config;
    cw_config_problems problems;
    cw_err err;
    assert_int_equal(load(&(cw_config_source){.path = path}, &config, &problems, &err), CW_OK);
    assert_int_equal(config->loops, 5);
    assert_string_equal(config->log.file.p, expected);
    cw_config_unref(config);
    cw_config_problems_done(&problems);
}

TEST(relative_file_names_give_absolute_paths)
{
    char old[PATH_MAX], real[PATH_MAX], expected[PATH_MAX + 16];
    assert_non_null(getcwd(old, sizeof old));
    assert_int_equal(mkdir(path_of("sub"), 0700), 0);
    write_file("sub/b.yaml", CW_STR("log: {file: x.log}\n"));
    assert_int_equal(chdir(folder), 0);
    assert_non_null(getcwd(real, sizeof real));
    static const char *const names[] = {"sub/b.yaml", "./sub/b.yaml"};
    static const char *const found[] = {"sub/x.log", "./sub/x.log"};
    cw_config *config;
    cw_config_problems problems;
    cw_err err;
    for (size_t i = 0; i < CW_COUNT(names); i++) {
        snprintf(expected, sizeof expected, "%s/%s", real, found[i]);
        assert_int_equal(load(&(cw_config_source){.path = names[i]}, &config, &problems, &err),
                         CW_OK);
        assert_string_equal(config->log.file.p, expected);
        cw_config_unref(config);
        cw_config_problems_done(&problems);
    }
    assert_int_equal(chdir("sub"), 0);
    snprintf(expected, sizeof expected, "%s/sub/x.log", real);
    assert_int_equal(load(&(cw_config_source){.path = "b.yaml"}, &config, &problems, &err), CW_OK);
    assert_string_equal(config->log.file.p, expected);
    cw_config_unref(config);
    cw_config_problems_done(&problems);
    assert_int_equal(chdir("/"), 0);
    const cw_config_source at_root = {.listen = (const char *const[]){"unix:c.sock"},
                                      .n_listen = 1};
    assert_int_equal(load(&at_root, &config, &problems, &err), CW_OK);
    assert_string_equal(config->listen.items[0].address.unix_path.p, "/c.sock");
    cw_config_unref(config);
    cw_config_problems_done(&problems);
    assert_int_equal(chdir(old), 0);
}

TEST(a_folder_that_is_gone_is_an_error)
{
    char old[PATH_MAX];
    assert_non_null(getcwd(old, sizeof old));
    const char *path = path_of("gone");
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chdir(path), 0);
    assert_int_equal(rmdir(path), 0);
    cw_config *config = NULL;
    cw_config_problems problems;
    cw_err err;
    const cw_config_source source = {.listen = (const char *const[]){"unix:c.sock"}, .n_listen = 1};
    assert_int_equal(load(&source, &config, &problems, &err), CW_IO);
    assert_null(config);
    assert_non_null(strstr(err.msg, "current folder"));
    cw_config_problems_done(&problems);
    assert_int_equal(chdir(old), 0);
}

TEST(unreadable_files_are_named)
{
    cw_config *config = NULL;
    cw_config_problems problems;
    cw_err err;
    assert_int_equal(load(&(cw_config_source){.path = "/nowhere/c.yaml"}, &config, &problems, &err),
                     CW_IO);
    assert_string_equal(err.msg, "cannot open '/nowhere/c.yaml': No such file or directory");
    assert_int_equal(problems.total, 0);
    cw_config_problems_done(&problems);
    assert_int_equal(load(&(cw_config_source){.path = "/"}, &config, &problems, &err), CW_IO);
    assert_string_equal(err.msg, "cannot read '/': Is a directory");
    cw_config_problems_done(&problems);
    assert_null(config);
}

TEST(a_file_has_a_largest_size)
{
    cw_buf text;
    cw_buf_init(&text, CW_CONFIG_MAX_BYTES + 1);
    char *p = cw_buf_reserve(&text, CW_CONFIG_MAX_BYTES + 1);
    memset(p, '#', CW_CONFIG_MAX_BYTES + 1);
    cw_buf_commit(&text, CW_CONFIG_MAX_BYTES);
    cw_config *config = NULL;
    cw_config_problems problems;
    cw_err err;
    const char *path = write_file("big.yaml", cw_buf_str(&text));
    assert_int_equal(load(&(cw_config_source){.path = path}, &config, &problems, &err), CW_OK);
    cw_config_unref(config);
    cw_config_problems_done(&problems);
    config = NULL;
    cw_buf_commit(&text, 1);
    path = write_file("big.yaml", cw_buf_str(&text));
    assert_int_equal(load(&(cw_config_source){.path = path}, &config, &problems, &err), CW_CONFIG);
    assert_non_null(strstr(err.msg, "big.yaml:1:1: the file is larger than 1048576 bytes"));
    cw_config_problems_done(&problems);
    cw_buf_done(&text);
    assert_null(config);
    /* What never ends is cut at the same place. */
    assert_int_equal(load(&(cw_config_source){.path = "/dev/zero"}, &config, &problems, &err),
                     CW_CONFIG);
    assert_string_equal(err.msg, "/dev/zero:1:1: the file is larger than 1048576 bytes");
    cw_config_problems_done(&problems);
}

TEST(addresses_of_the_command_line_replace_those_of_the_file)
{
    const char *path = write_file("l.yaml", CW_STR("listen: [\"a:1\", \"b:1\"]\nloops: 2\n"));
    const char *const listen[] = {"127.0.0.1:0", "[::1]:80"};
    cw_config *config;
    cw_config_problems problems;
    cw_err err;
    const cw_config_source source = {.path = path, .listen = listen, .n_listen = 2};
    assert_int_equal(load(&source, &config, &problems, &err), CW_OK);
    assert_int_equal(config->loops, 2);
    assert_int_equal(config->listen.n, 2);
    assert_string_equal(config->listen.items[0].address.text.p, "127.0.0.1:0");
    assert_string_equal(config->listen.items[1].address.host.p, "::1");
    assert_false(config->listen.items[1].tls);
    cw_config_unref(config);
    cw_config_problems_done(&problems);
}

TEST(wrong_addresses_of_the_command_line_have_no_line)
{
    const char *path = write_file("l.yaml", CW_STR("loops: x\n"));
    const char *const listen[] = {"localhost", "a:1"};
    cw_config *config = NULL;
    cw_config_problems problems;
    cw_err err;
    const cw_config_source source = {.path = path, .listen = listen, .n_listen = 2};
    assert_int_equal(load(&source, &config, &problems, &err), CW_CONFIG);
    assert_int_equal(problems.n, 2);
    assert_int_equal(problems.items[0].line, 1);
    assert_int_equal(problems.items[0].column, 8);
    assert_string_equal(problems.items[1].text,
                        "--listen: expected \"HOST:PORT\", \"[IPV6]:PORT\" or \"unix:PATH\", got "
                        "\"localhost\" (no port)");
    assert_int_equal(problems.items[1].line, 0);
    cw_config_problems_done(&problems);
    const char *const twice[] = {"a:1", "a:1"};
    const cw_config_source same = {.listen = twice, .n_listen = 2};
    assert_int_equal(load(&same, &config, &problems, &err), CW_CONFIG);
    assert_string_equal(problems.items[0].text, "listen[1]: the same address as listen[0]");
    cw_config_problems_done(&problems);
    assert_null(config);
}

TEST(a_unix_path_fits_its_socket)
{
    char text[200] = "unix:/";
    memset(text + 6, 'x', 106);
    text[6 + 106] = '\0';
    const char *const listen[] = {text};
    cw_config *config;
    cw_config_problems problems;
    cw_err err;
    assert_int_equal(
        load(&(cw_config_source){.listen = listen, .n_listen = 1}, &config, &problems, &err),
        CW_OK);
    assert_int_equal(config->listen.items[0].address.unix_path.n, 107);
    cw_config_unref(config);
    cw_config_problems_done(&problems);
    text[6 + 106] = 'x';
    text[6 + 107] = '\0';
    assert_int_equal(
        load(&(cw_config_source){.listen = listen, .n_listen = 1}, &config, &problems, &err),
        CW_CONFIG);
    assert_string_equal(problems.items[0].text,
                        "--listen: the path of a unix socket has at most 107 bytes, this one 108");
    cw_config_problems_done(&problems);
}

TEST(twenty_problems_are_kept_and_all_are_counted)
{
    cw_buf text;
    cw_buf_init(&text, CW_CONFIG_MAX_BYTES);
    for (int i = 0; i < 9000; i++)
        cw_buf_printf(&text, "unknown%d: 1\n", i);
    cw_config *config = NULL;
    cw_config_problems problems;
    cw_config_problems_init(&problems);
    cw_err err = {0};
    assert_int_equal(cw_config_read(cw_buf_str(&text), "f", &config, &problems, &err), CW_CONFIG);
    assert_int_equal(problems.n, CW_CONFIG_MAX_PROBLEMS);
    assert_int_equal(problems.total, 9000);
    assert_int_equal(problems.items[19].line, 20);
    assert_non_null(strstr(err.msg, "f:1:1: unknown0: unknown key"));
    assert_non_null(strstr(err.msg, "(and 8999 more)"));
    cw_config_problems_done(&problems);
    cw_buf_done(&text);
    assert_null(config);
}

/* The longest names and texts a file can bring still make one bounded line each. */
TEST(hostile_names_make_short_lines)
{
    cw_buf text;
    cw_buf_init(&text, CW_CONFIG_MAX_BYTES);
    cw_buf_add(&text, CW_STR("log: {levels: {"));
    for (int i = 0; i < 30; i++) {
        cw_buf_printf(&text, "\"%d", i);
        for (int j = 0; j < 300; j++)
            cw_buf_add(&text, CW_STR("\\e"));
        cw_buf_add(&text, CW_STR("\": \""));
        for (int j = 0; j < 20000; j++)
            cw_buf_add_char(&text, 'x');
        cw_buf_add(&text, CW_STR("\", "));
    }
    cw_buf_add(&text, CW_STR("}}\n"));
    cw_config *config = NULL;
    cw_config_problems problems;
    cw_config_problems_init(&problems);
    assert_int_equal(cw_config_read(cw_buf_str(&text), "f", &config, &problems, NULL), CW_CONFIG);
    assert_int_equal(problems.n, 20);
    for (size_t i = 0; i < problems.n; i++) {
        assert_true(strlen(problems.items[i].text) < 1000);
        assert_null(strchr(problems.items[i].text, '\x1b'));
    }
    cw_config_problems_done(&problems);
    cw_buf_done(&text);
}

TEST(file_names_are_shown_safely)
{
    cw_config *config = NULL;
    cw_config_problems problems;
    cw_config_problems_init(&problems);
    assert_int_equal(
        cw_config_read(CW_STR("loops: x"), "a\x1b[2J\n.yaml", &config, &problems, NULL), CW_CONFIG);
    assert_string_equal(problems.items[0].text,
                        "a\\u001b[2J\\u000a.yaml:1:8: loops: expected an integer from 0 to 64, "
                        "got \"x\"");
    cw_config_problems_done(&problems);
}

static void *ref_and_unref(void *arg)
{
    for (int i = 0; i < 10000; i++)
        cw_config_unref(cw_config_ref(arg));
    return NULL;
}

TEST(references_are_counted_across_threads)
{
    cw_config_unref(config_of("")); /* the engine keeps its meta-schema from now on */
    size_t live = oom_live();
    cw_config *config = config_of("hosts: [a]\n");
    assert_ptr_equal(cw_config_ref(config), config);
    pthread_t threads[4];
    for (size_t i = 0; i < CW_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ref_and_unref, config), 0);
    for (size_t i = 0; i < CW_COUNT(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    cw_config_unref(config);
    assert_string_equal(config->hosts.items[0].p, "a");
    cw_config_unref(config);
    assert_int_equal(oom_live(), live);
    cw_config_unref(NULL);
}

/* ---- no memory ---- */

static void load_once(void *ctx)
{
    cw_config *config = NULL;
    cw_config_problems problems;
    cw_err err;
    cw_code rc = load(ctx, &config, &problems, &err);
    if (oom_was_hit()) {
        assert_int_equal(rc, CW_NOMEM);
        assert_int_equal(err.code, CW_NOMEM);
        assert_null(config);
    } else {
        assert_true(rc == CW_OK || rc == CW_CONFIG);
    }
    cw_config_unref(config);
    cw_config_problems_done(&problems);
}

TEST(every_failed_allocation_is_reported)
{
    const char *const listen[] = {"unix:x.sock", "a:1"};
    cw_config_source source = {
        .path = write_file(
            "ok.yaml",
            CW_STR("listen: [\"a:1\", {address: \"unix:x\", tls: true}]\n"
                   "hosts: [a, b]\norigins: http://a\n"
                   "tls: {certificate: c, key: k}\n"
                   "log: {levels: {net: debug}, file: x}\n"
                   "plugins: {directory: p}\n"
                   "sources: [{name: a, url: \"unix:s:/x\", openrpc: o,\n"
                   "  methods: [m, {method: n, annotations: {a: 1},\n"
                   "  permissions: [p]}]}, {name: b, url: \"http://b\"},\n"
                   "  {name: c, command: [c, d], environment: {E: 5},\n"
                   "   working_directory: f, dialect: 1.0, answers_to_service: {a: [b]},\n"
                   "   init_calls: {method: m, params: [1]},\n"
                   "   secret: {as: first_param, file: s}, methods: {method: m,\n"
                   "   params: {p: {rename: q, value: {a: b}}}}}]\n"
                   "roles: {anonymous: [a, b]}\n")),
        .listen = listen,
        .n_listen = 2};
    assert_true(oom_each(load_once, &source) >= 8);
}

TEST(problems_survive_every_failed_allocation)
{
    cw_config_source source = {
        .path = write_file("bad.yaml", CW_STR("listen: [a, {ddress: x}]\nnever_heard_of: 1\n"
                                              "log: {level: x, levels: {net: y}}\n"
                                              "limits: {body_size: z}\n"))};
    assert_true(oom_each(load_once, &source) >= 8);
    source.path = write_file("syntax.yaml", CW_STR("a: [\n"));
    assert_true(oom_each(load_once, &source) >= 4);
    source.path = write_file("rules.yaml", CW_STR("tls: {key: k}\nlisten: [\"a:1\", \"a:1\"]\n"
                                                  "sources: [{name: a, url: \"http://a\", "
                                                  "methods: [m, m]}, {name: a, url: unix:a},\n"
                                                  "{name: c}, {name: d, url: unix:a, command: d}, "
                                                  "{name: e, url: unix:a, headers: {host: x}, "
                                                  "methods: [{method: \"*\", name: x}]}]\n"));
    assert_true(oom_each(load_once, &source) >= 4);
    source.path =
        write_file("rules.yaml", CW_STR("sources: {name: a, url: unix:a, prelud: [],\n"
                                        "  headers: {\"a b\": c, d: [e]}, speaks_first: x,\n"
                                        "  methods: {method: m, auth_level: x, output: 5,\n"
                                        "  params: {a: {b: c}, d: 5, \"\": }}}\n"));
    assert_true(oom_each(load_once, &source) >= 4);
}

SETUP(make_folder)
{
    return mkdtemp(folder) ? 0 : -1;
}

TEARDOWN(remove_folder)
{
    static const char *const files[] = {"a.yaml",  "sub/b.yaml", "big.yaml",    "l.yaml",
                                        "ok.yaml", "bad.yaml",   "syntax.yaml", "rules.yaml"};
    for (size_t i = 0; i < CW_COUNT(files); i++)
        (void)!unlink(path_of(files[i]));
    (void)!rmdir(path_of("sub"));
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_file_gives_the_defaults),
        cmocka_unit_test(a_file_is_read_and_its_folder_counts),
        cmocka_unit_test(relative_file_names_give_absolute_paths),
        cmocka_unit_test(a_folder_that_is_gone_is_an_error),
        cmocka_unit_test(unreadable_files_are_named),
        cmocka_unit_test(a_file_has_a_largest_size),
        cmocka_unit_test(addresses_of_the_command_line_replace_those_of_the_file),
        cmocka_unit_test(wrong_addresses_of_the_command_line_have_no_line),
        cmocka_unit_test(a_unix_path_fits_its_socket),
        cmocka_unit_test(twenty_problems_are_kept_and_all_are_counted),
        cmocka_unit_test(hostile_names_make_short_lines),
        cmocka_unit_test(file_names_are_shown_safely),
        cmocka_unit_test(references_are_counted_across_threads),
        cmocka_unit_test(every_failed_allocation_is_reported),
        cmocka_unit_test(problems_survive_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
