/**
 * The network between an engine and the origin model. A request leaves, arrives, is acted on, and its answer comes
 * back, each at a moment that the scheduler picks. Or one of the faults of this world strikes. Every request draws one
 * number, which says which fault it meets, if any.
 *
 * A request that is under way when its process dies arrives or is lost before the next process opens the replica. How
 * long a request may stay on its way behind a time-out is not promised by anybody, and not simulated.
 */
import type { Transport, WireAnswer, TransportFault, WireRequest } from '../../../src/origin/transport.ts';
import { answerOf, FAULTS, type FaultKind, type RequestKind } from './faults.ts';
import { BODY_FAILED, collectBody, handOver, isHandedOver, type Delivery } from './files-network.ts';
import type { ModelAnswer, ModelRequest } from '../model/answers.ts';
import { poisonOf } from './poison.ts';
import { never, type Scheduler } from './scheduler.ts';
import type { Setup } from './setup.ts';
import type { Script } from '../stories/script.ts';
import { Draw, type Tape } from './tape.ts';

const U32 = 2 ** 32;
/** One way, in virtual milliseconds. */
const LATENCY_MS = 25;
const TIMEOUT_MS = 60_000;

/** How often each fault strikes a request that it can strike, by name. */
export type Weather = ReadonlyMap<string, number>;

/** A request as oracles and the story see it. */
export interface SeenRequest {
  readonly number: number;
  readonly method: string;
  readonly table: string;
  readonly kind: RequestKind;
  /** The body of a change, as text. */
  readonly body: string | null;
  readonly query: string;
  /** The address without the host. */
  readonly path: string;
}

/** What the network is told and tells. */
export interface NetworkParts {
  readonly scheduler: Scheduler;
  readonly tape: Tape;
  readonly setup: Pick<Setup, 'weather' | 'poison' | 'moments'>;
  /** Says what strikes, instead of the tape. */
  readonly script: Pick<Script, 'fault' | 'losesRequests'> | null;
  readonly origin: (request: ModelRequest) => ModelAnswer;
  /** The fault that strikes whatever is asked of a table; null for none. */
  readonly refuses: (request: SeenRequest) => string | null;
  readonly wallMs: () => number;
  /** The rows of an upload as JSON; null for a body without files. */
  readonly rowsOfUpload: (contentType: string, body: Uint8Array) => string | null;
  /** Before a request leaves. */
  readonly onDeparture: (request: SeenRequest) => void;
  /** A request ended before it was whole, since its body could not be read to its end. */
  readonly onCutShort: () => void;
  /** When it was answered, or not. */
  readonly onAnswer: (request: SeenRequest, fault: string | null, result: WireAnswer | TransportFault) => void;
}

/** Whose connections they are. */
interface Connection {
  readonly owner: object;
  readonly isAlive: () => boolean;
}

interface UnderWay {
  readonly method: string;
  readonly owner: object;
  readonly arrive: () => void;
}

const CHANGES: ReadonlySet<string> = new Set(['create', 'update', 'upsert', 'delete']);
const ROWS: ReadonlySet<string> = new Set(['select', 'retrieve']);

/** The one network of a world. */
export class Network {
  /** Set once the faults have stopped. */
  isCalm = false;
  readonly #parts: NetworkParts;
  readonly #underWay = new Set<UnderWay>();
  #count = 0;
  #lastAnswer: WireAnswer | null = null;

  constructor(parts: NetworkParts) {
    this.#parts = parts;
  }

  /** The connections of one process. */
  transport(connection: Connection): Transport {
    return {
      send: (request) => {
        if (!connection.isAlive()) return never();
        const { body = null } = request;
        if (body !== null && !(body instanceof Uint8Array)) return this.#sendStream(connection, request);
        return this.#send(connection, request, body);
      },
      requestsLeave: () => Promise.resolve(),
      destroy: () => Promise.resolve(),
    };
  }

