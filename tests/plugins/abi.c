/* SPDX-License-Identifier: GPL-2.0-or-later */
/* abi.c - a plugin of the future: nothing behind the number may be looked at. */
#include <stdint.h>

extern __attribute__((visibility("default"))) const struct future_entry {
    uint32_t abi;
    const char *trap;
} causeway_plugin;

const struct future_entry causeway_plugin = {.abi = 2, .trap = (const char *)1};
