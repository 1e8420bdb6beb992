// Waiting for something to become true, always with a bound and a name for what was waited for.

/** Asks again and again, every 25 ms, until `ask` answers something true, and answers that. Throws after `ms`, naming `what`. */
export async function poll(ask, what, ms = 10_000) {
  const end = performance.now() + ms;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (performance.now() > end) throw new Error(`waited ${ms} ms in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** Answers what `promise` answers, or throws after `ms`, naming `what`. */
export function within(promise, what, ms = 10_000) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${ms} ms in vain for ${what}`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
