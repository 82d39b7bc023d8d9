/* SPDX-License-Identifier: GPL-2.0-or-later */
/* database.c - how the database of a configuration is opened. */
#include "server/options/database.h"

cw_db_opts cw_database_opts(const cw_config *config, uint32_t busy_ms)
{
    return (cw_db_opts){.where = cw_config_store(config).p,
                        .busy_ms = busy_ms,
                        .timeout_ms = config->store.timeout_ms,
                        .password_file = config->store.password_file.p,
                        .allow_insecure = config->store.allow_insecure};
}
