// What a person does in the window, in a person's words: the journeys say these, and this file alone knows the page.

import { poll } from "./wait.mjs";
import { KEY } from "./wd.mjs";

const of = (id, rest = "") => `[data-testid="${id}"]${rest}`;

export class Page {
  /** @param app a driven app, as Stage.drive answers it */
  constructor(app) {
    this.wd = app.wd;
  }

  ready() {
    return this.wd.wait(of("window", '[data-ready="true"]'), 15_000);
  }

  async press(id, rest = "") {
    await this.wd.click(await this.wd.wait(of(id, rest)));
  }

  /** Presses a button that ends the app. It may be gone before WebDriver could say that the button was pressed. */
  async answerAndEnd(id) {
    const button = await this.wd.wait(of(id));
    await this.wd.click(button).catch(() => {});
  }

  async openProject(path) {
    await this.press("open-project");
    await this.wd.fill(await this.wd.wait(of("open-project-path")), path);
    await this.press("open-project-submit");
  }

  /** Three clicks: the button, the profile, Start. */
  async addAgent(profile) {
    await this.press("add-agent");
    await this.press("add-agent-choice", `[data-name="${profile}"]`);
    await this.press("add-agent-start");
    await this.wd.waitGone(of("add-agent-dialog"));
  }

  /** Adds an agent that works without a terminal. */
  async addHeadlessAgent(profile) {
    await this.press("add-agent");
    await this.press("add-agent-choice", `[data-name="${profile}"]`);
    await this.press("add-agent-mode", '[data-mode="headless"]');
    await this.press("add-agent-start");
    await this.wd.waitGone(of("add-agent-dialog"));
  }

  /** Asks the headless agent on show by the field of its conversation; its lines are parted by Shift+Enter. */
  async ask(agent, ...lines) {
    await this.wd.click(await this.wd.wait(of("conversation", `[data-agent="${agent}"] ${of("composer")}`)));
    for (const [at, line] of lines.entries()) {
      if (at > 0) await this.wd.chord([KEY.shift], KEY.enter);
      await this.wd.type(line);
    }
    await this.wd.type(KEY.enter);
  }

  /** What the turns of the conversation on show say, oldest first. */
  turns() {
    return this.wd.run(`return [...document.querySelectorAll('${of("turn")}')].map((turn) => ({ kind: turn.dataset.kind, state: turn.dataset.state, text: turn.textContent }));`);
  }

  /** Waits until the turns of the conversation are as `wanted` says. */
  async turnsAre(what, wanted, ms = 15_000) {
    let seen = [];
    await poll(async () => wanted((seen = await this.turns())), what, ms).catch((error) => {
      throw new Error(`${error.message}; the turns are:\n${JSON.stringify(seen, null, 1)}`);
    });
    return seen;
  }

  /** The agents that have a pane, in the order of the panes; an empty pane is "". */
  async panes() {
    const names = `return [...document.querySelectorAll('${of("pane")}')].map((pane) => pane.querySelector(".pane-name")?.textContent ?? "");`;
    return this.wd.run(names);
  }

  /** The agent in the only pane, once it is there. */
  async onlyAgent() {
    const [name] = await poll(async () => {
      const panes = await this.panes();
      return panes.length === 1 && panes[0] !== "" && panes;
    }, "the agent's pane");
    return name;
  }

  /** The text on the screen of an agent's terminal. */
  screen(agent) {
    const script = `const [name] = arguments;
      const pane = [...document.querySelectorAll('${of("pane")}')].find((one) => one.querySelector(".pane-name")?.textContent === name);
      return [...(pane?.querySelectorAll(".xterm-rows > div") ?? [])].map((row) => row.textContent.trimEnd()).join("\\n").trimEnd();`;
    return this.wd.run(script, agent);
  }

  /** Waits until an agent's terminal shows `text`. */
  async shows(agent, text, ms = 15_000) {
    let seen = "";
    await poll(async () => (seen = (await this.screen(agent)) ?? "").includes(text), `"${text}" on the screen of ${agent}`, ms).catch((error) => {
      throw new Error(`${error.message}; it shows:\n${seen}`);
    });
    return seen;
  }

  /** Clicks into an agent's terminal and types a line. */
  async typeLine(agent, text) {
    const script = `const [name] = arguments;
      const pane = [...document.querySelectorAll('${of("pane")}')].find((one) => one.querySelector(".pane-name")?.textContent === name);
      return pane?.querySelector('${of("terminal")}');`;
    const found = await poll(() => this.wd.run(script, agent), `the terminal of ${agent}`);
    await this.wd.click(Object.values(found)[0]);
    await this.wd.type(text + KEY.enter);
  }
}
