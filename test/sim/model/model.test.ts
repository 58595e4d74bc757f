/**
 * The model of the origin against the sandbox: two implementations of one specification, written apart, driven with the
 * same random requests and acts. Every difference is a defect of one of them.
 */
import { expect, test } from 'vitest';
import { Random } from '../../../src/sandbox/data/random.ts';
import type { TableSpec, UserSpec } from '../../../src/sandbox/store/spec.ts';
import { seeds } from '../../support/seeds.ts';
import { step } from './drive.ts';
import { Pair } from './pair.ts';

const GROUP: TableSpec = {
  name: 'Group',
  key: 'Name',
  columns: [
    { name: 'Name', type: 'Text', options: ['Unique', 'Required'] },
    { name: 'Budget', type: 'Numeric' },
    { name: 'Lead', type: 'User' },
  ],
  rows: [{ Name: 'a', Budget: 10 }, { Name: 'B' }],
};

const ITEM: TableSpec = {
  name: 'Item',
  columns: [
    { name: 'Title', type: 'Text', options: ['Required'], defaultValue: 'untitled' },
    { name: 'Code', type: 'Text', options: ['Unique'], width: 6 },
    { name: 'Group', type: 'Text' },
    { name: 'Amount', type: 'Numeric' },
    { name: 'Done', type: 'Checkbox', defaultValue: false },
    { name: 'Day', type: 'Date' },
    { name: 'At', type: 'Time' },
    { name: 'Moment', type: 'Timestamp' },
    { name: 'Length', type: 'Duration' },
    { name: 'Notes', type: 'Multiline' },
    { name: 'Person', type: 'User' },
    { name: 'Place', type: 'Location' },
    { name: 'File', type: 'Attachment', options: ['AllowSeeRevisionHistory'] },
    { name: 'Picture', type: 'Attachment', options: ['PublicAttachment'] },
    {
      name: 'Group Budget',
      type: 'Numeric',
      computed: { how: 'lookup', reference: 'Group', table: 'Group', column: 'Budget' },
    },
    { name: 'Label', type: 'Text', computed: { how: 'join', columns: ['Title', 'Group'] } },
  ],
  rows: [{ Code: 'one' }, { Code: 'two', Group: 'a', Amount: 1.5 }, { Code: null, Title: 'three' }],
  rules: [
    { when: 'write', set: 'Title', to: 'Trim([Title])' },
    { when: 'create', set: 'Code', to: 'Lower([Code])' },
    { when: 'update', set: 'Group', to: 'Upper([Group])' },
  ],
  views: [{ name: 'Short', columns: ['Title'], groups: ['Group//EQ'] }],
};

const ODD: TableSpec = {
  name: 'Odd / 100% [x]',
  key: 'Number',
  systemColumns: false,
  columns: [
    { name: 'Number', type: 'Numeric', options: ['Unique'] },
    { name: 'A [b] \\c', type: 'Text' },
    { name: 'Serial', type: 'Autonumber', format: 'S-{000}' },
    { name: 'E-mail', type: 'EMail', readOnly: true },
    { name: 'Items', type: 'Numeric', computed: { how: 'count', table: 'Item', reference: 'Amount' } },
    { name: 'Last', type: 'Timestamp', computed: { how: 'max', table: 'Item', reference: 'Amount', column: 'Moment' } },
  ],
  rows: [{ Number: 1 }, { Number: 2, 'A [b] \\c': 'x' }],
};

const USERS: readonly UserSpec[] = [
  {
    email: 'alice.martin@example.com',
    firstName: 'Alice',
    lastName: 'Martin',
    role: 'Administrator',
    culture: 'en-US',
    timezone: 'Europe/Paris',
    admin: ['ManageUsers', 'ManageData'],
  },
  {
    email: 'Jonas.Weber@example.com',
    firstName: 'Jonas',
    lastName: 'Wéber',
    role: 'Staff',
    culture: 'de-DE',
    timezone: 'UTC',
    admin: [],
  },
];

const STEPS = 300;

/** How often what came of the steps of all seeds. */
const countByOutcome = new Map<string, number>();

test.each(seeds(12))('answers as the sandbox does, seed %i', async (seed) => {
  using pair = new Pair([GROUP, ITEM, ODD], USERS);
  const random = new Random(seed);

  for (let count = 1; count <= STEPS; count += 1) {
    const { words, differences, outcomes } = await step(pair, random);
    expect(differences, `step ${count}: ${words}`).toEqual([]);
    for (const outcome of outcomes) countByOutcome.set(outcome, (countByOutcome.get(outcome) ?? 0) + 1);
  }

  expect(pair.compareRows()).toEqual([]);
});

test.each([
  'column=Date Created//DD&column=id//COUNT&column=Date Modified//MAX&column=Amount//SUM&column=Group Budget//SUM&column=Length//SUM',
  'column=Moment//DD&column=Amount//SUM&column=Amount//COUNT&sort=Moment//DESC&top=2&skip=1',
  'column=Moment//DD&column=Title//COUNT&filter=[Date Created] >= #2020-01-01 00:00:00#',
  'column=Date Modified//SS&column=id//COUNT&filter=[Date Modified] >= #2020-01-01 00:00:00#',
  'column=Amount//SUM&column=Moment//MAX&top=1',
  'column=Title//COUNT&column=Amount',
  'column=Title//SUM',
  'column=Moment//DD&column=Amount//SUM&sort=Amount',
  'column=Nope//COUNT',
])('adds up rows as the sandbox does: %s', async (parameters) => {
  using pair = new Pair([GROUP, ITEM, ODD], USERS);
  const random = new Random(1);
  const query = parameters.replaceAll(/[ /[\]>#:]/g, (character) => encodeURIComponent(character));

  for (let count = 1; count <= 120; count += 1) {
    await step(pair, random);
    if (count % 20 > 0) continue;
    const { differences } = await pair.ask({ verb: 'GET', path: `Item/select.json?${query}` });
    expect(differences).toEqual([]);
  }
});

/** What the steps are for; a run that does not come to it proves nothing. */
const WANTED: Readonly<Record<string, string>> = {
  select: '200, 304, 400, 401, 403, 414',
  retrieve: '200, 304, 400',
  describe: '200, 304',
  user: '200, 304',
  write: '200, 400, 403, 415',
  'create row': '201, 400 4100, 400 4101, 400 4102, 400 4103, 403 4002',
  'update row': '200, 304, 404 4000, 400 4001',
  'upsert row': '200, 201, 304, 400 3100, 400 3102, 400 4104, 400 4105',
  delete: '200, 400, 403',
  'delete row': '200, 403 4000',
  attachments: '200, 304, 403',
  attachment: '200, 304, 403, 404',
  updated: '405',
};

test.runIf(seeds(12).length >= 12)('the steps come to everything that they are for', () => {
  const wanted = Object.entries(WANTED).flatMap(([method, ends]) => ends.split(', ').map((end) => `${method} ${end}`));

  expect(wanted.filter((outcome) => !countByOutcome.has(outcome))).toEqual([]);
});
