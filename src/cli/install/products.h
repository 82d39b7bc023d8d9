/* SPDX-License-Identifier: GPL-2.0-or-later */
/* products.h - the MCP clients that `causeway install` can configure.
 *
 * A product is a row of a table: its name, its file, the format of the file, the section and the
 * shape of an entry. Shapes are JSON, whatever the format of the file. Words in them stand for
 * values:
 *
 *     "@name"     name of the entry
 *     "@command"  path of this program
 *     "@args"     an item of a list: replaced by all arguments
 *     "@url"      address of a running server
 *     "@token"    name of the environment variable that holds a token
 *     "@variable" a variable that the program reads: the member, or the item, is repeated for each
 *     "@value"    its value
 *
 * Threads: main thread only.
 */
#ifndef CW_CLI_INSTALL_PRODUCTS_H
#define CW_CLI_INSTALL_PRODUCTS_H

#include "cli/install/edit.h"

#define CW_PRODUCT_PATH_BYTES 4096u

/* The directory that a file is in. */
typedef enum cw_product_base {
    CW_PRODUCT_HOME,   /* $HOME */
    CW_PRODUCT_CONFIG, /* $XDG_CONFIG_HOME or ~/.config; ~/Library/Application Support on macOS */
    CW_PRODUCT_XDG,    /* $XDG_CONFIG_HOME or ~/.config, also on macOS */
} cw_product_base;

typedef struct cw_product {
    const char *name;
    const char *title;
    const char *variable; /* of the environment: names the directory instead; or NULL */
    const char *directory, *file;
    const char *other_directory, *other_file; /* used if only this file exists; or NULL */
    const char *mark;  /* a directory in $HOME that also shows that the product is there; or NULL */
    const char *rival; /* a file in the same directory that a new file would replace; or NULL */
    const cw_install_format *format;
    const char *section;
    const char *head;    /* a new file begins with it; or NULL */
    const char *program; /* shape of a server that the product starts */
    const char *address; /* of a running one; NULL: the product cannot use one */
    const char *token;   /* members for a token; NULL: it reads none from the environment */
    const char *env;     /* members that give the program variables of the client's environment */
    cw_product_base base;
    bool copies_env;      /* `env` has their values: the product cannot refer to variables */
    bool keeps_directory; /* the variable replaces only the home directory */
    bool is_list;         /* of the section: see cw_install_place */
} cw_product;

/* A variable that the program reads. */
typedef struct cw_product_variable {
    const char *name;
    const char *value; /* of a product that copies it; or NULL */
} cw_product_variable;

/* Values of the words in a shape. */
typedef struct cw_product_entry {
    const char *name, *command;
    const char *url;         /* NULL: start the program */
    const char *token;       /* or NULL */
    const char *const *args; /* ends with NULL */
    const cw_product_variable *variables;
    size_t n_variables;
} cw_product_entry;

/* All rows; the last one has no name. */
extern const cw_product cw_products[];
/* The form that most clients read, for one that has no row. It has no file. */
extern const cw_product cw_product_other;

/* NULL: no product has this name. */
const cw_product *cw_product_find(const char *name);
/* The path of the file, whether it exists or not. CW_PARAMS: HOME or the variable is not an
 * absolute path; or only the rival exists. */
CW_MUST_USE cw_code cw_product_path(const cw_product *p, char out[CW_PRODUCT_PATH_BYTES],
                                    cw_err *err);
/* Whether its file or its directory exists. */
bool cw_product_is_there(const cw_product *p);
/* The entry, an object. CW_PARAMS: a value is not UTF-8. */
CW_MUST_USE cw_code cw_product_make_entry(const cw_product *p, const cw_product_entry *entry,
                                          cw_arena *arena, const cw_json **ret, cw_err *err);

#endif
