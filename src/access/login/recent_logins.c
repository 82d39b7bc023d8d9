/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "access/login/recent_logins.h"

#include <stdlib.h>

#include "base/map.h"

#define WAYS 4u
#define SETS (CW_RECENT_LOGINS_ENTRIES / WAYS)

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

static credentials *credentials_set(const cw_recent_logins *v, const unsigned char key[CW_DIGEST])
{
    uint32_t hash;
    memcpy(&hash, key, sizeof hash);
    return &v->credentials[hash % SETS * WAYS];
}

static credentials *find_credentials(const cw_recent_logins *v, const unsigned char key[CW_DIGEST])
{
    credentials *set = credentials_set(v, key);
    for (unsigned i = 0; i < WAYS; i++) {
        if (set[i].used && cw_secret_equal(set[i].key, key))
            return &set[i];
    }
    return NULL;
}

void cw_recent_logins_add(cw_recent_logins *v, const unsigned char key[CW_DIGEST],
                          const unsigned char proof[CW_DIGEST])
{
    pthread_mutex_lock(&v->lock);
    credentials *e = find_credentials(v, key);
    if (!e) {
        credentials *set = credentials_set(v, key);
        e = set;
        for (unsigned i = 1; i < WAYS; i++) {
            if (set[i].used < e->used)
                e = &set[i];
        }
    }
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

static known_network *network_set(const cw_recent_logins *v, uint64_t account, uint64_t network)
{
    return &v->networks[(account ^ network) % SETS * WAYS];
}

static known_network *find_network(const cw_recent_logins *v, uint64_t account, uint64_t network)
{
    known_network *set = network_set(v, account, network);
    for (unsigned i = 0; i < WAYS; i++) {
        if (set[i].used && set[i].account == account && set[i].network == network)
            return &set[i];
    }
    return NULL;
}

void cw_recent_logins_add_network(cw_recent_logins *v, cw_str account, const cw_network *network,
                                  uint64_t now)
{
    uint64_t hash = cw_hash(account), net = narrowest(network);
    pthread_mutex_lock(&v->lock);
    known_network *e = find_network(v, hash, net);
    if (!e) {
        known_network *set = network_set(v, hash, net);
        e = set;
        for (unsigned i = 1; i < WAYS; i++) {
            if (set[i].used < e->used)
                e = &set[i];
        }
    }
    *e = (known_network){.account = hash, .network = net, .at = now, .used = ++v->tick};
    pthread_mutex_unlock(&v->lock);
}

bool cw_recent_logins_has_network(cw_recent_logins *v, cw_str account, const cw_network *network,
                                  uint64_t now)
{
    pthread_mutex_lock(&v->lock);
    known_network *e = find_network(v, cw_hash(account), narrowest(network));
    bool is_known = e && now - e->at < CW_RECENT_LOGINS_NETWORK_MS;
    if (is_known)
        e->used = ++v->tick;
    pthread_mutex_unlock(&v->lock);
    return is_known;
}
