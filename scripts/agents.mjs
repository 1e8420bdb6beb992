// npm run test:agents [-- --slow] [CLI...]: all cases on the real agent CLIs, of the adapters and of the whole app; tests/agents/run.mjs
// tells the other words. They are installed from npm into ~/.cache/carillon-tests/agents, once. A CLI that cannot be installed is
// reported as not run.

import path from "node:path";
import { run, say, tellStops, Stop } from "./say.mjs";
import { ROOT } from "./setup.mjs";

await tellStops(async () => {
  say.busy("building the engine and what runs single turns");
  const built = await run("cargo", ["build", "--quiet", "-p", "carillon-cli", "-p", "carillon-testkit", "--bins"], { cwd: ROOT });
  if (built !== 0) throw new Stop("The programs under test could not be built.", "What cargo said stands above.");
  process.exitCode = await run(process.execPath, [path.join(ROOT, "tests", "agents", "run.mjs"), ...process.argv.slice(2)], { cwd: ROOT });
});
