/**
 * The text of a terminal as an SVG picture. Takes lines; produces the picture, which has a background of its own and so
 * is readable on light and dark pages. Pure.
 */
import { LINE_STYLES } from '../../src/extras/demo/command.ts';

const CHARACTER_WIDTH = 8.4;
const LINE_HEIGHT = 19;
const MARGIN = 20;

const CSS = `
  rect { fill: #16202c; stroke: #40536a }
  text { font: 14px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #dde5ee; white-space: pre }
  .command { fill: #7ee2a8; font-weight: bold } .heading { fill: #ffffff; font-weight: bold }
  .sql { fill: #f3c677 } .frame { fill: #6f8299 }`;

/** The picture; `title` is what a reader hears who cannot see it. */
export function terminalSvg(lines: readonly string[], title: string): string {
  const columns = Math.max(...lines.map((line) => Array.from(line).length));
  const width = Math.ceil(columns * CHARACTER_WIDTH) + 2 * MARGIN;
  const height = lines.length * LINE_HEIGHT + 2 * MARGIN;
  const texts = lines.flatMap((line, index) => {
    if (line.trim() === '') return [];
    const style = LINE_STYLES.find(({ pattern }) => pattern.test(line))?.name ?? 'plain';
    // Every font comes out as wide as the frames of the tables need it.
    const textLength = (Array.from(line).length * CHARACTER_WIDTH).toFixed(1);
    const y = MARGIN + (index + 0.75) * LINE_HEIGHT;
    return `<text class="${style}" x="${MARGIN}" y="${y}" textLength="${textLength}" xml:space="preserve">${escaped(line)}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>${CSS}</style>`,
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>`,
    ...texts,
    '</svg>\n',
  ].join('\n');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
