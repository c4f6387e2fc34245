// The page in a real browser: with data, empty, with 10,000 tasks, with tokens, under a restart, with the keyboard alone, narrow, dark.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { browse, expect, folder, found, look, open, remove, run, send, start, until } from './support.mjs';

const PAGES = { overview: '', tasks: '#/tasks', label: '#/label', map: '#/map' };
const browser = await browse();
const folders = [];
const data = async () => (folders.push(await folder()), folders.at(-1));
const heading = (page, text) => page.getByRole('heading', { level: 1, name: text }).waitFor();

async function demo() {
  const server = await start(['demo', '--serve', '--listen', '127.0.0.1:0']);
  return { ...server, began: Date.now() };
}

async function empty() {
  const server = await start(['serve', await data(), '--listen', '127.0.0.1:0']);
  for (const [name, path] of Object.entries(PAGES)) {
    const page = await open(browser, server.address, { path });
    await page.locator('.empty').waitFor();
    await look(page, `empty-${name}`);
    await page.context().close();
  }
  // It moves by itself with the first example.
  const page = await open(browser, server.address);
  await page.getByText('Nothing has been learnt yet').waitFor();
  await send(server.address, 'learn', { examples: [{ task: 'alice', features: { offer: 1 }, label: 1 }] });
  await page.getByText('error since the beginning').waitFor();
  await page.context().close();
  await server.stop();
}

async function tenThousand() {
  const server = await start(['serve', await data(), '--listen', '127.0.0.1:0', '--durability', 'interval']);
  const lines = [];
  for (let at = 0; at < 20000; at += 1) {
    const task = at % 10000, side = task % 3 ? 1 : -1, x = ((at * 7919) % 200) / 100 - 1;
    lines.push(JSON.stringify({ task: `shop-${String(task).padStart(5, '0')}`, features: { price: x, visits: ((at * 104729) % 100) / 100 }, label: x * side > 0 ? 1 : -1 }));
  }
  await send(server.address, 'learn', lines.join('\n'), { kind: 'application/x-ndjson' });
  for (const [name, path] of Object.entries(PAGES)) {
    const page = await open(browser, server.address, { path });
    await (name === 'label' ? page.locator('.empty') : name === 'map' ? page.locator('canvas.map') : name === 'tasks' ? page.locator('table.tasks') : page.locator('.figures')).waitFor();
    if (name === 'overview') {
      const painted = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
      console.log(`browser: first paint with 10,000 tasks: ${Math.round(painted)} ms`);
      expect(painted < 1000, `first paint with 10,000 tasks took ${painted} ms`);
    }
    if (name === 'tasks') {
      await page.getByText('10,000 tasks').waitFor();
      await page.getByRole('button', { name: 'Next' }).click();
      await page.getByText('51 to 100 of 10,000').waitFor();
      await page.getByRole('searchbox').fill('09999');
      await page.getByText('1 task', { exact: true }).waitFor();
      await page.getByRole('link', { name: 'shop-09999' }).click();
      await heading(page, 'shop-09999');
      await page.goBack();
      await page.locator('table.tasks').waitFor();
    }
    await look(page, `many-${name}`);
    await page.context().close();
  }
  await server.stop();
}

async function tokens() {
  const dir = await data();
  const make = async (name, scopes) => {
    const [line, told] = await run(['token', name, '--scopes', scopes]);
    return [line, told.match(/cog_[0-9a-f]+/)[0]];
  };
  const [reads, labels] = [await make('reader', 'read'), await make('labeller', 'read,label,learn')];
  const file = join(dir, 'tokens.txt');
  await writeFile(file, reads[0] + labels[0]);
  const server = await start(['serve', join(dir, 'data'), '--listen', '127.0.0.1:0', '--tokens', file]);
  const examples = Array.from({ length: 40 }, (_, at) => ({ task: `t${at % 4}`, features: { [`w${at % 7}`]: 1, all: 1 }, label: at % 3 ? 1 : -1 }));
  await send(server.address, 'learn', { examples }, { token: labels[1] });
  await send(server.address, 'learn', { examples: [{ task: 't1', features: { w1: 1 }, label: '?' }] }, { token: labels[1] });
  const asked = await open(browser, server.address);
  await asked.getByText('This server asks for a token').waitFor();
  await look(asked, 'token-asked');
  await asked.getByLabel('Token').fill('cog_wrong');
  await asked.keyboard.press('Enter');
  await asked.getByText('Nobody knows this token').waitFor();
  await look(asked, 'token-wrong');
  await asked.getByLabel('Token').fill(reads[1]);
  await asked.keyboard.press('Enter');
  await heading(asked, 'Overview');
  expect(!(await asked.evaluate(() => location.href)).includes('cog_'), 'the token is in the address');
  await asked.context().close();
  for (const [name, path] of Object.entries(PAGES)) {
    const page = await open(browser, server.address, { path, token: reads[1] });
    await heading(page, new RegExp(name, 'i'));
    if (name === 'label') await page.getByText('This token may look, and not label').waitFor();
    await look(page, `reader-${name}`);
    await page.context().close();
  }
  await server.stop();
}

