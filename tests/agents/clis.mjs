// The agent CLIs of the tests: which versions, how they are installed, how each is pointed at the scripted model, and what its
// own interface shows when it is up.

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

/** Installed once and kept, outside the repository. */
export const CACHE = process.env.CARILLON_AGENTS_CACHE ?? path.join(os.homedir(), ".cache", "carillon-tests", "agents");

/** Longest that an installation may take, in milliseconds. */
const INSTALL_MAX_MS = 10 * 60_000;

const CODEX_NATIVE = "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex";

/** Each CLI: its package, where its program is, where it keeps conversations, and what a user of it would have in the home and the environment. */
export const CLIS = {
  claude: {
    package: "@anthropic-ai/claude-code@2.1.332",
    program: "node_modules/.bin/claude",
    adapter: "claude",
    records: [".claude/projects"],
    ready: /for shortcuts|❯/,
    api: "anthropic",
    args: [],
    configure: (home, url, repository) => {
      write(home, ".claude/settings.json", { permissions: { allow: ["Read"] } });
      // A user who has answered the questions of the first start.
      write(home, ".claude.json", { hasCompletedOnboarding: true, theme: "dark", projects: { [repository]: { hasTrustDialogAccepted: true } } });
      return { ANTHROPIC_BASE_URL: url, CLAUDE_CODE_OAUTH_TOKEN: "not-a-token" };
    },
  },
  codex: {
    package: "@openai/codex@0.171.0",
    // The wrapper in .bin does not hand signals on.
    program: CODEX_NATIVE,
    adapter: "codex",
    records: [".codex/sessions"],
    ready: /›/,
    api: "responses",
    args: [],
    configure: (home, url, repository) => {
      const provider = [`name = "stub"`, `base_url = "${url}/v1"`, `env_key = "STUB_KEY"`, `wire_api = "responses"`, "request_max_retries = 1", "stream_max_retries = 1"];
      write(home, ".codex/config.toml", [`# The user's own.`, `model = "stub-model"`, `model_provider = "stub"`, "check_for_update_on_startup = false", "", `[projects."${repository}"]`, `trust_level = "trusted"`, "", "[model_providers.stub]", ...provider, ""].join("\n"));
      return { STUB_KEY: "not-a-key" };
    },
  },
  gemini: {
    package: "@google/gemini-cli@0.61.0",
    program: "node_modules/.bin/gemini",
    adapter: "gemini",
    records: [".gemini/tmp"],
    ready: /Type your message/,
    api: "gemini",
    args: ["-m", "gemini-2.5-flash"],
    configure: (home, url) => {
      const settings = { security: { auth: { selectedType: "gemini-api-key" } }, general: { enableAutoUpdate: false }, privacy: { usageStatisticsEnabled: false } };
      write(home, ".gemini/settings.json", `// The user's own, with a comment.\n${JSON.stringify(settings, null, 2)}\n`);
      return { GEMINI_API_KEY: "not-a-key", GOOGLE_GEMINI_BASE_URL: url };
    },
  },
  opencode: {
    package: "opencode-ai@1.18.33",
    program: "node_modules/.bin/opencode",
    adapter: "opencode",
    records: [".local/share/opencode"],
    ready: /ctrl\+p/,
    api: "chat",
    args: [],
    configure: openCode,
  },
  // Two agents that speak the Agent Client Protocol, through the adapter for any such agent.
  "acp-opencode": { same: "opencode", adapter: "acp", api: "chat", args: ["acp"], configure: openCode },
  "acp-gemini": { same: "gemini", adapter: "acp", api: "gemini", args: ["--acp", "--skip-trust", "-m", "gemini-2.5-flash"] },
};
// A user of that adapter has to keep this CLI from starting itself once more.
CLIS["acp-gemini"].configure = (home, url) => ({ ...CLIS.gemini.configure(home, url), GEMINI_CLI_NO_RELAUNCH: "true" });

function openCode(home, url) {
  const models = { "stub-model": { name: "stub" } };
  const provider = { stub: { npm: "@ai-sdk/openai-compatible", name: "stub", options: { baseURL: `${url}/v1`, apiKey: "not-a-key" }, models } };
  // OpenCode puts the schema into a file that has none.
  write(home, ".config/opencode/opencode.json", { $schema: "https://opencode.ai/config.json", provider, model: "stub/stub-model" });
  return { OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1" };
}

function write(home, name, content) {
  const file = path.join(home, name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, typeof content === "string" ? content : `${JSON.stringify(content, null, 2)}\n`);
}

/** Finds a CLI in the cache, or installs it there if `fetch` says so. Answers { program, version } or { problem }. */
export function install(name, fetch = true) {
  const cli = CLIS[CLIS[name].same ?? name];
  const folder = path.join(CACHE, cli.package.replaceAll("/", "+"));
  const program = path.join(folder, cli.program);
  if (versionOf(program) === null) {
    if (!fetch) return { problem: `${cli.package} is not installed in ${CACHE}` };
    fs.rmSync(folder, { recursive: true, force: true });
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(folder, "package.json"), '{"private":true}\n');
    const npm = spawnSync("npm", ["install", "--save-exact", "--no-audit", "--no-fund", cli.package], { cwd: folder, encoding: "utf8", timeout: INSTALL_MAX_MS });
    if (npm.status !== 0) return { problem: `npm could not install ${cli.package}: ${lastLine(npm.stderr) || npm.error?.message || `exit ${npm.status}`}` };
  }
  const version = versionOf(program);
  if (version === null) return { problem: `${program} does not tell its version` };
  return { program, version };
}

/** Whether it is there already; it is not started for that. */
export function isInstalled(name) {
  const cli = CLIS[CLIS[name].same ?? name];
  return fs.existsSync(path.join(CACHE, cli.package.replaceAll("/", "+"), cli.program));
}

function versionOf(program) {
  if (!fs.existsSync(program)) return null;
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "ca-"));
  const env = { PATH: process.env.PATH, HOME: home, TMPDIR: home, OPENCODE_DISABLE_AUTOUPDATE: "1" };
  const { status, stdout } = spawnSync(program, ["--version"], { encoding: "utf8", env, cwd: home, timeout: 30_000 });
  fs.rmSync(home, { recursive: true, force: true });
  return status === 0 ? (/\d+\.\d+\.\d+\S*/.exec(stdout)?.[0] ?? null) : null;
}

const lastLine = (text) => (text ?? "").trim().split("\n").at(-1);
