/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recent_logins.c - credentials and networks of recent logins, shared by all loops. */
#include "access/login/recent_logins.h"

#include <stdlib.h>

#include "base/assoc.h"
#include "base/clock.h"
#include "base/map.h"

typedef struct cw_recent_logins_credentials {
    unsigned char key[CW_DIGEST];
    unsigned char proof[CW_DIGEST];
    uint64_t used; /* tick of the last use; 0: free */
} credentials;

typedef struct cw_recent_logins_network {
    uint64_t account, network; /* hashes */
    uint64_t at;               /* of the last login */
    uint64_t used;             /* tick of the last use; 0: free */
} known_network;

cw_code cw_recent_logins_init(cw_recent_logins *v, cw_err *err)
{
    *v = (cw_recent_logins){0};
    pthread_mutex_init(&v->lock, NULL);
    v->credentials = calloc(CW_RECENT_LOGINS_ENTRIES, sizeof *v->credentials);
    v->networks = calloc(CW_RECENT_LOGINS_ENTRIES, sizeof *v->networks);
    if (v->credentials && v->networks)
        return CW_OK;
    cw_recent_logins_done(v);
    return cw_fail_nomem(err);
}

void cw_recent_logins_done(cw_recent_logins *v)
{
    if (!v->credentials && !v->networks)
        return;
    pthread_mutex_destroy(&v->lock);
    free(v->credentials);
    free(v->networks);
    *v = (cw_recent_logins){0};
}

/* ---- credentials ---- */

static bool is_of_key(const void *entry, const void *key)
{
    const credentials *e = entry;
    return e->used && cw_secret_equal(e->key, key);
}

static uint64_t credentials_age(const void *entry)
{
    return ((const credentials *)entry)->used;
}

static const cw_assoc by_key = {sizeof(credentials), CW_RECENT_LOGINS_ENTRIES, 4, is_of_key,
                                credentials_age};

static uint64_t hash_of(const unsigned char key[CW_DIGEST])
{
    uint32_t hash;
    memcpy(&hash, key, sizeof hash);
    return hash;
}

static credentials *find_credentials(const cw_recent_logins *v, const unsigned char key[CW_DIGEST])
{
    return cw_assoc_find(&by_key, v->credentials, hash_of(key), key);
}

void cw_recent_logins_add(cw_recent_logins *v, const unsigned char key[CW_DIGEST],
                          const unsigned char proof[CW_DIGEST])
{
    pthread_mutex_lock(&v->lock);
    credentials *e = find_credentials(v, key);
    if (!e)
        e = cw_assoc_victim(&by_key, v->credentials, hash_of(key));
    memcpy(e->key, key, CW_DIGEST);
    memcpy(e->proof, proof, CW_DIGEST);
    e->used = ++v->tick;
    pthread_mutex_unlock(&v->lock);
}

bool cw_recent_logins_find(cw_recent_logins *v, const unsigned char key[CW_DIGEST],
                           unsigned char ret_proof[CW_DIGEST])
{
    pthread_mutex_lock(&v->lock);
    credentials *e = find_credentials(v, key);
    if (e) {
        memcpy(ret_proof, e->proof, CW_DIGEST);
        e->used = ++v->tick;
    }
    pthread_mutex_unlock(&v->lock);
    return e != NULL;
}

/* ---- networks ---- */

/* Of IPv6 the /64: a login says nothing about its neighbours. */
static uint64_t narrowest(const cw_network *network)
{
    return network->keys[0];
}

static bool is_of_network(const void *entry, const void *key)
{
    const known_network *e = entry, *k = key;
    return e->used && e->account == k->account && e->network == k->network;
}

static uint64_t network_age(const void *entry)
{
    return ((const known_network *)entry)->used;
}

static const cw_assoc by_network = {sizeof(known_network), CW_RECENT_LOGINS_ENTRIES, 4,
                                    is_of_network, network_age};

static known_network *find_network(const cw_recent_logins *v, uint64_t account, uint64_t network)
{
    known_network key = {.account = account, .network = network};
    return cw_assoc_find(&by_network, v->networks, account ^ network, &key);
}

void cw_recent_logins_add_network(cw_recent_logins *v, cw_str account, const cw_network *network,
                                  uint64_t now)
{
    uint64_t hash = cw_hash(account), net = narrowest(network);
    pthread_mutex_lock(&v->lock);
    known_network *e = find_network(v, hash, net);
    if (!e)
        e = cw_assoc_victim(&by_network, v->networks, hash ^ net);
    *e = (known_network){.account = hash, .network = net, .at = now, .used = ++v->tick};
    pthread_mutex_unlock(&v->lock);
}

bool cw_recent_logins_has_network(cw_recent_logins *v, cw_str account, const cw_network *network,
                                  uint64_t now)
{
    pthread_mutex_lock(&v->lock);
    known_network *e = find_network(v, cw_hash(account), narrowest(network));
    bool is_known = e && cw_clock_since(now, e->at) < CW_RECENT_LOGINS_NETWORK_MS;
    if (is_known)
        e->used = ++v->tick;
    pthread_mutex_unlock(&v->lock);
    return is_known;
}
