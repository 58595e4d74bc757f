/**
 * The control endpoint: a second port, on the loopback interface alone, at which a test puts faults in force and looks
 * at what the sandbox was asked. It needs no sign-in. A page in a browser cannot use it, because it must name a
 * loopback host and send JSON, and gets no CORS headers.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

import { readFaultPlan, type Faults } from './faults.ts';
import type { RequestLog } from './requests.ts';

/** What the endpoint shows and changes. */
export interface ControlParts {
  readonly faults: Faults;
  readonly requests: RequestLog;
}

/** Bytes of a plan; a thousand rules need a fifth of it. */
const BODY_BYTES_MAX = 1024 * 1024;
const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|localhost|\[::1\])(?::\d+)?$/i;

interface ControlReply {
  readonly status: number;
  readonly json: unknown;
}

/** Creates the server; it does not listen yet. */
export function createControlServer(parts: ControlParts): Server {
  return createServer((request, response) => {
    void reply(request, parts).then((answer) => send(response, answer));
  });
}

async function reply(request: IncomingMessage, parts: ControlParts): Promise<ControlReply> {
  if (!LOOPBACK.test(request.headers.host ?? '')) return problem(403, 'the Host header must name a loopback address');
  const path = (request.url ?? '').split('?')[0];
  const { faults, requests } = parts;
  switch (`${request.method} ${path}`) {
    case 'GET /faults':
      return { status: 200, json: { seed: faults.seed, faults: faults.states } };
    case 'PUT /faults':
      return replaceFaults(request, faults);
    case 'DELETE /faults':
      faults.replace({ faults: [] });
      return { status: 200, json: {} };
    case 'GET /requests':
      return { status: 200, json: { seenCount: requests.seenCount, requests: requests.all } };
    case 'DELETE /requests':
      requests.clear();
      return { status: 200, json: {} };
    default:
      request.resume();
      return problem(404, 'there are /faults (GET, PUT, DELETE) and /requests (GET, DELETE)');
  }
}

async function replaceFaults(request: IncomingMessage, faults: Faults): Promise<ControlReply> {
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? '')) {
    request.resume();
    return problem(415, 'the Content-Type must be application/json');
  }
  const text = await readText(request);
  if (text === undefined) return problem(413, `the body must have at most ${BODY_BYTES_MAX} bytes`);
  let input: unknown;
  try {
    input = JSON.parse(text);
  } catch {
    return problem(400, 'the body is not JSON');
  }
  const plan = readFaultPlan(input);
  if (!('faults' in plan)) return { status: 400, json: { problems: plan } };
  faults.replace(plan);
  return { status: 200, json: { seed: faults.seed, faults: faults.states } };
}

function problem(status: number, text: string): ControlReply {
  return { status, json: { problems: [text] } };
}

/** Undefined when the body is too long or never ends. */
async function readText(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length <= BODY_BYTES_MAX) chunks.push(chunk);
    }
  } catch {
    return undefined; // the client left
  }
  return length <= BODY_BYTES_MAX ? Buffer.concat(chunks).toString('utf8') : undefined;
}

function send(response: ServerResponse, { status, json }: ControlReply): void {
  const body = `${JSON.stringify(json)}\n`;
  const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
  response.writeHead(status, { ...headers, 'Cache-Control': 'no-store' }).end(body);
}
