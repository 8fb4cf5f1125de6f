/**
 * A real browser for the tests of the page: the installed one, or else a headless Chromium from an
 * npm package.
 *
 * The package (@sparticuz/chromium) is made for Amazon's functions and brings the shared libraries
 * that a bare machine lacks, but unpacks them and puts them on the library path only if it detects
 * Amazon's environment. So this file sets the variables of that environment before it loads the
 * package.
 */
import { accessSync, constants, mkdtempDisposableSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { chromium, type Browser } from 'playwright-core';

/**
 * With these, the browser also works as root and without a graphics card, and makes no requests of
 * its own.
 */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export interface OpenBrowser extends AsyncDisposable {
  readonly browser: Browser;
}

export async function openBrowser(): Promise<OpenBrowser> {
  const folder = mkdtempDisposableSync(path.join(os.tmpdir(), 'browser-'));
  const executablePath = installedBrowser() ?? (await packagedBrowser(folder.path));
  const browser = await chromium.launch({ executablePath, headless: true, args: ARGUMENTS });
  return {
    browser,
    [Symbol.asyncDispose]: async () => {
      await browser.close();
      folder[Symbol.dispose]();
    },
  };
}

/** CHROME_PATH, or the first of the usual names on PATH; null if none is found. */
function installedBrowser(): string | null {
  const named = process.env['CHROME_PATH'];
  if (named !== undefined && named !== '') return named;
  const folders = (process.env['PATH'] ?? '').split(path.delimiter);
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
  const candidates = names.flatMap((name) => folders.map((folder) => path.join(folder, name)));
  return candidates.find(isExecutable) ?? null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile(); // X_OK on a folder: it can be entered.
  } catch {
    return false;
  }
}

/**
 * Unpacks into a new `folder` each time: the package takes any browser in the folder for temporary
 * files as its own, and half a browser left there by a killed test would fail forever.
 */
async function packagedBrowser(folder: string): Promise<string> {
  process.env['TMPDIR'] = folder;
  process.env['AWS_EXECUTION_ENV'] ??= 'AWS_Lambda_nodejs24.x';
  const { default: packaged } = await import('@sparticuz/chromium');
  packaged.setGraphicsMode = false;
  const executablePath = await packaged.executablePath();
  writeFileSync(path.join(folder, 'fonts', 'fonts.conf'), fontsIn(folder));
  return executablePath;
}

/**
 * The package's own settings name the folder that holds its fonts at Amazon. Without any system
 * font, text stays blank, and a page's own font fails to load if it arrives after the first layout.
 */
function fontsIn(folder: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${path.join(folder, 'fonts', 'fonts')}</dir>
  <cachedir>${path.join(folder, 'fonts-cache')}</cachedir>
</fontconfig>
`;
}
