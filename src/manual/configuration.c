/* SPDX-License-Identifier: GPL-2.0-or-later */
/* configuration.c - the page of the configuration file, from the table of keys. */
#include <stdio.h>
#include <stdlib.h>

#include "config/config.h"
#include "config/keys/keys.h"
#include "manual/manual.h"
#include "manual/roff.h"

#define PATH_BYTES 256u
#define TEXT_MAX (64u * 1024u)

static void add_keys(cw_buf *out, const cw_key *keys, const char *path, const void *defaults);

static bool has_keys(const cw_key *key)
{
    return key->type == &cw_type_section || key->type == &cw_type_items ||
           key->type == &cw_type_mapped;
}

/* "sources[].methods[].params.NAME" */
static void name_children(const cw_key *key, const char *path, char out[PATH_BYTES])
{
    const char *more = key->type == &cw_type_items    ? "[]"
                       : key->type == &cw_type_mapped ? ".NAME"
                                                      : "";
    int n = snprintf(out, PATH_BYTES, "%s%s.", path, more);
    if (n < 0 || n >= (int)PATH_BYTES)
        abort(); /* no key lies so deep */
}

static void add_default(cw_buf *text, const cw_key *key, const void *defaults)
{
    cw_json_writer w;
    if (key->is_required) {
        cw_buf_add(text, CW_STR(" The key is required."));
        return;
    }
    cw_buf_add(text, CW_STR(" The default is "));
    cw_json_writer_init(&w, text, CW_JSON_COMPACT);
    key->type->write(&w, key, cw_key_const_field(key, defaults));
    if (cw_json_writer_end(&w, NULL))
        cw_buf_add(text, CW_STR("null"));
    cw_buf_add(text, CW_STR("."));
}

static void add_value(cw_buf *text, const cw_key *key)
{
    bool is_choice = key->type == &cw_type_enum || key->type == &cw_type_option;
    bool is_named = key->type == &cw_type_text || key->type == &cw_type_scalar;
    cw_buf_add(text, CW_STR("The value is "));
    if (is_choice)
        cw_buf_add(text, CW_STR("one of"));
    else
        cw_buf_add(text, cw_str_from(is_named && key->expected ? key->expected : key->type->name));
    for (const cw_choice *c = key->choices; c && c->name; c++)
        cw_buf_printf(text, "%s%s", c == key->choices ? is_choice ? " " : ": " : ", ", c->name);
    if (key->type == &cw_type_option)
        cw_buf_add(text, CW_STR(", or null"));
    if (key->type == &cw_type_strings && key->expected)
        cw_buf_printf(text, ", each %s", key->expected);
    cw_buf_add(text, CW_STR("."));
}

static void add_key(cw_buf *out, const cw_key *key, const char *path, const void *defaults)
{
    char help[CW_KEY_HELP_SIZE];
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, TEXT_MAX);
    cw_buf_printf(&text, "%s. ", cw_key_help(key, help));
    if (key->type != &cw_type_section) {
        add_value(&text, key);
        add_default(&text, key, defaults);
    }
    cw_roff_item(out, "Ic", cw_str_from(path));
    cw_roff_text(out, cw_buf_str(&text));
    if (!has_keys(key))
        return;
    char children[PATH_BYTES];
    name_children(key, path, children);
    /* The keys of a section are in the struct that the section stands in. */
    bool is_same = key->type == &cw_type_section && !key->item_defaults;
    add_keys(out, key->children, children, is_same ? &cw_config_defaults : key->item_defaults);
}

static void add_keys(cw_buf *out, const cw_key *keys, const char *path, const void *defaults)
{
    for (; keys->name; keys++) {
        char name[PATH_BYTES];
        int n = snprintf(name, sizeof name, "%s%s", path, keys->name);
        if (n > 0 && (size_t)n < sizeof name)
            add_key(out, keys, name, defaults);
    }
}

static void add_introduction(cw_buf *out)
{
    cw_roff_section(out, "DESCRIPTION");
    cw_roff_text(
        out,
        CW_STR(
            "The configuration of causeway is a file in YAML or JSON. Causeway reads the file that "
            "--config names, else the file that the variable CAUSEWAY_CONFIG names. It searches no "
            "other place. Unknown keys and invalid values are errors."));
    cw_buf_add(out, CW_STR(".Pp\n"));
    cw_roff_text(out, CW_STR("Durations are seconds, or text such as \"500ms\", \"75s\", \"5m\" or "
                             "\"1h\". Sizes are "
                             "bytes, or text such as \"16KB\" or \"4MB\". Relative paths start at "
                             "the directory of the "
                             "file. Defaults are written as JSON."));
    cw_buf_add(out, CW_STR(".Pp\n"));
    cw_roff_text(
        out,
        CW_STR("\"causeway config check\" reports errors, \"causeway config show\" prints the "
               "effective "
               "configuration, and \"causeway config schema\" prints a JSON Schema for editors."));
}

static void add_example(cw_buf *out)
{
    cw_roff_section(out, "EXAMPLES");
    cw_buf_add(out, CW_STR(".Bd -literal -offset indent\n"
                           "listen: 127.0.0.1:8080\n"
                           "store:\n"
                           "  path: causeway.db\n"
                           "sources:\n"
                           "  \\- name: stock\n"
                           "    url: http://127.0.0.1:9000/rpc\n"
                           "    methods: [stock.find]\n"
                           "roles:\n"
                           "  anonymous: [access mcp tool discovery]\n"
                           ".Ed\n"));
}

void cw_manual_configuration(cw_buf *out)
{
    cw_roff_open(out, "causeway.yaml", 5, "configuration of causeway");
    add_introduction(out);
    cw_roff_section(out, "KEYS");
    cw_roff_open_list(out);
    add_keys(out, cw_config_root.children, "", &cw_config_defaults);
    cw_roff_close_list(out);
    add_example(out);
    cw_roff_see_also(out, (const char *const[]){"causeway 1", "causeway-config 1", NULL});
}
