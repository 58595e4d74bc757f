/** Descriptions are kept with the ETag that proves them, each under its own table. */
import { expect, test } from 'vitest';
import {
  forgetDescriptor,
  forgetDescriptors,
  readDatabaseDescriptor,
  readTableDescriptor,
  storeDescriptor,
} from '../../../src/replica/bookkeeping/descriptors.ts';
import type { DatabaseDescriptor, TableDescriptor } from '../../../src/wire/schema.ts';
import { openBare } from '../../support/bare.ts';

const DATABASE = { name: 'Sales', tables: [] } as unknown as DatabaseDescriptor;
const tableOf = (name: string): TableDescriptor => ({ name, columns: [], other: {} }) as unknown as TableDescriptor;

test('a description comes back as it was stored, and replaces the one before it', async () => {
  await using bare = await openBare();
  await bare.write((tx) => {
    storeDescriptor(tx, 'database', { etag: '"d"', value: DATABASE });
    storeDescriptor(tx, 1, { etag: '"1"', value: tableOf('Note') });
    storeDescriptor(tx, 11, { etag: '"11"', value: tableOf('Task') });
    storeDescriptor(tx, 1, { etag: '"1b"', value: tableOf('Größe') });
  });

  expect(readDatabaseDescriptor(bare.replica)).toEqual({ etag: '"d"', descriptor: DATABASE });
  expect(readTableDescriptor(bare.replica, 1)).toEqual({ etag: '"1b"', descriptor: tableOf('Größe') });
  expect(readTableDescriptor(bare.replica, 11)).toEqual({ etag: '"11"', descriptor: tableOf('Task') });
  expect(readTableDescriptor(bare.replica, 2)).toBeNull();
});

test('one that comes without an ETag takes the place of the older one, whose ETag proves nothing any more', async () => {
  await using bare = await openBare();
  await bare.write((tx) => {
    storeDescriptor(tx, 1, { etag: '"1"', value: tableOf('Note') });
    storeDescriptor(tx, 1, { etag: null, value: tableOf('Task') });
  });

  expect(readTableDescriptor(bare.replica, 1)).toEqual({ etag: '', descriptor: tableOf('Task') });
});

test('one is forgotten without the others, or all are', async () => {
  await using bare = await openBare();
  await bare.write((tx) => {
    storeDescriptor(tx, 'database', { etag: '"d"', value: DATABASE });
    for (const id of [1, 2]) storeDescriptor(tx, id, { etag: `"${id}"`, value: tableOf('Note') });
    forgetDescriptor(tx, 1);
  });
  expect(readTableDescriptor(bare.replica, 1)).toBeNull();
  expect([readDatabaseDescriptor(bare.replica)?.etag, readTableDescriptor(bare.replica, 2)?.etag]).toEqual([
    '"d"',
    '"2"',
  ]);

  await bare.write(forgetDescriptors);

  expect([readDatabaseDescriptor(bare.replica), readTableDescriptor(bare.replica, 2)]).toEqual([null, null]);
});
