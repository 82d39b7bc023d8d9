/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keys_events.c - the tables of events: of services, of plugins, and of the extension. */
#include <string.h>

#include "base/ascii.h"
#include "base/limits.h"
#include "config/keys/rows.h"

#define MAX_ARGUMENTS 16u
#define MAX_NAME 64u
#define NONE CW_STR_INIT("")

const cw_config_event cw_config_default_event = {
    .name = NONE,
    .method = NONE,
    .description = NONE,
    .data = NONE,
    .id = NONE,
    .time = NONE,
    .schema = NONE,
    .subscribe = {.method = NONE, .params = NONE},
    .keep = CW_EVENT_KEEP,
    .keep_ms = CW_EVENT_KEEP_MS,
    .per_minute = CW_EVENT_PER_MINUTE,
    .level = CW_CONFIG_AUTH_UNSET,
};

/* The same characters as in the pattern. They need no encoding in a URI but the wildcards, which are in
 * none. */
bool cw_config_is_event_name(cw_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        if (!cw_is_alnum(name.p[i]) && !strchr("_.*?-", name.p[i]))
            return false;
    }
    return name.n > 0 && name.n <= MAX_NAME;
}

#define EVENT(field) CW_KEY_AT(cw_config_event, field)
#define POINTER CW_KEY_POINTER("/params/gid")
#define METHOD CW_KEY_CLEAN("the name of a method such as \"job.done\"")

static const cw_key argument_value = {.type = &cw_type_text, POINTER};

static const cw_key subscribe_keys[] = {
    {"method", &cw_type_text, "Method to call on each new connection; null is none",
     EVENT(subscribe.method), METHOD},
    {"params", &cw_type_json, "Its params; null is none", EVENT(subscribe.params)},
    {0},
};

/* Keys of events of services and of plugins. */
#define COMMON_KEYS                                                                                \
    {"description", &cw_type_text, "Its description; null is that of the preset",                  \
     EVENT(description), CW_KEY_PROSE},                                                            \
        {"schema", &cw_type_mapping, "JSON Schema of the data; null accepts any value",            \
         EVENT(schema)},                                                                           \
        {"arguments",                                                                              \
         &cw_type_pairs,                                                                           \
         "Filters of subscribers: a mapping of names to JSON pointers into the data",              \
         EVENT(arguments),                                                                         \
         .max = MAX_ARGUMENTS,                                                                     \
         .children = &argument_value,                                                              \
         .is_valid = cw_config_is_event_name,                                                      \
         .expected = "a name such as \"gid\"",                                                     \
         .pattern = CW_EVENT_NAME_PATTERN},                                                        \
        {"keep",      &cw_type_integer, "Kept events; older ones are dropped",                     \
         EVENT(keep), .min = 1,         .max = CW_EVENT_MAX_KEPT},                                 \
        {"keep_time",    &cw_type_duration, "How long events are kept",                            \
         EVENT(keep_ms), .min = 1000,       .max = 7 * (uint64_t)CW_KEY_DAY_MS},                   \
        {"per_minute",      &cw_type_integer, "Events a minute; further ones are dropped",         \
         EVENT(per_minute), .min = 1,         .max = CW_EVENT_MAX_PER_MINUTE},                     \
        {"visibility", &cw_type_enum,                                                              \
         "Whether callers without its scopes see it, and get a challenge, or do not see it",       \
         EVENT(hidden_unless_met), .choices = cw_config_visibilities},                             \
        {"permissions",                                                                            \
         &cw_type_strings,                                                                         \
         "Permissions that a caller needs; without permissions, scopes and auth_level: those of "  \
         "the read-only tools of the source",                                                      \
         EVENT(permissions),                                                                       \
         .max = CW_KEY_MAX_NAMES,                                                                  \
         CW_KEY_PERMISSION},                                                                       \
        {"scopes",      &cw_type_strings,        "Scopes that a caller needs",                     \
         EVENT(scopes), .max = CW_KEY_MAX_NAMES, CW_KEY_SCOPE},                                    \
    {                                                                                              \
        "auth_level", &cw_type_option,                                                             \
            "Whether a caller must log in and have the scopes; null: if there are scopes",         \
            EVENT(level), .choices = cw_config_auth_levels                                         \
    }

const cw_key cw_event_keys[] = {
    {"method", &cw_type_text, "The notification; null is that of the preset, or the name",
     EVENT(method), METHOD},
    {"data", &cw_type_text,
     "The part of the message that clients receive; null is that of the preset, or its params",
     EVENT(data), POINTER},
    {"id", &cw_type_text,
     "A part of the message that is equal in repetitions, which are dropped; null: no repetitions",
     EVENT(id), POINTER},
    {"time", &cw_type_text,
     "A part of the message with a time: seconds or milliseconds since 1970; null is the time of "
     "arrival",
     EVENT(time), POINTER},
    {"subscribe", &cw_type_section, .children = subscribe_keys,
     .item_defaults = &cw_config_default_event, .help = "A call that makes the service send it"},
    COMMON_KEYS,
    {0},
};

const cw_key cw_plugin_event_keys[] = {
    COMMON_KEYS,
    {0},
};

/* ---- the events extension ---- */

#define FIELD(field) CW_KEY_AT(cw_config, field)

const cw_key cw_mcp_event_keys[] = {
    {"enabled", &cw_type_bool, "Offer events to clients that support them: events/list and others",
     FIELD(mcp.events.enabled)},
    {"webhooks", &cw_type_strings, "Hosts to which events may be delivered; [] is none",
     FIELD(mcp.events.webhooks), .max = CW_KEY_MAX_NAMES, .is_valid = cw_names_is_host,
     .expected = "a host such as \"hooks.example.org\" or \"*.example.org\"",
     .pattern = CW_NAMES_CLEAN_PATTERN},
    {"webhook_allow_private", &cw_type_bool,
     "Allow private and loopback addresses of these hosts, and http:// for them",
     FIELD(mcp.events.allow_private)},
    {"webhook_ca_file", &cw_type_path,
     "PEM file with the CA certificates that deliveries trust; null: those of the system",
     FIELD(mcp.events.ca_file)},
    {"webhook_ttl", &cw_type_duration, "Maximum time until a client must refresh a subscription",
     FIELD(mcp.events.webhook_ttl_ms), .min = 1000, .max = 30 * (uint64_t)CW_KEY_DAY_MS},
    {"max_webhooks", &cw_type_integer, "Subscriptions of all callers together",
     FIELD(mcp.events.max_webhooks), .min = 1, .max = CW_WEBHOOK_CEILING},
    {"max_webhooks_per_caller", &cw_type_integer, "Subscriptions of one account",
     FIELD(mcp.events.max_webhooks_per_caller), .min = 1, .max = CW_WEBHOOK_CEILING},
    {0},
};
