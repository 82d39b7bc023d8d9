/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_sources.h - what an entry of `sources` names: secrets, certificates, overlays, schemas.
 *
 * Threads: main thread, before any loop starts.
 */
#ifndef CW_CLI_LIB_CONFIG_SOURCES_H
#define CW_CLI_LIB_CONFIG_SOURCES_H

#include "config/config.h"

/* Open what the entries of `sources` name and add what is wrong to `problems`; services are not
 * asked. CW_NOMEM. */
CW_MUST_USE cw_code cw_cli_check_source_files(const char *file, const cw_config *config,
                                              cw_config_problems *problems);

#endif
