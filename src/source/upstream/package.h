/* SPDX-License-Identifier: GPL-2.0-or-later */
/* package.h - programs that download a package when they start (npx, uvx, bunx, pnpm dlx …).
 *
 *     npx -y @scope/server           runs the version that was published last
 *     npx -y @scope/server@1.2.3     runs one version
 *
 * Threads: any.
 */
#ifndef CW_SOURCE_UPSTREAM_PACKAGE_H
#define CW_SOURCE_UPSTREAM_PACKAGE_H

#include "config/config_remote.h"

/* The package without a fixed version that a command runs; empty: none. Points into the
 * command. */
cw_str cw_package_unpinned(const cw_config_strings *command);

#endif
