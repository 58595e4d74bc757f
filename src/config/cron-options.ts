/**
 * The forms of options that say when something is done.
 */
import * as z from 'zod';
import { cronComplaint } from './schedule.ts';

/** A cron expression, or false for never. */
export function cron(doc: string) {
  return z
    .union([z.string(), z.literal(false)], {
      error: 'must be a cron expression, such as "*/5 * * * *", or false for never',
    })
    .superRefine((expression, context) => {
      const complaint = expression === false ? null : cronComplaint(expression);
      if (complaint === null) return;
      const message = `must be a cron expression, such as "*/5 * * * *", or false for never: it ${complaint}`;
      context.addIssue({ code: 'custom', message });
    })
    .meta({
      description: `${doc} A cron expression of five fields (minute hour day month weekday), or false for never.`,
    });
}

/** As `cron`, or `auto`. */
export function cronOrAuto(doc: string) {
  return z.union([z.literal('auto'), cron(doc)]).meta({ description: doc });
}
