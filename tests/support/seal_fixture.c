/* SPDX-License-Identifier: GPL-2.0-or-later */
/* seal_fixture.c - new keys in front of old ones. */
#include "support/seal_fixture.h"

#include <sodium.h>

#include "support/test.h"

#define OPEN 3u

void seal_fixture_init(cw_seal *seal, cw_str secret)
{
    seal->first = (cw_seal_ring){.n = 1, .keys = {cw_seal_make_key(secret)}};
    atomic_init(&seal->ring, NULL);
}

void seal_fixture_rotate(cw_seal *seal)
{
    size_t n;
    const cw_seal_key *old = cw_seal_get_keys(seal, &n);
    cw_seal_key keys[OPEN] = {{.seals_from = 0}};
    randombytes_buf(keys[0].bytes, CW_SEAL_KEY);
    n = n < OPEN - 1 ? n : OPEN - 1;
    memcpy(keys + 1, old, n * sizeof *keys);
    assert_int_equal(cw_seal_set_keys(seal, keys, n + 1, NULL), CW_OK);
}
