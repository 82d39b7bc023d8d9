/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names whose addresses change, or stand for others. The resolver and connect() of libcurl are the test's: no
 * packet leaves this computer. */
#include "net/curl/fetch.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/client_fixture.h"

/* ---- addresses of the one name there is ---- */

static const char *addresses[4]; /* one for each lookup; the last one stays */
static atomic_uint n_lookups, n_connects;
static char connected[INET6_ADDRSTRLEN];

__attribute__((visibility("default"))) int getaddrinfo(const char *node, const char *service,
                                                       const struct addrinfo *hints,
                                                       struct addrinfo **res);
__attribute__((visibility("default"))) void freeaddrinfo(struct addrinfo *res);
/* By its name for the linker: the header declares it with a union of GNU C. */
__attribute__((visibility("default"))) int own_connect(int fd, const struct sockaddr *address,
                                                       socklen_t n) __asm__("connect");

typedef struct found {
    struct addrinfo info;
    struct sockaddr_in6 address;
} found;

/* The names of its parameters are those of the standard. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **res)
{
    unsigned i = atomic_fetch_add(&n_lookups, 1);
    while (i > 0 && (i >= CW_COUNT(addresses) || !addresses[i]))
        i--;
    const char *text = addresses[i];
    found *f = calloc(1, sizeof *f);
    (void)node;
    (void)hints;
    if (!f)
        return EAI_MEMORY;
    uint16_t port = htons((uint16_t)(service ? strtoul(service, NULL, 10) : 0));
    struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)&f->address;
    bool is_v4 = inet_pton(AF_INET, text, &v4->sin_addr) == 1;
    if (is_v4) {
        v4->sin_family = AF_INET;
        v4->sin_port = port;
    } else if (inet_pton(AF_INET6, text, &f->address.sin6_addr) == 1) {
        f->address.sin6_family = AF_INET6;
        f->address.sin6_port = port;
    }
    f->info = (struct addrinfo){.ai_family = is_v4 ? AF_INET : AF_INET6,
                                .ai_socktype = SOCK_STREAM,
                                .ai_protocol = IPPROTO_TCP,
                                .ai_addrlen = is_v4 ? sizeof *v4 : sizeof f->address,
                                .ai_addr = (struct sockaddr *)&f->address};
    *res = &f->info;
    return 0;
}

void freeaddrinfo(struct addrinfo *res)
{
    free(CW_CONTAINER(res, found, info));
}

/* Nobody listens: what matters is who is asked. */
int own_connect(int fd, const struct sockaddr *address, socklen_t n)
{
    if (address->sa_family != AF_INET && address->sa_family != AF_INET6)
        return (int)syscall(SYS_connect, fd, address, n);
    const void *from = address->sa_family == AF_INET
                           ? (const void *)&((const struct sockaddr_in *)address)->sin_addr
                           : (const void *)&((const struct sockaddr_in6 *)address)->sin6_addr;
    inet_ntop(address->sa_family, from, connected, sizeof connected);
    atomic_fetch_add(&n_connects, 1);
    errno = ECONNREFUSED;
    return -1;
}

/* ---- fetches ---- */

typedef struct got {
    cw_fetch fetch;
    unsigned calls;
    char why[256];
} got;

static void on_got(cw_fetch *f, const cw_fetch_response *answer, const char *why)
{
    got *g = CW_CONTAINER(f, got, fetch);
    g->calls++;
    assert_null(answer);
    snprintf(g->why, sizeof g->why, "%s", why);
}

/* With a fetcher of its own: libcurl remembers addresses for a minute. */
static void fetch(client_fixture *b, got *g)
{
    cw_fetcher *fr;
    assert_int_equal(cw_fetcher_new(&b->loop, &fr, NULL), CW_OK);
    g->fetch.url = CW_STR("https://name.example:8443/client.json");
    g->fetch.on_done = on_got;
    assert_int_equal(cw_fetcher_start(fr, &g->fetch, NULL), CW_OK);
    client_run_until(b, g->calls);
    cw_fetcher_close(fr);
}

static void set_addresses(const char *first, const char *second)
{
    addresses[0] = first;
    addresses[1] = second;
    atomic_store(&n_lookups, 0);
    atomic_store(&n_connects, 0);
    connected[0] = '\0';
}

TEST(T18_the_address_that_is_judged_is_the_one_that_is_asked)
{
    client_fixture b;
    client_fixture_init(&b);
    /* First a public address, then one of this computer: a second lookup is judged anew. */
    set_addresses("1.1.1.1", "127.0.0.1");
    got first = {0}, second = {0};
    fetch(&b, &first);
    assert_int_equal(atomic_load(&n_lookups), 1);
    assert_int_equal(atomic_load(&n_connects), 1);
    assert_string_equal(connected, "1.1.1.1");
    fetch(&b, &second);
    assert_int_equal(atomic_load(&n_lookups), 2);
    assert_int_equal(atomic_load(&n_connects), 1);
    assert_non_null(strstr(second.why, "private"));
    client_fixture_done(&b);
}

TEST(T18_addresses_that_stand_for_private_ones_are_never_asked)
{
    static const char *const bad[] = {
        "127.0.0.1",
        "127.8.9.1",
        "10.0.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "255.255.255.255",
        "224.0.0.1",
        "::1",
        "::",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::127.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::7f00:1",
        "2002:7f00:1::1",
        "2002:a9fe:a9fe::1",
        "2001:0:1::1",
        "fe80::1",
        "fc00::1",
        "fd12:3456::1",
        "ff02::1",
        "2002:c0a8:101::1",
    };
    client_fixture b;
    client_fixture_init(&b);
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        got g = {0};
        set_addresses(bad[i], NULL);
        fetch(&b, &g);
        if (atomic_load(&n_connects) || !g.why[0])
            fail_msg("%s was asked", bad[i]);
    }
    client_fixture_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(T18_the_address_that_is_judged_is_the_one_that_is_asked),
        cmocka_unit_test(T18_addresses_that_stand_for_private_ones_are_never_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
