/**
 * The course on the page: ten numbers, of which those are marked whose step has been done, and the
 * way on. What has been done is remembered where the browser permits it.
 */
import { type ComponentChild, h } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { COURSE, type CourseStep, type Seen } from '../course.ts';

const KEY = 'percolator-course';

/** How far the learner has come. */
export interface CourseProgress {
  /** The names of the steps that have been done, also earlier. */
  readonly finished: readonly string[];
  /** Whether the step that is shown is done at the moment that is shown. */
  readonly isDone: boolean;
}

/** @param seen undefined before the first choice */
export function useProgress(
  lesson: CourseStep | undefined,
  seen: Seen | undefined,
): CourseProgress {
  const [finished, setFinished] = useState(remembered);
  const isDone = lesson !== undefined && seen !== undefined && lesson.isDone(seen);
  useEffect(() => {
    if (!isDone || finished.includes(lesson.name)) return;
    const more = [...finished, lesson.name];
    setFinished(more);
    remember(more);
  }, [isDone, lesson?.name]);
  return { finished, isDone };
}

function remembered(): readonly string[] {
  try {
    return (localStorage.getItem(KEY) ?? '').split(' ');
  } catch {
    return []; // A browser may refuse it to a file.
  }
}

function remember(names: readonly string[]): void {
  try {
    localStorage.setItem(KEY, names.join(' '));
  } catch {
    // Then it is known until the page is closed.
  }
}

/** @param go shows a step from its beginning, or after the choices */
export function courseBar(
  lesson: CourseStep,
  { finished, isDone }: CourseProgress,
  go: (step: CourseStep, choices?: string) => void,
): ComponentChild {
  const next = COURSE[COURSE.indexOf(lesson) + 1];
  return h(
    'nav',
    { class: 'course', 'aria-label': 'Steps of the course' },
    COURSE.map((step, i) => {
      const state = finished.includes(step.name) ? 'done' : 'open';
      const label = `Step ${i + 1}, ${state}: ${step.title}`;
      const current = step === lesson ? 'step' : undefined;
      return h(
        'button',
        {
          class: state,
          title: label,
          'aria-label': label,
          'aria-current': current,
          onClick: () => go(step),
        },
        i + 1,
      );
    }),
    isDone && next !== undefined
      ? h('button', { id: 'on', onClick: () => go(next) }, 'Next step')
      : h('button', { id: 'solve', onClick: () => go(lesson, lesson.solution) }, 'Show me'),
  );
}
