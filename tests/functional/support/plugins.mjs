// Plugins that a test writes and compiles itself, and the folders they lie in.
//
//     const folder = newFolder("plugins");
//     compilePlugin(folder, "hello", helloSource("hello", "1.0", "hello.greet"));
import { execFileSync } from "node:child_process";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { keepFolder } from "./kept.mjs";
import { buildFolder, root } from "./programs.mjs";

export const host = path.join(buildFolder, "src", "host", "causeway-plugin-host");
export const include = path.join(root, "include");

export const permissions = ["access mcp tool discovery", "use jsonrpc services", "access content"];

let folders = 0;

export function newFolder(name) {
    folders += 1;
    const folder = path.join(keepFolder(), `${name}-${folders}`);
    mkdirSync(folder, { recursive: true });
    return folder;
}

// A plugin with one tool, which says the plugin's version.
export function versionSource(name, version, method, more = "") {
    return `#include <causeway/plugin.h>
#include <unistd.h>
CW_PLUGIN("${name}", "${version}");
static void tell(cw_call *call)
{
    usleep((useconds_t)cw_arg_int(call, "wait", 0) * 1000);
    cw_result_text(call, "${version}");
}
CW_METHOD(tell, "${method}", .usage = "Tells its version.",
          .params = {{"wait", .schema = CW_JSON({"type": "integer"})}},
          .permissions = {"access content"});
CW_TOOL(tell, .title = "Tell", .annotations = CW_JSON({"readOnlyHint": true}));
${more}`;
}

// Built beside and renamed, so that a server that watches the folder never sees half a file.
export function compilePlugin(folder, name, source, { as = `${name}.so` } = {}) {
    const scratch = newFolder(`compile-${name}`);
    const file = path.join(scratch, `${name}.c`);
    const half = path.join(folder, `.${name}.new`);
    writeFileSync(file, source);
    const flags = ["-std=c11", "-D_DEFAULT_SOURCE", "-shared", "-fPIC", `-I${include}`];
    execFileSync("cc", [...flags, "-o", half, file], { stdio: ["ignore", "inherit", "inherit"] });
    renameSync(half, path.join(folder, as));
    return path.join(folder, as);
}
