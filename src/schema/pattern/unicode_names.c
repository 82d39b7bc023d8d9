/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unicode_names.c - the Unicode properties that \p{…} may name, as ECMA-262 spells them. */
#include "schema/pattern/pattern_int.h"

/* General categories: what PCRE2 calls them, and their other names. */
static const struct {
    const char *brief;
    const char *name;
    const char *alias;
} categories[] = {
    {"C", "Other", NULL},
    {"Cc", "Control", "cntrl"},
    {"Cf", "Format", NULL},
    {"Cn", "Unassigned", NULL},
    {"Co", "Private_Use", NULL},
    {"Cs", "Surrogate", NULL},
    {"L", "Letter", NULL},
    {"L&", "Cased_Letter", "LC"},
    {"Ll", "Lowercase_Letter", NULL},
    {"Lm", "Modifier_Letter", NULL},
    {"Lo", "Other_Letter", NULL},
    {"Lt", "Titlecase_Letter", NULL},
    {"Lu", "Uppercase_Letter", NULL},
    {"M", "Mark", "Combining_Mark"},
    {"Mc", "Spacing_Mark", NULL},
    {"Me", "Enclosing_Mark", NULL},
    {"Mn", "Nonspacing_Mark", NULL},
    {"N", "Number", NULL},
    {"Nd", "Decimal_Number", "digit"},
    {"Nl", "Letter_Number", NULL},
    {"No", "Other_Number", NULL},
    {"P", "Punctuation", "punct"},
    {"Pc", "Connector_Punctuation", NULL},
    {"Pd", "Dash_Punctuation", NULL},
    {"Pe", "Close_Punctuation", NULL},
    {"Pf", "Final_Punctuation", NULL},
    {"Pi", "Initial_Punctuation", NULL},
    {"Po", "Other_Punctuation", NULL},
    {"Ps", "Open_Punctuation", NULL},
    {"S", "Symbol", NULL},
    {"Sc", "Currency_Symbol", NULL},
    {"Sk", "Modifier_Symbol", NULL},
    {"Sm", "Math_Symbol", NULL},
    {"So", "Other_Symbol", NULL},
    {"Z", "Separator", NULL},
    {"Zl", "Line_Separator", NULL},
    {"Zp", "Paragraph_Separator", NULL},
    {"Zs", "Space_Separator", NULL},
};

/* Properties that are there or not; PCRE2 has the same names. */
static const char *const binaries[] = {
    "ASCII",
    "ASCII_Hex_Digit",
    "AHex",
    "Alphabetic",
    "Alpha",
    "Any",
    "Bidi_Control",
    "Bidi_C",
    "Bidi_Mirrored",
    "Bidi_M",
    "Case_Ignorable",
    "CI",
    "Cased",
    "Changes_When_Casefolded",
    "CWCF",
    "Changes_When_Casemapped",
    "CWCM",
    "Changes_When_Lowercased",
    "CWL",
    "Changes_When_Titlecased",
    "CWT",
    "Changes_When_Uppercased",
    "CWU",
    "Dash",
    "Default_Ignorable_Code_Point",
    "DI",
    "Deprecated",
    "Dep",
    "Diacritic",
    "Dia",
    "Emoji",
    "Emoji_Component",
    "EComp",
    "Emoji_Modifier",
    "EMod",
    "Emoji_Modifier_Base",
    "EBase",
    "Emoji_Presentation",
    "EPres",
    "Extended_Pictographic",
    "ExtPict",
    "Extender",
    "Ext",
    "Grapheme_Base",
    "Gr_Base",
    "Grapheme_Extend",
    "Gr_Ext",
    "Hex_Digit",
    "Hex",
    "IDS_Binary_Operator",
    "IDSB",
    "IDS_Trinary_Operator",
    "IDST",
    "ID_Continue",
    "IDC",
    "ID_Start",
    "IDS",
    "Ideographic",
    "Ideo",
    "Join_Control",
    "Join_C",
    "Logical_Order_Exception",
    "LOE",
    "Lowercase",
    "Lower",
    "Math",
    "Noncharacter_Code_Point",
    "NChar",
    "Pattern_Syntax",
    "Pat_Syn",
    "Pattern_White_Space",
    "Pat_WS",
    "Quotation_Mark",
    "QMark",
    "Radical",
    "Regional_Indicator",
    "RI",
    "Sentence_Terminal",
    "STerm",
    "Soft_Dotted",
    "SD",
    "Terminal_Punctuation",
    "Term",
    "Unified_Ideograph",
    "UIdeo",
    "Uppercase",
    "Upper",
    "Variation_Selector",
    "VS",
    "White_Space",
    "space",
    "XID_Continue",
    "XIDC",
    "XID_Start",
    "XIDS",
};

static const cw_str none = {NULL, 0};

static cw_str find_category(cw_str text)
{
    for (size_t i = 0; i < CW_COUNT(categories); i++) {
        const char *alias = categories[i].alias;
        bool brief = !strchr(categories[i].brief, '&') && cw_str_is(text, categories[i].brief);
        if (brief || cw_str_is(text, categories[i].name) || (alias && cw_str_is(text, alias)))
            return cw_str_from(categories[i].brief);
    }
    return none;
}

static bool is_word(cw_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'))
            return false;
    }
    return s.n > 0;
}

static cw_str find_script(const char *prefix, cw_str value, cw_arena *arena)
{
    if (!is_word(value))
        return none;
    const char *name = cw_arena_printf(arena, "%s:%.*s", prefix, CW_STR_ARG(value));
    return cw_str_from(name); /* empty without memory */
}

cw_str cw_property_find(cw_str text, cw_arena *arena)
{
    cw_str value;
    cw_str name = cw_str_cut(text, '=', &value);
    if (value.p) {
        if (cw_str_is(name, "General_Category") || cw_str_is(name, "gc"))
            return find_category(value);
        if (cw_str_is(name, "Script") || cw_str_is(name, "sc"))
            return find_script("sc", value, arena);
        if (cw_str_is(name, "Script_Extensions") || cw_str_is(name, "scx"))
            return find_script("scx", value, arena);
        return none;
    }
    if (cw_str_is(name, "Assigned"))
        return CW_STR("^Cn");
    for (size_t i = 0; i < CW_COUNT(binaries); i++) {
        if (cw_str_is(name, binaries[i]))
            return cw_str_from(binaries[i]);
    }
    return find_category(name);
}
