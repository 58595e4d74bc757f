/**
 * What the sandbox was asked and how it answered: counters for tests and the demo, and the last requests.
 */

/** One request that was answered. */
export interface SeenRequest {
  /** 1 for the first request since the start. */
  readonly number: number;
  /** GET, POST, … */
  readonly verb: string;
  /** `select`, `retrieve`, `describe`, `user`, …; `other` for paths that are no method. */
  readonly method: string;
  /** The name or alias in the table segment, decoded; null where there is none. */
  readonly table: string | null;
  /** Path and query as sent, without a token in its place; other secrets read `***`. */
  readonly path: string;
}

/** A request with its answer. */
export interface AnsweredRequest extends SeenRequest {
  readonly status: number;
  /** Bytes of body as sent, compressed where the client asked for it. */
  readonly bodyBytes: number;
  /** The fault that the sandbox was told to answer with, or null. */
  readonly fault: string | null;
}

/** Which requests to count; what is left out matches everything. */
export interface RequestFilter {
  readonly method?: string | undefined;
  readonly status?: number | undefined;
  readonly table?: string | undefined;
}

/** Requests kept word for word; enough for every test, and small. */
const KEPT_MAX = 10_000;

/** Counts and remembers requests. */
export class RequestLog {
  #requests: AnsweredRequest[] = [];
  #seenCount = 0;

  /** Number of requests that have come in so far, answered or not. */
  get seenCount(): number {
    return this.#seenCount;
  }

  /** The requests answered since the last `clear`, oldest first; at most the last 10,000. */
  get all(): readonly AnsweredRequest[] {
    return this.#requests;
  }

  /** How many of `all` match. */
  count(filter: RequestFilter = {}): number {
    return this.find(filter).length;
  }

  /** Those of `all` that match. */
  find({ method, status, table }: RequestFilter): readonly AnsweredRequest[] {
    return this.#requests.filter(
      (request) =>
        (method === undefined || request.method === method) &&
        (status === undefined || request.status === status) &&
        (table === undefined || request.table === table),
    );
  }

  /** Forgets what was answered; the numbering continues. */
  clear(): void {
    this.#requests = [];
  }

  /** Gives the next request its number. */
  next(): number {
    this.#seenCount += 1;
    return this.#seenCount;
  }

  /** Remembers an answer. */
  add(request: AnsweredRequest): void {
    this.#requests.push(request);
    if (this.#requests.length > 2 * KEPT_MAX) this.#requests = this.#requests.slice(-KEPT_MAX);
  }
}
