/**
 * Why data from the wire cannot be used. A value, not an exception: for the sandbox it is the expected
 * answer to a wrong request (status, message, source), for the client the reason of a `RowsyncError`. The message says
 * what is wrong and where; it never quotes received values (I16).
 */

/** A body, a part or a document that cannot be used. */
export class WireFault {
  /** The HTTP status of the answer to a request like that. */
  readonly status: 400 | 413 | 415;
  /** One sentence without a full stop. */
  readonly message: string;
  /** The parameter, header or column at fault, where there is one. */
  readonly source: string | null;

  constructor(message: string, options: { status?: 400 | 413 | 415; source?: string | null } = {}) {
    this.status = options.status ?? 400;
    this.message = message;
    this.source = options.source ?? null;
  }
}
