// A model of who may do what, written from the rules (docs/access.md) and not from the code.
//
//     const verdict = judge(caller, tool);
//
// A caller has permissions and scopes; isKnown: it has logged in, hasToken: with a token, isWrong: its credentials are
// refused, isForged: another site has sent them.
import { call } from "./accounts.mjs";

// ---- the tools: what they ask of their callers ----

const demands = [
    {},
    { level: "none", scopes: ["m:a"] },
    { level: "optional", scopes: ["m:a"] },
    { level: "optional" },
    { level: "required" },
    { level: "required", hide: true },
    { scopes: ["m:a"] },
    { scopes: ["m:a"], hide: true },
    { level: "required", scopes: ["m:a", "m:b"] },
    { level: "required", scopes: ["m:a", "m:b"], hide: true },
];
// Every demand with each of these lists of permissions.
export const makeTools = (lists) =>
    lists.flatMap((permissions, i) =>
        demands.map((demand, j) => ({ name: `m.t${i}${j}`, permissions, scopes: [], ...demand })),
    );

// A plugin with these tools.
export function pluginSource(tools) {
    const strings = (list) => `{${list.map((text) => JSON.stringify(text)).join(", ")}}`;
    const methods = tools.map(({ name, permissions, scopes, level, hide }, i) => {
        const parts = [`run_${i}`, '.annotations = CW_JSON({"readOnlyHint": true})', '.task = "always"'];
        if (scopes.length > 0) {
            parts.push(`.scopes = ${strings(scopes)}`);
        }
        if (level) {
            parts.push(`.auth_level = "${level}"`);
        }
        if (hide) {
            parts.push('.visibility = "hide"');
        }
        const needs = permissions.length > 0 ? `, .permissions = ${strings(permissions)}` : "";
        return `static void run_${i}(cw_call *call) { cw_result_text(call, "${name} ran"); }
CW_METHOD(run_${i}, "${name}"${needs});
CW_TOOL(${parts.join(", ")});`;
    });
    return `#include <causeway/plugin.h>\nCW_PLUGIN("model", "1");\n${methods.join("\n")}\n`;
}

// Events with the demands of the tools, and a tool without demands that emits all of them.
export const eventOf = ({ name }) => name.replace("m.t", "model.e");
export const eventSettings = (tools) =>
    Object.fromEntries(
        tools.map(({ name, permissions, scopes, level = scopes.length > 0 ? "required" : "none", hide }) => [
            eventOf({ name }),
            { permissions, scopes, auth_level: level, visibility: hide ? "hide" : "challenge" },
        ]),
    );
export const eventSource = (tools) => `static void emit_all(cw_call *call)
{
${tools.map((tool) => `    cw_emit_event(call, "${eventOf(tool).slice(6)}", "\\"event of ${tool.name}\\"", NULL);`).join("\n")}
    cw_result_text(call, "emitted");
}
CW_METHOD(emit_all, "m.emit");
CW_TOOL(emit_all, .annotations = CW_JSON({"readOnlyHint": true}));
`;

// ---- the model ----

// What becomes of a call: "wrong", "forged", "login", "forbidden", "unknown", "scopes" or "ran".
export function judge(caller, tool, has = () => true) {
    if (caller.isWrong) {
        return "wrong";
    }
    if (caller.isForged) {
        return "forged";
    }
    if (!caller.permissions.includes(call)) {
        return caller.isKnown ? "forbidden" : "login";
    }
    return has(tool) && sees(caller, tool) ? ask(caller, tool) : "unknown";
}

const isRequired = ({ level, scopes }) => (level ? level === "required" : scopes.length > 0);

export function ask(caller, tool) {
    if (!isRequired(tool)) {
        return "ran";
    }
    if (!caller.isKnown || (tool.scopes.length > 0 && !caller.hasToken)) {
        return "login";
    }
    return tool.scopes.every((scope) => caller.scopes.includes(scope)) ? "ran" : "scopes";
}

export function sees(caller, tool) {
    const isAllowed = tool.permissions.every((permission) => caller.permissions.includes(permission));
    return isAllowed && !(tool.hide && ask(caller, tool) !== "ran");
}

export const hasRun = (answer, { name }) => answer.text.includes(`${name} ran`);
