/* SPDX-License-Identifier: GPL-2.0-or-later */
/* node.h - the identity of this process among the servers that share a database.
 *
 * A process draws its id when it is first asked for. A new process of the same server has another one.
 *
 * Threads: any.
 */
#ifndef CW_BASE_NODE_H
#define CW_BASE_NODE_H

#define CW_NODE_TEXT 17u

/* 8 random bytes as hexadecimal digits. */
const char *cw_node_text(void);

#endif
