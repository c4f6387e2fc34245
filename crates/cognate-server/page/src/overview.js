// How does the model do now, how did it do, and where does it get worse?

import { ago, bytes, count, Empty, errorText, Failure, Figure, html, percent, signed, taskLink, useData, Waiting } from './ui.js';
import { Chart, errors } from './chart.js';
import { model as at } from './api.js';

function Worse({ model, live }) {
  const { data, error } = useData(at(model, '/tasks?sort=trend&limit=6'), { every: 4000, seq: live.seq });
  if (error && !data) return html`<${Failure} error=${error} />`;
  if (!data) return html`<${Waiting} what="tasks" />`;
  const worse = data.tasks.filter((row) => row.trend > 0.02 && row.examples >= 30);
  if (!worse.length) return html`<p class="quiet">No task errs more lately than it did over all.</p>`;
  return html`<table><thead><tr><th scope="col">task</th><th scope="col" class="number">lately</th>
    <th scope="col" class="number">change</th><th scope="col" class="number wide">examples</th></tr></thead>
    <tbody>${worse.map((row) => html`<tr key=${row.task}><th scope="row"><a href=${taskLink(row.task)}>${row.task}</a></th>
      <td class="number">${percent(row.recent_error)}</td><td class="number worse">${signed(row.trend)}</td><td class="number wide">${count(row.examples)}</td></tr>`)}</tbody></table>`;
}

function Alerts({ model, live }) {
  const { data } = useData(at(model, '/alerts?limit=5'), { every: 4000, seq: live.seq });
  if (!data?.alerts.length) return null;
  return html`<section aria-labelledby="alerts"><h2 id="alerts">Alerts</h2><ul class="alerts">${data.alerts.map((alert) => html`<li key=${alert.number}>
    <a href=${taskLink(alert.task)}>${alert.task}</a><span>errs on ${percent(alert.lately, 0)} lately; before it was ${percent(alert.before, 0)}</span>
    <span class="quiet number">${ago(alert.time)}</span></li>`)}</ul></section>`;
}

const START = `curl http://127.0.0.1:7117/v1/models/default/learn -d '{"examples": [
  {"task": "alice", "features": {"offer": 1}, "label": 1}
]}'`;

export function Overview({ model, live, summary: first }) {
  const { data, error } = useData(at(model), { every: 1000, seq: live.seq });
  const summary = data ?? first;
  if (error && !summary) return html`<h1>Overview</h1><${Failure} error=${error} />`;
  if (!summary.examples) {
    return html`<h1>Overview</h1><${Empty} title="Nothing has been learnt yet">
      <p>Send the first examples; this page moves by itself.</p><pre>${START}</pre>
      <p class="quiet">Or look at a made stream: <code>cognate demo --serve</code></p><//>`;
  }
  const { x, lately, all } = errors(summary.curve ?? []);
  const constant = x.map(() => summary.constant_error);
  const series = [{ label: 'error lately', tone: 'accent', values: lately }, { label: 'since the beginning', tone: 'ink', values: all }];
  if (summary.constant_error !== undefined) series.push({ label: 'constant guess', tone: 'quiet', dash: [4, 4], values: constant });
  const now = lately.at(-1);
  return html`<h1>Overview</h1>
    <dl class="figures">
      <${Figure} label="error now" value=${errorText(summary, now ?? summary.error)} tone="main"
        beside=${summary.constant_error === undefined ? undefined : `constant guess ${percent(summary.constant_error)}`} />
      <${Figure} label="error since the beginning" value=${errorText(summary, summary.error)} beside=${summary.labels === 'numbers' ? undefined : `${count(summary.mistakes)} mistakes`} />
      <${Figure} label="examples" value=${count(summary.examples)} beside=${`${count(live.rate)} a second`} />
      <${Figure} label="tasks" value=${count(summary.tasks)} />
      <${Figure} label="wait for a label" value=${count(summary.queue)} beside=${html`<a href="#/label">label</a>`} />
    </dl>
    <section aria-labelledby="curve"><h2 id="curve">Error over examples</h2>
      ${x.length > 1 ? html`<${Chart} x=${x} series=${series} height=${280} label=${`Error over ${count(summary.examples)} examples; now ${percent(now)}`} />`
        : html`<p class="quiet">${summary.labels === 'numbers' ? 'Curves are of labels that are classes; here they are numbers.' : 'A curve begins after a few more examples.'}</p>`}
    </section>
    <${Alerts} model=${model} live=${live} />
    <div class="columns"><section aria-labelledby="worse"><h2 id="worse">Tasks that got worse</h2><${Worse} model=${model} live=${live} /></section>
    <section aria-labelledby="about"><h2 id="about">This model</h2><dl class="facts">
      <dt>learner</dt><dd>${summary.learner}</dd><dt>memory</dt><dd>${bytes(summary.memory_bytes)}</dd>
      <dt>last entry of the log</dt><dd>${count(summary.seq)}</dd><dt>last snapshot after</dt><dd>${count(summary.snapshot_seq)}</dd>
      <dt>predictions that wait for labels</dt><dd>${count(summary.pending)}</dd></dl></section></div>`;
}
