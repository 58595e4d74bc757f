/**
 * Revisions of an attachment as the list method reports them (specification 2.8 and 4.8), in JSON; xml.ts brings XML into
 * the same shape. File names are what the origin sent: text, never a path.
 */
import { describeKind, Fields, unexpected } from './json.ts';
import { utcFromOffsetText } from './time-zones.ts';

/** One revision of one attachment. */
export interface AttachmentInfo {
  readonly name: string;
  readonly revision: number;
  /** Media type. */
  readonly type: string;
  /** Bytes. */
  readonly size: number;
  readonly guid: string;
  /** `Name <email>`. */
  readonly author: string;
  /** UTC, `YYYY-MM-DDThh:mm:ss[.fff]Z`. */
  readonly createdAt: string;
}

/** Reads the answer of the list method. @throws RowsyncError `origin.unexpected`. */
export function readAttachments(json: unknown, what: string): readonly AttachmentInfo[] {
  if (!Array.isArray(json)) throw unexpected(what, `an array of revisions was expected, ${describeKind(json)} came`);
  return (json as unknown[]).map((item, index) => {
    const where = `${what}, revision ${index + 1}`;
    const fields = new Fields(item, where);
    const createdAt = utcFromOffsetText(fields.text('created'));
    if (createdAt === undefined) throw unexpected(where, 'the field "created" is not a time with an offset');
    return {
      name: fields.text('name'),
      revision: fields.integer('revision'),
      type: fields.optionalText('type'),
      size: fields.integer('size'),
      guid: fields.text('guid'),
      author: fields.optionalText('author'),
      createdAt,
    };
  });
}
