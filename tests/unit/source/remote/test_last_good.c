/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last good description of a service: which of the file and the memory counts. */
#include "support/json_fixture.h"
#include "support/oom.h"
#include "support/temp_dir.h"

#include "base/clock.h"
#include "source/remote/last_good.h"

#define FILE_NAME "shop.description.json"

TEARDOWN(remove_files)
{
    unlink(temp_dir_path(FILE_NAME));
    return temp_dir_teardown(state);
}

static cw_last_good_key key_in(const char *folder)
{
    return (cw_last_good_key){.folder = cw_str_from(folder),
                              .name = CW_STR("shop"),
                              .at = CW_STR("http://h/"),
                              .describe = CW_STR("auto")};
}

static cw_state_description described(const char *requires)
{
    return (cw_state_description){.at = CW_STR("http://h/"),
                                  .describe = CW_STR("auto"),
                                  .kind = CW_STR("openrpc"),
                                  .requires = cw_str_from(requires),
                                  .openrpc = CW_STR("{\"a\":1}")};
}

static cw_code keep(cw_last_good *g, const cw_last_good_key *key, const char *requires)
{
    const cw_state_description none = {0}, d = described(requires);
    return cw_last_good_keep(g, key, &none, &d, NULL);
}

/* `requires` is NULL: nothing is found. */
static void assert_found(cw_last_good *g, const cw_last_good_key *key, const char *requires,
                         const char *document)
{
    cw_arena arena;
    cw_state_description d;
    cw_arena_init(&arena, 1 << 20);
    assert_int_equal(cw_last_good_find(g, key, &arena, &d, NULL), CW_OK);
    assert_str(d.kind, requires ? "openrpc" : "");
    assert_str(d.requires, requires ? requires : "");
    assert_str(d.openrpc, document);
    cw_arena_done(&arena);
}

TEST(without_a_folder_memory_counts)
{
    cw_last_good *g = cw_last_good_new();
    const cw_last_good_key key = key_in("");
    assert_found(NULL, &key, NULL, "");
    assert_found(g, &key, NULL, "");
    assert_int_equal(keep(g, &key, "{\"m\":{}}"), CW_OK);
    assert_found(g, &key, "{\"m\":{}}", "");
    cw_last_good_free(g);
    cw_last_good_free(NULL);
}

TEST(a_file_of_another_process_counts_before_memory)
{
    cw_last_good *g = cw_last_good_new();
    const cw_last_good_key key = key_in(temp_dir);
    assert_int_equal(keep(g, &key, "{\"m\":{}}"), CW_OK);
    assert_int_equal(keep(NULL, &key, "{}"), CW_OK); /* causeway source accept */
    assert_found(g, &key, "{}", "{\"a\":1}");
    cw_last_good_free(g);
}

TEST(memory_is_written_as_soon_as_the_file_can_be)
{
    cw_last_good *g = cw_last_good_new();
    char away[120];
    const cw_last_good_key key = key_in(temp_dir);
    cw_last_good_key lost = key;
    cw_err err = {0};
    const cw_state_description none = {0}, d = described("{\"m\":{}}");
    unlink(temp_dir_path(FILE_NAME));
    assert_int_equal(keep(g, &key, "{}"), CW_OK);
    snprintf(away, sizeof away, "%s/no/folder", temp_dir);
    lost.folder = cw_str_from(away);
    assert_int_equal(cw_last_good_keep(g, &lost, &none, &d, &err), CW_IO);
    assert_true(err.msg[0]);
    assert_found(NULL, &key, "{}", "{\"a\":1}");
    assert_found(g, &key, "{\"m\":{}}", "{\"a\":1}");
    assert_found(NULL, &key, "{\"m\":{}}", "{\"a\":1}");
    cw_last_good_free(g);
}

