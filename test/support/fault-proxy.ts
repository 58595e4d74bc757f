/**
 * A fault server in front of a sandbox. Requests pass to it byte by byte, unless the test says what comes in its place,
 * with or without the request having reached the sandbox. And a two-way fixture whose client goes through one.
 *
 *    await using fixture = await startBehindProxy();
 *    fixture.proxy.play({ match: (request) => request.path.includes('/select.json'), answer: 'reset', isApplied: false
 *    });
 *    await fixture.pull();  fixture.proxy.play(null);
 */
import { connect } from 'node:net';

import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { openOrigin } from '../../src/origin/client.ts';
import type { OriginLimits } from '../../src/origin/limits.ts';
import { perform, startFaultServer, type FaultAnswer, type FaultRequest, type FaultServer } from './fault-server.ts';
import type { Fixture } from './replica.ts';
import { startTwoWay } from './two-way.ts';

/** What comes in place of the sandbox's answers. */
export interface ProxyFault {
  readonly match: (request: FaultRequest) => boolean;
  readonly answer: FaultAnswer;
  /** Whether the sandbox gets the request, and only its answer is lost. */
  readonly isApplied: boolean;
  /** Matching requests that it spares first. Default 0. */
  readonly spares?: number | undefined;
}

/** A proxy; `await using` ends it. */
export interface FaultProxy extends FaultServer {
  /** Puts a fault in force; null ends it. */
  play(fault: ProxyFault | null): void;
  /** Requests that the fault in force has answered. */
  readonly faultedCount: number;
}

/** Starts a proxy in front of the server at `target`. */
async function startFaultProxy(target: URL): Promise<FaultProxy> {
  const state = { fault: null as ProxyFault | null, faultedCount: 0, matchedCount: 0 };
  const server = await startFaultServer((_nth, request) => {
    const { fault } = state;
    const isMatched = fault?.match(request) === true;
    if (isMatched) state.matchedCount += 1;
    if (fault === null || !isMatched || state.matchedCount <= (fault.spares ?? 0)) {
      return (socket) => void ask(target, request).then((bytes) => socket.write(bytes));
    }
    state.faultedCount += 1;
    if (!fault.isApplied) return fault.answer;
    return (socket) => void ask(target, request).then(() => perform(socket, fault.answer));
  });
  return Object.defineProperty(
    Object.assign(server, {
      play: (fault: ProxyFault | null) => void Object.assign(state, { fault, faultedCount: 0, matchedCount: 0 }),
    }) as FaultProxy,
    'faultedCount',
    { get: () => state.faultedCount },
  );
}

/** Passes a request on by a connection of its own; gives the bytes of the answer. */
async function ask(target: URL, { method, path, headers, body }: FaultRequest): Promise<Buffer> {
  const socket = connect(Number(target.port), target.hostname);
  const fields = Object.entries({ ...headers, connection: 'close' }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${fields.join('')}\r\n`, 'latin1'), body]));
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** A two-way fixture that is pulled already, behind a proxy. */
export async function startBehindProxy(
  options: Parameters<typeof startTwoWay>[0] & {
    readonly limits?: Partial<OriginLimits>;
    readonly format?: 'json' | 'xml';
  } = {},
): Promise<Fixture & { readonly proxy: FaultProxy }> {
  const { limits, format, ...rest } = options;
  const fixture = await startTwoWay(rest);
  const { sandbox } = fixture;
  const proxy = await startFaultProxy(new URL(sandbox.url));
  await fixture.origin.close();
  fixture.origin = openOrigin(
    {
      url: proxy.url,
      database: sandbox.database,
      credentials: { kind: 'bearer', token: sandbox.token },
      limits,
      format,
    },
    { clock: { ...systemClock, sleep: async () => undefined }, log: silentLogger },
  );
  // Through the proxy every page has another address, so it is read anew once.
  await fixture.pull();
  return Object.assign(fixture, {
    proxy,
    [Symbol.asyncDispose]: async () => {
      fixture.replica.close();
      await fixture.origin.close();
      await proxy.stop();
      await sandbox.stop();
    },
  });
}
