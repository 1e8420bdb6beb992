import "./harden";
import { createRoot } from "react-dom/client";
import type { Backend } from "./backend/backend";
import { insideShell, tauriBackend } from "./backend/tauri";
import { App } from "./state/app";
import { Window } from "./views/Window";

async function backend(): Promise<Backend | null> {
  if (insideShell()) return tauriBackend();
  // The fake engine is for development: a shipped build does not contain it.
  const fake = new URLSearchParams(location.search).get("fake");
  if (import.meta.env.MODE !== "production" && fake !== null) {
    const { sampleBackend } = await import("./backend/sample");
    return sampleBackend(fake);
  }
  return null;
}

async function main(): Promise<void> {
  const door = await backend();
  const root = document.getElementById("root")!;
  if (!door) {
    root.textContent = "This page is the window of Carillon and works only inside it. Start the app instead.";
    return;
  }
  const app = new App(door);
  app.start();
  createRoot(root).render(<Window app={app} />);
  // Two frames: the first is drawn when the second begins.
  requestAnimationFrame(() => requestAnimationFrame(() => door.painted(performance.now())));
}

void main();
