/**
 * Serves content of the file store to browsers. Pictures of four kinds are recognised by their bytes; everything else
 * is a download, or text within a page. Nothing is served with a type that a browser runs.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { bytesText } from '../../base/text.ts';
import { FileStore } from '../../files/store.ts';
import { readFileLine } from '../shared/browse-row.ts';
import { framed, problem, saveAs, type PageInput } from './context.ts';
import { html } from './html.ts';
import type { AnswerChunks } from '../shared/child-process.ts';

const CHUNK_BYTES = 256 * 1024;
/** How much of a file is shown as text. */
const TEXT_BYTES_MAX = 128 * 1024;

/** `/file/ID` shows a picture, `/file/ID/save` downloads, `/file/ID/text` shows text. */
export function answerFile(desk: PageInput, [id = '', how = '']: readonly string[]): AnswerChunks {
  const file = /^\d{1,15}$/.test(id) ? readFileLine(desk.reader, Number(id)) : null;
  if (file?.sha256 == null) return problem(404, 'This file is not here');
  const { name } = file;
  const descriptor = openContent(new FileStore(desk.request.filesFolder).pathOf(file.sha256));
  if (descriptor === null)
    return problem(404, 'The content of this file is not in the store', 'Run rowsync files verify.');
  const head = readPart(descriptor, how === 'text' ? TEXT_BYTES_MAX : CHUNK_BYTES);
  if (how === 'text') {
    const { size } = fstatSync(descriptor);
    closeSync(descriptor);
    const text = new TextDecoder().decode(head);
    const body = html`<h1><bdi>${name}</bdi></h1>
      <p class="about">
        ${size > head.length ? `The first ${bytesText(head.length)} of ${bytesText(size)}` : bytesText(size)}, as text.
        <a href="/file/${id}/save" download>Download</a>
      </p>
      <pre class="sql"><bdi>${text.replace(/\uFFFD{1,3}$/, '')}</bdi></pre>`;
    return framed(desk, { title: `${name} · rowsync`, place: null }, body);
  }
  const chunks = partsOf(descriptor, head);
  const picture = how === '' ? pictureType(head) : null;
  if (picture === null) return { status: 200, type: 'application/octet-stream', headers: saveAs(name), chunks };
  return { status: 200, type: picture, headers: { 'Content-Disposition': 'inline' }, chunks };
}

/** The type of a picture by its first bytes; null if it is not safe to show. */
export function pictureType(head: Uint8Array): string | null {
  const text = Buffer.from(head.subarray(0, 16)).toString('latin1');
  if (text.startsWith('\u0089PNG\r\n\u001A\n')) return 'image/png';
  if (text.startsWith('\u00FF\u00D8\u00FF')) return 'image/jpeg';
  if (/^GIF8[79]a/.test(text)) return 'image/gif';
  return /^RIFF[^]{4}WEBP/.test(text) ? 'image/webp' : null;
}

/** Opens a plain file; a link in its place is not followed. */
function openContent(path: string): number | null {
  try {
    const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if (fstatSync(descriptor).isFile()) return descriptor;
    closeSync(descriptor);
    return null;
  } catch {
    return null;
  }
}

function readPart(descriptor: number, bytesMax: number): Uint8Array {
  const buffer = new Uint8Array(bytesMax);
  return buffer.subarray(0, readSync(descriptor, buffer));
}

function* partsOf(descriptor: number, head: Uint8Array): Generator<Uint8Array> {
  try {
    for (let part = head; part.length > 0; part = readPart(descriptor, CHUNK_BYTES)) yield part;
  } finally {
    closeSync(descriptor);
  }
}
