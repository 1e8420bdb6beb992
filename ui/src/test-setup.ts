// What jsdom does not have and the window needs. Nothing here draws, and no element has a size.

import { afterEach, vi } from "vitest";

if (typeof window !== "undefined") {
  const { cleanup, configure } = await import("@testing-library/react");
  // A busy machine is slow to load a module for the first time; and a failure that prints the whole page hides what failed.
  configure({ asyncUtilTimeout: 5_000, getElementError: (message) => new Error(message ?? "not found") });
  class NoObserver {
    observe(): void {}
    unobserve(): void {}
    disconnect(): void {}
  }
  vi.stubGlobal("ResizeObserver", NoObserver);
  vi.stubGlobal("IntersectionObserver", NoObserver);
  window.matchMedia = (query) => ({
    matches: false, media: query, onchange: null,
    addEventListener: () => undefined, removeEventListener: () => undefined, addListener: () => undefined, removeListener: () => undefined,
    dispatchEvent: () => false,
  });
  HTMLCanvasElement.prototype.getContext = (() => null) as typeof HTMLCanvasElement.prototype.getContext;
  afterEach(() => cleanup());
}
