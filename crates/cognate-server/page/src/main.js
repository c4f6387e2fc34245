// Which page is shown, of which model, and does the server answer? It goes on by itself when the server comes back.

import { render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import 'uplot/dist/uPlot.min.css';
import './style.css';
import { ask, follow, token } from './api.js';
import { Empty, Failure, html, sentence, Waiting } from './ui.js';
import { Overview } from './overview.js';
import { Task, Tasks } from './tasks.js';
import { Label } from './label.js';
import { Map } from './map.js';

const PAGES = { '': ['Overview', Overview], tasks: ['Tasks', Tasks], label: ['Label', Label], map: ['Map', Map] };

function useRoute() {
  const read = () => location.hash.replace(/^#\/?/, '').split('/').map(decodeURIComponent);
  const [route, setRoute] = useState(read);
  useEffect(() => {
    const changed = () => setRoute(read());
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return route;
}

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** The models, and what happens to one of them: events where the token may see all, else a question every few seconds. */
function useServer() {
  const [models, setModels] = useState();
  const [name, setName] = useState(sessionStorage.getItem('cognate-model') ?? undefined);
  const [live, setLive] = useState({ online: true, seq: undefined, rate: 0 });
  const [refused, setRefused] = useState();
  const [turn, setTurn] = useState(0);
  const chosen = models && (name in models ? name : Object.keys(models)[0]);
  useEffect(() => {
    let over = false;
    const load = async () => {
      for (;;) {
        try {
          const answer = await ask('v1/models');
          if (over) return;
          setModels(answer.models);
          setRefused(undefined);
          setLive((live) => ({ ...live, online: true }));
          return;
        } catch (error) {
          if (over) return;
          if (error.status === 401 || error.status === 403) return setRefused(error);
          setLive((live) => ({ ...live, online: false }));
          await pause(1000);
        }
      }
    };
    load();
    return () => (over = true);
  }, [turn]);
  useEffect(() => {
    if (!chosen) return undefined;
    const control = new AbortController();
    const seen = [];
    const watch = async () => {
      while (!control.signal.aborted) {
        let wait = 1000;
        try {
          await follow(chosen, control.signal, (kind, data) => {
            const now = performance.now();
            if (kind === 'progress') seen.push([now, data.learned]);
            while (seen.length && seen[0][0] < now - 5000) seen.shift();
            const rate = seen.reduce((sum, [, learned]) => sum + learned, 0) / 5;
            setLive((live) => ({ ...live, ...data, online: true, rate, kind }));
          });
        } catch (error) {
          // Who sees some tasks alone is told nothing of the others: it asks now and then.
          if (error.status === 401) return setRefused(error);
          wait = error.status === 404 || error.status === 403 ? 5000 : 1000;
        }
        if (control.signal.aborted) return;
        setTurn((turn) => turn + 1);
        setLive((live) => ({ ...live, seq: (live.seq ?? 0) + 1e-9, online: wait > 1000 }));
        await pause(wait);
      }
    };
    watch();
    return () => control.abort();
  }, [chosen]);
  const choose = (name) => {
    sessionStorage.setItem('cognate-model', name);
    setName(name);
    setLive((live) => ({ online: live.online, rate: 0 }));
  };
  return { models, chosen, choose, live, refused, again: () => (setRefused(undefined), setTurn((turn) => turn + 1)) };
}

function AskToken({ refused, again }) {
  const field = useRef();
  const submit = (event) => {
    event.preventDefault();
    token.set(field.current.value.trim());
    again();
  };
  useEffect(() => field.current.focus(), []);
  const said = token.get() ? sentence(refused.message) : 'This server asks for a token.';
  return html`<main id="main" class="narrow"><h1>Token</h1>
    <p role="status">${said}</p>
    <form onSubmit=${submit} class="stack">
      <label for="token">Token</label>
      <input id="token" ref=${field} type="password" autocomplete="off" spellcheck=${false} required />
      <button class="primary">Continue</button>
    </form>
    <p class="quiet">Whoever runs the server makes one with <code>cognate token NAME --scopes read,label</code>. It stays in this tab, and goes
      when the tab is closed.</p></main>`;
}

function Head({ server, page }) {
  const { models, chosen, choose, live } = server;
  const names = Object.keys(models ?? {});
  return html`<header>
    <a class="skip" href="#main" onClick=${(event) => (event.preventDefault(), document.getElementById('main')?.focus())}>Skip to content</a>
    <div class="bar-top">
      <a class="brand" href="#/"><img src="page/icon.svg" alt="" width="22" height="22" />cognate</a>
      <nav aria-label="Pages">${Object.entries(PAGES).map(
        ([id, [title]]) => html`<a href=${`#/${id}`} aria-current=${id === page ? 'page' : undefined}>${title}</a>`,
      )}</nav>
      <div class="state">
        ${names.length > 1 ? html`<label class="hidden" for="model">Model</label>
          <select id="model" value=${chosen} onChange=${(event) => choose(event.target.value)}>${names.map((name) => html`<option>${name}</option>`)}</select>`
          : html`<span class="quiet model">${chosen}</span>`}
        <span class=${`dot ${live.online ? 'on' : 'off'}`} role="status">${live.online ? 'live' : 'no answer'}</span>
      </div>
    </div>
    ${!live.online && html`<p class="banner" role="alert">The server does not answer. What you see is what it said last; this page goes on as soon as it is back.</p>`}
  </header>`;
}

function App() {
  const [page, rest] = useRoute();
  const server = useServer();
  const { chosen, live, models, refused, again } = server;
  const summary = models?.[chosen];
  const [title, Page] = PAGES[page] ?? ['Not found', undefined];
  useEffect(() => {
    document.title = `${rest || title} · cognate`;
    if (document.activeElement === document.body) return;
    scrollTo(0, 0);
  }, [page, rest]);
  if (refused) return html`<${AskToken} refused=${refused} again=${again} />`;
  const shown = !models ? html`<${Waiting} what="models" />`
    : !chosen ? html`<${Empty} title="No models yet"><p>Make one: <code>curl -X PUT http://127.0.0.1:7117/v1/models/mail</code></p><//>`
    : !Page ? html`<${Empty} title="There is no such page"><p><a href="#/">Overview</a></p><//>`
    : page === 'tasks' && rest ? html`<${Task} key=${`${chosen}/${rest}`} model=${chosen} name=${rest} live=${live} summary=${summary} />`
    : html`<${Page} key=${chosen} model=${chosen} live=${live} summary=${summary} again=${again} />`;
  return html`<${Head} server=${server} page=${page} /><main id="main" tabindex="-1">
    ${summary?.stopped && html`<${Failure} error=${{ message: `learning has stopped: ${summary.stopped}`, hint: 'predictions go on; a restart recovers all that was acknowledged' }} />`}
    ${shown}</main>`;
}

const root = document.getElementById('page');
root.textContent = '';
render(html`<${App} />`, root);
