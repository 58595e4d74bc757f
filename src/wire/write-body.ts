/**
 * The body of Create, Update and Upsert: rows in JSON or XML, or a multipart/related body with such rows and files (specification 4.6, origin facts
 * 4.1 and 7.4). A cell refers to a file as `cid:<content id>`.
 */
import { assert } from '../base/assert.ts';
import { RowsyncError } from '../base/errors.ts';
import type { WireFormat } from './format.ts';
import { fileNameParameter, isHeaderText } from './header-parameters.ts';
import { writeMultipart, type OutgoingBody, type OutgoingBytes } from './multipart.ts';
import type { OutgoingRow } from './writes.ts';

/** A file to send with rows; its bytes may be read while they are sent. */
export interface OutgoingFile {
  /** Without angle brackets. */
  readonly contentId: string;
  /** As sent: text, never a path. */
  readonly name: string;
  /** Media type as sent, with its parameters. */
  readonly type: string;
  readonly bytes: OutgoingBytes;
}

/**
 * Writes the body of a write for a user in `zone`; multipart/related where there are files. `random` gives uniform
 * numbers in [0, 1) for the boundary. Content ids are letters, digits, `.`, `_` and `-`.
 * @throws RowsyncError `origin.unsendable` where the format cannot carry a text, or a file name breaks a header line.
 */
export function writeWriteBody(
  format: WireFormat,
  content: { rows: readonly OutgoingRow[]; zone: string; files: readonly OutgoingFile[] },
  random: () => number,
): OutgoingBody {
  const bytes = Buffer.from(format.writeInputRows(content.rows, content.zone));
  if (content.files.length === 0) return { contentType: format.contentType, bytes };
  const fileParts = content.files.map((file) => {
    assert(/^[\w.-]{1,64}$/.test(file.contentId), 'content ids are plain');
    if (!isHeaderText(file.name) || !isHeaderText(file.type)) throw unsendableName();
    return {
      headers: [
        ['Content-Type', file.type],
        ['Content-Disposition', `attachment; ${fileNameParameter(file.name)}`],
        ['Content-ID', file.contentId],
      ] as const,
      bytes: file.bytes,
    };
  });
  return writeMultipart([{ headers: [['Content-Type', format.contentType]], bytes }, ...fileParts], random);
}

function unsendableName(): RowsyncError {
  return new RowsyncError('originRefused', 'origin.unsendable', {
    message: 'a file to attach has a line break or another control character in its name or type',
    hint: 'Rename the file and set the attachment again.',
  });
}
