/**
 * The sandbox's own sample data: a small furniture company, the same for the same seed. Made to be awkward where real
 * databases are. Every column type. Names with spaces, accents, slashes and quotes. Empty cells, multi-line texts,
 * numbers of 19 digits, keys of three kinds, an empty table. And tables whose row count is an exact multiple of a
 * page. Words are in sample-words.ts.
 */
import { Random } from './random.ts';
import * as words from './sample-words.ts';
import type { Cells, FileSpec, RoleSpec, TableSpec, UserSpec } from '../store/spec.ts';
import { userText } from '../store/catalog.ts';

/** What a Trainee does not see of a customer. */
const CREDIT = 'Crédit accordé';

const common = { culture: 'en-US', timezone: 'Europe/Paris', admin: [] } as const;

/** Those whose names are in the sample data; the first one owns the sandbox's token, the others are the colleagues. */
const STAFF: readonly UserSpec[] = [
  {
    ...common,
    email: 'alice.martin@example.com',
    firstName: 'Alice',
    lastName: 'Martin',
    role: 'Administrator',
    admin: ['CustomizeApplication', 'ManageUsers', 'ManageData'],
  },
  { ...common, email: 'jonas.weber@example.com', firstName: 'Jonas', lastName: 'Weber', role: 'Staff' },
  { ...common, email: 'zoe.obrien@example.com', firstName: 'Zoë', lastName: "O'Brien", role: 'Staff' },
  { ...common, email: 'lukasz.kowalski@example.com', firstName: 'Łukasz', lastName: 'Kowalski', role: 'Staff' },
];

/** The users of every sandbox: one of each kind of rights at least, and one in another time zone. */
export const SAMPLE_USERS: readonly UserSpec[] = [
  ...STAFF,
  {
    ...common,
    email: 'nadia.haddad@example.com',
    firstName: 'Nadia',
    lastName: 'Haddad',
    role: 'Reader',
    timezone: 'Asia/Kolkata',
  },
  { ...common, email: 'tom.fischer@example.com', firstName: 'Tom', lastName: 'Fischer', role: 'Trainee' },
];

/**
 * What the roles of every sandbox may do with its tables. An Administrator and Staff may do everything (but only the
 * former has ManageData, a permission of users). A Reader may read. A Trainee may change rows of their own. They do not
 * see the table of employees (or the last one where there is none), nor the credit of customers.
 */
export function sampleRoles(
  tables: readonly { readonly name: string; readonly columns: readonly { readonly name: string }[] }[],
): readonly RoleSpec[] {
  const hidden = tables.find(({ name }) => name === 'Employee') ?? (tables.length > 1 ? tables.at(-1) : undefined);
  const hasCredit = tables.some(
    ({ name, columns }) => name === 'Customer' && columns.some((column) => column.name === CREDIT),
  );
  const all = { canWrite: true, hiddenTables: [], hiddenColumns: [] } as const;
  return [
    { ...all, name: 'Administrator' },
    { ...all, name: 'Staff' },
    { ...all, name: 'Reader', canWrite: false },
    {
      ...all,
      name: 'Trainee',
      editOwnOnly: true,
      hiddenTables: hidden === undefined ? [] : [hidden.name],
      hiddenColumns: hasCredit ? [['Customer', CREDIT]] : [],
    },
  ];
}

const EMPLOYEE_COUNT = 60;
/** Three whole pages. */
const CUSTOMER_COUNT = 1500;
const PRODUCT_COUNT = 400;
/** Eight whole pages. */
const ORDER_COUNT = 4000;
const LINE_COUNT = 12_345;
const MOVEMENT_COUNT = 3000;
const CLAIM_COUNT = 700;

const FIRST_DAY_MS = Date.UTC(2023, 0, 2, 7);
const DAY_MS = 86_400_000;

/** All tables; a table comes after those that it refers to. */
export function sampleTables(seed: number): readonly TableSpec[] {
  const tables = [employees, customers, products, warehouses, orders, orderLines, movements, claims, archive];
  // Each table has a sequence of its own, so that a change to one leaves the others as they are.
  return tables.map((table, index) => table(new Random(seed * 1000 + index)));
}

