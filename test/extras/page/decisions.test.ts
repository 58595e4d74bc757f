/**
 * The parts of the page where a person decides: what each conflict and each refused row shows, and which buttons it
 * has.
 */
import { expect, test } from 'vitest';
import {
  openDecisionsHtml,
  readDecisions,
  showConflicts,
  type OpenDecisions,
  type ShownFailure,
} from '../../../src/extras/page/decisions.ts';
import { readAccount } from '../../../src/daemon/account-facts.ts';
import { openReader } from '../../../src/replica/reader.ts';
import { NOTHING_KEPT } from '../../support/kept.ts';
import { formsOf, readText } from '../../support/page-request.ts';
import { pushNow } from '../../support/push.ts';
import type { Fixture } from '../../support/replica.ts';
import { startTwoWay } from '../../support/two-way.ts';
import { CONFLICT, DECISIONS, NOW, REFUSAL } from '../../support/first-page.ts';

/** The parts with these decisions. */
function partsOf(changes: Partial<OpenDecisions>): string {
  return openDecisionsHtml({ ...DECISIONS, ...changes }, NOW).toString();
}

test('a conflict names its row and who changed it there, and marks what differs', () => {
  const line = { ...CONFLICT, local: 'Main Street 5, 😀 Paris', remote: 'Main Street 7, 😁 Paris' };

  const text = partsOf({ conflicts: [line] });

  expect(text).toContain('<a href="/browse/Note/3">');
  expect(text).toContain('<bdi>N-3 Ada</bdi>');
  expect(text).toContain('at the origin, by Bo Berg, <time datetime="2026-06-01T10:00:00Z"');
  expect(text).toContain('<bdi class="value">Main Street <mark>5, 😀</mark> Paris</bdi>');
  expect(text).toContain('<bdi class="value">Main Street <mark>7, 😁</mark> Paris</bdi>');
});

test('each edit that lost can be taken back, and all of them be left', () => {
  const lost = [7, 9].map((id) => ({ ...CONFLICT, id, state: 'decided', winner: 'origin' }));

  const text = partsOf({ conflicts: [], failures: [], lost, lostCount: 3 });

  expect(text.match(/&quot;isAgain&quot;:true/g)).toHaveLength(2);
  expect(text.match(/<button name="take" value="local" class="">Take it back</g)).toHaveLength(2);
  expect(text).not.toContain('value="remote"');
  expect(text).toContain('and 1 more');
  expect(text).toContain('value="{&quot;kind&quot;:&quot;seen&quot;,&quot;upToId&quot;:9}"');
});

test('a row that cannot be read has no buttons, and one in doubt a warning', () => {
  const unreadable = { ...REFUSAL, id: null, kind: 'read', sent: null };
  const doubted = { ...REFUSAL, kind: 'inDoubt' };
  const page = (failure: ShownFailure): string => partsOf({ conflicts: [], failures: [failure] });

  expect(page(unreadable)).not.toContain('/decide');
  expect(page(unreadable)).toContain('with every pull');
  expect(page(doubted)).toContain('sending it again makes another row');
});

test('what was sent is shown as its columns show values, also a cell that was emptied', () => {
  const column = (name: string, type: string): ShownFailure['columns'][number] => ({
    name,
    type,
    originName: name,
    storedAs: 'ANY',
    kind: null,
    isWritable: true,
    isRequired: false,
    width: null,
    mask: null,
  });
  const failure = {
    ...REFUSAL,
    sent: '{"Done":1,"Spent":90,"Due":null,"Seen":"2026-06-01T10:00:00Z"}',
    columns: [column('Done', 'Checkbox'), column('Spent', 'Duration'), column('Due', 'Date')],
    retryAt: '2026-06-01T12:30:00Z',
  };

  const text = partsOf({ conflicts: [], failures: [failure] });

  const shown = [...text.matchAll(/<dt><bdi>(\w+)<\/bdi><\/dt>\s*<dd>(.*?)<\/dd>/gs)].map(([, ...cell]) => cell);
  const moment = (at: string): string => `<time class="at" datetime="${at}">${at}</time>`;
  expect(shown).toEqual([
    ['Done', 'yes'],
    ['Spent', '<span title="90 seconds">1 min 30 s</span>'],
    ['Due', '<em class="none">no value</em>'],
    ['Seen', `<bdi class="value">${moment('2026-06-01T10:00:00Z')}</bdi>`],
  ]);
  expect(text).toContain(`by itself at ${moment('2026-06-01T12:30:00Z')}`);
});

test.each([
  ['deletedHere', { local: null, remote: '{"Title":"new","Code":"c"}' }, 'Restore the row'],
  ['deletedThere', { local: '{"Title":"mine","Code":"c"}', remote: null }, 'Create it anew'],
])('a conflict about a whole row (%s) shows the columns that differ', (kind, versions, button) => {
  const line = { ...CONFLICT, kind, column: null, base: '{"Title":"before","Code":"c"}', ...versions };

  const text = partsOf({ conflicts: [line] });

  expect(text).toContain(button);
  expect(text).toContain('no such row');
  expect(text).toContain('1 equal column<');
  expect(text).not.toContain('Another value');
});

test('what is not listed any more is counted', () => {
  const text = partsOf({ conflictCount: 51, failureCount: 3 });

  expect(text).toContain('and 50 more, listed once these are decided');
  expect(text).toContain('and 2 more, listed once these are decided');
  expect(text).not.toMatch(/rowsync (?:conflicts|failures)/);
});

