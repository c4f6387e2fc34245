// Which tasks are there, and how does one of them do?

import { useEffect, useState } from 'preact/hooks';
import { ago, Bars, count, Empty, errorText, Failure, Figure, html, percent, signed, taskLink, useData, Waiting } from './ui.js';
import { Chart, errors } from './chart.js';
import { model as at } from './api.js';

const COLUMNS = [
  ['name', 'task', ''], ['examples', 'examples', 'number'], ['error', 'error', 'number'],
  ['recent_error', 'lately', 'number wide'], ['trend', 'change', 'number wide'], ['last_seen', 'last seen', 'number wide'],
];
const PAGE = 50;

export function Tasks({ model, live, summary }) {
  const [sort, setSort] = useState('examples');
  const [wanted, setWanted] = useState('');
  const [typed, setTyped] = useState('');
  const [cursors, setCursors] = useState(['']);
  useEffect(() => {
    const timer = setTimeout(() => (setWanted(typed), setCursors([''])), 200);
    return () => clearTimeout(timer);
  }, [typed]);
  const query = new URLSearchParams({ sort, q: wanted, limit: PAGE, cursor: cursors.at(-1) });
  const { data, error } = useData(at(model, `/tasks?${query}`), { every: 2000, seq: live.seq });
  if (!summary.tasks && data?.total === 0 && !wanted) {
    return html`<h1>Tasks</h1><${Empty} title="No tasks yet"><p>A task begins with its first example: a user, a shop, a sensor.
      Whatever the examples call <code>task</code> is listed here.</p><//>`;
  }
  const first = (cursors.length - 1) * PAGE;
  return html`<h1>Tasks</h1>
    <div class="tools"><label for="search">Search</label><input id="search" type="search" value=${typed} placeholder="part of a name" onInput=${(event) => setTyped(event.target.value)} />
      <span class="quiet" role="status">${data ? `${count(data.total)} ${data.total === 1 ? 'task' : 'tasks'}` : ''}</span></div>
    ${error && !data ? html`<${Failure} error=${error} />` : !data ? html`<${Waiting} what="tasks" />` : !data.total ? html`<p class="quiet">No task has “${wanted}” in its name.</p>` : html`
    <div class="scroll"><table class="tasks"><thead><tr>${COLUMNS.map(([id, title, kind]) => html`<th scope="col" class=${kind}
        aria-sort=${sort === id ? (id === 'name' ? 'ascending' : 'descending') : 'none'}>
        <button class="sort" onClick=${() => (setSort(id), setCursors(['']))}>${title}</button></th>`)}</tr></thead>
      <tbody>${data.tasks.map((row) => html`<tr key=${row.task}><th scope="row"><a href=${taskLink(row.task)}>${row.task}</a></th>
        <td class="number">${count(row.examples)}</td><td class="number">${errorText(summary, row.error)}</td>
        <td class="number wide">${percent(row.recent_error)}</td>
        <td class=${`number wide ${row.trend > 0.05 ? 'worse' : ''}`}>${signed(row.trend)}</td>
        <td class="number wide">${ago(row.last_seen)}</td></tr>`)}</tbody></table></div>
    ${data.total > PAGE && html`<nav class="pages" aria-label="Pages of tasks">
      <button disabled=${cursors.length === 1} onClick=${() => setCursors(cursors.slice(0, -1))}>Previous</button>
      <span class="quiet">${count(first + 1)} to ${count(first + data.tasks.length)} of ${count(data.total)}</span>
      <button disabled=${!data.next_cursor} onClick=${() => setCursors([...cursors, data.next_cursor])}>Next</button></nav>`}`}`;
}

export function Task({ model, name, live, summary }) {
  const { data, error } = useData(at(model, `/tasks/${encodeURIComponent(name)}`), { every: 2000, seq: live.seq });
  const crumb = html`<p class="crumb"><a href="#/tasks">Tasks</a></p>`;
  if (error && !data) return html`${crumb}<h1>${name}</h1><${Failure} error=${error} />`;
  if (!data) return html`${crumb}<h1>${name}</h1><${Waiting} what="the task" />`;
  const { row, curve, nearest, features, group } = data;
  const { x, lately, all } = errors(curve);
  const series = [{ label: 'error lately', tone: 'accent', values: lately }, { label: 'since the beginning', tone: 'ink', values: all }];
  const most = (rows, key) => Math.max(...rows.map((row) => Math.abs(row[key])), 1e-12);
  return html`${crumb}<h1>${name}</h1>
    <dl class="figures"><${Figure} label="error lately" value=${summary.labels === 'numbers' ? errorText(summary, row.error) : percent(row.recent_error)} tone="main" />
      <${Figure} label="error since the beginning" value=${errorText(summary, row.error)} /><${Figure} label="examples" value=${count(row.examples)} />
      ${group !== undefined && html`<${Figure} label="group" value=${group + 1} />`}<${Figure} label="last seen" value=${ago(row.last_seen)} /></dl>
    <section aria-labelledby="curve"><h2 id="curve">Error over its examples</h2>
      ${x.length > 1 && summary.labels !== 'numbers' ? html`<${Chart} x=${x} series=${series} label=${`Error of ${name} over ${count(row.examples)} examples`} />` : html`<p class="quiet">A curve begins after a few examples.</p>`}</section>
    <div class="columns"><section aria-labelledby="features"><h2 id="features">Strongest features</h2>
      ${features.length ? html`<${Bars} rows=${features.map((one) => ({ label: one.feature, value: one.weight }))} most=${most(features, 'weight')} />`
        : html`<p class="quiet">None are shown: the learner has none, or this token sees some tasks alone.</p>`}</section>
    <section aria-labelledby="nearest"><h2 id="nearest">Nearest tasks</h2>
      ${nearest.length ? html`<${Bars} rows=${nearest.map((one) => ({ label: one.task, href: taskLink(one.task), value: one.strength }))} most=${most(nearest, 'strength')} />`
        : html`<p class="quiet">No other task teaches it anything yet.</p>`}</section></div>`;
}
