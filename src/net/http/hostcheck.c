/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hostcheck.c - Host and Origin values and the lists they must be on. */
#include "net/http/hostcheck.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "net/http/http1_chars.h"

#define NAME_MAX_LEN 255u
#define ANY_PORT (-1)

/* "name[:port]" or "[v6][:port]" taken apart. */
typedef struct hostport {
    cw_str name; /* without the trailing dot */
    bool is_v6;
    uint8_t addr[16]; /* when is_v6 */
    int32_t port;     /* or ANY_PORT when absent */
} hostport;

typedef struct host_entry {
    hostport at;
    bool below; /* "*.name": only names under it */
} host_entry;

typedef struct origin_entry {
    cw_str scheme; /* without "://"; empty for "null" */
    host_entry host;
} origin_entry;

struct cw_hostlist {
    bool any_host, any_origin;
    size_t n_hosts, n_origins;
    host_entry *hosts;
    origin_entry *origins;
};

/* ---- taking values apart ---- */

/* Length of the name at the front of `s`: labels of letters, digits, '-' and '_' between single
 * dots; one dot may end it, and ':' or the end of `s` follows. 0 when there is none.
 *
 * Percent-encoding and the sub-delimiters that RFC 3986 would allow are refused: no real name has
 * them, and ',' or "%2e" mean different hosts to different readers. */
static size_t name_len(cw_str s)
{
    size_t i = 0;

    for (;;) {
        size_t label = i;

        while (i < s.n && cw_http_is(s.p[i], CW_HTTP_LABEL))
            i++;
        if (i == s.n || s.p[i] == ':')
            return i <= NAME_MAX_LEN ? i : 0;
        if (s.p[i] != '.' || i == label)
            return 0;
        i++;
    }
}

static bool parse_port(cw_str s, int32_t *ret)
{
    int32_t port = 0;

    if (s.n == 0 || s.n > 5)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        port = port * 10 + (s.p[i] - '0');
    }
    *ret = port;
    return port <= UINT16_MAX;
}

/* `s` begins with '['. *ret_rest is what follows the ']'. */
static bool parse_v6(cw_str s, hostport *hp, cw_str *ret_rest)
{
    char text[INET6_ADDRSTRLEN];
    const char *close = memchr(s.p, ']', s.n);
    size_t n;

    if (!close)
        return false;
    n = (size_t)(close - s.p) - 1;
    /* A NUL inside would end the text early. */
    if (n == 0 || n >= sizeof text || memchr(s.p, 0, n + 1))
        return false;
    memcpy(text, s.p + 1, n);
    text[n] = 0;
    hp->is_v6 = true;
    hp->name = (cw_str){s.p, n + 2};
    *ret_rest = (cw_str){close + 1, s.n - n - 2};
    return inet_pton(AF_INET6, text, hp->addr) == 1;
}

static bool parse_hostport(cw_str s, hostport *ret)
{
    cw_str rest;

    ret->is_v6 = false;
    ret->port = ANY_PORT;
    if (s.n > 0 && s.p[0] == '[') {
        if (!parse_v6(s, ret, &rest))
            return false;
    } else {
        size_t n = name_len(s);

        if (n == 0)
            return false;
        rest = (cw_str){s.p + n, s.n - n};
        ret->name = (cw_str){s.p, s.p[n - 1] == '.' ? n - 1 : n};
    }
    if (rest.n == 0)
        return true;
    return rest.p[0] == ':' && parse_port((cw_str){rest.p + 1, rest.n - 1}, &ret->port);
}

static int32_t default_port(cw_str scheme)
{
    if (cw_str_ieq(scheme, CW_STR("http")))
        return 80;
    return cw_str_ieq(scheme, CW_STR("https")) ? 443 : ANY_PORT;
}

static bool is_scheme(cw_str s)
{
    if (s.n == 0 || (s.p[0] | 0x20) < 'a' || (s.p[0] | 0x20) > 'z')
        return false;
    for (size_t i = 1; i < s.n; i++) {
        if (s.p[i] == '_' || (!cw_http_is(s.p[i], CW_HTTP_LABEL) && s.p[i] != '+' && s.p[i] != '.'))
            return false;
    }
    return true;
}

