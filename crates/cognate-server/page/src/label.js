// What does a person say? One item at a time, the next one comes by itself, and every key is on its button.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ask, model as at } from './api.js';
import { count, Empty, Failure, html, percent, taskLink, useData, Waiting } from './ui.js';

const WORDS = { 1: 'yes', '-1': 'no' };

/** Items of a lease, and what was done with them. */
function useQueue(model) {
  const [items, setItems] = useState();
  const [done, setDone] = useState([]);
  const [error, setError] = useState();
  const [said, setSaid] = useState('');
  const lease = useRef(sessionStorage.getItem('cognate-lease') ?? undefined);
  const busy = useRef(false);
  const gone = useRef(new Set());

  const refill = useCallback(async () => {
    try {
      const body = { count: 6, ...(lease.current ? { lease: lease.current } : {}) };
      const answer = await ask(at(model, '/queue/lease'), { method: 'POST', body });
      lease.current = answer.lease;
      sessionStorage.setItem('cognate-lease', answer.lease);
      setError(undefined);
      setItems((before = []) => {
        const waiting = answer.items.filter((item) => !gone.current.has(item.id));
        const known = new Set(waiting.map((item) => item.id));
        const kept = before.filter((item) => known.has(item.id));
        const keptIds = new Set(kept.map((item) => item.id));
        return [...kept, ...waiting.filter((item) => !keptIds.has(item.id))];
      });
      return true;
    } catch (error) {
      setError(error);
      return false;
    }
  }, [model]);

  const act = useCallback(async (item, what, body = {}) => {
    if (busy.current) return undefined;
    busy.current = true;
    try {
      return await ask(at(model, `/queue/${item.id}/${what}`), { method: 'POST', body: { ...body, lease: lease.current } });
    } catch (error) {
      // Someone else has it, or has answered it: there are others.
      if (error.status === 409 || error.status === 404) {
        setSaid(error.message);
        if (what !== 'undo') {
          gone.current.add(item.id);
          setItems((items) => items.filter((one) => one.id !== item.id));
        }
      } else setError(error);
      return undefined;
    } finally {
      busy.current = false;
    }
  }, [model]);

  const finish = useCallback(async (item, what, label) => {
    const answer = await act(item, what, label === undefined ? {} : { label });
    if (!answer) return refill();
    gone.current.add(item.id);
    setItems((items) => items.filter((one) => one.id !== item.id));
    setDone((done) => [{ item, what, label }, ...done].slice(0, 50));
    setSaid(what === 'skip' ? `Skipped an item of ${item.task}` : `Answered ${WORDS[label] ?? label} for ${item.task}`);
    return undefined;
  }, [act, refill]);

  const undo = useCallback(async () => {
    const last = done[0];
    if (!last) return;
    const answer = await act(last.item, 'undo');
    if (!answer) return;
    gone.current.delete(last.item.id);
    setDone((done) => done.slice(1));
    if (answer.item) setItems((items = []) => [answer.item, ...items.filter((one) => one.id !== answer.item.id)]);
    setSaid(answer.outcome === 'retracted' ? 'Taken back; it had been learnt, and the model was made again without it' : 'Taken back');
  }, [act, done]);

  useEffect(() => {
    if (items === undefined || (items.length < 3 && !error)) refill();
  }, [items?.length, refill]);
  useEffect(() => {
    const timer = setInterval(() => (items === undefined || items.length < 3) && refill(), error || !items?.length ? 2000 : 20000);
    return () => clearInterval(timer);
  }, [items?.length, error, refill]);
  return { items, done, error, said, finish, undo };
}

const isToken = ({ value }) => value === 1;

