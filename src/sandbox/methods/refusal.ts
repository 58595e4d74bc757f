/**
 * Requests that are refused as a whole: the HTTP status and the error descriptor (specification 2.7, origin facts 4.1).
 * A refusal is a value that every step of a request may return. Secondary codes marked "ours" are not documented by the
 * service; they are stable here.
 */
import type { WireFault } from '../../wire/fault.ts';
import type { ErrorDescriptor } from '../../wire/json.ts';

/** Secondary codes by what went wrong. */
export const CODES = {
  /** The authentication family is 1000 to 1999; its members are ours. */
  badCredentials: 1000,
  badToken: 1001,
  otherDatabase: 1002,
  apiDisabled: 1003,
  tokensOnly: 1004,
  badSession: 1005,
  /** Ours. */
  unknownMethod: 2000,
  /** Ours. */
  badParameter: 2100,
  /** Ours. */
  badFilter: 2200,
  /** Ours. */
  badBody: 2300,
  /** Ours: `workflow=0` from someone who may not say so. */
  noManageData: 2400,
  /** Ours, by analogy with columns and views. */
  noTable: 3000,
  /** Ours. */
  readOnlyTable: 3001,
  noColumn: 3100,
  /** Ours. */
  hiddenColumn: 3101,
  /** Ours. */
  readOnlyColumn: 3102,
  notUnique: 3106,
  noView: 3200,
  noRecord: 4000,
  /** Ours: a row of an update that says neither id nor key. */
  noKey: 4001,
  /** Ours. */
  cannotAdd: 4002,
  /** Ours, as all codes for the values of a row. */
  duplicateValue: 4100,
  emptyValue: 4101,
  textTooLong: 4102,
  badValue: 4103,
  columnTwice: 4104,
  ruleFailed: 4105,
  /** Ours, as all codes for files. */
  noAttachment: 4200,
  noHistory: 4201,
  noFile: 4202,
  /** Ours. */
  internal: 9000,
  /** Ours: a fault on request. */
  fault: 9001,
} as const;

/** A whole-request failure. Without a descriptor the answer has no body (401, 413, 414). */
export class MethodRefusal {
  readonly status: number;
  readonly descriptor: ErrorDescriptor | null;

  constructor(status: number, descriptor: Omit<ErrorDescriptor, 'error'> | null) {
    this.status = status;
    this.descriptor = descriptor === null ? null : { error: status, ...descriptor };
  }
}

/** 413: the body is too large. */
const bodyTooLarge = new MethodRefusal(413, null);

/** 401: no credentials came; the server adds a Basic challenge. */
export const unauthorized = new MethodRefusal(401, null);

/** 414: the query string is too long. */
export const queryTooLong = new MethodRefusal(414, null);

/** 403 for credentials that are no good. */
export function forbidden(code: number, message: string): MethodRefusal {
  return new MethodRefusal(403, { code, message, source: null });
}

/** 400 for a parameter; `source` is its name. */
export function badParameter(source: string, message: string): MethodRefusal {
  return new MethodRefusal(400, { code: CODES.badParameter, message, source });
}

/** 405 for paths that name no method, and for verbs that the method does not take. */
export function unknownMethod(message: string, source: string | null = null): MethodRefusal {
  return new MethodRefusal(405, { code: CODES.unknownMethod, message, source });
}

/** 403 for a table that does not exist, or not for this role. */
export function noTable(source: string): MethodRefusal {
  return new MethodRefusal(403, { code: CODES.noTable, message: 'Table does not exist', source });
}

/** 403 for a view that does not exist, or not for this role (origin facts 1.1). */
export function noView(source: string): MethodRefusal {
  return new MethodRefusal(403, { code: CODES.noView, message: 'View does not exist', source });
}

/** 400 for a column that does not exist. */
export function noColumn(source: string): MethodRefusal {
  return new MethodRefusal(400, { code: CODES.noColumn, message: 'Column does not exist', source });
}

/** 403 for a column that the role may not see. */
export function hiddenColumn(source: string): MethodRefusal {
  return new MethodRefusal(403, { code: CODES.hiddenColumn, message: 'Column is not accessible', source });
}

/** 403 for a table that the role may only read. */
export function readOnlyTable(source: string): MethodRefusal {
  return new MethodRefusal(403, {
    code: CODES.readOnlyTable,
    message: 'Records of the table cannot be changed',
    source,
  });
}

/** A body that cannot be used: 400, 413 without a descriptor, or 415. */
export function badBody({ status, message, source }: WireFault): MethodRefusal {
  return status === 413 ? bodyTooLarge : new MethodRefusal(status, { code: CODES.badBody, message, source });
}
