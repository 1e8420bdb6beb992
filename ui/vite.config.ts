// One file for the development server, the build and the tests of the window.
// The build must run in WebKitGTK 2.40 and later, whose engine answers to "safari16".
import react from "@vitejs/plugin-react";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "./",
  plugins: [react()],
  cacheDir: fileURLToPath(new URL("../node_modules/.vite-ui", import.meta.url)),
  server: { host: "127.0.0.1", port: 5174, strictPort: true },
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "safari16",
    // The window's content security policy has no place for the polyfill's inline fetches, and every engine we run in knows module preloading.
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 600,
  },
  test: {
    // A page is simulated only for the files that say so in their first line: making one takes longer than most tests.
    environment: "node",
    include: ["src/**/*.test.{ts,tsx}"],
    setupFiles: ["src/test-setup.ts"],
    restoreMocks: true,
    testTimeout: 10_000,
  },
});