function Features({ item }) {
  const words = item.features.filter(isToken);
  const numbers = item.features.filter((one) => !isToken(one));
  return html`<div class="example">
    ${words.length > 0 && html`<ul class="words" aria-label="features">${words.map((one) => html`<li>${one.name}</li>`)}</ul>`}
    ${numbers.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label="values"><table class="values"><tbody>${numbers.map((one) => html`<tr><th scope="row">${one.name}</th>
      <td class="number">${typeof one.value === 'number' ? Number(one.value.toPrecision(5)) : one.value}</td></tr>`)}</tbody></table></div>`}
    ${!item.features.length && html`<p class="quiet">This example has no features.</p>`}</div>`;
}

function Help({ close }) {
  const field = useRef();
  useEffect(() => field.current.showModal(), []);
  const keys = [['a', 'yes: the label is +1'], ['x', 'no: the label is −1'], ['space', 'skip: it comes again at the end'], ['backspace', 'take the last one back'], ['h', 'this help']];
  return html`<dialog ref=${field} onClose=${close} aria-labelledby="help-title"><h2 id="help-title">Keys</h2>
    <dl class="keys">${keys.map(([key, what]) => html`<dt><kbd>${key}</kbd></dt><dd>${what}</dd>`)}</dl>
    <p>An answer is on disk before the next item comes. It is learnt after ten more answers, or 30 seconds: until then taking it back leaves no
      trace. Later the model is made again from its log, without it.</p>
    <p>One item in ten is drawn at random. Those say how often the model is wrong, without bias: do not skip them because they are easy.</p>
    <form method="dialog"><button class="primary">Close</button></form></dialog>`;
}

function Sample({ model, live, done }) {
  const { data } = useData(at(model, '/queue'), { every: 1000, seq: `${live.seq}/${done}` });
  if (!data) return null;
  const { sample } = data;
  return html`<dl class="facts"><dt>wait</dt><dd>${count(data.waiting)}</dd><dt>held back</dt><dd>${count(data.held)}</dd><dt>learnt</dt><dd>${count(data.learned)}</dd>
    ${sample.error !== undefined && html`<dt>error, by ${count(sample.answers)} drawn at random</dt><dd>${percent(sample.error)} <span class="quiet">(${percent(sample.interval[0], 0)} to ${percent(sample.interval[1], 0)})</span></dd>`}</dl>`;
}

function NumberAnswer({ answer }) {
  const field = useRef();
  const submit = (event) => {
    event.preventDefault();
    const value = Number(field.current.value.replace(',', '.'));
    if (field.current.value.trim() && Number.isFinite(value)) answer(value);
  };
  return html`<form class="answers" onSubmit=${submit}><label for="label-number">Label</label><input id="label-number" ref=${field} inputmode="decimal" autocomplete="off" required />
    <button class="primary">Answer</button></form>`;
}

export function Label({ model, live, summary }) {
  const { items, done, error, said, finish, undo } = useQueue(model);
  const [help, setHelp] = useState(false);
  const item = items?.[0];
  const classes = summary?.labels !== 'numbers';
  useEffect(() => {
    const pressed = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || help) return;
      const { tagName } = event.target;
      if (/^(INPUT|SELECT|TEXTAREA)$/.test(tagName)) return;
      // A button that is in focus is pressed with space, and nothing else is meant.
      if (event.key === ' ' && /^(BUTTON|A|SUMMARY)$/.test(tagName)) return;
      const keys = {
        ...(classes && item ? { a: () => finish(item, 'answer', 1), x: () => finish(item, 'answer', -1) } : {}),
        ...(item ? { ' ': () => finish(item, 'skip') } : {}),
        Backspace: undo, h: () => setHelp(true),
      };
      const action = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!action) return;
      event.preventDefault();
      if (!event.repeat) action();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, [item, undo, finish, help, classes]);
  const foot = html`<div class="answers quiet-row"><button onClick=${undo} disabled=${!done.length}>Undo <kbd>backspace</kbd></button>
    <button onClick=${() => setHelp(true)}>Help <kbd>h</kbd></button></div>`;
  const body = error && error.status === 403 ? html`<${Empty} title="This token may look, and not label"><p>Labelling needs the scope <code>label</code>; on a
      read-only server nobody labels. Who runs the server makes a token for it: <code>cognate token NAME --scopes read,label</code></p><//>`
    : error && !items ? html`<${Failure} error=${error} />`
    : !items ? html`<${Waiting} what="the queue" />`
    : !item ? html`<${Empty} title="Nothing waits for a label">
      <p>Examples come here that are sent to <code>learn</code> with the label <code>"?"</code>, or to <code>predict</code> with an <code>id</code>
      where the model has a query rule. The next one is shown as soon as it is there.</p><//>${foot}`
    : html`<article class="item" aria-labelledby="item-task"><p class="task-of">task <a id="item-task" href=${taskLink(item.task)}>${item.task}</a></p><${Features} item=${item} /></article>
      ${classes ? html`<div class="answers"><button class="yes" onClick=${() => finish(item, 'answer', 1)}>Yes <kbd>a</kbd></button>
        <button class="no" onClick=${() => finish(item, 'answer', -1)}>No <kbd>x</kbd></button>
        <button onClick=${() => finish(item, 'skip')}>Skip <kbd>space</kbd></button></div>`
        : html`<${NumberAnswer} key=${item.id} answer=${(label) => finish(item, 'answer', label)} />`}${foot}`;
  return html`<h1>Label</h1><div class="desk"><div>${error && items && error.status !== 403 && html`<${Failure} error=${error} />`}${body}
      <p class="hidden" role="status" aria-live="polite">${said}</p></div>
    <aside aria-label="What was said">${!(error?.status === 403) && html`<${Sample} model=${model} live=${live} done=${done.length} />`}
      ${done.length > 0 && html`<h2>Just now</h2><ol class="done">${done.slice(0, 12).map(({ item, what, label }) => html`<li key=${item.id}>
        <span class=${`said ${what === 'skip' ? '' : label > 0 ? 'plus' : 'minus'}`}>${what === 'skip' ? 'skipped' : WORDS[label] ?? label}</span>
        <span class="name">${item.task}: ${item.features.slice(0, 4).map((one) => one.name).join(', ')}</span></li>`)}</ol>`}</aside></div>
    ${help && html`<${Help} close=${() => setHelp(false)} />`}`;
}
