/* SPDX-License-Identifier: GPL-2.0-or-later */
/* broken-no-method.c - a plugin that offers nothing. */
#include <causeway/plugin.h>

CW_PLUGIN("broken", "1.0");