function* times(count: number, row: (number: number) => Cells): Generator<Cells> {
  for (let number = 1; number <= count; number += 1) yield row(number);
}

/** A value, or now and then an empty cell. */
function sometimes<T>(random: Random, probability: number, value: () => T): T | null {
  return random.chance(probability) ? value() : null;
}

function dateOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function dayOf(random: Random, days: number): string {
  return dateOf(FIRST_DAY_MS + random.integer(0, days) * DAY_MS);
}

function phone(random: Random): string {
  return `+33 ${random.integer(1, 9)} ${String(random.integer(0, 99_999_999))
    .padStart(8, '0')
    .replaceAll(/(..)(?=.)/g, '$1 ')}`;
}

function mailName(name: string): string {
  return name
    .normalize('NFD')
    .replaceAll(/[^A-Za-z0-9 ]/g, '')
    .trim()
    .replaceAll(/ +/g, '.')
    .toLowerCase();
}

function money(random: Random, maxCents: number): number {
  return random.integer(100, maxCents) / 100;
}

function timeOfDay(random: Random, fromHour: number, toHour: number): string {
  const hour = String(random.integer(fromHour, toHour)).padStart(2, '0');
  return `${hour}:${random.pick(['00', '15', '30', '45'])}:00`;
}

function paragraphs(random: Random, count: number): string {
  return Array.from({ length: count }, () => random.pick(words.SENTENCES)).join('\n');
}

/** A picture of one pixel: real bytes of a real format, small enough to keep a hundred of them. */
function photo(name: string): FileSpec {
  return { name: `${name}.png`, mediaType: 'image/png', bytes: Buffer.from(words.PIXEL_PNG, 'base64') };
}

function employees(random: Random): TableSpec {
  return {
    name: 'Employee',
    color: '#7A4B9D',
    columns: [
      { name: 'First Name', type: 'Text', width: 60, options: ['Required', 'AllowFind'] },
      { name: 'Last Name', type: 'Text', width: 60, options: ['Required', 'AllowFind'] },
      { name: 'Full Name', type: 'Text', computed: { how: 'join', columns: ['First Name', 'Last Name'] } },
      { name: 'E-Mail', type: 'EMail', options: ['Unique', 'AllowFind'] },
      { name: 'Phone', type: 'Phone' },
      { name: 'Hired', type: 'Date' },
      { name: 'Shift Start', type: 'Time' },
      { name: 'Shift Length', type: 'Duration' },
      { name: 'Full-time?', type: 'Checkbox' },
      { name: 'Photo', type: 'Attachment', options: ['AllowSeeRevisionHistory'] },
      { name: 'Notes', type: 'Multiline' },
    ],
    rows: times(EMPLOYEE_COUNT, (number) => {
      const first = random.pick(words.FIRST_NAMES);
      const last = random.pick(words.LAST_NAMES);
      return {
        'First Name': first,
        'Last Name': last,
        'E-Mail': `${mailName(`${first} ${last}`)}${number}@example.com`,
        Phone: sometimes(random, 0.9, () => phone(random)),
        Hired: dayOf(random, 900),
        'Shift Start': timeOfDay(random, 5, 22),
        'Shift Length': random.pick([4, 6, 7.5, 8, 10]) * 3600,
        'Full-time?': random.chance(0.7),
        Photo: sometimes(random, 0.4, () => photo(`badge; ${first} ${last}`)),
        Notes: sometimes(random, 0.5, () => paragraphs(random, random.integer(1, 4))),
      };
    }),
    createdFromMs: FIRST_DAY_MS,
  };
}

