/* SPDX-License-Identifier: GPL-2.0-or-later */
/* seal_fixture.h - a seal with a known key, and rotations of its keys without a database. */
#ifndef CW_TESTS_SEAL_FIXTURE_H
#define CW_TESTS_SEAL_FIXTURE_H

#include "access/seal.h"

/* A seal whose one key is made of a secret. */
void seal_fixture_init(cw_seal *seal, cw_str secret);
/* A new key seals from now on; the two before it open. End the seal with cw_seal_done. */
void seal_fixture_rotate(cw_seal *seal);

#endif
