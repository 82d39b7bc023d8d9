/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_files.h - the files that a configuration names: whether they can be used.
 *
 * Each problem is a line "FILE:LINE:COLUMN: KEY: what is wrong; what to do". Nothing is made or
 * changed, except by cw_cli_try_store.
 *
 * Threads: main thread, before any loop starts; the checks of TLS also at a reload.
 */
#ifndef CW_CLI_LIB_CONFIG_FILES_H
#define CW_CLI_LIB_CONFIG_FILES_H

#include "config/config.h"

/* `file` is the configuration's own, or NULL. All of these add to `problems` and return CW_OK, or
 * CW_NOMEM. */

/* Everything: certificates, keys, secrets, overlays, schemas, descriptions, directories, the
 * database, logs. No service is contacted. `warnings` receives what may be right later: directories
 * of services, sources of toolsets that are not there, and parts of a description that cannot be
 * used. */
CW_MUST_USE cw_code cw_cli_check_files(const char *file, const cw_config *config,
                                       cw_config_problems *problems, cw_config_problems *warnings);
/* Risky but valid settings: permissions of anonymous callers on an address that other machines can
 * reach, and packages without a version. */
CW_MUST_USE cw_code cw_cli_check_risks(const char *file, const cw_config *config,
                                       cw_config_problems *warnings);
/* The same for the files that entries of `sources` name, with their schemas. */
CW_MUST_USE cw_code cw_cli_check_source_files(const char *file, const cw_config *config,
                                              cw_config_problems *problems,
                                              cw_config_problems *warnings);
/* The schemas of plugins.events. */
CW_MUST_USE cw_code cw_cli_check_plugin_events(const char *file, const cw_config *config,
                                               cw_config_problems *problems);
/* admin.socket: the length of its path, and whether the socket can be made. */
CW_MUST_USE cw_code cw_cli_check_socket(const char *file, const cw_config *config,
                                        cw_config_problems *problems, cw_config_problems *warnings);
/* The first address of `listen` that other machines can reach; NULL: none. */
const char *cw_cli_exposed_address(const cw_config *config);
/* tls.certificate and tls.key. */
CW_MUST_USE cw_code cw_cli_check_tls(const char *file, const cw_config *config,
                                     cw_config_problems *problems);

/* Open the database of store.path as a server does, and make it where there is none. A database
 * that another process has locked is no problem: it will be free again. Returns -1 when it can be
 * used or there is no store.path, else reports why not and returns the exit code. */
int cw_cli_try_store(const char *file, const cw_config *config, cw_config_problems *problems);
/* The same for tls.certificate and tls.key. */
int cw_cli_try_tls(const char *file, const cw_config *config, cw_config_problems *problems);

#endif
