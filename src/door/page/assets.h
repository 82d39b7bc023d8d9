/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assets.h - the files of the console (console/), which the build puts into the program.
 *
 * src/embed writes the tables. The hash depends on all files, so that an address names one version for
 * ever and versions never mix.
 *
 * Threads: constant.
 */
#ifndef CW_DOOR_PAGE_ASSETS_H
#define CW_DOOR_PAGE_ASSETS_H

#include "base/str.h"

/* Before the hash and the name of a file. */
#define CW_ASSETS_PATH "/console/-/"

typedef struct cw_asset {
    cw_str name; /* "main.mjs" */
    cw_str type; /* of its content */
    cw_str plain;
    cw_str gzip;
} cw_asset;

extern const cw_asset cw_assets[];
extern const size_t cw_assets_n;
extern const char cw_assets_hash[];

#endif
