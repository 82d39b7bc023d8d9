/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session_limits.c - the keys that limit browser sessions. */
#include "config/session_limits.h"

cw_config_session_limits cw_config_sessions(const cw_config *config)
{
    if (config->console.enabled)
        return (cw_config_session_limits){config->console.idle_ms, config->console.lifetime_ms,
                                          config->console.confirm_ms};
    return (cw_config_session_limits){config->access.login.idle_ms,
                                      config->access.login.lifetime_ms,
                                      config->admin.recent_login_ms};
}
