/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_toolset.h - the part of a configuration that is about toolsets.
 *
 * Ownership and threads: as config.h, which includes this, says.
 */
#ifndef CW_CONFIG_CONFIG_TOOLSET_H
#define CW_CONFIG_CONFIG_TOOLSET_H

#include "config/config_remote.h"

/* How much of a tool lists have. */
typedef enum cw_config_detail {
    CW_CONFIG_DETAIL_DEFAULT, /* not set here */
    CW_CONFIG_DETAIL_FULL,
    CW_CONFIG_DETAIL_LEAN, /* no output schemas; first sentences; signatures */
} cw_config_detail;

/* A part of the catalogue with an address of its own. What matches `sources`, `tools` or `tags`
 * belongs to it, or everything where none of them is set, but nothing that matches `exclude`. */
typedef struct cw_config_toolset {
    cw_str name; /* [a-z0-9_-]+ */
    cw_str title;
    cw_str instructions;       /* empty: made from the sources */
    cw_config_strings sources; /* names */
    cw_config_strings tools;   /* patterns for names of tools and ids of methods */
    cw_config_strings tags;
    cw_config_strings exclude; /* patterns, as `tools` */
    bool read_only;            /* no tools but those that change nothing */
    cw_config_detail output_schemas, descriptions, input_schemas;
    bool is_search; /* its list has a search in place of its tools */
} cw_config_toolset;

/* Large results that are kept for their callers (door/mcp/feature/kept_results.h). */
typedef struct cw_config_kept_results {
    uint32_t ttl_ms;       /* 0: none is kept */
    size_t max_size;       /* of all callers together */
    size_t max_per_caller; /* of an account, or of one network of anonymous callers */
} cw_config_kept_results;

/* Tasks of MCP clients (task/tasks.h). */
typedef struct cw_config_tasks {
    bool enabled;
    bool legacy;       /* also those of protocol version 2025-11-25 */
    uint32_t grace_ms; /* a call that takes longer becomes one */
    uint32_t ttl_ms;   /* from its creation on */
    uint32_t poll_ms;  /* between two readings of a client */
    uint32_t max, max_per_caller;
    size_t max_size, max_size_per_caller; /* bytes */
} cw_config_tasks;

/* The events extension. */
typedef struct cw_config_mcp_events {
    bool enabled;
    cw_config_strings webhooks; /* hosts that may receive events; none: no webhooks */
    bool allow_private;         /* their addresses may be private */
    cw_str ca_file;             /* trusted by deliveries; empty: those of the system */
    uint32_t webhook_ttl_ms;
    uint32_t max_webhooks, max_webhooks_per_caller;
} cw_config_mcp_events;

typedef struct cw_config_toolsets {
    const cw_config_toolset *items;
    size_t n;
} cw_config_toolsets;

#endif
