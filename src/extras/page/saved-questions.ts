/**
 * Saved questions: views of the replica, so that every SQL client has them, and renames at the origin reach them. Each
 * has an address of its own, `/ask/NAME`.
 */
import { asRowsyncError } from '../../base/errors.ts';
import { sql } from '../../base/sql.ts';
import { queryAny } from '../../replica/query.ts';
import { readSaved } from '../shared/rows-page.ts';
import type { AnswerChunks } from '../shared/child-process.ts';
import { storeView } from '../shared/sql-client.ts';
import { pathPart } from './address.ts';
import { redirect, type PageInput } from './context.ts';

const CHARS_MAX = 100;

/** Saves or drops a question; tells why it was not done, in words. */
export function answerSaving(
  { reader, request }: PageInput,
  fields: ReadonlyMap<string, string>,
): AnswerChunks | { readonly status: number; readonly words: string } {
  const name = (fields.get('name') ?? '').trim();
  const isKnown = readSaved(reader).some((saved) => saved.name === name);
  try {
    if (fields.get('kind') === 'drop') {
      if (isKnown) storeView(request.replicaPath, { name, text: null });
      return redirect('/ask');
    }
    const taken = sql`SELECT 1 FROM sqlite_schema WHERE name = ? COLLATE NOCASE`;
    if (queryAny(reader, taken, [name])) return { status: 409, words: 'A table or question has this name already' };
    if (name === '' || name.length > CHARS_MAX || /^(?:_|sync_|sqlite_)|\p{C}/iu.test(name))
      return { status: 400, words: 'A name has at most 100 characters, and does not begin with _, sync_ or sqlite_.' };
    const text = questionOf(fields.get('sql'));
    reader.query(text); // refuses what is no single query
    storeView(request.replicaPath, { name, text });
    return redirect(`/ask/${pathPart(name)}`);
  } catch (thrown) {
    return { status: 400, words: asRowsyncError(thrown).message };
  }
}

/** Browsers send every line break of a field as two characters. */
export function questionOf(field: string | null | undefined): string {
  return (field ?? '').replaceAll('\r\n', '\n').trim();
}
