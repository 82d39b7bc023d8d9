/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keys.h - the one table of configuration keys.
 *
 * Reading and checking a file, `config show` and the JSON Schema all walk this
 * table, so a key that is added to it is known to all three. A key names its
 * type, and a type is four functions; its default is its field in
 * cw_config_defaults.
 *
 * To add a key: a field in cw_config, its default in cw_config_defaults, a row in
 * the table (all in keys.c but the field), a paragraph in docs/configuration.md.
 *
 * The table knows values (cw_json), not YAML: the schema engine can take over
 * the checking without touching the reader.
 *
 * Threads: constant.
 */
#ifndef CW_CONFIG_KEYS_KEYS_H
#define CW_CONFIG_KEYS_KEYS_H

#include "config/syntax/check.h"
#include "json/write.h"

typedef struct cw_key cw_key;

typedef struct cw_choice {
    const char *name; /* NULL ends the list */
    int value;
} cw_choice;

typedef struct cw_key_type {
    const char *name; /* what a value is: "a duration" */
    /* Check `v` and store it in `field`. A mistake is reported to the checker and leaves the field
     * as it was; the code is CW_OK all the same (config/syntax/check.h). */
    cw_code (*read)(cw_checker *c, const cw_key *key, const cw_place *place, const cw_json *v,
                    void *field);
    /* Add the field's value as it would stand in a file. */
    void (*write)(cw_json_writer *w, const cw_key *key, const void *field);
    /* Add the members of a JSON Schema for it to the open object. */
    void (*describe)(cw_json_writer *w, const cw_key *key);
    /* Write the range for people: "1ms to 24h". NULL: the type has none. */
    void (*range)(const cw_key *key, char *out, size_t n);
} cw_key_type;

struct cw_key {
    const char *name; /* NULL ends a table */
    const cw_key_type *type;
    const char *help; /* one line, no full stop */
    size_t offset;    /* of the field in its struct */
    size_t size;      /* of the field */

    uint64_t min, max;         /* numbers: in the field's unit; lists: number of items */
    const cw_choice *choices;  /* enum, levels */
    const cw_key *children;    /* section: offsets as its own; items, mapped: in an item; roles,
                                  pairs: one row for the permissions, the values */
    size_t item_size;          /* items, mapped */
    const void *item_defaults; /* items, mapped: what an item is before its keys are read; section
                                  in an item: the same; NULL: cw_config_defaults */
    size_t line_offset;        /* items: of a uint32_t for the line it stands on; 0: none */
    const cw_key *shorthand;   /* items: the child that a plain string stands for, or NULL */
    bool is_required;          /* child of an item: no default */
    bool needs_restart;        /* a reload does not change it; not for children of items */
    bool is_local;             /* servers that share a database may differ in it */
    bool (*is_valid)(cw_str);  /* text, scalar; strings: each entry; pairs, mapped: each name */
    const char *expected;      /* the same: what it is, with an example */
    const char *pattern;       /* the same for the JSON Schema */
};

/* The top of the table: a section without a name that fills a cw_config. */
extern const cw_key cw_config_root;

/* The types. Fields: bool; uint32_t or size_t; uint32_t milliseconds; uint32_t or size_t bytes; an
 * enum of the size of int, or bool; cw_str; cw_config_strings; cw_config_address;
 * cw_config_levels; cw_config_roles. Objects, mappings and any JSON value are kept as JSON text;
 * null, and {} as an object, is "". */
extern const cw_key_type cw_type_bool, cw_type_integer, cw_type_duration, cw_type_size;
extern const cw_key_type cw_type_enum, cw_type_path, cw_type_strings, cw_type_address;
extern const cw_key_type cw_type_levels, cw_type_text, cw_type_url, cw_type_object, cw_type_roles;
extern const cw_key_type cw_type_mapping, cw_type_json;
/* cw_str: a text that YAML may take for a number or a flag; "yes", "no", or true and false. */
extern const cw_key_type cw_type_scalar, cw_type_yes;
/* As cw_type_enum, with null for 0, which is no choice. */
extern const cw_key_type cw_type_option;
/* cw_config_strings: absolute paths. */
extern const cw_key_type cw_type_paths;
/* size_t: bytes; null is CW_CONFIG_NO_SIZE. */
extern const cw_key_type cw_type_size_option;
/* uint32_t: a number from 0 to 1 in millionths; null is CW_CONFIG_NO_SAMPLE. */
extern const cw_key_type cw_type_ratio;
/* cw_config_pairs. */
extern const cw_key_type cw_type_pairs;
/* cw_config_scopes. */
extern const cw_key_type cw_type_scopes;
/* cw_config_rate; null is none. */
extern const cw_key_type cw_type_rate;
/* A mapping with the keys of `children`, whose offsets count from the struct that it stands in. */
extern const cw_key_type cw_type_section;
/* One or a list of mappings with the keys of `children`, or strings for `shorthand`; with `min` 0
 * perhaps none. The field is {const item *items; size_t n;}. */
extern const cw_key_type cw_type_items;
/* A mapping of names to mappings with the keys of `children`. The field is as that of items; an
 * item begins with a cw_str, its name. */
extern const cw_key_type cw_type_mapped;

/* The words of a cw_config_form. */
extern const cw_choice cw_config_forms[];
/* Those of a cw_config_detail, of output schemas and of descriptions (keys_toolsets.c). */
extern const cw_choice cw_config_output_details[], cw_config_text_details[];

/* keys_limits.c: parts of the table. */
extern const cw_key cw_rates_keys[], cw_limited_tool_keys[], cw_limited_source_keys[];
extern const cw_key cw_audit_keys[];
extern const cw_config_limited cw_config_default_limited;

/* keys_toolsets.c: likewise. */
extern const cw_key cw_toolset_keys[];
extern const cw_config_toolset cw_config_default_toolset;
bool cw_config_is_instructions(cw_str text);
/* The members of a key with instructions for clients. */
#define CW_KEY_INSTRUCTIONS                                                                        \
    .is_valid = cw_config_is_instructions,                                                         \
    .expected = "a text of at most 2000 characters, without control characters but line breaks "   \
                "and tabs",                                                                        \
    .pattern = CW_NAMES_PROSE_PATTERN

/* keys_server.c: likewise. */
extern const cw_key cw_server_keys[];

/* keys_sources.c: likewise. */
extern const cw_key cw_sources_keys[], cw_overlay_file_keys[];
extern const cw_config_remote cw_config_default_remote;

/* keys_events.c: likewise, of events. */
extern const cw_key cw_event_keys[], cw_plugin_event_keys[], cw_mcp_event_keys[];
extern const cw_config_event cw_config_default_event;
bool cw_config_is_event_name(cw_str name);
#define CW_EVENT_NAME_EXPECTED                                                                     \
    "a name of letters, digits, '_', '-' and '.', or a pattern with * and ?"
#define CW_EVENT_NAME_PATTERN "^[A-Za-z0-9_.*?-]{1,64}$"

/* Add "type": "string", or ["string","null"], and so on. */
void cw_key_add_type(cw_json_writer *w, const char *type, bool or_null);

#define CW_KEY_HELP_SIZE 256u
/* The help with the range behind it: "Longest request body (0 to 1GB)", and a note if a change needs
 * a restart. Returns `out`. */
const char *cw_key_help(const cw_key *key, char out[CW_KEY_HELP_SIZE]);

/* The field of `key` in the struct at `base`. */
const void *cw_key_const_field(const cw_key *key, const void *base);

#endif
