/* SPDX-License-Identifier: GPL-2.0-or-later */
/* routes.h - what the test server answers; the list is on top of testserver.c. */
#ifndef CW_TESTS_INTEGRATION_ROUTES_H
#define CW_TESTS_INTEGRATION_ROUTES_H

#include "net/server/router.h"

CW_MUST_USE cw_code test_routes_add(cw_router *router);

#endif
