// How does a curve look? uPlot in the colours of the page, and the same numbers as a table.

import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { count, html, percent } from './ui.js';

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const FONT = '12px ui-sans-serif, system-ui, sans-serif';
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 4 });

function options(width, height, series, top) {
  const axis = { stroke: () => colour('quiet'), font: FONT, grid: { stroke: () => colour('line'), width: 1 }, ticks: { show: false } };
  return {
    width, height, legend: { show: false }, padding: [10, 12, 0, 0],
    cursor: { y: false, points: { size: 7 } },
    scales: { x: { time: false }, y: { range: (_, __, most) => [0, Math.max(top ?? 0, most * 1.12, 0.01)] } },
    axes: [
      { ...axis, size: 34, space: 90, grid: { show: false }, values: (_, at) => at.map((value) => short.format(value)) },
      { ...axis, size: 52, values: (_, at) => at.map((value) => `${Math.round(value * 1000) / 10} %`) },
    ],
    series: [{}, ...series.map(({ tone, dash }) => ({
      stroke: () => colour(tone), width: dash ? 1.5 : 2, dash, points: { show: false },
      fill: tone === 'accent' ? () => colour('wash') : undefined,
    }))],
  };
}

/** Curves over examples; `series` has a label, a tone and values each. */
export function Chart({ x, series, height = 240, label }) {
  const place = useRef();
  const plot = useRef();
  const shape = series.map((one) => one.tone).join();
  useEffect(() => {
    const node = place.current;
    const draw = () => {
      plot.current?.destroy();
      plot.current = new uPlot(options(node.clientWidth, height, series), [x, ...series.map((one) => one.values)], node);
      plot.current.root.querySelector('canvas')?.setAttribute('aria-hidden', 'true');
    };
    draw();
    const sized = new ResizeObserver(() => plot.current.setSize({ width: node.clientWidth, height }));
    sized.observe(node);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const redraw = () => plot.current.redraw();
    dark.addEventListener('change', redraw);
    return () => {
      sized.disconnect();
      dark.removeEventListener('change', redraw);
      plot.current.destroy();
      plot.current = undefined;
    };
  }, [shape, height]);
  useEffect(() => plot.current?.setData([x, ...series.map((one) => one.values)]), [x, series]);
  const rows = x.map((at, row) => [at, ...series.map((one) => one.values[row])]);
  return html`<figure class="chart">
    <figcaption class="legend">${series.map((one) => html`<span class=${`key ${one.tone}`}>${one.label}</span>`)}</figcaption>
    <div ref=${place} role="img" aria-label=${label}></div>
    <details><summary>Numbers</summary><div class="scroll" tabindex="0" role="region" aria-label="Numbers of the curve"><table>
      <thead><tr><th scope="col" class="number">examples</th>${series.map((one) => html`<th scope="col" class="number">${one.label}</th>`)}</tr></thead>
      <tbody>${rows.map(([at, ...values]) => html`<tr><td class="number">${count(at)}</td>${values.map((value) => html`<td class="number">${percent(value)}</td>`)}</tr>`)}</tbody>
    </table></div></details>
  </figure>`;
}

/** Cumulated mistakes as errors between points, and from the beginning. */
export function errors(curve) {
  const x = [], lately = [], all = [];
  let [before, mistaken] = [0, 0];
  for (const [examples, mistakes] of curve) {
    if (examples <= before) continue;
    x.push(examples);
    lately.push((mistakes - mistaken) / (examples - before));
    all.push(mistakes / examples);
    [before, mistaken] = [examples, mistakes];
  }
  return { x, lately, all };
}
