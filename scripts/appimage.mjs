// npm run appimage [-- --thin] [--binaries DIR] [--quick]: makes Carillon-<version>-<machine>.AppImage in target/package.
//   --thin           without WebKitGTK, which the machine that runs it must then have
//   --binaries DIR   packs the programs in DIR instead of building them for release
//   --quick          packs less tightly, in a fraction of the time

import path from "node:path";
import { parseArgs } from "node:util";
import { makeAppImage } from "./package/appimage.mjs";
import { buildPrograms, buildRuntime } from "./package/build.mjs";
import { tellStops } from "./say.mjs";
import { setUp } from "./setup.mjs";

await tellStops(async () => {
  const options = { thin: { type: "boolean" }, quick: { type: "boolean" }, binaries: { type: "string" } };
  const { values } = parseArgs({ options });
  await setUp("package");
  const binaries = values.binaries ? path.resolve(process.env.INIT_CWD ?? ".", values.binaries) : await buildPrograms();
  makeAppImage({ binaries, runtime: await buildRuntime(), isThin: values.thin, level: values.quick ? 1 : 19 });
});
