// Charts in SVG. Each has a text that says the same.
import {clockTime, count, duration, el, nameOf, plural, setText, svg} from './format.js';

const LIMITS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120, 600];
const HUES = 8;

const limitText = (s) => s < 0.001 ? `${Math.round(s * 1e6)} µs` : duration(s * 1e6).replace(/\.0 /, ' ').replace(' 00s', '');

// The same owner always has the same colour.
function hueOf(text) {
  let h = 0;
  for (let i = 0; i < text.length; ++i) h = (h * 31 + text.charCodeAt(i)) >>> 0;
  return h % HUES;
}

export class Histogram {
  // `limits` are in seconds.
  constructor(title, explanation, limits = LIMITS) {
    this.limits = limits;
    this.summary = el('p', {class: 'sub'});
    this.bars = el('div', {class: 'bars', role: 'img'});
    this.axis = el('div', {class: 'axis', 'aria-hidden': 'true'});
    this.element = el('section', {class: 'card', 'aria-label': title},
      el('h2', {text: title}, el('span', {class: 'aside', text: ` ${explanation}`})), this.bars, this.axis, this.summary);
  }

  set({counts, sum, total}) {
    let first = counts.findIndex((n) => n > 0);
    let last = counts.length - 1 - [...counts].reverse().findIndex((n) => n > 0);
    if (first < 0) {
      this.bars.replaceChildren();
      this.axis.replaceChildren();
      setText(this.summary, 'Nothing measured yet.');
      return;
    }
    first = Math.max(0, Math.min(first - 1, counts.length - 6));
    last = Math.min(counts.length - 1, Math.max(last + 1, first + 5));
    const most = Math.max(...counts);
    const range = (i) => i === counts.length - 1 ? `over ${limitText(this.limits[i - 1])}` : `up to ${limitText(this.limits[i])}`;
    const bars = [], labels = [], words = [];
    for (let i = first; i <= last; ++i) {
      const bar = el('i', {title: `${range(i)}: ${count(counts[i])}`});
      bar.style.setProperty('--h', String(counts[i] / most));
      if (!counts[i]) bar.className = 'none';
      bars.push(bar);
      labels.push(el('span', {text: i === counts.length - 1 ? `>${limitText(this.limits[i - 1])}` : limitText(this.limits[i])}));
      if (counts[i]) words.push(`${range(i)}: ${counts[i]}`);
    }
    this.bars.replaceChildren(...bars);
    this.bars.setAttribute('aria-label', words.join(', '));
    this.axis.replaceChildren(...labels);
    this.axis.classList.toggle('dense', labels.length > 8);
    setText(this.summary, `${plural(total, 'measurement')}, mean ${duration(sum / total * 1e6)}`);
  }
}

// The holds of the last minutes as blocks. Gaps are times at which nobody held the lock.
export class Timeline {
  #blocks = new Map();

