/* SPDX-License-Identifier: GPL-2.0-or-later */
/* limits.h - every ceiling that a caller from outside can meet, with its default.
 *
 * Config may move those that have a key (docs/configuration.md); the others are
 * fixed here. Each has a test that reaches it.
 */
#ifndef CW_BASE_LIMITS_H
#define CW_BASE_LIMITS_H

/* Buffers and arenas whose parts have ceilings of their own: far above the sum of those */
#define CW_BUF_MAX (1024u * 1024u * 1024u)
#define CW_ARENA_MAX (2u * CW_BUF_MAX)

/* JSON (reader options) */
#define CW_JSON_MAX_DEPTH 64u
#define CW_JSON_MAX_BYTES (64u * 1024u * 1024u)
#define CW_JSON_MAX_MEMBERS 10000u /* of one object */

/* JSON Schema (cw_schema_opts) */
#define CW_SCHEMA_MAX_BYTES (1024u * 1024u) /* of one document */
#define CW_SCHEMA_MAX_DEPTH 64u             /* subschemas inside each other */
#define CW_SCHEMA_MAX_SUBSCHEMAS 10000u
#define CW_SCHEMA_MAX_PATTERN_BYTES (16u * 1024u * 1024u) /* of the compiled patterns of a schema */
#define CW_SCHEMA_MAX_REFS 64u        /* references that lead straight to references */
#define CW_SCHEMA_MAX_RECURSION 2000u /* subschemas being evaluated inside each other */
#define CW_SCHEMA_MAX_STEPS 10000000u
#define CW_SCHEMA_STEPS_PER_MS 100000u /* of CPU, about */
#define CW_SCHEMA_PROBLEM_BYTES (24u * 1024u)
#define CW_SCHEMA_MAX_PROBLEMS 1000u

/* Metrics (metrics.* in config) */
#define CW_METRICS_MAX_TOOLS 200u                  /* that have series of their own */
#define CW_METRICS_MAX_BYTES (16u * 1024u * 1024u) /* of one scrape */
#define CW_METRICS_MAX_SCRAPES 4u                  /* at once; 503 beyond */

/* HTTP server (limits.* in config) */
#define CW_HTTP_MAX_TARGET 8192u
#define CW_HTTP_MAX_HEAD 16384u
#define CW_HTTP_MAX_FIELDS 100u
#define CW_HTTP_MAX_BODY (4u * 1024u * 1024u)
#define CW_HTTP_MAX_BODY_MEMORY (256u * 1024u * 1024u) /* of all requests together */
/* A body that is too long is read on, for the id in it: bytes beyond the maximum, and milliseconds */
#define CW_HTTP_MAX_SKIPPED (16u * 1024u * 1024u)
#define CW_HTTP_SKIP_MS 10000u
#define CW_HTTP_MAX_PIPELINED 1000u
#define CW_HTTP_MAX_CONNECTIONS 16384u
#define CW_HTTP_MAX_PER_ADDRESS 512u /* not for loopback and unix peers unless configured */
#define CW_HTTP_MAX_STREAM_QUEUE (256u * 1024u)
#define CW_HTTP_MAX_UNSENT (128u * 1024u) /* of a connection in the kernel, not yet on the wire */
#define CW_HTTP_MAX_WRITE (64u * 1024u)   /* of a connection in one turn of its loop */

/* HTTP server (timeouts.* in config), milliseconds */
#define CW_HTTP_HEADER_MS 10000u
#define CW_HTTP_BODY_MS 10000u
#define CW_HTTP_IDLE_MS 75000u
#define CW_HTTP_WRITE_MS 30000u
#define CW_HTTP_DRAIN_MS 30000u
#define CW_HTTP_LINGER_MS 5000u
#define CW_UPGRADE_MS 60000u   /* until a new process has taken over */
#define CW_HTTP_PING_MS 15000u /* comment on a silent SSE stream */
#define CW_HTTP_MIN_RATE 500u  /* bytes per second a body must average per window */

