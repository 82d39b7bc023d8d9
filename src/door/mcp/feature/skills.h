/* SPDX-License-Identifier: GPL-2.0-or-later */
/* skills.h - skills for MCP clients: the extension io.modelcontextprotocol/skills (SEP-2640).
 *
 * skills/list and skills/get show the skills of the sources that the caller sees something of
 * (catalogue/skills.h); their files are resources, which resources/read returns byte by byte. A skill
 * that the caller does not see is answered like an unknown one.
 *
 * Threads: the loop of the request.
 * Limits:  mcp.page_size skills on a page, and about CW_MCP_SKILLS_PAGE bytes of them.
 */
#ifndef CW_DOOR_MCP_FEATURE_SKILLS_H
#define CW_DOOR_MCP_FEATURE_SKILLS_H

#include "catalogue/skills.h"
#include "door/mcp/mcp_int.h"

#define CW_MCP_SKILLS CW_MCP_META("skills") /* the extension */
#define CW_MCP_SKILLS_PAGE (1024u * 1024u)

void cw_mcp_list_skills(const cw_mcp_request *r);
void cw_mcp_get_skill(const cw_mcp_request *r);
void cw_mcp_read_directory(const cw_mcp_request *r);
/* Answer resources/read of a file of a skill. False: it is none that the caller sees. */
bool cw_mcp_read_skill_file(const cw_mcp_request *r, cw_str uri);

#endif
