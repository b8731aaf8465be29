// Checks the bodies of testdata/endpoints against the response types that the
// services publish in their own npm packages: every member of a body must be
// one of the type, with a value that it takes. Nothing of the packages is kept.
//
//   node scripts/endpoint-types/check.mjs [DIRECTORY]
//
// DIRECTORY holds the installed packages; without it they are installed in a
// temporary one. Ends with 0 when all fit, 1 when one does not, 3 when the
// packages cannot be installed.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const bodies = join(dirname(fileURLToPath(import.meta.url)), "../../testdata/endpoints/responses");

// Of each service: the package, the type, and what of the body is of that type.
const services = [
  { name: "openai", pkg: "openai", use: `import type OpenAI from "openai";`, type: "OpenAI.Responses.Response", body: (read) => read("openai_responses_file_search") },
  { name: "anthropic", pkg: "@anthropic-ai/sdk", use: `import type Anthropic from "@anthropic-ai/sdk";`, type: "Anthropic.Messages.Message", body: (read) => read("anthropic_messages") },
  { name: "langgraph", pkg: "@langchain/langgraph-sdk", use: `import type { Message } from "@langchain/langgraph-sdk";`, type: "{ messages: Message[] }", body: (read) => read("langgraph") },
  { name: "bedrock_retrieve", pkg: "@aws-sdk/client-bedrock-agent-runtime", use: `import type { RetrieveResponse } from "@aws-sdk/client-bedrock-agent-runtime";`, type: "RetrieveResponse", body: (read) => read("bedrock_retrieve") },
  { name: "bedrock_retrieve_and_generate", pkg: "@aws-sdk/client-bedrock-agent-runtime", use: `import type { RetrieveAndGenerateResponse } from "@aws-sdk/client-bedrock-agent-runtime";`, type: "RetrieveAndGenerateResponse", body: (read) => read("bedrock_retrieve_and_generate") },
  { name: "gemini", pkg: "@google/genai", use: `import type { GenerateContentResponse } from "@google/genai";`, type: "GenerateContentResponse", body: (read) => read("gemini_grounding") },
  { name: "glean", pkg: "@gleanwork/api-client", use: `import type { ChatResponse } from "@gleanwork/api-client/models/components";`, type: "ChatResponse", body: (read) => read("glean_chat") },
];

// A body need not have every member of the type; those that it has must be of it.
const part = `type Part<T> = T extends string ? T | \`\${T}\`
  : T extends number | boolean | null | undefined ? T
  : T extends Date ? string
  : T extends readonly (infer U)[] ? Part<U>[]
  : T extends object ? { [K in keyof T]?: Part<T[K]> | null }
  : T;`;

function say(text) { process.stdout.write(text + "\n"); }

const packages = [...new Set(services.map((s) => s.pkg))];
let dir = process.argv[2];
const own = !dir;
if (own) dir = mkdtempSync(join(tmpdir(), "endpoint-types-"));
let code = 0;
try {
  if (!existsSync(join(dir, "node_modules/typescript"))) {
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, "package.json"), `{"private": true, "type": "module"}\n`);
    try {
      execFileSync("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-save", "--fetch-retries=1", "typescript@5", "@types/node@20", ...packages], { cwd: dir, stdio: ["ignore", "ignore", "pipe"], timeout: 300_000 });
    } catch (e) {
      say("the packages cannot be installed: " + String(e.stderr || e.message).split("\n").find((l) => l.trim()));
      process.exitCode = 3;
      code = 3;
    }
  }
  if (code === 0) {
    const read = (name) => JSON.parse(readFileSync(join(bodies, name + ".json"), "utf8"));
    const files = [];
    for (const s of services) {
      const file = s.name + ".check.ts";
      writeFileSync(join(dir, file), `${s.use}\n${part}\nexport const body: Part<${s.type}> = ${JSON.stringify(s.body(read), null, 1)};\n`);
      // The control: a member that the type has not must be found.
      const control = s.name + ".control.ts";
      writeFileSync(join(dir, control), `${s.use}\n${part}\nexport const body: Part<${s.type}> = ${JSON.stringify({ ...s.body(read), no_such_member: 1 }, null, 1)};\n`);
      files.push(file, control);
    }
    let out = "";
    try {
      execFileSync(join(dir, "node_modules/.bin/tsc"), ["--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext", "--moduleResolution", "nodenext", ...files], { cwd: dir, encoding: "utf8" });
    } catch (e) {
      out = String(e.stdout || e.message);
    }
    for (const s of services) {
      const version = JSON.parse(readFileSync(join(dir, "node_modules", s.pkg, "package.json"), "utf8")).version;
      const faults = out.split("\n").filter((l) => l.startsWith(s.name + ".check.ts"));
      say(`${faults.length ? "differs" : "fits   "} ${s.name}: ${s.type.replace(/\s+/g, " ")} of ${s.pkg} ${version}`);
      for (const f of faults) say("        " + f);
      if (faults.length) code = 1;
      if (!out.includes(s.name + ".control.ts")) {
        say("        a member that the type has not was not found: nothing was checked");
        code = 1;
      }
    }
    const other = out.split("\n").filter((l) => l.includes("error TS") && !services.some((s) => l.startsWith(s.name + ".check.ts") || l.startsWith(s.name + ".control.ts")));
    for (const l of other) say("        " + l);
    if (other.length) code = 1;
  }
} finally {
  if (own) rmSync(dir, { recursive: true, force: true });
}
process.exitCode = code;