  /** The methods of requests that have left and not arrived. */
  underWay(): readonly string[] {
    return [...this.#underWay].map(({ method }) => method);
  }

  /** A process died: what it sent arrives now, or never. Nobody hears the answers. */
  abandon(owner: object): void {
    for (const underWay of this.#underWay) {
      if (underWay.owner !== owner) continue;
      this.#underWay.delete(underWay);
      if (!this.#isLost()) underWay.arrive();
    }
  }

  async #sendStream(connection: Connection, request: WireRequest): Promise<WireAnswer | TransportFault> {
    const body = await collectBody(request);
    if (!connection.isAlive()) return never();
    if (body !== null) return this.#send(connection, request, body);
    this.#parts.onCutShort();
    return BODY_FAILED;
  }

  #send({ owner }: Connection, request: WireRequest, body: Uint8Array | null): Promise<WireAnswer | TransportFault> {
    const { scheduler, tape, setup } = this.#parts;
    const latencyMs = setup.moments?.latencyMs ?? LATENCY_MS;
    const seen = this.#see(request, body, (this.#count += 1));
    this.#parts.onDeparture(seen.request);
    const value = this.isCalm ? 0 : tape.u32();
    const fault =
      this.#namedFault(seen.request) ?? this.#scriptedFault(seen.request) ?? this.#faultFor(seen.request.kind, value);
    const draw = new Draw(fault === null ? 0 : Math.max(1, value));
    let delivery: Delivery | null = null;
    const arrive = (): void => {
      delivery = this.#arrive(seen, fault, draw);
    };
    return new Promise((resolve) => {
      const underWay: UnderWay = { method: seen.request.method, owner, arrive };
      this.#underWay.add(underWay);
      scheduler.add(`${seen.request.method} ${seen.request.table} arrives`, latencyMs, owner, () => {
        this.#underWay.delete(underWay);
        arrive();
        const isLate = delivery?.result.kind === 'fault' && delivery.result.reason === 'deadline';
        scheduler.add(
          `${seen.request.method} ${seen.request.table} is answered`,
          isLate ? TIMEOUT_MS : latencyMs,
          owner,
          () => {
            if (delivery === null) return;
            resolve(isHandedOver(request, delivery) ? handOver(request, delivery) : delivery.result);
          },
        );
      });
    });
  }

  /** What a request says, for the origin and for everybody who watches. */
  #see({ method, path, headers }: WireRequest, bytes: Uint8Array | null, number: number): Seen {
    const [address = '', query = ''] = path.split('?', 2);
    const { name, table, kind } = readAddress(address);
    const fields: Record<string, string> = {};
    for (let at = 0; at + 1 < headers.length; at += 2) fields[headers[at] ?? ''] = headers[at + 1] ?? '';
    const rows = bytes === null ? null : this.#parts.rowsOfUpload(fields['content-type'] ?? '', bytes);
    const body = rows ?? (bytes === null ? null : Buffer.from(bytes).toString('utf8'));
    return {
      request: { number, method: name, table, kind, body, query, path },
      model: { method, path, headers: fields, body: bytes },
    };
  }

  #isLost(): boolean {
    return this.#parts.script?.losesRequests() ?? this.#parts.tape.u32() >= U32 / 2;
  }

  #namedFault(request: SeenRequest): FaultKind | null {
    const { kind, body } = request;
    const poison = kind === 'change' ? poisonOf(body, this.#parts.setup) : null;
    const name = this.isCalm ? null : (poison ?? this.#parts.refuses(request));
    return FAULTS.find((fault) => fault.name === name) ?? null;
  }

  #scriptedFault({ kind, method }: SeenRequest): FaultKind | null {
    const name = this.isCalm ? null : (this.#parts.script?.fault(kind, method) ?? null);
    return FAULTS.find((fault) => fault.name === name) ?? null;
  }

  #faultFor(kind: RequestKind, value: number): FaultKind | null {
    if (value === 0) return null;
    let top = U32;
    for (const fault of FAULTS) {
      if (!fault.on.includes(kind)) continue;
      top -= (this.#parts.setup.weather.get(fault.name) ?? 0) * U32;
      if (value >= top) return fault;
    }
    return null;
  }

  #arrive(seen: Seen, fault: FaultKind | null, draw: Draw): Delivery {
    const { origin, wallMs, onAnswer } = this.#parts;
    const answer = fault === null || fault.reaches ? wireAnswer(origin(seen.model)) : null;
    const other = this.#lastAnswer;
    if (answer !== null) this.#lastAnswer = answer;
    const { kind, query } = seen.request;
    const ids = new URLSearchParams(query).getAll('id');
    const struck = fault?.strike({ answer, other, draw, wallMs: wallMs(), ids, kind }) ?? null;
    const result = struck ?? answer ?? answerOf(503, {}, '');
    onAnswer(seen.request, struck === null ? null : (fault?.name ?? null), result);
    const begun = result.kind === 'fault' && result.isAnswered ? answer : null;
    return { result, begun };
  }
}

interface Seen {
  readonly request: SeenRequest;
  readonly model: ModelRequest;
}

/**
 * What is asked, by a path such as `…/table/select.json`, `…/table/column/attachments.json` or
 * `…/table/column/attachment/guid`.
 */
function readAddress(address: string): { readonly name: string; readonly table: string; readonly kind: RequestKind } {
  const parts = address.split('/').map(decodeURIComponent);
  const name = (parts.at(-1) ?? '').replace(/\.json$/, '');
  const table = parts.at(-2) ?? '';
  if (CHANGES.has(name)) return { name, table, kind: 'change' };
  if (ROWS.has(name)) return { name, table, kind: 'rows' };
  if (name === 'describe' || name === 'user') return { name, table, kind: 'read' };
  if (name === 'attachments') return { name, table: parts.at(-3) ?? '', kind: 'file' };
  return { name: 'attachment', table: parts.at(-4) ?? '', kind: 'file' };
}

function wireAnswer({ status, headers, body }: ModelAnswer): WireAnswer {
  return answerOf(status, headers, body);
}