function customers(random: Random): TableSpec {
  return {
    name: 'Customer',
    columns: [
      { name: 'Name', type: 'Text', options: ['Required', 'AllowFind'] },
      { name: 'Segment', type: 'Text', width: 40 },
      { name: 'E-Mail', type: 'EMail', options: ['AllowFind'] },
      { name: 'Phone', type: 'Phone' },
      { name: 'Website', type: 'URL' },
      { name: 'Adresse de facturation', type: 'Multiline' },
      { name: CREDIT, type: 'Numeric' },
      { name: 'Preferred?', type: 'Checkbox' },
      { name: 'Account Manager', type: 'User' },
      { name: 'First Contact', type: 'Date' },
      { name: 'Last Call', type: 'Timestamp' },
    ],
    views: [
      {
        name: 'Preferred / by Segment',
        columns: ['Name', 'Segment', 'Account Manager'],
        groups: ['Segment//EQ'],
        filter: '[Preferred?]',
        sort: ['Name'],
      },
    ],
    rows: times(CUSTOMER_COUNT, (number) => {
      const name = `${random.pick(words.COMPANY_HEADS)} ${random.pick(words.COMPANY_TAILS)} ${number}`;
      return {
        Name: name,
        Segment: sometimes(random, 0.95, () => random.pick(words.SEGMENTS)),
        'E-Mail': sometimes(random, 0.9, () => `office@${mailName(name)}.example.com`),
        Phone: sometimes(random, 0.8, () => phone(random)),
        Website: sometimes(random, 0.6, () => `https://www.${mailName(name)}.example.com/`),
        'Adresse de facturation': `${random.integer(1, 180)} ${random.pick(words.STREETS)}\n${random.integer(10_000, 95_999)} ${random.pick(words.CITIES)}`,
        [CREDIT]: sometimes(random, 0.7, () => random.integer(1, 200) * 250),
        'Preferred?': random.chance(0.15),
        'Account Manager': sometimes(random, 0.8, () => userText(random.pick(STAFF))),
        'First Contact': dayOf(random, 1000),
        'Last Call': sometimes(random, 0.6, () => timestamp(random)),
      };
    }),
    createdFromMs: FIRST_DAY_MS,
  };
}

