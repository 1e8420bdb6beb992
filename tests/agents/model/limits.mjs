// Refusals of session limits, in the words of each API.

/** A refusal that says when the limit ends: `seconds` from now, and `at` in seconds of the Unix clock (or as {{now+N}}). */
export function limited(api, seconds, at = `{{now+${seconds}}}`) {
  return REFUSALS[api](seconds, at);
}

const REFUSALS = {
  anthropic: (seconds, at) => ({
    status: 429,
    type: "rate_limit_error",
    message: "limited",
    headers: {
      "anthropic-ratelimit-unified-status": "rejected",
      "anthropic-ratelimit-unified-reset": String(at),
      "anthropic-ratelimit-unified-representative-claim": "five_hour",
      "anthropic-ratelimit-unified-5h-status": "rejected",
      "anthropic-ratelimit-unified-5h-reset": String(at),
      "anthropic-ratelimit-unified-5h-utilization": "1.0",
    },
  }),
  responses: (seconds, at) => ({ status: 429, body: { error: { type: "usage_limit_reached", message: "The usage limit has been reached", plan_type: "plus", resets_at: at } } }),
  chat: (seconds) => ({ status: 429, type: "rate_limit_error", message: "Rate limit reached", headers: { "retry-after": String(seconds) } }),
  gemini: (seconds) => ({
    status: 429,
    type: "RESOURCE_EXHAUSTED",
    message: "quota exceeded",
    details: [
      { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${seconds}s` },
      { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "QUOTA_EXHAUSTED", domain: "cloudcode-pa.googleapis.com" },
    ],
  }),
};

/** A limit that begins with its first refused request and then holds for a while. */
export class ShortLimit {
  constructor(api, lasts_s) {
    Object.assign(this, { api, lasts_s, refused: 0, ends_s: null });
  }

  /** Whether it holds now. The first one to ask meets it. */
  holds() {
    this.ends_s ??= Math.floor(Date.now() / 1_000) + this.lasts_s;
    return Date.now() < this.ends_s * 1_000;
  }

  refusal() {
    this.refused += 1;
    return limited(this.api, Math.max(1, Math.ceil(this.ends_s - Date.now() / 1_000)), this.ends_s);
  }

  /** A turn of a script that refuses what fits, as long as the limit holds. */
  turn(match) {
    return { match, times: 0, when: () => this.holds(), error: () => this.refusal() };
  }
}
