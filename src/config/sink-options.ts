/**
 * The option `sinks`: PostgreSQL servers that the replica is streamed to. Part of the one table of options.
 */
import * as z from 'zod';
import { PRINTABLE, section, text } from './option-kinds.ts';

const SINK_MUST_BE = 'must be the name of a schema: 1 to 63 bytes';

const postgres = section(
  {
    url: text({
      pattern: PRINTABLE,
      mustBe:
        'must be an address such as postgresql://user@host/database, or name an environment variable, as ${WAREHOUSE_URL}',
      doc:
        'The address of the server, in the form of libpq: postgresql://user@host:5432/database?sslmode=verify-full. Without a password; ' +
        'or an environment variable that has all of it, written as ${NAME}. sslmode is that of libpq; left out, the server is verified ' +
        '(verify-full), but for a loopback address or a unix socket (?host=/var/run/postgresql).',
    }).optional(),
    urlFile: text({
      pattern: PRINTABLE,
      mustBe: 'must be the path of a file that holds the address',
      doc: 'A file that holds the address, with the password in it. Only the user who runs rowsync should be able to read it.',
    }).optional(),
    passwordFile: text({
      pattern: PRINTABLE,
      mustBe: 'must be the path of a file that holds the password',
      doc: 'A file that holds the password, where the address has none.',
    }).optional(),
    schema: z
      .string({ error: SINK_MUST_BE })
      .regex(PRINTABLE, { error: SINK_MUST_BE })
      .refine((name) => Buffer.byteLength(name) <= 63 && !/^pg_|^information_schema$/.test(name), {
        error: SINK_MUST_BE,
      })
      .meta({
        description: 'The schema for the tables; made if it is missing. One replica may write to a schema.',
      }),
  },
  'A PostgreSQL server, 14 or newer: url or urlFile, and the schema.',
);

/** Servers by their names. */
export const sinks = z
  .record(
    z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,40}$/, { error: 'is not a valid name of a sink: letters, digits, _ and -, at most 40' }),
    section(
      {
        postgres,
        tables: z
          .record(z.string().min(1), z.union([z.literal(false), section({}, 'No options yet: {} sends the tables.')]), {
            error: 'must be a mapping from table names or patterns to {} or false',
          })
          .default({ '*': {} })
          .meta({
            description: 'Which tables are sent, as under tables: {} for those that are, false for those that are not.',
          }),
        deletes: z.enum(['remove', 'keep'], { error: 'must be remove or keep' }).default('remove').meta({
          description: 'What happens there to a deleted row: it is removed too, or stays with the time in _deleted_at.',
        }),
      },
      'One sink.',
    ),
    { error: 'must be a mapping from names of sinks to what they are' },
  )
  .default({})
  .meta({ description: 'Where the replica is streamed to: PostgreSQL servers, each under a name of your choice.' });
