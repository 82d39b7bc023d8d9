// Folders of translations, made with gettext's own tools.
//
//     const folder = makeTranslations({ "de.mo": german });
//     const server = await startExamples({ config: { translations: { directory: folder } } });
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { keepFolder } from "./kept.mjs";
import { root } from "./programs.mjs";

export const poFile = (language) => path.join(root, "plugins", "examples", "po", `${language}.po`);
export const examplesPo = (language) => readFileSync(poFile(language), "utf8");

const header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n';

// { "List Articles": "Artikel" } as the text of a .po file; a key may be [context, text].
export function po(entries) {
    const lines = [...entries].map(([key, text]) => {
        const [id, context] = Array.isArray(key) ? [key[1], key[0]] : [key];
        const front = context === undefined ? "" : `msgctxt ${JSON.stringify(context)}\n`;
        return `${front}msgid ${JSON.stringify(id)}\nmsgstr ${JSON.stringify(text)}\n`;
    });
    return [header, ...lines].join("\n");
}

// Run one of gettext's tools with something to read; what it prints.
export function gettext(tool, args, input) {
    const env = { ...process.env, LC_ALL: "C.UTF-8" };
    return execFileSync(tool, args, { input, env, stdio: ["pipe", "pipe", "pipe"] });
}

export const mo = (text, ...args) => gettext("msgfmt", [...args, "-o", "-", "-"], text);

let folders = 0;

// Names in the folder and their contents: bytes as they are, text as that of a .po file.
export function makeTranslations(files) {
    folders += 1;
    const folder = path.join(keepFolder(), `translations-${folders}`);
    mkdirSync(folder, { recursive: true });
    for (const [name, content] of Object.entries(files)) {
        const file = path.join(folder, name);
        mkdirSync(path.dirname(file), { recursive: true });
        writeFileSync(file, typeof content === "string" ? mo(content) : content);
    }
    return folder;
}