/* Split "scheme://rest". */
static bool cut_scheme(cw_str origin, cw_str *ret_scheme, cw_str *ret_rest)
{
    cw_str rest;
    cw_str scheme = cw_str_cut(origin, ':', &rest);

    if (!is_scheme(scheme) || rest.n < 3 || rest.p[0] != '/' || rest.p[1] != '/')
        return false;
    *ret_scheme = scheme;
    *ret_rest = (cw_str){rest.p + 2, rest.n - 2};
    return true;
}

/* ---- comparing ---- */

static bool name_eq(const hostport *a, const hostport *b)
{
    if (a->is_v6 || b->is_v6)
        return a->is_v6 && b->is_v6 && memcmp(a->addr, b->addr, sizeof a->addr) == 0;
    /* Exactly first: that is how names nearly always come, and it is much cheaper. */
    return cw_str_eq(a->name, b->name) || cw_str_ieq(a->name, b->name);
}

static bool name_matches(const host_entry *e, const hostport *hp)
{
    size_t n = e->at.name.n;

    if (!e->below)
        return name_eq(&e->at, hp);
    if (hp->is_v6 || hp->name.n < n + 2 || hp->name.p[hp->name.n - n - 1] != '.')
        return false;
    return cw_str_ieq((cw_str){hp->name.p + hp->name.n - n, n}, e->at.name);
}

static bool hosts_have(const cw_hostlist *list, const hostport *hp)
{
    if (list->any_host)
        return true;
    for (size_t i = 0; i < list->n_hosts; i++) {
        const host_entry *e = &list->hosts[i];

        if ((e->at.port == ANY_PORT || e->at.port == hp->port) && name_matches(e, hp))
            return true;
    }
    return false;
}

/* ---- compiling ---- */

static bool parse_entry(cw_str s, host_entry *ret)
{
    ret->below = s.n > 2 && s.p[0] == '*' && s.p[1] == '.';
    if (ret->below)
        s = (cw_str){s.p + 2, s.n - 2};
    return parse_hostport(s, &ret->at) && !(ret->below && ret->at.is_v6);
}

static bool parse_origin(cw_str s, origin_entry *ret)
{
    cw_str rest;

    *ret = (origin_entry){0};
    if (cw_str_eq(s, CW_STR("null")))
        return true;
    if (!cut_scheme(s, &ret->scheme, &rest) || !parse_entry(rest, &ret->host))
        return false;
    if (ret->host.at.port == ANY_PORT)
        ret->host.at.port = default_port(ret->scheme);
    return true;
}

/* Entries point into the list's own copy of their text, which stands behind the tables. */
static cw_str copy_text(char **at, cw_str s)
{
    cw_str copy = {*at, s.n};

    if (s.n)
        memcpy(*at, s.p, s.n);
    *at += s.n;
    return copy;
}

static cw_code compile(cw_hostlist *list, char *text, const cw_str *hosts, size_t n_hosts,
                       const cw_str *origins, size_t n_origins, cw_err *err)
{
    for (size_t i = 0; i < n_hosts; i++) {
        cw_str s = copy_text(&text, hosts[i]);

        if (cw_str_eq(s, CW_STR("*")))
            list->any_host = true;
        else if (!parse_entry(s, &list->hosts[list->n_hosts++]))
            return cw_fail(err, CW_PARAMS, "'%.*s' is no host name or host:port", CW_STR_ARG(s));
    }
    for (size_t i = 0; i < n_origins; i++) {
        cw_str s = copy_text(&text, origins[i]);

        if (cw_str_eq(s, CW_STR("*")))
            list->any_origin = true;
        else if (!parse_origin(s, &list->origins[list->n_origins++]))
            return cw_fail(err, CW_PARAMS,
                           "'%.*s' is no origin (scheme://host or scheme://host:port)",
                           CW_STR_ARG(s));
    }
    return CW_OK;
}

