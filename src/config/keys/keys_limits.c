/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keys_limits.c - the tables of rates, of limits for single tools and sources, and of the audit. */
#include "base/limits.h"
#include "config/keys/rows.h"

#define MAX_CALLS 1000000u
#define MAX_POINTERS 100u
#define MAX_FILES 1000u
#define KB 1024u
#define MB (1024u * KB)
#define GB (1024u * MB)
#define POINTER_PATTERN "^(/([^~/]|~[01])*)+$"

#define FIELD(field) CW_KEY_AT(cw_config, field)

const cw_config_limited cw_config_default_limited = {.name = CW_STR_INIT("")};

/* RFC 6901, not the whole document. */
static bool is_pointer(cw_str text)
{
    if (text.n == 0 || text.p[0] != '/')
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '~' && (++i == text.n || (text.p[i] != '0' && text.p[i] != '1')))
            return false;
    }
    return true;
}

const cw_key cw_rates_keys[] = {
    {"global", &cw_type_rate, "Calls of all callers together", FIELD(limits.rates.global)},
    {"address", &cw_type_rate, "Calls from one address; for IPv6, from one network (/64)",
     FIELD(limits.rates.address)},
    {"caller", &cw_type_rate, "Calls of one authenticated caller, with any credentials",
     FIELD(limits.rates.caller)},
    {"tool", &cw_type_rate, "Calls of one tool or method", FIELD(limits.rates.tool)},
    {"lists", &cw_type_rate,
     "Lists and descriptions that one caller requests; for anonymous callers, one network (/64)",
     FIELD(limits.rates.lists)},
    {0},
};

const cw_key cw_limited_tool_keys[] = {
    {"name", &cw_type_text, "Name of the tool or method", CW_KEY_AT(cw_config_limited, name),
     .is_required = true, .is_valid = cw_check_is_clean,
     .expected = "the name of a tool such as \"user.get\"", .pattern = CW_NAMES_CLEAN_PATTERN},
    {"rate", &cw_type_rate, "Rate of its calls; null is limits.rates.tool",
     CW_KEY_AT(cw_config_limited, rate)},
    {"calls", &cw_type_integer, "Its calls running at once; 0 is limits.calls_per_tool",
     CW_KEY_AT(cw_config_limited, calls), .min = 0, .max = MAX_CALLS},
    {0},
};

const cw_key cw_limited_source_keys[] = {
    {"name", &cw_type_text, "Name of the plugin, or of the entry in sources",
     CW_KEY_AT(cw_config_limited, name), .is_required = true, .is_valid = cw_check_is_clean,
     .expected = "the name of a source such as \"billing\"", .pattern = CW_NAMES_CLEAN_PATTERN},
    {"calls", &cw_type_integer, "Its calls running at once; 0 is limits.calls_per_source",
     CW_KEY_AT(cw_config_limited, calls), .min = 0, .max = MAX_CALLS},
    {0},
};

const cw_key cw_audit_keys[] = {
    {"path", &cw_type_path,
     "File for records of calls, refusals, logins and changes; null: no audit", FIELD(audit.path)},
    {"rotate_size", &cw_type_size, "Size at which the file is rotated; 0 is never",
     FIELD(audit.rotate_size), .min = 0, .max = UINT64_C(1024) * GB},
    {"rotate_age", &cw_type_duration, "Age at which the file is rotated; 0 is never",
     FIELD(audit.rotate_ms), .min = 0, .max = UINT64_C(45) * CW_KEY_DAY_MS},
    {"files", &cw_type_integer, "Number of rotated files to keep", FIELD(audit.files), .min = 1,
     .max = MAX_FILES},
    {"queue", &cw_type_size, "Records of calls that wait to be written", FIELD(audit.queue),
     .needs_restart = true, .min = 64u * KB, .max = GB},
    {"arguments", &cw_type_bool, "Record the arguments of calls, not only their hash",
     FIELD(audit.arguments)},
    {"arguments_size", &cw_type_size, "Maximum size of recorded arguments",
     FIELD(audit.arguments_size), .min = 64, .max = MB},
    {"redact", &cw_type_strings, "Arguments that are not recorded; * matches any member",
     FIELD(audit.redact), .max = MAX_POINTERS, .is_valid = is_pointer,
     .expected = "a JSON pointer such as \"/password\"", .pattern = POINTER_PATTERN},
    {0},
};
