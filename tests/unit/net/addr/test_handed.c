/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/addr/handed.h"
#include "support/oom.h"
#include "support/temp_dir.h"
#include "support/test.h"

/* The offer of a listener, as another process would send it: duplicates of its sockets. */
static cw_handed_listener offer_of(const cw_listener *l)
{
    cw_handed_listener offer = {.is_local = l->is_local,
                                .inherited = l->inherited,
                                .has_file = l->has_file,
                                .file_dev = l->file_dev,
                                .file_ino = l->file_ino};
    memcpy(offer.configured, l->configured, sizeof offer.configured);
    for (size_t i = 0; i < l->n_fds; i++)
        offer.fds[offer.n_fds++] = fcntl(l->fds[i], F_DUPFD_CLOEXEC, 0);
    return offer;
}

static void open_at(cw_listener *l, const char *address, size_t n)
{
    cw_err err = {0};
    *l = (cw_listener){0};
    assert_int_equal(cw_listener_open(l, cw_str_from(address), n, &err), CW_OK);
}

static void connect_to(const cw_address *a)
{
    int fd = socket(a->sa.ss_family, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&a->sa, a->len), 0);
    close(fd);
}

TEST(listeners_are_found_by_text_and_by_address)
{
    cw_listener l;
    cw_handed all = {0};
    char text[CW_ADDRESS_TEXT];
    open_at(&l, "127.0.0.1:0", 2);
    cw_handed_listener offer = offer_of(&l);
    assert_int_equal(cw_handed_add(&all, &offer, NULL), CW_OK);
    cw_address_format(&l.address, text, sizeof text);
    assert_ptr_equal(cw_handed_find(&all, CW_STR("127.0.0.1:0"), false), &all.items[0]);
    assert_ptr_equal(cw_handed_find(&all, cw_str_from(text), false), &all.items[0]);
    assert_null(cw_handed_find(&all, cw_str_from(text), true));
    assert_null(cw_handed_find(&all, CW_STR("127.0.0.1:1"), false));
    assert_null(cw_handed_find(&all, CW_STR("nonsense"), false));
    cw_handed_done(&all, true);
    cw_listener_close(&l);
}

/* With fewer loops, as many, and more. */
TEST(adopted_sockets_stay_and_further_ones_are_bound)
{
    for (size_t n = 1; n <= 4; n++) {
        cw_listener old, fresh = {0};
        cw_handed all = {0};
        cw_err err = {0};
        open_at(&old, "127.0.0.1:0", 2);
        cw_handed_listener offer = offer_of(&old);
        assert_int_equal(cw_handed_add(&all, &offer, &err), CW_OK);
        assert_int_equal(cw_listener_adopt(&fresh, &all.items[0], n, &err), CW_OK);
        assert_int_equal(fresh.n_fds, n > 2 ? n : 2);
        assert_int_equal(fresh.n_listening, 2);
        assert_string_equal(fresh.configured, "127.0.0.1:0");
        assert_null(cw_handed_find(&all, CW_STR("127.0.0.1:0"), false));
        assert_int_equal(cw_listener_listen(&fresh, &err), CW_OK);
        assert_int_equal(fresh.n_listening, fresh.n_fds);
        cw_listener_close(&old);
        connect_to(&fresh.address);
        cw_handed_done(&all, true);
        cw_listener_close(&fresh);
    }
}

TEST(the_file_of_a_unix_socket_stays_until_the_new_process_has_started)
{
    char path[200];
    struct stat st;
    cw_listener old, fresh = {0};
    cw_handed all = {0};
    snprintf(path, sizeof path, "unix:%s", temp_dir_path("s"));
    open_at(&old, path, 1);
    cw_handed_listener offer = offer_of(&old);
    assert_int_equal(cw_handed_add(&all, &offer, NULL), CW_OK);
    assert_int_equal(cw_listener_adopt(&fresh, &all.items[0], 2, NULL), CW_OK);
    assert_int_equal(fresh.n_fds, 2);
    cw_listener_close(&fresh); /* it fails */
    assert_int_equal(lstat(path + 5, &st), 0);
    cw_handed_done(&all, false);

    offer = offer_of(&old);
    assert_int_equal(cw_handed_add(&all, &offer, NULL), CW_OK);
    cw_handed_done(&all, false);
    assert_int_equal(lstat(path + 5, &st), 0);

    offer = offer_of(&old);
    assert_int_equal(cw_handed_add(&all, &offer, NULL), CW_OK);
    cw_handed_done(&all, true); /* not wanted any more */
    assert_int_equal(lstat(path + 5, &st), -1);
    cw_listener_close(&old);
}

