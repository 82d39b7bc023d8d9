/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session_limits.h - how long browser sessions last.
 *
 * A server with a console has sessions under the console's host name only, so that its keys count:
 *
 *     with a console       console.session.idle, .lifetime, .confirm
 *     without one          access.login.idle, access.login.lifetime, admin.recent_login
 *
 * Threads: any.
 */
#ifndef CW_CONFIG_SESSION_LIMITS_H
#define CW_CONFIG_SESSION_LIMITS_H

#include "config/config.h"

typedef struct cw_config_session_limits {
    uint32_t idle_ms;     /* without activity */
    uint32_t lifetime_ms; /* since the login */
    uint32_t confirm_ms;  /* since the login; changes of access then need a new one */
} cw_config_session_limits;

cw_config_session_limits cw_config_sessions(const cw_config *config);

#endif
