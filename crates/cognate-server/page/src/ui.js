// What do all pages have in common? Numbers, small parts, and data that is asked for again when something has happened.

import { h } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import htm from 'htm';
import { ask } from './api.js';

export const html = htm.bind(h);

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
export const count = (value) => (value === undefined || value === null ? '–' : whole.format(value));
export const percent = (value, digits = 1) =>
  value === undefined || value === null ? '–' : `${(100 * value).toFixed(digits)} %`;
export const signed = (value) =>
  value === undefined || value === null ? '–' : `${value > 0 ? '+' : value < 0 ? '−' : ''}${Math.abs(100 * value).toFixed(1)}`;
export const figure = (value, digits = 3) => (value === undefined || value === null ? '–' : Number(value).toPrecision(digits));
export const bytes = (value) => {
  const units = ['B', 'kB', 'MB', 'GB'];
  let at = 0;
  while (value >= 1000 && at < units.length - 1) [value, at] = [value / 1000, at + 1];
  return `${value.toFixed(at && value < 10 ? 1 : 0)} ${units[at]}`;
};
export const ago = (seconds, now = Date.now() / 1000) => {
  if (!seconds) return '–';
  const gone = Math.max(0, now - seconds);
  if (gone < 5) return 'now';
  if (gone < 60) return `${Math.floor(gone)} s ago`;
  if (gone < 3600) return `${Math.floor(gone / 60)} min ago`;
  if (gone < 86400) return `${Math.floor(gone / 3600)} h ago`;
  return `${Math.floor(gone / 86400)} d ago`;
};

/** Errors of classes are rates; of numbers, they are in the units of the labels. */
export const errorText = (summary, value, digits) =>
  summary?.labels === 'numbers' ? figure(value) : percent(value, digits);

/**
 * Data of an address, asked for again when `seq` has changed, at most every `every` milliseconds. What came last stays while the
 * server does not answer.
 */
export function useData(path, { every = 1000, seq } = {}) {
  const [state, setState] = useState({ path, data: undefined, error: undefined });
  const [turn, setTurn] = useState(0);
  const wanted = useRef();
  const last = useRef({});
  wanted.current = path;
  useEffect(() => () => (wanted.current = undefined), []);
  useEffect(() => {
    const { path: asked, seq: known, turn: taken, at } = last.current;
    if (!path || (asked === path && known === seq && taken === turn)) return undefined;
    const load = async () => {
      last.current = { path, seq, turn, at: performance.now() };
      let found;
      try {
        found = { data: await ask(path) };
      } catch (error) {
        found = { error };
      }
      // The page may show something else by now.
      if (wanted.current !== path) return;
      setState((before) => ({ path, data: found.data ?? (before.path === path ? before.data : undefined), error: found.error }));
      if (found.error && !found.error.status) setTimeout(() => setTurn((turn) => turn + 1), 1500);
    };
    const timer = setTimeout(load, asked === path ? Math.max(0, at + every - performance.now()) : 0);
    return () => clearTimeout(timer);
  }, [path, seq, turn]);
  return state.path === path ? state : {};
}

export const Failure = ({ error }) =>
  html`<div class="note" role="alert"><p>${sentence(error.message)}</p>${error.hint && html`<p class="quiet">${sentence(error.hint)}</p>`}</div>`;

/** What a server says in lower case, as a sentence. */
export const sentence = (text) => {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
};

export const Empty = ({ title, children }) => html`<div class="empty"><h2>${title}</h2>${children}</div>`;

export const Figure = ({ label, value, beside, tone }) => html`<div class="figure ${tone ?? ''}">
  <dt>${label}</dt><dd>${value}</dd>${beside && html`<dd class="beside">${beside}</dd>`}</div>`;

/** Waiting is told only when it takes a while. */
export function Waiting({ what }) {
  const [told, setTold] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setTold(true), 400);
    return () => clearTimeout(timer);
  }, []);
  return html`<p class="quiet" role="status">${told ? `Loading ${what} …` : ''}</p>`;
}

export const taskLink = (name) => `#/tasks/${encodeURIComponent(name)}`;

/** A list of strengths as bars that begin in the middle. */
export function Bars({ rows, most }) {
  // The same digits behind the point in all rows, so that they line up.
  const digits = most >= 100 ? 0 : most >= 10 ? 1 : most >= 1 ? 2 : most >= 0.01 ? 3 : 6;
  return html`<ol class="bars">${rows.map(
    ({ key, label, href, value }) => html`<li key=${key ?? label}>
      <span class="name">${href ? html`<a href=${href}>${label}</a>` : label}</span>
      <span class="bar" aria-hidden="true"><span class=${value < 0 ? 'minus' : 'plus'} style=${{ width: `${(50 * Math.abs(value)) / (most || 1)}%` }}></span></span>
      <span class="number">${value < 0 ? '−' : ''}${Math.abs(value).toFixed(digits)}</span>
    </li>`,
  )}</ol>`;
}
