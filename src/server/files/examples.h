/* SPDX-License-Identifier: GPL-2.0-or-later */
/* examples.h - the configuration of `serve` without a configuration file: the example plugins.
 *
 * Every caller that reaches the server may use them. The default of `listen` is loopback, so these are
 * callers on this machine. Configuration files do not get these defaults.
 *
 * Threads: main thread only.
 */
#ifndef CW_SERVER_FILES_EXAMPLES_H
#define CW_SERVER_FILES_EXAMPLES_H

#include "base/buf.h"
#include "config/config.h"
#include "net/addr/listener.h"

/* Append the configuration, for cw_config_source.text. It has no plugins if the examples or their host
 * program are neither in the build tree nor installed. Installed ones store their files in the data
 * directory of the user, which is created. */
CW_MUST_USE cw_code cw_examples_config(cw_buf *out, cw_err *err);
/* Append commands to try with a server at this address, and the address of the console if it has a
 * host. Nothing for a unix socket. */
void cw_examples_print_hints(const cw_listener *listener, cw_str console_host, cw_buf *out);
/* Log the permissions and plugins of this configuration. */
void cw_examples_announce(const cw_config *config);

#endif