TEST(a_unix_socket_without_its_file_is_not_found)
{
    char path[200];
    cw_listener old;
    cw_handed all = {0};
    snprintf(path, sizeof path, "unix:%s", temp_dir_path("s"));
    open_at(&old, path, 1);
    cw_handed_listener offer = offer_of(&old);
    assert_int_equal(cw_handed_add(&all, &offer, NULL), CW_OK);
    assert_non_null(cw_handed_find(&all, cw_str_from(path), false));
    assert_int_equal(unlink(path + 5), 0);
    assert_null(cw_handed_find(&all, cw_str_from(path), false));
    cw_handed_done(&all, true);
    cw_listener_close(&old);
}

TEST(what_does_not_listen_is_refused_and_closed)
{
    cw_handed all = {0};
    cw_err err = {0};
    cw_handed_listener none = {0}, file = {.fds = {open("/dev/null", O_RDONLY)}, .n_fds = 1};
    cw_listener one, other;
    assert_int_equal(cw_handed_add(&all, &none, &err), CW_PARAMS);
    assert_int_equal(cw_handed_add(&all, &file, &err), CW_PARAMS);
    assert_int_equal(fcntl(file.fds[0], F_GETFD), -1);
    open_at(&one, "127.0.0.1:0", 1);
    open_at(&other, "127.0.0.1:0", 1);
    cw_handed_listener mixed = offer_of(&one);
    mixed.fds[mixed.n_fds++] = fcntl(other.fds[0], F_DUPFD_CLOEXEC, 0);
    assert_int_equal(cw_handed_add(&all, &mixed, &err), CW_PARAMS);
    assert_int_equal(fcntl(mixed.fds[1], F_GETFD), -1);
    assert_int_equal(all.n, 0);
    cw_handed_done(&all, true);
    cw_listener_close(&one);
    cw_listener_close(&other);
}

TEST(sockets_of_one_address_are_one_listener_up_to_a_ceiling)
{
    cw_listener one;
    cw_handed all = {0};
    open_at(&one, "127.0.0.1:0", 1);
    for (size_t i = 0; i < (size_t)CW_HANDED_FDS * CW_HANDED_MAX; i++) {
        int fd = fcntl(one.fds[0], F_DUPFD_CLOEXEC, 0);
        assert_true(fd >= 0);
        assert_int_equal(cw_handed_add_socket(&all, fd, NULL), CW_OK);
        assert_int_equal(all.n, i / CW_HANDED_FDS + 1);
    }
    int more = fcntl(one.fds[0], F_DUPFD_CLOEXEC, 0);
    assert_int_equal(cw_handed_add_socket(&all, more, NULL), CW_LIMIT);
    assert_int_equal(fcntl(more, F_GETFD), -1);
    cw_handed_done(&all, true);
    cw_listener_close(&one);
}

static void adopt_once(void *ctx)
{
    const cw_listener *old = ctx;
    cw_listener fresh = {0};
    cw_handed all = {0};
    cw_handed_listener offer = offer_of(old);
    cw_code rc = cw_handed_add(&all, &offer, NULL);
    if (!rc)
        rc = cw_listener_adopt(&fresh, &all.items[0], 2, NULL);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_listener_close(&fresh);
    cw_handed_done(&all, true);
}

TEST(adopting_survives_every_failed_allocation)
{
    cw_listener old;
    open_at(&old, "127.0.0.1:0", 1);
    assert_true(oom_each(adopt_once, &old) >= 2);
    connect_to(&old.address);
    cw_listener_close(&old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listeners_are_found_by_text_and_by_address),
        cmocka_unit_test(adopted_sockets_stay_and_further_ones_are_bound),
        cmocka_unit_test_setup_teardown(
            the_file_of_a_unix_socket_stays_until_the_new_process_has_started, temp_dir_setup,
            temp_dir_teardown),
        cmocka_unit_test_setup_teardown(a_unix_socket_without_its_file_is_not_found, temp_dir_setup,
                                        temp_dir_teardown),
        cmocka_unit_test(what_does_not_listen_is_refused_and_closed),
        cmocka_unit_test(sockets_of_one_address_are_one_listener_up_to_a_ceiling),
        cmocka_unit_test(adopting_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