async function restart() {
  const dir = await data();
  let server = await start(['serve', dir, '--listen', '127.0.0.1:0']);
  const { address } = server;
  const learn = (task) => send(address, 'learn', { examples: [{ task, features: { x: 1 }, label: 1 }] });
  await learn('before');
  const page = await open(browser, address, { path: '#/tasks' });
  await page.getByRole('link', { name: 'before' }).waitFor();
  await server.stop('SIGKILL');
  await page.getByText('The server does not answer').waitFor();
  await look(page, 'restart-gone');
  server = await start(['serve', dir, '--listen', address.replace('http://', '')]);
  await learn('after');
  await page.getByRole('link', { name: 'after' }).waitFor();
  await until('the page goes on', async () => !(await page.getByText('The server does not answer').isVisible()));
  await page.context().close();
  await server.stop();
}

async function withData({ address, began }) {
  await new Promise((done) => setTimeout(done, Math.max(0, began + 25000 - Date.now())));
  for (const [kind, how] of Object.entries({ light: {}, dark: { dark: true }, narrow: { narrow: true } })) {
    for (const [name, path] of Object.entries({ ...PAGES, task: '#/tasks/travel-03' })) {
      const page = await open(browser, address, { path, ...how });
      await ({ label: () => page.locator('.item'), map: () => page.locator('canvas.map'), tasks: () => page.locator('table.tasks') }[name] ?? (() => page.locator('.chart canvas')))().first().waitFor();
      if (name === 'map') await page.locator('.list button').first().click();
      if (name === 'map') await page.getByRole('heading', { name: 'Nearest tasks' }).waitFor();
      await look(page, `${kind}-${name}`);
      await page.context().close();
    }
  }
  // Curves have tables, and move.
  const page = await open(browser, address);
  await page.getByText('Numbers', { exact: true }).click();
  await page.locator('.chart table').waitFor();
  await look(page, 'light-overview-numbers');
  const examples = () => page.locator('.figure', { hasText: 'examples' }).locator('dd').first().textContent();
  const before = await examples();
  await until('examples count on', async () => (await examples()) !== before, 5);
  await page.context().close();
}

async function keyboard({ address }) {
  const page = await open(browser, address);
  await heading(page, 'Overview');
  await page.keyboard.press('Tab');
  expect((await page.evaluate(() => document.activeElement.textContent)) === 'Skip to content', 'the first tab skips to the content');
  const walk = async (name) => {
    for (let at = 0; at < 40; at += 1) {
      if (await page.evaluate((name) => document.activeElement.textContent.trim() === name, name)) return page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
    }
    return expect(false, `${name} is not reached by the keyboard`);
  };
  await walk('Tasks');
  await heading(page, 'Tasks');
  await page.locator('table.tasks').waitFor();
  await walk('error');
  await until('sorted by error', () => page.locator('th[aria-sort="descending"]', { hasText: 'error' }).isVisible(), 5);
  await page.goto(`${address}/#/label`);
  await page.locator('.item').waitFor();
  const said = () => page.locator('.done li').count();
  for (const [key, text] of [['a', 'yes'], ['x', 'no'], ['a', 'yes'], [' ', 'skipped']]) {
    const before = await said();
    await page.keyboard.press(key);
    await until(`${key} is ${text}`, async () => (await said()) === before + 1 && (await page.locator('.done li').first().textContent()).includes(text), 5);
    await page.locator('.item').waitFor();
  }
  await look(page, 'label-answered');
  for (const left of [3, 2]) {
    await page.keyboard.press('Backspace');
    await until('taken back', async () => (await said()) === left, 5);
  }
  await page.keyboard.press('h');
  await page.getByRole('dialog').waitFor();
  await look(page, 'label-help');
  await page.keyboard.press('Escape');
  await until('the help is closed', async () => !(await page.getByRole('dialog').isVisible()), 5);
  // Two people are never shown the same item.
  const other = await open(browser, address, { path: '#/label' });
  await other.locator('.item').waitFor();
  const queue = async (page) => page.evaluate(async () => (await (await fetch('v1/models/default/queue/lease', { method: 'POST', body: JSON.stringify({ lease: sessionStorage.getItem('cognate-lease'), count: 6 }) })).json()).items.map((item) => item.id));
  const [mine, theirs] = [new Set(await queue(page)), await queue(other)];
  expect(mine.size > 0 && theirs.length > 0 && theirs.every((id) => !mine.has(id)), 'two people are shown different items');
  await other.context().close();
  await page.context().close();
}

const began = Date.now();
const running = await demo();
const parts = { empty, tenThousand, tokens, restart, withData: () => withData(running), keyboard: () => keyboard(running) };
for (const [name, part] of Object.entries(parts)) {
  const from = Date.now();
  try {
    await part();
  } catch (error) {
    expect(false, `${name}: ${error.message}`);
  }
  console.log(`browser: ${name} (${((Date.now() - from) / 1000).toFixed(1)} s)`);
}
await running.stop();
await browser.close();
for (const path of folders) await remove(path);
console.log(`browser: ${found().length ? `${found().length} failures` : 'everything holds'} in ${((Date.now() - began) / 1000).toFixed(0)} s`);
process.exit(found().length ? 1 : 0);
