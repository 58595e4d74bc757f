/**
 * What a method of the API is given and what it gives back. Input of every handler in this folder: a `Call`, that is a
 * routed, authorized request whose query has been read. Types only.
 */
import type { AttachmentInfo } from '../../wire/schema.ts';
import type { Route } from './route.ts';
import type { ServerRules } from './rules.ts';
import type { Role, User } from '../store/catalog.ts';
import type { Store } from '../store/store.ts';
import type { ServerFormat } from '../wire/format.ts';

/** Parameters of a query string, in order; repeated ones come again. */
export type Pairs = readonly (readonly [string, string])[];

/** A body as it came. */
export interface RequestBody {
  readonly bytes: Buffer;
  readonly contentType: string | undefined;
}

/** Everything a method needs. */
export interface MethodCall {
  readonly store: Store;
  readonly user: User;
  readonly role: Role;
  /** The format of the answer. */
  readonly format: ServerFormat;
  readonly route: Route;
  readonly rules: ServerRules;
  readonly pairs: Pairs;
  /** When the request came, in epoch milliseconds. */
  readonly nowMs: number;
  /** Null for methods that take none. */
  readonly body: RequestBody | null;
}

/** The text of an answer with status 200 that may be asked for again by its ETag. */
export interface PageAnswer {
  readonly kind: 'page';
  readonly text: () => string;
  /** Equal for equal texts of one request, where that can be said without writing the text. */
  readonly version?: string | undefined;
  /** Tables whose rows decide the text; the schema, users and rights always do. */
  readonly tableIds: readonly number[];
  /** True where the text may change with nothing but the time; such an answer is made anew for each request. */
  readonly agesByItself?: boolean | undefined;
}

/** The text of an answer with status 200 that says what was done; it must not be cached. */
export interface ResultAnswer {
  readonly kind: 'result';
  readonly text: string;
}

/** A file, or its headers alone. */
export interface FileAnswer {
  readonly kind: 'file';
  readonly file: AttachmentInfo;
}

/** An answer with status 200. */
export type MethodAnswer = PageAnswer | ResultAnswer | FileAnswer;