/* Calls (limits.* in config) */
#define CW_CALL_MAX_RUNNING 10000u /* of all loops together */
#define CW_CALL_MAX_BATCH 100u
#define CW_CALL_MAX_REPEATED 200u /* bytes of a request's text in an error */
/* Work to validate one request, one batch or one result: about 50 ms of CPU */
#define CW_CALL_MAX_STEPS (50u * CW_SCHEMA_STEPS_PER_MS)
#define CW_CALL_MAX_DETACHED 1024u /* running without a waiting client, of all loops */
#define CW_CALL_MAX_DETACHED_PER_CALLER 256u
#define CW_CALL_MAX_ANSWER (16u * 1024u * 1024u)
#define CW_PAGE_CACHE_MAX_BYTES (32u * 1024u * 1024u) /* of lists and descriptions, per loop */
#define CW_PAGE_SIZE 50u
#define CW_PAGE_SIZE_MAX 1000u
#define CW_PUBLIC_URL_MAX 512u
#define CW_TRANSLATIONS_MAX_BYTES (64u * 1024u * 1024u) /* of all files together */
#define CW_TRANSLATIONS_MAX_FILES 1000u

/* The audit (audit.* in config) */
#define CW_AUDIT_ROTATE_BYTES (64u * 1024u * 1024u)
#define CW_AUDIT_FILES 10u
#define CW_AUDIT_QUEUE (4u * 1024u * 1024u)
#define CW_AUDIT_ARGUMENTS (16u * 1024u)

/* Plugins (plugins.* in config) */
#define CW_PLUGIN_MAX_WORKERS 4u  /* of one plugin, per loop */
#define CW_PLUGIN_MAX_QUEUE 1000u /* calls that wait, likewise */
#define CW_PLUGIN_CALL_MS 30000u
#define CW_PLUGIN_GRACE_MS 1000u
#define CW_PLUGIN_LOAD_MS 10000u
#define CW_PLUGIN_IDLE_MS 60000u
#define CW_PLUGIN_MAX_MEMORY (512u * 1024u * 1024u)
#define CW_PLUGIN_MAX_FILES 64u
/* The SDK has these two as well (causeway/mcp.h); the host includes both, so they cannot part. */
#define CW_PLUGIN_MAX_STATE 16384
#define CW_RESOURCE_MAX_URI 8192 /* bytes of an address that is announced or matched */

/* Remote sources (sources[].* in config) */
#define CW_TOKENS_REMEMBERED 10000u /* verified ones of issuers, per loop */
/* Programs of sources (sources[].confine in config) */
#define CW_PROGRAM_MAX_MEMORY ((size_t)4 << 30) /* data of one process */
#define CW_PROGRAM_MAX_FILES 4096u

#define CW_REMOTE_CALL_MS 30000u
#define CW_REMOTE_CONNECT_MS 5000u
#define CW_REMOTE_MAX_CONNECTIONS 64u /* per loop */
#define CW_REMOTE_MAX_QUEUE 1024u     /* calls that wait, likewise */
#define CW_REMOTE_RETRIES 1u
#define CW_JOB_INTERVAL_MS 1000u
#define CW_JOB_MIN_INTERVAL_MS 100u
#define CW_REMOTE_REFRESH_MS (10u * 60u * 1000u)

/* Skills (sources[].skills in config). The first two are those that every host accepts. */
#define CW_SKILL_MAX_FILES 512u
#define CW_SKILL_MAX_BYTES (16u * 1024u * 1024u)
#define CW_SKILL_MAX_DIRECTORIES 256u
#define CW_SKILL_MAX_DEPTH 16u /* directories inside each other */
#define CW_SKILL_MAX_PATH 1024u
#define CW_SKILL_MAX_FRONTMATTER (64u * 1024u)
#define CW_SKILL_MAX_DESCRIPTION 4096u
#define CW_SKILLS_MAX 256u /* of one source */
#define CW_SKILLS_MAX_BYTES (64u * 1024u * 1024u)

