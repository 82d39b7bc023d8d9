/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cost.h - the tokens that lists of tools cost: by tool, source and toolset, with warnings.
 *
 * Tokens are an estimate: the bytes of a tool in a list for MCP clients, divided by 4.
 *
 * Threads: main thread only.
 */
#ifndef CW_CLI_TOOL_COST_H
#define CW_CLI_TOOL_COST_H

#include "catalogue/method.h"
#include "json/json.h"

/* Print the cost of `n` tools: items of causeway.tools.list with the member `cost`. Returns the exit
 * code. */
int cw_tools_print_cost(const cw_json *const *tools, size_t n, bool json);

/* The tokens that a method would cost as a tool, from its texts and schemas. */
size_t cw_tools_estimate(const cw_method *m);
/* Why so many tools are too many for one address; NULL: they are not. Static. */
const char *cw_tools_count_problem(size_t n);

#endif