test('an open conflict has three buttons and another value; what was typed for it comes back where it was refused', () => {
  const typed = partsOf({ conflicts: [{ ...CONFLICT, typed: ' </textarea><b> ' }], failures: [] });
  const plain = partsOf({ failures: [] });
  const whole = partsOf({ conflicts: [{ ...CONFLICT, kind: 'deletedHere', column: null }], failures: [] });
  const takes = (text: string): readonly string[] =>
    [...text.matchAll(/<button name="take" value="(\w+)"/g)].map(([, take = '']) => take);

  expect(takes(plain)).toEqual(['local', 'remote', 'base', 'value', 'null']);
  expect(takes(whole)).toEqual(['local', 'remote', 'base']);
  expect(typed).toContain('<details open>');
  expect(typed).toMatch(/<textarea [^>]*>\n &lt;\/textarea&gt;&lt;b&gt; <\/textarea>/);
  expect(plain).toContain('<details><summary>Another value');
});

test('a form of a conflict names what was seen of it, so that a decision about an older version can be refused', () => {
  const seenOf = (changes: Partial<OpenDecisions['conflicts'][number]>): unknown => {
    const [form] = formsOf(partsOf({ conflicts: [{ ...CONFLICT, ...changes }], failures: [] }));
    return (JSON.parse(form?.['decision'] ?? '') as { seen: unknown }).seen;
  };

  expect(seenOf({ remote: 'another' })).not.toEqual(seenOf({}));
  expect(seenOf({ name: 'called otherwise' })).toEqual(seenOf({}));
});

test('where nothing is to be decided, there is no part and no form', () => {
  expect(partsOf({ conflicts: [], failures: [], conflictCount: 0, failureCount: 0 })).toBe('');
});

test('several refused rows can be sent again together, and one has its own button alone', () => {
  const all = 'Send all refused rows again';

  expect(partsOf({ failures: [REFUSAL, { ...REFUSAL, id: 5, rowId: 6 }] })).toContain(all);
  expect(partsOf({ failures: [REFUSAL] })).not.toContain(all);
});

/** The open decisions of a replica. */
function decisionsIn({ path }: Fixture, refused?: Parameters<typeof readDecisions>[1]['refused']): OpenDecisions {
  using reader = openReader(path);
  const nowMs = Date.now();
  const problems = readAccount(reader, { ...NOTHING_KEPT, keeper: 'daemon', complaints: [], nowMs });
  return readDecisions(reader, { problems, formToken: 'token', nowMs, ...(refused === undefined ? {} : { refused }) });
}

test('conflicts and failures of a replica come with the names of their rows, who changed them, and what was typed', async () => {
  await using fixture = await startTwoWay({ editing: { conflict: 'ask' } });
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1; UPDATE "Note" SET "Code" = 'c3' WHERE _id = 2`);
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });
  await pushNow(fixture, { options: { conflict: 'ask' } });

  const found = decisionsIn(fixture);
  const typed = decisionsIn(fixture, { words: 'no', conflictId: found.conflicts[0]?.id ?? 0, value: 'x' });
  const other = decisionsIn(fixture, { words: 'no', conflictId: 99, value: 'x' });

  expect(found).toMatchObject({
    conflictCount: 1,
    failureCount: 1,
    lostCount: 0,
    conflicts: [{ table: 'Note', rowId: 1, base: 'title 1', local: 'mine', remote: 'theirs', typed: null }],
    failures: [{ table: 'Note', rowId: 2, kind: 'update', status: 400 }],
  });
  expect(found.conflicts[0]?.changedBy).toContain('Alice Martin');
  expect(found.failures[0]?.columns.map(({ name }) => name)).toContain('Code');
  expect(found.failures[0]?.seen).toMatch(/^[\w-]{22}$/);
  expect([typed.conflicts[0]?.typed, other.conflicts[0]?.typed]).toEqual(['x', null]);
});

test('an edit that lost to the policy of its table is listed until a person saw it', async () => {
  await using fixture = await startTwoWay();
  fixture.execute(`UPDATE "Note" SET "Title" = 'mine' WHERE _id = 1`);
  fixture.sandbox.store.update('Note', 1, { Title: 'theirs' });
  await fixture.pull();

  const { lost, lostCount, conflicts } = decisionsIn(fixture);
  fixture.execute('UPDATE _rowsync_conflicts SET seen = 1');

  expect([lostCount, conflicts.length]).toEqual([1, 0]);
  expect(lost[0]).toMatchObject({ local: 'mine', remote: 'theirs', state: 'decided' });
  expect(decisionsIn(fixture).lost).toEqual([]);
});

test('a push that a guard holds is told apart from a pull that one holds', async () => {
  await using fixture = await startTwoWay();
  fixture.execute('DELETE FROM "Note" WHERE _id > 1');
  await pushNow(fixture);
  const held = decisionsIn(fixture).heldPushes;
  fixture.execute(
    `UPDATE _rowsync_tables SET held_code = push_code, held_message = push_message, push_code = NULL, push_message = NULL`,
  );

  expect([...held]).toEqual(['Note']);
  expect([...decisionsIn(fixture).heldPushes]).toEqual([]);
});

test('a conflict of a table that is not here any more is still shown', async () => {
  await using fixture = await startTwoWay();
  const line = { ...CONFLICT, table: 'Gone' };

  const [shown] = showConflicts(fixture.replica, [line]);

  expect(shown).toMatchObject({ table: 'Gone', columns: [], changedBy: null, changedAt: null });
  expect(readText(partsOf({ conflicts: shown === undefined ? [] : [shown], failures: [] }))).toContain('mine');
});