/* Events (sources[].events, mcp.events in config) */
#define CW_EVENT_MAX_TYPES 1000u            /* of one source */
#define CW_EVENT_MAX_BYTES (64u * 1024u)    /* of the data of one event */
#define CW_EVENT_MAX_ID 256u                /* bytes of an id of the source */
#define CW_EVENT_KEPT_BYTES (1024u * 1024u) /* of the kept events of one type */
#define CW_EVENT_KEEP 200u                  /* events of one type */
#define CW_EVENT_MAX_KEPT 10000u
#define CW_EVENT_KEEP_MS (3600u * 1000u)
#define CW_EVENT_PER_MINUTE 600u /* of one type */
#define CW_EVENT_MAX_PER_MINUTE 600000u
#define CW_EVENT_UPDATE_MS 1000u      /* between two updates of a resource of events */
#define CW_EVENT_BATCH 100u           /* events of one answer */
#define CW_EVENT_ANSWER (48u * 1024u) /* bytes of data of one answer */
#define CW_EVENT_MAX_WAIT_S 30u       /* of the tool that waits for events */
#define CW_EVENT_MAX_WAITERS 1000u    /* calls of that tool that wait, on one loop */

/* Streams of the events extension, and webhooks (mcp.events in config) */
#define CW_EVENT_HEARTBEAT_MS 15000u
#define CW_EVENT_POLL_MS 1000u /* how often clients are asked to poll */
#define CW_WEBHOOK_TTL_MS (24u * 3600u * 1000u)
#define CW_WEBHOOK_MAX 1000u
#define CW_WEBHOOK_MAX_PER_CALLER 100u
#define CW_WEBHOOK_CEILING 100000u
#define CW_WEBHOOK_MAX_BODY (256u * 1024u)
#define CW_WEBHOOK_TIMEOUT_MS 10000u
#define CW_WEBHOOK_RUNNING 32u /* deliveries at the same time */
#define CW_WEBHOOK_RUNNING_PER_CALLER 4u

/* Views of tools (sources[].methods[].ui_file in config) */
#define CW_UI_MAX_BYTES (1024u * 1024u)
#define CW_UI_MAX_ORIGINS 32u /* of one list */

/* Configuration files */
#define CW_CONFIG_MAX_BYTES (1024u * 1024u)
#define CW_CONFIG_MAX_DEPTH 32u

/* Tokens of issuers (access.issuers in config) */
#define CW_TOKEN_LEEWAY_MS 60000u

/* Sessions of browsers (access.login in config) */
#define CW_LOGIN_IDLE_MS (30u * 60u * 1000u)
#define CW_LOGIN_LIFETIME_MS (12u * 3600u * 1000u)
#define CW_LOGIN_SESSIONS 20u
/* Host name of the console, unless the configuration has another: browsers resolve it to loopback. */
#define CW_CONSOLE_HOST "console.localhost"

/* MCP clients. */
#define CW_MCP_SESSION_MS (24u * 3600u * 1000u)
#define CW_MCP_ELICIT_MS (5u * 60u * 1000u)
#define CW_MCP_PAGE_SIZE 1000u
#define CW_MCP_RESULT_SIZE (64u * 1024u) /* of tools of services; larger ones are cut */
#define CW_MCP_KEPT_MS (10u * 60u * 1000u)
#define CW_MCP_KEPT_BYTES (64u * 1024u * 1024u) /* of large results, of all callers together */
#define CW_MCP_KEPT_CALLER_BYTES (16u * 1024u * 1024u)
/* Tasks of MCP clients (mcp.tasks in config) */
#define CW_TASK_GRACE_MS 10000u
#define CW_TASK_TTL_MS (3600u * 1000u)
#define CW_TASK_POLL_MS 1000u
#define CW_TASK_MAX 10000u
#define CW_TASK_MAX_PER_CALLER 1000u
#define CW_TASK_CEILING 1000000u
#define CW_TASK_BYTES (256u * 1024u * 1024u)
#define CW_TASK_CALLER_BYTES (64u * 1024u * 1024u)

#define CW_MCP_PAGE_SIZE_MAX 10000u
#define CW_MCP_MAX_STREAMS 10000u /* that are told of changes, of all loops together */
#define CW_CONSOLE_STREAMS 64u    /* of these, that get calls */

#endif
