/**
 * Saved questions: views of the replica, so that every SQL client has them, and renames at the origin reach them. Each has an address of its own,
 * `/ask/NAME`.
 */
import { asRowsyncError } from '../../base/errors.ts';
import { sql } from '../../base/sql.ts';
import { queryAny } from '../../replica/query.ts';
import { readSaved } from '../shared/rows-page.ts';
import type { AnswerChunks } from '../shared/child-process.ts';
import { storeView } from '../shared/sql-client.ts';
import { pathPart } from './address.ts';
import { problem, redirect, type PageInput } from './context.ts';

const CHARS_MAX = 100;

export function answerSaving(desk: PageInput, fields: ReadonlyMap<string, string>): AnswerChunks {
  const { reader, request } = desk;
  const name = (fields.get('name') ?? '').trim();
  const isKnown = readSaved(reader).some((saved) => saved.name === name);
  try {
    if (fields.get('kind') === 'drop') {
      if (isKnown) storeView(request.replicaPath, { name, text: null });
      return redirect('/ask');
    }
    const taken = sql`SELECT 1 FROM sqlite_schema WHERE name = ? COLLATE NOCASE`;
    if (queryAny(reader, taken, [name])) return problem(desk, 409, 'A table or question has this name already');
    if (name === '' || name.length > CHARS_MAX || /^(?:_|sync_|sqlite_)|\p{C}/iu.test(name))
      return problem(
        desk,
        400,
        'A question cannot have this name',
        'It has at most 100 characters, and does not begin with _, sync_ or sqlite_.',
      );
    const text = (fields.get('sql') ?? '').replaceAll('\r\n', '\n');
    reader.query(text); // refuses what is no single query
    storeView(request.replicaPath, { name, text });
    return redirect(`/ask/${pathPart(name)}`);
  } catch (thrown) {
    return problem(desk, 400, 'The question was not saved', asRowsyncError(thrown).message);
  }
}
