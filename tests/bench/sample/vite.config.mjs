// Builds the sample's page as the product's is built.
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

export default defineConfig({
  root: fileURLToPath(new URL("ui", import.meta.url)),
  base: "./",
  cacheDir: fileURLToPath(new URL("../../../node_modules/.vite-bench", import.meta.url)),
  build: { outDir: fileURLToPath(new URL("../../../target/bench/sample-ui", import.meta.url)), emptyOutDir: true, target: "safari16", modulePreload: { polyfill: false } },
});
