// How do tasks lie to each other? Points on a canvas, in colours and shapes of their groups; and the same as a list.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { model as at } from './api.js';
import { Bars, count, Empty, Failure, html, percent, taskLink, useData, Waiting } from './ui.js';

const TONES = 8;
const SHAPES = ['circle', 'square', 'triangle', 'diamond', 'cross', 'ring'];
/** From here on it is shown how many tasks lie where. */
const DENSE = 2000;

function shape(pen, kind, x, y, r) {
  pen.beginPath();
  if (kind === 'square') pen.rect(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8);
  else if (kind === 'triangle') (pen.moveTo(x, y - r * 1.2), pen.lineTo(x + r * 1.1, y + r * 0.8), pen.lineTo(x - r * 1.1, y + r * 0.8), pen.closePath());
  else if (kind === 'diamond') (pen.moveTo(x, y - r * 1.3), pen.lineTo(x + r * 1.1, y), pen.lineTo(x, y + r * 1.3), pen.lineTo(x - r * 1.1, y), pen.closePath());
  else if (kind === 'cross') {
    const a = r * 0.4, b = r * 1.15;
    for (const [px, py] of [[-a, -b], [a, -b], [a, -a], [b, -a], [b, a], [a, a], [a, b], [-a, b], [-a, a], [-b, a], [-b, -a], [-a, -a]]) pen.lineTo(x + px, y + py);
    pen.closePath();
  } else pen.arc(x, y, r, 0, 2 * Math.PI);
}

/** Groups by size get colours and shapes; a group that goes leaves its own to nobody else while the page is open. */
const marks = (group) => (group === undefined ? { tone: -1, kind: 'circle' } : { tone: group % TONES, kind: SHAPES[(group + Math.floor(group / TONES)) % SHAPES.length] });

/** Points that lie on top of each other are spread around their place, by name, so that all of them are seen and none moves. */
function spread(points) {
  const { size } = frame(points);
  const places = new globalThis.Map();
  for (const point of points) {
    const place = `${Math.round((point.x / size) * 150)},${Math.round((point.y / size) * 150)}`;
    places.set(place, [...(places.get(place) ?? []), point]);
  }
  const step = size / 55;
  return [...places.values()].flatMap((same) => [...same].sort((a, b) => (a.task < b.task ? -1 : 1)).map((point, at) => {
    const r = same.length > 1 ? step * Math.sqrt(at + 0.4) : 0;
    const angle = at * 2.399963;
    return { ...point, x: point.x + r * Math.cos(angle), y: point.y + r * Math.sin(angle) };
  }));
}

function frame(points) {
  const xs = points.map((point) => point.x), ys = points.map((point) => point.y);
  const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
  const most = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
  return { x: (least(xs) + most(xs)) / 2, y: (least(ys) + most(ys)) / 2, size: Math.max(most(xs) - least(xs), most(ys) - least(ys), 1e-9) };
}

function useCanvas(draw, inputs) {
  const place = useRef();
  useEffect(() => {
    const canvas = place.current;
    const redraw = () => {
      const { clientWidth: width, clientHeight: height } = canvas;
      const dense = devicePixelRatio || 1;
      canvas.width = width * dense;
      canvas.height = height * dense;
      const pen = canvas.getContext('2d');
      pen.scale(dense, dense);
      draw(pen, width, height);
    };
    redraw();
    const sized = new ResizeObserver(redraw);
    sized.observe(canvas);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', redraw);
    return () => (sized.disconnect(), dark.removeEventListener('change', redraw));
  }, inputs);
  return place;
}

const projection = ({ x, y, size }, width, height) => {
  const scale = (Math.min(width, height) - 56) / size;
  return (point) => [width / 2 + (point.x - x) * scale, height / 2 - (point.y - y) * scale];
};