cw_code cw_hostlist_new(const cw_str *hosts, size_t n_hosts, const cw_str *origins,
                        size_t n_origins, cw_hostlist **ret, cw_err *err)
{
    static const cw_str loopback[] = {CW_STR_INIT("localhost"), CW_STR_INIT("127.0.0.1"),
                                      CW_STR_INIT("[::1]")};
    cw_hostlist *list;
    size_t size;
    cw_code rc;

    if (n_hosts == 0) {
        hosts = loopback;
        n_hosts = CW_COUNT(loopback);
    }
    size = sizeof *list + n_hosts * sizeof *list->hosts + n_origins * sizeof *list->origins;
    for (size_t i = 0; i < n_hosts; i++)
        size += hosts[i].n;
    for (size_t i = 0; i < n_origins; i++)
        size += origins[i].n;
    list = calloc(1, size);
    if (!list)
        return cw_fail_nomem(err);
    list->hosts = (host_entry *)(list + 1);
    list->origins = (origin_entry *)(list->hosts + n_hosts);
    rc =
        compile(list, (char *)(list->origins + n_origins), hosts, n_hosts, origins, n_origins, err);
    if (rc) {
        cw_hostlist_free(list);
        return rc;
    }
    *ret = list;
    return CW_OK;
}

void cw_hostlist_free(cw_hostlist *list)
{
    free(list);
}

bool cw_host_is_valid(cw_str host)
{
    hostport hp;

    return parse_hostport(host, &hp);
}

bool cw_host_eq(cw_str a, cw_str b)
{
    hostport x, y;

    return parse_hostport(a, &x) && parse_hostport(b, &y) && x.port == y.port && name_eq(&x, &y);
}

bool cw_hostlist_allows_host(const cw_hostlist *list, cw_str host)
{
    hostport hp;

    return parse_hostport(host, &hp) && hosts_have(list, &hp);
}

static bool origins_have(const cw_hostlist *list, cw_str scheme, const hostport *hp)
{
    for (size_t i = 0; i < list->n_origins; i++) {
        const origin_entry *e = &list->origins[i];

        if (cw_str_ieq(e->scheme, scheme) && e->host.at.port == hp->port &&
            name_matches(&e->host, hp))
            return true;
    }
    return false;
}

static bool lists_null(const cw_hostlist *list)
{
    for (size_t i = 0; i < list->n_origins; i++) {
        if (list->origins[i].scheme.n == 0)
            return true;
    }
    return false;
}

/* Whether the request goes to the very server that the page came from. */
static bool is_same_site(const cw_hostlist *list, const hostport *from, int32_t implied,
                         cw_str host)
{
    hostport to;

    if (!parse_hostport(host, &to) || !hosts_have(list, &to))
        return false;
    if (to.port == ANY_PORT)
        to.port = implied;
    return to.port == from->port && name_eq(&to, from);
}

static bool has_port(const uint16_t *ports, size_t n, int32_t port)
{
    for (size_t i = 0; i < n; i++) {
        if (ports[i] == port)
            return true;
    }
    return false;
}

bool cw_hostlist_has_spelling(const cw_hostlist *list, cw_str host, const uint16_t *ports,
                              size_t n_ports)
{
    hostport hp;

    if (!parse_hostport(host, &hp))
        return false;
    /* Nothing but ":port" without leading zeros may follow: a trailing dot is another spelling. */
    cw_str rest = {host.p + hp.name.n, host.n - hp.name.n};
    if (rest.n && (rest.p[0] != ':' || rest.p[1] == '0'))
        return false;
    for (size_t i = 0; i < list->n_hosts; i++) {
        const host_entry *e = &list->hosts[i];

        if (!e->below && cw_str_eq(e->at.name, hp.name) &&
            (hp.port == ANY_PORT || hp.port == e->at.port || has_port(ports, n_ports, hp.port)))
            return true;
    }
    return false;
}

static cw_str scheme_of(bool is_https)
{
    return is_https ? CW_STR("https") : CW_STR("http");
}

bool cw_origin_has_scheme(cw_str origin, bool is_https)
{
    cw_str scheme, rest;

    return cut_scheme(origin, &scheme, &rest) && cw_str_ieq(scheme, scheme_of(is_https));
}

bool cw_hostlist_allows_origin(const cw_hostlist *list, cw_str origin, bool is_https, cw_str host)
{
    cw_str scheme, rest;
    int32_t implied;
    hostport from;

    if (list->any_origin)
        return true;
    if (cw_str_eq(origin, CW_STR("null")))
        return lists_null(list);
    if (!cut_scheme(origin, &scheme, &rest) || !parse_hostport(rest, &from))
        return false;
    implied = default_port(scheme);
    if (from.port == ANY_PORT)
        from.port = implied;
    if (origins_have(list, scheme, &from))
        return true;
    return cw_str_ieq(scheme, scheme_of(is_https)) && is_same_site(list, &from, implied, host);
}
