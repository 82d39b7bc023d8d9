/* SPDX-License-Identifier: GPL-2.0-or-later */
/* not-a-plugin.c - a shared object without CW_PLUGIN. */
extern __attribute__((visibility("default"))) int answer;

int answer = 42;
