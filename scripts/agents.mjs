// npm run test:agents [-- --slow] [CLI...]: the conformance cases on the real agent CLIs. They are installed from npm into
// ~/.cache/carillon-tests/agents, once. A CLI that cannot be installed is reported as not run.

import path from "node:path";
import { run, say, tellStops, Stop } from "./say.mjs";
import { ROOT } from "./setup.mjs";

await tellStops(async () => {
  say.busy("building what runs the turns");
  const built = await run("cargo", ["build", "--quiet", "-p", "carillon-testkit", "--bin", "agent-turn"], { cwd: ROOT });
  if (built !== 0) throw new Stop("The program that runs the turns could not be built.", "What cargo said stands above.");
  process.exitCode = await run(process.execPath, [path.join(ROOT, "tests", "agents", "run.mjs"), ...process.argv.slice(2)], { cwd: ROOT });
});
