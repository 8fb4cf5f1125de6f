/** Notifications: how observers learn of a change, and how one gets lost. */
import type { GalleryEntry } from './entry.ts';

export const NOTIFYING: readonly GalleryEntry[] = [
  {
    name: 'commit-without-notification',
    title: 'The notification comes after the commit',
    rule: 'P40',
    scenario: 'crawl',
    mutant: 'notify-after-commit',
    convicted: 'notifications: lost notification',
    parts: [
      { says: 'The crawler loads a page: an observed column changes.', choices: 's0f0f0f0' },
      {
        says: 'Without the rule it commits first, and notifies afterwards.',
        choices: 'f0',
      },
      {
        says: 'It dies in between. The page is there, and no observer will ever learn of it.',
        choices: 'c0',
      },
    ],
  },
  {
    name: 'clearing-too-much',
    title: 'Clearing a change that is not seen yet',
    rule: 'P41',
    scenario: 'crawl',
    mutant: 'clear-all-notifications',
    convicted: 'notifications: lost notification',
    parts: [
      { says: 'The crawler loads a page, and notifies.', choices: 's0f0f0f0f0f0' },
      {
        says: 'A worker finds the notification, runs the observer on what its snapshot shows, and commits.',
        choices: 's1f1f1f1f1f1f1f1f1f1',
      },
      {
        says: 'Before it clears the notification, the crawler loads the page again, and notifies of that, too.',
        choices: 's0f0f0f0f0f0',
      },
      {
        says: 'Without the rule the worker clears both. The second version is there, and no observer will ever see it.',
        choices: 'f1f1',
      },
    ],
  },
  {
    name: 'change-during-a-run',
    title: 'A change while the observer runs',
    rule: 'P42',
    scenario: 'crawl',
    mutant: 'acknowledgment-by-commit-timestamp',
    convicted: 'notifications: lost notification',
    parts: [
      {
        says: 'The crawler loads a page. A worker starts a run, and reads the first version.',
        choices: 's0f0f0f0f0f0s1f1f1f1f1',
      },
      {
        says: 'The crawler loads the page again. This commits before the run does.',
        choices: 's0f0f0f0f0f0',
      },
      {
        says: "The run commits, later than the change that it has not seen. The worker finds the change's notification, and asks: has the observer seen it?",
        choices: 'f1f1f1f1f1f1f1',
      },
      {
        says: "Without the rule it compares with the run's commit, not with its snapshot. So the change counts as seen, and its notification is cleared.",
        choices: 'f1f1f1f1f1f1',
      },
    ],
  },
  {
    name: 'second-column-unmarked',
    title: 'Two changes, one notification',
    rule: 'P57',
    scenario: 'two-columns',
    mutant: 'second-observed-cell-unmarked',
    convicted: 'notifications: lost notification',
    parts: [
      {
        says: 'The crawler changes two observed cells in one transaction. Each needs a notification, or its observer never hears of it.',
        choices: 's0f0f0f0',
      },
      {
        says: 'Without the rule only the first one is notified, and the commit follows. The links of the page are never looked at.',
        choices: 'f0f0',
      },
    ],
  },
  {
    name: 'weak-before-locks',
    title: 'A weak notification comes too early',
    rule: 'P43',
    scenario: 'weak',
    mutant: 'weak-notification-before-locks',
    convicted: 'notifications: lost weak notification',
    parts: [
      {
        says: 'A writer edits a document. Without the rule it sends the weak notification before it holds any lock.',
        choices: 's0f0f0f0',
      },
      {
        says: 'A worker finds it, and runs. No lock tells it that an edit is about to happen: it counts the letters of the draft, and clears the notification.',
        choices: 's1f1f1f1f1f1f1f1f1f1f1f1f1',
      },
      {
        says: 'The edit is committed. Its letters are never counted.',
        choices: 'f0f0f0',
      },
    ],
  },
  {
    name: 'clean-cell-stays-notified',
    title: 'A notification without work stays',
    rule: 'P44',
    scenario: 'crawl',
    mutant: 'nothing-to-do-clears-nothing',
    convicted: 'notifications: left-over notification',
    parts: [
      {
        says: 'The crawler loads a page. A worker runs the observer, and commits.',
        choices: 's0f0f0f0f0f0s1f1f1f1f1f1f1f1f1f1',
      },
      { says: 'It dies before it clears the notification. The work is done.', choices: 'c1' },
      {
        says: 'Another worker finds the notification. The acknowledgment tells that there is nothing to do. Without the rule the worker leaves the notification where it is, and finds it again with every scan, forever.',
        choices: 's2f2f2f2f2f2',
      },
    ],
  },
  {
    name: 'idle-too-early',
    title: 'Idle after one glance',
    rule: 'P50',
    scenario: 'crawl',
    mutant: 'idle-after-one-glance',
    convicted: 'notifications: lost notification',
    parts: [
      {
        says: 'The crawler loads a page, and notifies. Work is waiting.',
        choices: 's0f0f0f0f0f0',
      },
      {
        says: 'A worker starts. Without the rule it says that it is idle before a scan has found nothing. Its caller believes that all is done, and stops it: the entry of the page is never made.',
        choices: 's1',
      },
    ],
  },
];
