/**
 * Time-outs and size limits of one request, each with its reason (I18). Only tests should need other values. Options
 * (`limits`) say how many requests run at once and a second; base/retries.ts has the number of attempts.
 */
import { REQUEST_RETRIES } from '../base/retries.ts';

/** The time and memory that one request may take, and how often it is tried. */
export const ORIGIN_LIMITS = {
  /** Until the connection is open, TLS included: under a second across the world; ten cover a lost packet or two. */
  connectTimeoutMs: 10_000,
  /** From the sent request to the headers of the answer. The service may think for most of a minute (facts 4.3). */
  headersTimeoutMs: 55_000,
  /** Between two pieces of a body. */
  bodyGapTimeoutMs: 20_000,
  /** From leaving the queue to the last byte of the answer. With a limit on gaps alone, a trickle could last days. */
  deadlineMs: 60_000,
  /** Bytes a second at which a body must be sent, added to the deadline: 20 MB in ten minutes are slow, not broken. */
  sentBytesPerSecondMin: 32 * 1_024,
  /** Bytes of a body that is sent. The origin answers 413 above 20 MB (origin facts 4.1). */
  sentBytesMax: 20_000_000,
  /** Bytes of one attached file, which goes to disk piece by piece. The service accepts 100 MB; another may more. */
  fileBytesMax: 4 * 1_024 ** 3,
  /** Bytes a second of an attached file, on average over each `deadlineMs`; or one file could hold up all for years. */
  fileBytesPerSecondMin: 1_024,
  /** Bytes of a body as they come over the wire. 500 rows, compressed or plain, are rarely more than 1 MiB. */
  wireBytesMax: 8 * 1_024 * 1_024,
  /** Bytes of a decompressed body: eight times that. gzip shrinks rows to an eighth or so, a bomb to a thousandth. */
  decodedBytesMax: 64 * 1_024 * 1_024,
  /** Wait for the answer to a sent change once its caller gives up, or it is in doubt. A daemon has 20 s to end. */
  stopGraceMs: 8_000,
  retry: REQUEST_RETRIES,
};

export type OriginLimits = Readonly<typeof ORIGIN_LIMITS>;
