/** Names of exported files: what is left of hostile ones, and that no two of one folder meet. */
import { basename, join, resolve } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FolderNames, NAME_BYTES_MAX, nameWithRemark, safeName } from '../../../src/extras/shared/file-names.ts';
import { fuzzRuns } from '../../support/fuzz.ts';

describe('a safe name', () => {
  test.each([
    ['photo.png', 'photo.png'],
    ['Größe 1; final.pdf', 'Größe 1; final.pdf'],
    ['../../etc/passwd', '_._.._etc_passwd'],
    ['..\\..\\boot.ini', '_._.._boot.ini'],
    ['/etc/passwd', '_etc_passwd'],
    ['C:\\x.txt', 'C__x.txt'],
    ['%2e%2e%2f', '%2e%2e%2f'],
    ['.', 'file'],
    ['..', 'file'],
    ['...', 'file'],
    ['', 'file'],
    [' \t ', 'file'],
    ['\u200b\u202e', 'file'],
    ['.bashrc', '_bashrc'],
    ['-rf', '_-rf'],
    ['~root', '_~root'],
    ['name.', 'name'],
    ['name. . ', 'name'],
    [' name', 'name'],
    ['CON', '_CON'],
    ['con.txt', '_con.txt'],
    ['LPT1', '_LPT1'],
    ['COM\u00B9.log', '_COM\u00B9.log'],
    ['console.log', 'console.log'],
    ['a\u0000b\u001b[31m.txt', 'ab[31m.txt'],
    ['photo\u202Egnp.exe', 'photognp.exe'],
    ['a:stream?*"<>|', 'a_stream______'],
    ['e\u0301te\u0301.txt', 'été.txt'],
    ['half \uD83D.txt', 'half .txt'],
  ])('of %j is %j', (name, safe) => {
    expect(safeName(name, 'file')).toBe(safe);
  });

  test('is cut between two characters, and keeps its extension', () => {
    const long = safeName(`${'ü€😀'.repeat(100)}.jpeg`, 'file');

    expect(Buffer.byteLength(long)).toBeLessThanOrEqual(NAME_BYTES_MAX);
    expect(Buffer.byteLength(long)).toBeGreaterThan(NAME_BYTES_MAX - 8);
    expect(long).toMatch(/^(?:ü€😀)+[ü€]*\.jpeg$/u);
    expect(safeName(`a.${'b'.repeat(300)}`, 'file')).toHaveLength(NAME_BYTES_MAX);
  });

  test('stays in its folder, shows itself, and is safe already, whatever it came from', () => {
    const part = fc.constantFrom(
      '..',
      '/',
      '\\',
      '\0',
      'CON',
      'nul',
      'com1',
      '.',
      ' ',
      '-',
      '~',
      ':',
      '"',
      '|',
      'x',
      'Z',
      '7',
      'longer words',

      '\u202e',
      '\u200b',
      '\ufeff',
      '\u0085',
      '\u2028',
      'é',
      'e\u0301',
      '\u0301',
      'ﬁ',
      'ß',
      '\ud800',
      '\udc00',
      '😀',
      '\u{e0041}',
      '\ue000',
    );
    const anyName = fc.array(part, { maxLength: 120 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(anyName, (name) => {
        const safe = safeName(name, 'file');
        const folder = resolve('/some/folder');
        expect(resolve(folder, safe)).toBe(join(folder, safe));
        expect(basename(safe)).toBe(safe);
        expect(safe).toMatch(/^[^.\-~\s/\\:*?"<>|\p{Cc}\p{Cf}\p{Cs}][^/\\:*?"<>|\p{Cc}\p{Cf}\p{Cs}]*$/u);
        expect(safe).not.toMatch(/[.\s]$|^(?:con|nul|aux|prn|com\d|lpt\d)(?:\.|$)/iu);
        expect(Buffer.byteLength(safe)).toBeLessThanOrEqual(NAME_BYTES_MAX);
        expect(safeName(safe, 'file')).toBe(safe);
      }),
      fuzzRuns(500),
    );
  });
});

describe('the names of one folder', () => {
  test('get a number where only case or accents tell them apart', () => {
    const names = new FolderNames();

    const given = ['Photo.png', 'photo.PNG', 'photo (2).png', 'stra\u00DFe', 'STRASSE', '\uFB01le', 'file'].map(
      (name) => names.take(name),
    );

    expect(given).toEqual([
      'Photo.png',
      'photo (2).PNG',
      'photo (2) (2).png',
      'straße',
      'STRASSE (2)',
      '\uFB01le',
      'file (2)',
    ]);
  });

  test('differ for every system, and stay safe', () => {
    const unit = fc.constantFrom('a', 'A', 'é', 'É', '.', ' ', '(2)', 'ß', 'ss', 'x');
    fc.assert(
      fc.property(fc.array(fc.string({ unit, maxLength: 6 }), { maxLength: 30 }), (raw) => {
        const names = new FolderNames();
        const given = raw.map((name) => names.take(safeName(name, 'file')));
        expect(new Set(given.map((name) => name.normalize('NFKD').toUpperCase())).size).toBe(raw.length);
        expect(given.filter((name) => /[/\\]|^\.|\.$/.test(name))).toEqual([]);
      }),
      fuzzRuns(200),
    );
  });

  test('have a remark in front of the extension', () => {
    expect(nameWithRemark('a.b.png', 'revision 2')).toBe('a.b (revision 2).png');
    expect(nameWithRemark('_bashrc', 'revision 2')).toBe('_bashrc (revision 2)');
  });
});
