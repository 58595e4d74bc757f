/**
 * Time-outs and sizes of one request, each with the reason for its size (I18). Tests pass smaller ones; nothing else should need to. How many requests
 * run at once, and how many a second, are options (`limits`) that requests.ts keeps; how often one is tried is in base/retries.ts. Pure.
 */
import { REQUEST_RETRIES } from '../base/retries.ts';

/** What one request may take of time and memory, and how often it is tried, unless a test says otherwise. */
export const ORIGIN_LIMITS = {
  /** Until the connection is open, TLS included. A handshake across the world takes under a second; ten cover a lost packet or two. */
  connectTimeoutMs: 10_000,
  /** From the sent request to the complete headers of the answer. The service is known to think for most of a minute at busy hours (origin facts 4.3). */
  headersTimeoutMs: 55_000,
  /** Between two pieces of a body. */
  bodyGapTimeoutMs: 20_000,
  /**
   * From the moment a request leaves the queue to the last byte of its answer. The gap alone is no bound: a byte every few seconds would keep a request
   * alive for days.
   */
  deadlineMs: 60_000,
  /**
   * Bytes in a second at which a body that is sent must leave; its time is added to the deadline. A line that sends 20 MB in ten minutes is slow, but no
   * fault.
   */
  sentBytesPerSecondMin: 32 * 1_024,
  /** Bytes of a body that is sent. The origin answers 413 above 20 MB (origin facts 4.1). */
  sentBytesMax: 20_000_000,
  /**
   * Bytes of one attached file. The service takes 100 MB; another may take more. A file goes to disk piece by piece, so this only ends what has no
   * end.
   */
  fileBytesMax: 4 * 1_024 ** 3,
  /**
   * Bytes in a second at which an attached file must come, in each span as long as `deadlineMs`. A telephone line that several files share brings as
   * much. Below it, one file could keep all other work waiting for years.
   */
  fileBytesPerSecondMin: 1_024,
  /** Bytes of a body as they come over the wire. 500 rows, compressed or plain, are rarely more than 1 MiB. */
  wireBytesMax: 8 * 1_024 * 1_024,
  /** Bytes of a body once it is decompressed. Eight times that: gzip shrinks rows to an eighth or so, a bomb to a thousandth. */
  decodedBytesMax: 64 * 1_024 * 1_024,
  /**
   * For an answer to a change that has left, once its caller gives up. A daemon has 20 seconds to end. A change without its answer may leave a new row in
   * doubt, which a person has to look at.
   */
  stopGraceMs: 8_000,
  retry: REQUEST_RETRIES,
};

export type OriginLimits = Readonly<typeof ORIGIN_LIMITS>;
