/**
 * ETags of the model, honest and otherwise (knobs.ts). Takes the URL, what it answers now, what was sent along;
 * produces the tag, and whether the answer is 304. Holds what it told each URL; no backup brings that back.
 */
import { createHash } from 'node:crypto';

import type { ModelDraw, ModelKnobs } from './knobs.ts';

/** A text that is to be answered. */
export interface Tagged {
  /** The caller and the URL. */
  readonly key: string;
  readonly text: string;
  /** Moves with every change of the tables behind the text, or of the schema. */
  readonly version: string;
  readonly ifNoneMatch: string | undefined;
}

/** The tag to send with an answer (null for none), and whether the client has it already. */
export interface Tag {
  readonly etag: string | null;
  readonly isKnown: boolean;
}

interface Told {
  readonly content: string;
  readonly salt: number;
  readonly etag: string;
}

/** Draws from which on a flaky or dishonest origin does what its name says. */
const MISCHIEF_FROM = 0.5;

/** The tags that one model gave out. */
export class Etags {
  readonly #toldByKey = new Map<string, Told>();

  /** The tag for an answer. */
  tag({ key, text, version, ifNoneMatch }: Tagged, { etag: mode }: ModelKnobs, draw: ModelDraw): Tag {
    if (mode === 'absent') return { etag: null, isKnown: false };
    const etag = mode === 'table' ? `"v${version}"` : this.#ofContent(key, text, mode, draw);
    return { etag, isKnown: ifNoneMatch !== undefined && names(ifNoneMatch, etag) };
  }

  #ofContent(key: string, text: string, mode: ModelKnobs['etag'], draw: ModelDraw): string {
    const content = createHash('sha1').update(text).digest('base64url');
    if (mode === 'page') return `"${content}"`;
    if (mode === 'weak') return `W/"${content}"`;
    const told = this.#toldByKey.get(key);
    const next = mode === 'flaky' ? flaky(content, told, draw) : reused(content, told, draw);
    this.#toldByKey.set(key, next);
    return next.etag;
  }
}

/** Changes with the content, and now and then without. */
function flaky(content: string, told: Told | undefined, draw: ModelDraw): Told {
  const salt = (told?.salt ?? 0) + (draw('etag') >= MISCHIEF_FROM ? 1 : 0);
  return { content, salt, etag: `"${content}.${salt}"` };
}

/** Stays, now and then, when the content changes. */
function reused(content: string, told: Told | undefined, draw: ModelDraw): Told {
  if (told !== undefined && told.content !== content && draw('etag') >= MISCHIEF_FROM) return { ...told, content };
  return { content, salt: 0, etag: told?.content === content ? told.etag : `"${content}"` };
}

/** Whether an If-None-Match header names a tag; weak or strong makes no difference (RFC 9110, 13.1.2). */
function names(header: string, etag: string): boolean {
  const bare = (tag: string): string => tag.trim().replace(/^W\//, '');
  return header.trim() === '*' || header.split(',').some((tag) => bare(tag) === bare(etag));
}
