// A small client of the W3C WebDriver protocol: WebKitWebDriver speaks it itself, so neither a driver in between nor a package is needed.

import { poll } from "./wait.mjs";

/** The key codes that the protocol gives to keys without a character. */
export const KEY = { enter: "\uE007", tab: "\uE004", escape: "\uE00C", backspace: "\uE003", shift: "\uE008", control: "\uE009", alt: "\uE00A", up: "\uE013", down: "\uE015", left: "\uE012", right: "\uE014" };

const ELEMENT = "element-6066-11e4-a52e-4f735466cecf";

export class WebDriver {
  /** @param {string} base address of the driver, such as http://127.0.0.1:4444 */
  constructor(base) {
    this.base = base;
    this.session = null;
  }

  async request(method, path, body) {
    const answer = await fetch(this.base + path, {
      method,
      headers: { "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(60_000),
    });
    const { value } = await answer.json();
    if (!answer.ok) throw Object.assign(new Error(`${value.error}: ${value.message}`), { code: value.error });
    return value;
  }

  /** Starts `binary` with `args` and takes hold of its window. */
  async start(binary, args) {
    const wanted = { "webkitgtk:browserOptions": { binary, args } };
    const { sessionId } = await this.request("POST", "/session", { capabilities: { alwaysMatch: wanted } });
    this.session = sessionId;
    await this.call("POST", "/timeouts", { script: 30_000 });
  }

  call(method, path, body) {
    return this.request(method, `/session/${this.session}${path}`, body);
  }

  /** The first element that `css` selects; throws when there is none. */
  async find(css) {
    return (await this.call("POST", "/element", { using: "css selector", value: css }))[ELEMENT];
  }

  /** All elements that `css` selects. */
  async findAll(css) {
    return (await this.call("POST", "/elements", { using: "css selector", value: css })).map((one) => one[ELEMENT]);
  }

  /** Waits until `css` selects something. */
  wait(css, ms = 10_000) {
    return poll(() => this.find(css).catch(() => null), `${css} in the page`, ms);
  }

  /** Waits until `css` selects nothing. */
  waitGone(css, ms = 10_000) {
    return poll(async () => (await this.findAll(css)).length === 0, `${css} gone from the page`, ms);
  }

  text(element) {
    return this.call("GET", `/element/${element}/text`);
  }

  click(element) {
    return this.call("POST", `/element/${element}/click`, {});
  }

  /** Types into a field. */
  fill(element, text) {
    return this.call("POST", `/element/${element}/value`, { text });
  }

  /** Presses and releases one key after the other, wherever the focus is: that is how a terminal is typed into. */
  type(text) {
    const actions = [...text].flatMap((value) => [{ type: "keyDown", value }, { type: "keyUp", value }]);
    return this.call("POST", "/actions", { actions: [{ type: "key", id: "keyboard", actions }] });
  }

  /** Presses `key` while the `held` keys are down. */
  chord(held, key) {
    const actions = [
      ...held.map((value) => ({ type: "keyDown", value })),
      { type: "keyDown", value: key },
      { type: "keyUp", value: key },
      ...held.toReversed().map((value) => ({ type: "keyUp", value })),
    ];
    return this.call("POST", "/actions", { actions: [{ type: "key", id: "keyboard", actions }] });
  }

  /** Runs the body of a function in the page and answers what it returns. */
  run(script, ...args) {
    return this.call("POST", "/execute/sync", { script, args });
  }

  /** Calls the engine as the page does. Answers { ok } or { error }. */
  invoke(command, payload = {}) {
    const script = `const [command, payload, done] = arguments;
      window.__TAURI_INTERNALS__.invoke(command, payload).then((ok) => done({ ok }), (error) => done({ error }));`;
    return this.call("POST", "/execute/async", { script, args: [command, payload] });
  }

  /** Calls one method of the engine and answers its result; throws what the engine refuses. */
  async rpc(method, params = {}) {
    const { ok, error } = await this.invoke("rpc", { method, params });
    if (error) throw Object.assign(new Error(`${method}: ${error.message ?? error}`), error);
    return ok;
  }

  /** Waits until what the page has changed so far is on the screen. */
  painted() {
    const script = "const [done] = arguments; requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0)));";
    return this.call("POST", "/execute/async", { script, args: [] });
  }

  /** Lets go of the window. */
  async quit() {
    const path = `/session/${this.session}`;
    this.session = null;
    await this.request("DELETE", path);
  }
}