function timestamp(random: Random): string {
  const ms = FIRST_DAY_MS + random.integer(0, 1000 * 86_400) * 1000;
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

function sku(number: number): string {
  return `${words.SKU_HEADS[number % words.SKU_HEADS.length] ?? 'X'}-${String(number).padStart(5, '0')}`;
}

function products(random: Random): TableSpec {
  return {
    name: 'Product',
    color: '#C25B00',
    key: 'SKU',
    columns: [
      { name: 'SKU', type: 'Text', width: 20, options: ['Unique', 'Required', 'AllowFind'] },
      { name: 'Name', type: 'Text', options: ['Required', 'AllowFind'] },
      { name: 'List Price', type: 'Numeric' },
      { name: 'Weight (kg)', type: 'Numeric' },
      { name: 'EAN', type: 'Text', width: 13, options: ['Unique'] },
      { name: 'Assembly Time', type: 'Duration' },
      { name: 'Discontinued', type: 'Checkbox' },
      { name: 'Description', type: 'Multiline' },
      { name: 'Data Sheet', type: 'Attachment', options: ['PublicAttachment'] },
    ],
    rows: times(PRODUCT_COUNT, (number) => ({
      SKU: sku(number),
      Name: `${random.pick(words.FURNITURE)} ${random.pick(words.MODELS)} ${random.integer(12, 96)}" ${random.pick(words.FINISHES)}`,
      'List Price': money(random, 300_000),
      'Weight (kg)': sometimes(random, 0.9, () => random.integer(1, 90_000) / 1000),
      EAN: `300${String(number).padStart(10, '0')}`,
      'Assembly Time': sometimes(random, 0.8, () => random.integer(1, 36) * 300),
      Discontinued: random.chance(0.1),
      Description: sometimes(random, 0.85, () => paragraphs(random, random.integer(1, 5))),
      'Data Sheet': sometimes(random, 0.05, () => ({
        name: `fiche technique ${number}.txt`,
        mediaType: 'text/plain',
        bytes: Buffer.from(paragraphs(random, 6), 'utf8'),
      })),
    })),
    createdFromMs: FIRST_DAY_MS,
  };
}

function warehouses(random: Random): TableSpec {
  return {
    name: 'Warehouse "North" & Co.',
    plural: 'Warehouses',
    showTab: false,
    columns: [
      { name: 'City', type: 'Text' },
      { name: 'Floor / m²', type: 'Numeric' },
      { name: "Keeper's Login", type: 'User' },
      { name: 'Opens', type: 'Time' },
      { name: 'Closes', type: 'Time' },
    ],
    rows: times(words.CITIES.length, (number) => ({
      City: words.CITIES[number - 1] ?? null,
      'Floor / m²': random.integer(5, 120) * 100,
      "Keeper's Login": userText(random.pick(STAFF)),
      Opens: timeOfDay(random, 5, 8),
      Closes: timeOfDay(random, 17, 22),
    })),
    createdFromMs: FIRST_DAY_MS,
  };
}

function orderNumber(number: number): string {
  return `SO-${String(number).padStart(6, '0')}`;
}

function orders(random: Random): TableSpec {
  return {
    name: 'Order',
    color: '#1F7A4D',
    key: 'Order No.',
    columns: [
      { name: 'Order No.', type: 'Autonumber', format: 'SO-{000000}', options: ['Unique', 'Required', 'AllowFind'] },
      { name: 'Customer', type: 'Text', options: ['Required'] },
      { name: 'Ordered At', type: 'Timestamp' },
      { name: 'Deliver On', type: 'Date' },
      { name: 'Deliver After', type: 'Time' },
      { name: 'Status', type: 'Text', width: 20 },
      { name: 'Shipping Fee', type: 'Numeric' },
      { name: 'Paid', type: 'Checkbox' },
      { name: 'Comment', type: 'Multiline' },
      {
        name: 'Customer Name',
        type: 'Text',
        computed: { how: 'lookup', reference: 'Customer', table: 'Customer', column: 'Name' },
      },
    ],
    views: [
      {
        name: 'Unpaid Orders',
        columns: ['Order No.', 'Customer Name', 'Ordered At', 'Shipping Fee', 'Status'],
        filter: 'not [Paid]',
        sort: ['Ordered At//DESC'],
        actions: ['Edit', 'View'],
      },
      {
        name: 'Late Today',
        type: 'DashboardFilter',
        columns: ['Order No.', 'Deliver On', 'Status'],
        filter: '[Deliver On] < Today() and not [Paid]',
        sort: ['Deliver On'],
        showInMenu: false,
      },
      { name: 'Order Picker', type: 'RecordPicker', columns: ['Order No.', 'Customer Name'], showInMenu: false },
    ],
    rules: [
      { when: 'create', set: 'Ordered At', to: 'Now()', where: 'IsNull([Ordered At])' },
      { when: 'write', set: 'Status', to: '"Confirmed"', where: '[Paid] and [Status] = "New"' },
    ],
    rows: times(ORDER_COUNT, (number) => {
      const orderedMs =
        FIRST_DAY_MS + Math.floor((number / ORDER_COUNT) * 1000) * DAY_MS + random.integer(0, 40_000) * 1000;
      return {
        'Order No.': orderNumber(number),
        Customer: String(random.integer(1, CUSTOMER_COUNT)),
        'Ordered At': `${new Date(orderedMs).toISOString().slice(0, 19)}Z`,
        'Deliver On': sometimes(random, 0.9, () => dateOf(orderedMs + random.integer(2, 30) * DAY_MS)),
        'Deliver After': sometimes(random, 0.4, () => timeOfDay(random, 7, 18)),
        Status: random.pick(words.ORDER_STATES),
        'Shipping Fee': sometimes(random, 0.6, () => money(random, 9900)),
        Paid: random.chance(0.8),
        Comment: sometimes(random, 0.2, () => paragraphs(random, random.integer(1, 3))),
      };
    }),
    createdFromMs: FIRST_DAY_MS,
  };
}

function orderLines(random: Random): TableSpec {
  return {
    name: 'Order Line',
    columns: [
      { name: 'Order', type: 'Text', options: ['Required'] },
      { name: 'Product', type: 'Text', options: ['Required'] },
      { name: 'Quantity', type: 'Numeric', options: ['Required'], defaultValue: 1 },
      { name: 'Unit Price', type: 'Numeric' },
      { name: 'Discount %', type: 'Numeric' },
      {
        name: 'Product Name',
        type: 'Text',
        computed: { how: 'lookup', reference: 'Product', table: 'Product', column: 'Name' },
      },
    ],
    rows: times(LINE_COUNT, (number) => ({
      Order: orderNumber(1 + Math.floor(((number - 1) / LINE_COUNT) * ORDER_COUNT)),
      Product: sku(random.integer(1, PRODUCT_COUNT)),
      Quantity: random.integer(1, 12),
      'Unit Price': money(random, 300_000),
      'Discount %': random.pick([null, null, 0, 2.5, 5, 10]),
    })),
    createdFromMs: FIRST_DAY_MS,
  };
}

/** Numbers at the edges of what a double, 64 bits and the API can hold. */
function movements(random: Random): TableSpec {
  return {
    name: 'Stock Movement',
    columns: [
      { name: 'Product', type: 'Text' },
      { name: 'Booked At', type: 'Timestamp' },
      { name: 'Quantity', type: 'Numeric' },
      { name: 'Ledger Number', type: 'Numeric' },
      { name: 'Unit Cost (exact)', type: 'Numeric' },
      { name: 'Shrinkage', type: 'Numeric' },
      { name: 'Took', type: 'Duration' },
    ],
    rows: times(MOVEMENT_COUNT, (number) => ({
      Product: sku(random.integer(1, PRODUCT_COUNT)),
      'Booked At': timestamp(random),
      Quantity: random.integer(-40, 40),
      'Ledger Number': 9_007_199_254_740_000_000n + BigInt(number),
      'Unit Cost (exact)': sometimes(
        random,
        0.9,
        () =>
          `${random.integer(1, 999)}.${String(random.integer(1, 99_999_999)).padStart(8, '0')}${String(random.integer(1, 99_999_999)).padStart(8, '0')}`,
      ),
      Shrinkage: random.pick([0, 1e-7, 0.1, 1e21, -0.000_000_1]),
      Took: sometimes(random, 0.8, () => random.integer(1, 100_000) / 8),
    })),
    createdFromMs: FIRST_DAY_MS,
  };
}

function claims(random: Random): TableSpec {
  return {
    name: 'Réclamation / Claim',
    plural: 'Réclamations / Claims',
    columns: [
      { name: 'Order', type: 'Text' },
      { name: "What's wrong?", type: 'Multiline', options: ['AllowFind'] },
      { name: 'Opened', type: 'Timestamp' },
      { name: 'Settled', type: 'Date' },
      { name: 'Refund', type: 'Numeric' },
      { name: 'Handled By', type: 'User' },
      { name: 'État', type: 'Text', width: 30 },
    ],
    rules: [{ when: 'create', set: 'Handled By', to: 'User()', where: 'IsNull([Handled By])' }],
    rows: times(CLAIM_COUNT, () => ({
      Order: orderNumber(random.integer(1, ORDER_COUNT)),
      "What's wrong?": paragraphs(random, random.integer(1, 6)),
      Opened: timestamp(random),
      Settled: sometimes(random, 0.5, () => dayOf(random, 1000)),
      Refund: sometimes(random, 0.5, () => money(random, 50_000)),
      'Handled By': userText(random.pick(STAFF)),
      État: random.pick(words.CLAIM_STATES),
    })),
    createdFromMs: FIRST_DAY_MS,
  };
}

function archive(): TableSpec {
  return {
    name: 'Archive',
    plural: 'Archive',
    columns: [
      { name: 'Title', type: 'Text' },
      { name: 'Content', type: 'Multiline' },
      { name: 'Scan', type: 'Attachment' },
    ],
    rows: [],
  };
}
