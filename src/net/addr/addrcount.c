/* SPDX-License-Identifier: GPL-2.0-or-later */
/* addrcount.c - counts connections by address and network. */
#include "net/addr/addrcount.h"

#include <netinet/in.h>
#include <stdlib.h>

/* The /64, /56 and /48 of IPv6. */
#define LEVELS 3u
#define NETWORKS_MAX (LEVELS << 20)

/* How many times the connections of an address a network may have. */
static const uint32_t factors[LEVELS] = {1, 4, 16};

typedef struct network {
    cw_addrkey prefix; /* the bytes that differ within the network are zero */
    unsigned char level;
} network;

typedef struct entry {
    network network;
    uint32_t n;
} entry;

static cw_str key_text(const network *net)
{
    return cw_str_make((const char *)net, sizeof *net);
}

void cw_addrcount_init(cw_addrcount *c)
{
    pthread_mutex_init(&c->lock, NULL);
    cw_map_init(&c->map, NETWORKS_MAX);
}

void cw_addrcount_done(cw_addrcount *c)
{
    size_t pos = 0;
    const cw_map_entry *e;
    while ((e = cw_map_next(&c->map, &pos)))
        free(e->value);
    cw_map_done(&c->map);
    pthread_mutex_destroy(&c->lock);
}

/* 0:ffff:: is no prefix that is handed out, so no IPv6 peer shares a key with an IPv4 one. */
static void set_v4(cw_addrkey *key, const void *address)
{
    key->bytes[2] = key->bytes[3] = 0xff;
    memcpy(key->bytes + 4, address, 4);
}

cw_addrkey cw_addrcount_key(const cw_address *peer)
{
    cw_addrkey key = {{0}};
    if (peer->sa.ss_family == AF_INET) {
        set_v4(&key, &((const struct sockaddr_in *)&peer->sa)->sin_addr);
        return key;
    }
    if (peer->sa.ss_family != AF_INET6)
        return key; /* all unix peers share the zero key */
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)&peer->sa)->sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(v6))
        set_v4(&key, v6->s6_addr + 12);
    else
        memcpy(key.bytes, v6->s6_addr, sizeof key.bytes);
    return key;
}

static network network_of(cw_addrkey key, unsigned level)
{
    memset(key.bytes + sizeof key.bytes - level, 0, level);
    return (network){key, (unsigned char)level};
}

/* Keys of IPv4 and of unix peers begin with zeros. */
static unsigned levels_of(cw_addrkey key)
{
    return key.bytes[0] || key.bytes[1] ? LEVELS : 1;
}

static uint32_t max_at(unsigned level, uint32_t each, uint32_t all)
{
    uint64_t max = (uint64_t)each * factors[level];
    if (max > all / 2)
        max = all / 2;
    return max > each ? (uint32_t)max : each;
}

static bool has_room(const cw_addrcount *c, cw_addrkey key, uint32_t each, uint32_t all)
{
    for (unsigned level = 0; level < levels_of(key); level++) {
        network net = network_of(key, level);
        const entry *e = cw_map_find(&c->map, key_text(&net));
        if (e && e->n >= max_at(level, each, all))
            return false;
    }
    return true;
}

static cw_code add(cw_addrcount *c, network net)
{
    entry *e = cw_map_find(&c->map, key_text(&net));
    if (e) {
        e->n++;
        return CW_OK;
    }
    e = malloc(sizeof *e);
    if (!e)
        return CW_NOMEM;
    *e = (entry){net, 1};
    cw_code rc = cw_map_put(&c->map, key_text(&e->network), e, NULL);
    if (rc)
        free(e);
    return rc;
}

/* Remove the connection from the first levels of its key. */
static void remove_levels(cw_addrcount *c, cw_addrkey key, unsigned n)
{
    for (unsigned level = 0; level < n; level++) {
        network net = network_of(key, level);
        entry *e = cw_map_find(&c->map, key_text(&net));
        if (e && --e->n == 0) {
            cw_map_remove(&c->map, key_text(&net));
            free(e);
        }
    }
}

static cw_code add_levels(cw_addrcount *c, cw_addrkey key)
{
    for (unsigned level = 0; level < levels_of(key); level++) {
        cw_code rc = add(c, network_of(key, level));
        if (rc) {
            remove_levels(c, key, level);
            return rc;
        }
    }
    return CW_OK;
}

cw_code cw_addrcount_add(cw_addrcount *c, cw_addrkey key, uint32_t each, uint32_t all)
{
    pthread_mutex_lock(&c->lock);
    cw_code rc = has_room(c, key, each, all) ? add_levels(c, key) : CW_LIMIT;
    pthread_mutex_unlock(&c->lock);
    return rc;
}

void cw_addrcount_remove(cw_addrcount *c, cw_addrkey key)
{
    pthread_mutex_lock(&c->lock);
    remove_levels(c, key, levels_of(key));
    pthread_mutex_unlock(&c->lock);
}
