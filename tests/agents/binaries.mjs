// Where the programs under test are.

import path from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FOLDER = process.env.CARILLON_BINARIES ?? path.resolve(ROOT, process.env.CARGO_TARGET_DIR ?? "target", "debug");

/** The command line, the engine, supervisors and the MCP server. */
export const CARILLON = path.join(FOLDER, "carillon");

/** One turn of an adapter alone. */
export const TURN = path.join(FOLDER, "agent-turn");
