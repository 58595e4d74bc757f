/** What `rowsync service status` and `rowsync check` make of the words of systemd. */
import { expect, test } from 'vitest';
import { judgeUnits } from '../../../src/extras/service/service-units.ts';

const STOPPED = 'LoadState=loaded\nActiveState=inactive\nSubState=dead\n';

function judge(
  daemon: string,
  timer = STOPPED,
  cycle = STOPPED,
): { outcomes: string[]; text: string; units: readonly string[] } {
  const { findings, units } = judgeUnits('main', [daemon, timer, cycle].join('\n'));
  const text = findings.map(({ message, hint }) => `${message} ${hint}`).join('\n');
  return { outcomes: findings.map(({ outcome }) => outcome), text, units };
}

test.each([
  ['LoadState=loaded\nActiveState=active\nNRestarts=0\n', 'ok', 'is active'],
  ['LoadState=loaded\nActiveState=active\nNRestarts=3\n', 'warn', 'restarted 3 times'],
  [STOPPED, 'warn', 'systemctl start'],
  ['LoadState=not-found\nActiveState=inactive\n', 'warn', 'is not installed'],
  ['LoadState=loaded\nActiveState=activating\nSubState=auto-restart\nResult=watchdog\n', 'fail', 'made no progress'],
  [
    'LoadState=loaded\nActiveState=activating\nSubState=start\nResult=success\nNRestarts=4\n',
    'fail',
    'again and again ',
  ],
  ['LoadState=loaded\nActiveState=activating\nSubState=start\nResult=success\nNRestarts=0\n', 'warn', 'is activating'],
  ['LoadState=loaded\nActiveState=failed\nResult=exit-code\nExecMainStatus=2\n', 'fail', 'configuration is wrong'],
  ['LoadState=loaded\nActiveState=failed\nResult=exit-code\nExecMainStatus=78\n', 'fail', 'a newer version'],
  ['LoadState=loaded\nActiveState=failed\nResult=exit-code\nExecMainStatus=243\n', 'fail', '/etc/rowsync/main.token'],
  ['LoadState=loaded\nActiveState=failed\nResult=exit-code\nExecMainStatus=9\n', 'fail', 'ended with 9'],
  ['LoadState=loaded\nActiveState=failed\nResult=start-limit-hit\n', 'fail', 'too often'],
  ['LoadState=loaded\nActiveState=failed\nResult=news\n', 'fail', 'news'],
])('a daemon with %j is %s', (daemon, outcome, says) => {
  const judged = judge(daemon);

  expect(judged.outcomes).toEqual([outcome]);
  expect(judged.text).toContain(says);
  expect(judged.units).toEqual(['rowsync@main.service']);
});

test.each([
  [STOPPED, ['ok']],
  ['LoadState=loaded\nActiveState=failed\nResult=exit-code\nExecMainStatus=2\n', ['ok', 'fail']],
])('a timer does instead of the daemon; with a last cycle of %j it is %j', (cycle, outcomes) => {
  const judged = judge(STOPPED, 'LoadState=loaded\nActiveState=active\n', cycle);

  expect(judged.outcomes).toEqual(outcomes);
  expect(judged.units).toEqual(['rowsync-sync@main.timer', 'rowsync-sync@main.service']);
});
