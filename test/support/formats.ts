/** Both sides of each wire format, for round trips: what the client reads and writes, and what the sandbox does. */
import { SERVER_FORMATS } from '../../src/sandbox/wire/format.ts';
import { WIRE_FORMATS } from '../../src/wire/format.ts';

/** By extension. */
export const FORMATS = {
  json: { ...WIRE_FORMATS.json, ...SERVER_FORMATS.json },
  xml: { ...WIRE_FORMATS.xml, ...SERVER_FORMATS.xml },
};
