/**
 * What is peculiar to the transfer of files. Content is handed to the client piece by piece, also that of an answer
 * that breaks off. A body that is read from files while it is sent may fail on its way. Takes requests and answers;
 * produces what the client is told.
 */
import type { WireAnswer, TransportFault, WireRequest } from '../../../src/origin/transport.ts';

/** An answer on its way back: what the client is told, and what it was given before where that is a fault. */
export interface Delivery {
  readonly result: WireAnswer | TransportFault;
  /** The answer that broke off; null where none had begun. */
  readonly begun: WireAnswer | null;
}

/** Whether the client takes the body piece by piece. */
export function isHandedOver({ receiver }: WireRequest, { result, begun }: Delivery): boolean {
  const answer = begun ?? (result.kind === 'answer' ? result : null);
  return answer !== null && receiver?.accepts(answer.status, answer.headers) === true;
}

/** Hands a body over in two pieces, or the first of them where the answer breaks off. */
export async function handOver({ receiver }: WireRequest, delivery: Delivery): Promise<WireAnswer | TransportFault> {
  const { result, begun } = delivery;
  const body = begun?.body ?? (result.kind === 'answer' ? result.body : Buffer.alloc(0));
  const middle = Math.ceil(body.length / 2);
  const pieces = [body.subarray(0, middle), ...(begun === null ? [body.subarray(middle)] : [])];
  let receivedBytes = 0;
  try {
    for (const piece of pieces.filter(({ length }) => length > 0)) {
      receivedBytes += piece.length;
      // Of its own, as the client may expect.
      await receiver?.write(Buffer.from(piece));
    }
  } catch (thrown) {
    const cause = thrown instanceof Error ? thrown : new Error('The receiver failed');
    return { kind: 'fault', reason: 'receiver', cause, isSent: true, isAnswered: true, receivedBytes };
  }
  return result.kind === 'answer' ? { ...result, body: Buffer.alloc(0), receivedBytes } : { ...result, receivedBytes };
}

/**
 * All bytes of a body that is read while it is sent; null where reading fails, so that the origin never gets the whole
 * of it.
 */
export async function collectBody({ body }: WireRequest): Promise<Uint8Array | null> {
  if (body === undefined || body instanceof Uint8Array) return body ?? null;
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of body.read()) chunks.push(Buffer.from(chunk));
  } catch {
    return null;
  }
  return Buffer.concat(chunks);
}

/** What becomes of a request whose body could not be read to its end. */
export const BODY_FAILED: TransportFault = {
  kind: 'fault',
  reason: 'cutShort',
  cause: new Error('The body ended early'),
  isSent: false,
  isAnswered: false,
  receivedBytes: 0,
};
