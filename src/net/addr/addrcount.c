/* SPDX-License-Identifier: GPL-2.0-or-later */
/* addrcount.c - counts connections by address. */
#include "net/addr/addrcount.h"

#include <netinet/in.h>
#include <stdlib.h>

#define ADDRESSES_MAX (1u << 20)

typedef struct entry {
    cw_addrkey key;
    uint32_t n;
} entry;

static cw_str key_text(const cw_addrkey *key)
{
    return cw_str_make((const char *)key->bytes, sizeof key->bytes);
}

void cw_addrcount_init(cw_addrcount *c)
{
    pthread_mutex_init(&c->lock, NULL);
    cw_map_init(&c->map, ADDRESSES_MAX);
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

static cw_code add(cw_addrcount *c, cw_addrkey key, uint32_t max)
{
    entry *e = cw_map_find(&c->map, key_text(&key));
    if (e) {
        if (e->n >= max)
            return CW_LIMIT;
        e->n++;
        return CW_OK;
    }
    e = malloc(sizeof *e);
    if (!e)
        return CW_NOMEM;
    *e = (entry){key, 1};
    cw_code rc = cw_map_put(&c->map, key_text(&e->key), e, NULL);
    if (rc)
        free(e);
    return rc;
}

cw_code cw_addrcount_add(cw_addrcount *c, cw_addrkey key, uint32_t max)
{
    pthread_mutex_lock(&c->lock);
    cw_code rc = add(c, key, max);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

void cw_addrcount_remove(cw_addrcount *c, cw_addrkey key)
{
    pthread_mutex_lock(&c->lock);
    entry *e = cw_map_find(&c->map, key_text(&key));
    if (e && --e->n == 0) {
        cw_map_remove(&c->map, key_text(&key));
        free(e);
    }
    pthread_mutex_unlock(&c->lock);
}
