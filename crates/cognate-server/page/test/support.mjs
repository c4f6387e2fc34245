// A server, a browser, and what may never happen on any page: a violation of the content policy or of axe, a request elsewhere.

import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import AxeBuilder from '@axe-core/playwright';
import { chromium } from 'playwright-core';

const [program, pictures] = process.argv.slice(2);
const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** A server that listens; `stop` ends it and waits. */
export async function start(words) {
  const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  child.stderr.on('data', (data) => (said += data));
  const address = await new Promise((listens, fails) => {
    let out = '';
    child.stdout.on('data', (data) => {
      out += data;
      const found = out.match(/listening on (http:\S+)/);
      if (found) listens(found[1]);
    });
    child.on('exit', (code) => fails(new Error(`the server ended with ${code}: ${said}`)));
  });
  const stop = async (signal = 'SIGTERM') => {
    const ended = new Promise((done) => child.once('exit', done));
    child.kill(signal);
    await ended;
  };
  return { address, stop };
}

export const folder = () => mkdtemp(join(tmpdir(), 'cognate-page-'));
export const remove = (path) => rm(path, { recursive: true, force: true });

/** Runs a program and gives what it prints. */
export function run(words) {
  return new Promise((done, fails) => {
    const child = spawn(program, words);
    let [out, err] = ['', ''];
    child.stdout.on('data', (data) => (out += data));
    child.stderr.on('data', (data) => (err += data));
    child.on('exit', (code) => (code ? fails(new Error(err)) : done([out, err])));
  });
}

export async function send(address, path, body, { token, kind = 'application/json' } = {}) {
  const headers = { 'content-type': kind, ...(token ? { authorization: `Bearer ${token}` } : {}) };
  const response = await fetch(`${address}/v1/models/default/${path}`, { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

export const browse = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });

const troubles = [];
export const found = () => troubles;
export function expect(holds, what) {
  if (!holds) {
    troubles.push(what);
    console.error(`browser: FAILED: ${what}`);
  }
}

/** A page of its own context, watched; light and wide unless told otherwise. */
export async function open(browser, address, { dark = false, narrow = false, token, path = '' } = {}) {
  const context = await browser.newContext({ colorScheme: dark ? 'dark' : 'light', viewport: narrow ? { width: 390, height: 844 } : { width: 1280, height: 860 }, reducedMotion: 'reduce' });
  const page = await context.newPage();
  page.setDefaultTimeout(15000);
  page.on('request', (request) => {
    const to = request.url();
    expect(to.startsWith(`${address}/`) || to.startsWith('data:'), `a request leaves the origin: ${to}`);
    expect(!token || !to.includes(token), 'a token is in an address');
  });
  page.on('pageerror', (error) => expect(false, `an error on the page: ${error.message}`));
  page.on('console', (message) => expect(!/content security policy/i.test(message.text()), `the content policy is violated: ${message.text()}`));
  await page.addInitScript(() => addEventListener('securitypolicyviolation', (event) => console.error(`Content Security Policy: ${event.violatedDirective} ${event.blockedURI}`)));
  if (token) await page.addInitScript((token) => sessionStorage.setItem('cognate-token', token), token);
  await page.goto(`${address}/${path}`);
  return page;
}

/** Holds a page against axe, for what stands beside it and is cut off, and keeps a picture. */
export async function look(page, name) {
  const result = await new AxeBuilder({ page }).analyze();
  for (const violation of result.violations) {
    expect(false, `${name}: axe: ${violation.id}: ${violation.help}: ${violation.nodes.slice(0, 3).map((node) => node.target.join(' ')).join('; ')}`);
  }
  const beside = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(beside <= 0, `${name}: the page is ${beside} px wider than the window`);
  await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
  return result.violations.length;
}

export const until = async (what, holds, seconds = 15) => {
  const end = Date.now() + 1000 * seconds;
  for (;;) {
    if (await holds().catch(() => false)) return;
    if (Date.now() > end) return expect(false, `${what}: not within ${seconds} s`);
    await new Promise((done) => setTimeout(done, 100));
  }
};
