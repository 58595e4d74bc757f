/**
 * Explains why a query does not compile by what was renamed or removed, and corrects it by putting new names in place
 * of old ones. Whether a correction holds is for SQLite to say. Pure.
 */
import { foldIdent, ident } from '../../base/sql.ts';

/** A name that something had; `now` is null where it is gone. `words` say what happened. */
export interface FormerName {
  readonly isTable: boolean;
  readonly former: string;
  readonly now: string | null;
  readonly words: string;
}

/** What happened, in words, and the text that compiles; null for none. */
export interface Correction {
  readonly causes: readonly string[];
  readonly corrected: string | null;
}

/** SchemaNames that are put in one after another. */
const TURNS_MAX = 50;

/** `problemOf` compiles, and `formerNames` has the newest first. */
export function correct(
  text: string,
  problemOf: (text: string) => string | null,
  formerNames: readonly FormerName[],
): Correction {
  const causes = new Set<string>();
  let current = text;
  for (let turn = 0; turn < TURNS_MAX; turn += 1) {
    const problem = problemOf(current);
    if (problem === null) return { causes: [...causes], corrected: current === text ? null : current };
    const missing = /^no such (?:column|table): "?(.*?)"?$/s.exec(problem)?.[1] ?? null;
    const found = missing === null ? undefined : formerNames.find(({ former }) => isMeant(missing, former));
    if (found === undefined) break;
    causes.add(found.words);
    const next = found.now === null ? null : bestOf(current, { problem, problemOf }, { ...found, now: found.now });
    if (next === null) break;
    current = next;
  }
  return { causes: [...causes], corrected: null };
}

/** SQLite puts the alias of the table in front of a column. */
function isMeant(missing: string, former: string): boolean {
  const [one, other] = [foldIdent(missing), foldIdent(former)];
  return one === other || one.endsWith(`.${other}`);
}

/** The name put in everywhere or, where that is wrong because another table has such a column too, in one place. */
function bestOf(
  text: string,
  { problem, problemOf }: { readonly problem: string; readonly problemOf: (text: string) => string | null },
  { former, now, isTable }: FormerName & { readonly now: string },
): string | null {
  const places = [...text.matchAll(TOKEN)].filter(([token]) => isName(token, former)).map(({ index }) => index);
  const put = (where: readonly number[]): string =>
    text.replaceAll(TOKEN, (...given) => (where.includes(Number(given.at(-2))) ? ident(now) : given[0]));
  if (places.length === 0) return null;
  const alone = places.map((place) => put([place]));
  // A name of a table is also in front of its columns.
  const candidates = isTable ? [put(places), ...alone] : [...alone, put(places)];
  const isProgress = (candidate: string): boolean => {
    const left = problemOf(candidate);
    return left !== problem && (isTable || left?.includes(now) !== true);
  };
  return candidates.find((one) => problemOf(one) === null) ?? candidates.find(isProgress) ?? put(places);
}

/** Texts, comments, quoted names and words of SQL; only names are ever replaced. */
const TOKEN =
  /'(?:[^']|'')*'|--[^\n]*|\/\*[\s\S]*?\*\/|"(?:[^"]|"")*"|\[[^\]]*\]|`(?:[^`]|``)*`|[\p{L}_][\p{L}\p{N}_$]*/gu;

function isName(token: string, name: string): boolean {
  const quoted = /^(?:"([\s\S]*)"|\[([\s\S]*)\]|`([\s\S]*)`)$/.exec(token);
  const inner = quoted?.[1]?.replaceAll('""', '"') ?? quoted?.[2] ?? quoted?.[3]?.replaceAll('``', '`') ?? token;
  return foldIdent(inner) === foldIdent(name);
}