TEST(a_file_that_an_operator_accepts_later_counts_before_memory_that_could_not_be_written)
{
    cw_last_good *g = cw_last_good_new();
    const cw_last_good_key key = key_in(temp_dir);
    cw_last_good_key lost = key;
    const cw_state_description last = described("{}");
    cw_state_description accepted = last;
    lost.folder = CW_STR("/dev/null/folder");
    for (int is_later = 0; is_later < 2; is_later++) {
        assert_int_equal(keep(NULL, &key, "{}"), CW_OK);
        assert_int_equal(keep(g, &lost, "{\"m\":{}}"), CW_IO);
        /* It is written, although the description is the same. */
        accepted.accepted_ms = cw_clock_wall_ms() - (is_later ? 0 : 60000);
        assert_int_equal(cw_last_good_keep(NULL, &key, &last, &accepted, NULL), CW_OK);
        assert_found(g, &key, is_later ? "{}" : "{\"m\":{}}", "{\"a\":1}");
    }
    cw_last_good_free(g);
}

TEST(a_description_of_another_address_is_none)
{
    cw_last_good *g = cw_last_good_new();
    cw_last_good_key key = key_in(temp_dir);
    assert_int_equal(keep(g, &key, "{\"m\":{}}"), CW_OK);
    key.at = CW_STR("http://other/");
    assert_found(g, &key, NULL, "");
    key = key_in(temp_dir);
    key.describe = CW_STR("system");
    assert_found(g, &key, NULL, "");
    cw_last_good_free(g);
}

TEST(a_file_of_another_address_leaves_memory_without_its_document)
{
    cw_last_good *g = cw_last_good_new();
    const cw_last_good_key key = key_in(temp_dir);
    const cw_state_description none = {0};
    cw_state_description other = described("{}");
    other.at = CW_STR("http://other/");
    assert_int_equal(keep(g, &key, "{\"m\":{}}"), CW_OK);
    assert_int_equal(cw_last_good_keep(NULL, &key, &none, &other, NULL), CW_OK);
    assert_found(g, &key, "{\"m\":{}}", "");
    cw_last_good_free(g);
}

TEST(a_damaged_file_is_an_error_whatever_memory_has)
{
    cw_last_good *g = cw_last_good_new();
    const cw_last_good_key key = key_in(temp_dir);
    cw_state_description d;
    cw_arena arena;
    cw_arena_init(&arena, 1 << 20);
    assert_int_equal(keep(g, &key, "{\"m\":{}}"), CW_OK);
    temp_dir_write(FILE_NAME, "{");
    cw_code rc = cw_last_good_find(g, &key, &arena, &d, NULL);
    assert_true(rc && rc != CW_NOMEM && rc != CW_GONE);
    cw_arena_done(&arena);
    cw_last_good_free(g);
}

TEST(nothing_is_written_quietly)
{
    cw_last_good *g = cw_last_good_new();
    cw_last_good_key key = key_in(temp_dir);
    unlink(temp_dir_path(FILE_NAME));
    key.is_quiet = true;
    assert_int_equal(keep(g, &key, "{\"m\":{}}"), CW_OK);
    assert_found(NULL, &key, NULL, "");
    assert_found(g, &key, "{\"m\":{}}", "");
    cw_last_good_free(g);
}

static void keep_once(void *ctx)
{
    (void)ctx;
    cw_arena arena;
    cw_state_description d = {0};
    const cw_last_good_key key = key_in("");
    cw_last_good *g = cw_last_good_new();
    cw_arena_init(&arena, 1 << 20);
    cw_code rc = g ? keep(g, &key, "{\"m\":{}}") : CW_NOMEM;
    if (!rc)
        rc = cw_last_good_find(g, &key, &arena, &d, NULL);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_arena_done(&arena);
    cw_last_good_free(g);
}

TEST(every_failed_allocation_is_survived)
{
    assert_true(oom_each(keep_once, NULL) >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_folder_memory_counts),
        cmocka_unit_test(a_file_of_another_process_counts_before_memory),
        cmocka_unit_test(memory_is_written_as_soon_as_the_file_can_be),
        cmocka_unit_test(
            a_file_that_an_operator_accepts_later_counts_before_memory_that_could_not_be_written),
        cmocka_unit_test(a_description_of_another_address_is_none),
        cmocka_unit_test(a_file_of_another_address_leaves_memory_without_its_document),
        cmocka_unit_test(a_damaged_file_is_an_error_whatever_memory_has),
        cmocka_unit_test(nothing_is_written_quietly),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, temp_dir_setup, remove_files);
}