  constructor() {
    this.canvas = svg('svg', {class: 'timeline', role: 'img', preserveAspectRatio: 'none'});
    this.group = svg('g');
    this.canvas.append(this.group);
    this.labels = el('div', {class: 'timeline-labels', 'aria-hidden': 'true'});
    this.axis = el('div', {class: 'time-axis', 'aria-hidden': 'true'});
    this.tip = el('p', {class: 'sub tip'});
    this.element = el('div', {}, el('div', {class: 'timeline-box'}, this.canvas, this.labels), this.axis, this.tip);
    this.canvas.addEventListener('pointermove', (e) => this.#show(e));
    this.canvas.addEventListener('pointerleave', () => { this.pointed = null; this.#describe(); });
  }

  draw(holds, now) {
    const width = 1000, height = 100;
    this.canvas.setAttribute('viewBox', `0 0 ${width} ${height}`);
    // The window fits the holds, from ten seconds to ten minutes.
    const oldest = holds.length ? Math.max(holds[0].begin_us, now - 600e6) : now - 60e6;
    const span = [10e6, 30e6, 60e6, 120e6, 300e6, 600e6].find((s) => now - oldest <= s) ?? 600e6;
    const from = now - span;
    const visibleHolds = holds.filter((h) => (h.end_us ?? now) > from);
    this.holds = visibleHolds;
    this.now = now;
    // Overlapping holds, of readers or permits, are drawn in lanes.
    const lanes = [];
    const seen = new Set();
    const placed = visibleHolds.map((h) => {
      let lane = lanes.findIndex((end) => end <= h.begin_us);
      if (lane < 0) lane = lanes.length < 6 ? lanes.push(0) - 1 : 5;
      lanes[lane] = h.end_us ?? Infinity;
      return [h, lane];
    });
    const laneHeight = height / Math.max(lanes.length, 1);
    const labels = [];
    for (const [h, lane] of placed) {
      seen.add(h.id);
      let block = this.#blocks.get(h.id);
      if (!block) {
        block = svg('rect', {'data-id': h.id});
        this.#blocks.set(h.id, block);
        this.group.append(block);
      }
      const left = Math.max(0, (h.begin_us - from) / span * width);
      const right = ((h.end_us ?? now) - from) / span * width;
      const w = Math.max(right - left - 0.8, 0.8);
      block.setAttribute('class', `hold hue${hueOf(nameOf(h))}${h.end_us ? '' : ' open'}`);
      block.setAttribute('x', left.toFixed(2));
      block.setAttribute('width', w.toFixed(2));
      block.setAttribute('y', (lane * laneHeight).toFixed(1));
      block.setAttribute('height', (laneHeight - 3).toFixed(1));
      if (w > 70 && lanes.length <= 3) {
        const label = el('span', {text: nameOf(h)});
        label.style.left = `${left / width * 100}%`;
        label.style.width = `${w / width * 100}%`;
        label.style.top = `${lane * laneHeight}%`;
        label.style.height = `${laneHeight}%`;
        labels.push(label);
      }
    }
    this.labels.replaceChildren(...labels);
    for (const [id, block] of this.#blocks) {
      if (seen.has(id)) continue;
      block.remove();
      this.#blocks.delete(id);
    }
    this.axis.replaceChildren(el('span', {text: `${duration(span)} ago`}), el('span', {text: 'now'}));
    const held = visibleHolds.reduce((sum, h) => sum + (h.end_us ?? now) - Math.max(h.begin_us, from), 0);
    this.text = visibleHolds.length
      ? `${plural(visibleHolds.length, 'hold')} in the last ${duration(span)}${lanes.length <= 1 ? `, held ${Math.min(100, Math.round(held / span * 100))} % of the time` : ''}.`
      : 'No holds since the page server started.';
    this.canvas.setAttribute('aria-label', this.text);
    this.#describe();
  }

  #show(e) {
    this.pointed = Number(e.target.dataset?.id) || null;
    this.#describe();
  }

  #describe() {
    const h = this.pointed && this.holds?.find((x) => x.id === this.pointed);
    setText(this.tip, h
      ? `${nameOf(h)}: from ${clockTime(h.begin_us)}, ${h.end_us ? `held ${duration(h.end_us - h.begin_us)}` : `holds for ${duration(this.now - h.begin_us)}`}${h.waited_us === undefined ? '' : `, waited ${duration(h.waited_us)} before`}`
      : this.text);
  }
}

// The length of a queue over the time since the page was opened, at most ten minutes.
export class LengthChart {
  #samples = [];

  constructor() {
    this.line = svg('path', {class: 'line'});
    this.area = svg('path', {class: 'area'});
    this.canvas = svg('svg', {class: 'lengths', role: 'img', preserveAspectRatio: 'none', viewBox: '0 0 1000 100'}, this.area, this.line);
    this.text = el('p', {class: 'sub'});
    this.element = el('div', {}, this.canvas, this.text);
  }

  add(at, length) {
    this.#samples.push([at, length]);
    while (this.#samples.length > 2 && this.#samples[1][0] < at - 600e6) this.#samples.shift();
    // A busy queue changes many times per second; half of the older samples are enough.
    if (this.#samples.length > 4000) this.#samples = this.#samples.filter((_, i) => i % 2 === 0 || i > 3000);
  }

  draw(now) {
    if (!this.#samples.length) return;
    const from = Math.max(this.#samples[0][0], now - 600e6);
    const span = Math.max(now - from, 10e6);
    const most = Math.max(1, ...this.#samples.map((s) => s[1]));
    const x = (t) => Math.max(0, (t - (now - span)) / span * 1000).toFixed(1);
    const y = (n) => (97 - n / most * 92).toFixed(1);
    let d = '', last = null;
    for (const [t, n] of this.#samples) {
      d += d ? `H${x(t)}V${y(n)}` : `M${x(t)},${y(n)}`;
      last = n;
    }
    d += `H1000`;
    this.line.setAttribute('d', d);
    this.area.setAttribute('d', `${d}V100H${x(this.#samples[0][0])}Z`);
    const text = `${count(last)} now, at most ${count(most)} in the last ${duration(now - from)}.`;
    this.canvas.setAttribute('aria-label', text);
    setText(this.text, text);
  }
}
