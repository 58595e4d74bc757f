/**
 * The parts of the page where a person decides: what each conflict and each refused row shows, and which buttons it has.
 */
import { expect, test } from 'vitest';
import { openDecisionsHtml, type OpenDecisions, type ShownFailure } from '../../../src/extras/page/decisions.ts';
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
