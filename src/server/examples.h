/* SPDX-License-Identifier: GPL-2.0-or-later */
/* examples.h - what `serve` does when nobody has configured anything: it shows the example plugins.
 *
 * They are open to everybody who reaches the server, which is this machine: the
 * default of `listen` is loopback. Nothing here is a default of configuration files:
 * whoever has one opens what it says and nothing else.
 */
#ifndef CW_SERVER_EXAMPLES_H
#define CW_SERVER_EXAMPLES_H

#include "base/buf.h"
#include "config/config.h"
#include "net/addr/listener.h"

/* Append the configuration, for cw_config_source.text. Where the example plugins, or the program
 * that runs them, are neither in the build tree nor installed, it has none. Installed ones keep
 * their content in the user's folder for such things, which is made. */
CW_MUST_USE cw_code cw_examples_config(cw_buf *out, cw_err *err);
/* Append what to try with a server that listens there: lines to paste. Nothing for a unix socket.
 */
void cw_examples_print_hints(const cw_listener *listener, cw_buf *out);
/* Log what it opens, one line each. */
void cw_examples_announce(const cw_config *config);

#endif