function density(pen, points, to, width, height, tone) {
  const cell = 7;
  const counts = new globalThis.Map();
  for (const point of points) {
    const [x, y] = to(point);
    const key = `${Math.floor(x / cell)},${Math.floor(y / cell)}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const most = Math.log1p(Math.max(...counts.values()));
  pen.fillStyle = tone('accent');
  for (const [key, number] of counts) {
    const [x, y] = key.split(',').map(Number);
    pen.globalAlpha = 0.12 + 0.8 * (Math.log1p(number) / most);
    pen.fillRect(x * cell, y * cell, cell - 1, cell - 1);
  }
  pen.globalAlpha = 1;
}

function Picture({ points, found, chosen, choose }) {
  const [over, setOver] = useState();
  const framed = useMemo(() => frame(points), [points]);
  const dense = points.length > DENSE;
  const place = useCanvas((pen, width, height) => {
    const style = getComputedStyle(document.documentElement);
    const tone = (name) => style.getPropertyValue(`--${name}`).trim();
    pen.clearRect(0, 0, width, height);
    const to = projection(framed, width, height);
    if (dense) density(pen, points, to, width, height, tone);
    const drawn = dense ? points.filter((point) => point.outlier || found?.has(point.task) || point.task === chosen) : points;
    for (const point of drawn) {
      const [x, y] = to(point);
      const { tone: of, kind } = marks(point.group);
      const r = points.length > 400 ? 3.5 : 5;
      const faint = found && !found.has(point.task);
      pen.globalAlpha = faint ? 0.15 : 0.9;
      pen.fillStyle = of < 0 ? tone('accent') : tone(`group-${of}`);
      shape(pen, kind, x, y, r);
      if (kind === 'ring') ((pen.lineWidth = 2.2), (pen.strokeStyle = pen.fillStyle), pen.stroke());
      else pen.fill();
      if (point.outlier) ((pen.lineWidth = 1.5), (pen.strokeStyle = tone('ink')), pen.beginPath(), pen.arc(x, y, r + 4, 0, 2 * Math.PI), pen.stroke());
    }
    pen.globalAlpha = 1;
    const named = [chosen, over].filter(Boolean).map((name) => points.find((point) => point.task === name)).filter(Boolean);
    pen.font = '13px ui-sans-serif, system-ui, sans-serif';
    for (const point of new Set(named)) {
      const [x, y] = to(point);
      pen.strokeStyle = tone('ink');
      pen.lineWidth = 2;
      pen.beginPath();
      pen.arc(x, y, 9, 0, 2 * Math.PI);
      pen.stroke();
      const wide = pen.measureText(point.task).width;
      const left = Math.min(Math.max(4, x + 14), width - wide - 8);
      pen.fillStyle = tone('paper');
      pen.globalAlpha = 0.85;
      pen.fillRect(left - 3, y - 10, wide + 6, 20);
      pen.globalAlpha = 1;
      pen.fillStyle = tone('ink');
      pen.fillText(point.task, left, y + 4.5);
    }
  }, [points, found, chosen, over]);
  const near = (event) => {
    const box = place.current.getBoundingClientRect();
    const to = projection(framed, box.width, box.height);
    let best, least = 18 * 18;
    for (const point of points) {
      const [x, y] = to(point);
      const far = (x - event.clientX + box.left) ** 2 + (y - event.clientY + box.top) ** 2;
      if (far < least) [best, least] = [point.task, far];
    }
    return best;
  };
  return html`<canvas ref=${place} class="map" role="img" aria-label=${`${count(points.length)} tasks in the plane; the list beside it has the same`}
    onPointerMove=${(event) => setOver(near(event))} onPointerLeave=${() => setOver(undefined)} onClick=${(event) => choose(near(event))}></canvas>`;
}

function Groups({ points }) {
  const counts = new globalThis.Map();
  for (const point of points) counts.set(point.group, (counts.get(point.group) ?? 0) + 1);
  const groups = [...counts].filter(([group]) => group !== undefined).sort((a, b) => b[1] - a[1]);
  const outliers = points.filter((point) => point.outlier).length;
  return html`<ul class="groups">${groups.slice(0, 12).map(([group, number]) => {
    const { tone, kind } = marks(group);
    return html`<li key=${group}><svg width="16" height="16" viewBox="-8 -8 16 16" aria-hidden="true" class=${`mark tone-${tone}`}><path d=${PATHS[kind]} class=${kind === 'ring' ? 'hollow' : ''} /></svg>
      group ${group + 1}<span class="quiet">${count(number)}</span></li>`;
  })}${outliers > 0 && html`<li><svg width="16" height="16" viewBox="-8 -8 16 16" aria-hidden="true" class="mark"><path d=${PATHS.ring} class="hollow" /></svg>outlier<span class="quiet">${count(outliers)}</span></li>`}
  ${groups.length > 12 && html`<li class="quiet">and ${groups.length - 12} more groups</li>`}</ul>`;
}

const ROUND = (r) => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
const PATHS = { circle: ROUND(5), ring: ROUND(5), square: 'M-4.5-4.5h9v9h-9z', triangle: 'M0-6L5.5 4H-5.5z', diamond: 'M0-6.5L5.5 0 0 6.5-5.5 0z', cross: 'M-2-6h4v4h4v4h-4v4h-4v-4h-4v-4h4z' };

function Near({ model, live, chosen }) {
  const { data } = useData(chosen && at(model, `/tasks/${encodeURIComponent(chosen)}`), { every: 4000, seq: live.seq });
  if (!data) return null;
  const most = Math.max(...data.nearest.map((one) => Math.abs(one.strength)), 1e-12);
  return html`<h2>${chosen}</h2><dl class="facts"><dt>examples</dt><dd>${count(data.row.examples)}</dd>${data.row.recent_error !== undefined && html`<dt>error lately</dt><dd>${percent(data.row.recent_error)}</dd>`}</dl>
    <p><a href=${taskLink(chosen)}>Curve and features</a></p><h3>Nearest tasks</h3>
    ${data.nearest.length ? html`<${Bars} rows=${data.nearest.slice(0, 8).map((one) => ({ label: one.task, href: taskLink(one.task), value: one.strength }))} most=${most} />` : html`<p class="quiet">No other task teaches it anything yet.</p>`}`;
}

export function Map({ model, live }) {
  const [typed, setTyped] = useState('');
  const [chosen, choose] = useState();
  const { data, error } = useData(at(model, '/map'), { every: 5000, seq: live.seq });
  const points = useMemo(() => (data ? (data.points.length > DENSE ? data.points : spread(data.points)) : []), [data]);
  const found = useMemo(() => {
    const wanted = typed.trim().toLowerCase();
    return wanted ? new Set(points.filter((point) => point.task.toLowerCase().includes(wanted)).map((point) => point.task)) : undefined;
  }, [typed, points]);
  if (error && !data) return html`<h1>Map</h1><${Failure} error=${error} />`;
  if (!data) return html`<h1>Map</h1><${Waiting} what="the map" />`;
  if (!points.length) return html`<h1>Map</h1><${Empty} title="No tasks to draw yet"><p>Tasks that teach each other lie close together here. Send examples of
    two tasks or more, and they find their places.</p><//>`;
  const listed = (found ? points.filter((point) => found.has(point.task)) : points).slice(0, 100);
  return html`<h1>Map</h1><p class="lead">Tasks that teach each other lie close together. Choose one to see its nearest.</p>
    <div class="tools"><label for="find">Search</label><input id="find" type="search" value=${typed} placeholder="part of a name" onInput=${(event) => setTyped(event.target.value)} />
      <span class="quiet" role="status">${count(found ? found.size : points.length)} ${(found ? found.size : points.length) === 1 ? 'task' : 'tasks'}</span></div>
    <div class="atlas"><div><${Picture} points=${points} found=${found} chosen=${chosen} choose=${choose} /><${Groups} points=${points} />
      ${points.length > DENSE && html`<p class="quiet">Of more than ${count(DENSE)} tasks it is shown how many lie where; those that are found, and outliers, are points.</p>`}</div>
    <aside aria-label="Tasks of the map"><${Near} model=${model} live=${live} chosen=${chosen} /><h2>Tasks</h2>
      <div class="list" tabindex="0" role="region" aria-label="List of tasks"><ol>${listed.map((point) => html`<li key=${point.task}><button class="plain" aria-pressed=${point.task === chosen} onClick=${() => choose(point.task)}>${point.task}</button>
        <span class="quiet">${point.group === undefined ? '' : `group ${point.group + 1}`}${point.outlier ? ' · outlier' : ''}</span></li>`)}</ol></div>
      ${(found ? found.size : points.length) > listed.length && html`<p class="quiet">and ${count((found ? found.size : points.length) - listed.length)} more; search names them</p>`}</aside></div>`;
}
