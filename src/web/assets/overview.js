// The overview: every recipe in use, those with problems first.
import {age, count, el, layoutName, nameOf, nowUs, plural, rate, recipeUrl, setText, visible} from './format.js';
import {VirtualList} from './virtual_list.js';

const ORDER_MS = 2000;  // the order changes at most this often, so that rows can be clicked
const LONG_WAIT_US = 10e6;
const FILTERS = [
  ['all', 'All', () => true],
  ['locks', 'Locks', (r) => r.kind === 'lock' || r.kind === 'read-write lock'],
  ['semaphores', 'Semaphores', (r) => r.kind === 'semaphore'],
  ['elections', 'Elections', (r) => r.kind === 'election'],
  ['queues', 'Queues', (r) => r.kind === 'queue'],
];

export const isFree = (r) => r.holder_count + r.waiter_count === 0 &&
  !(r.queue && r.queue.length + r.queue.claimed + r.queue.set_aside + r.queue.waiting > 0);

function trouble(r, now) {
  if (r.deadlock === 'certain') return 1e18;
  if (r.deadlock === 'possible') return 1e17;
  let score = 0;
  if (r.waiter_count) score += (now - r.oldest_wait_us) / 1e6 * Math.log2(1 + r.waiter_count) + 1;
  if (r.kind === 'election') score *= 0.001;  // candidates are meant to wait
  if (r.queue) score = r.queue.set_aside * 100 + r.queue.length * 0.01;
  if (isFree(r)) score = -1;
  return score;
}

export function severity(r, now) {
  if (r.deadlock) return r.deadlock === 'certain' ? 'dead' : 'maybe-dead';
  if (isFree(r)) return 'free';
  if (r.kind === 'election') return 'calm';
  if (r.queue) return r.queue.set_aside ? 'slow' : 'calm';
  if (r.waiter_count && now - r.oldest_wait_us > LONG_WAIT_US) return 'slow';
  return r.waiter_count ? 'busy' : 'calm';
}

export class Overview {
  #recipes = new Map();
  #filter = 'all';
  #search = '';
  #ordered = [];
  #orderedAt = 0;

  title = 'Overview';
  query = {view: 'overview'};

  constructor(params) {
    this.#search = params.get('q') ?? '';
    this.#filter = params.get('kind') ?? 'all';
    this.tiles = ['Locks held', 'Waiting', 'Longest wait', 'Hand-offs'].map((label) => {
      const value = el('dd', {text: '–'});
      return {value, element: el('div', {class: 'tile'}, el('dt', {text: label}), value)};
    });
    this.input = el('input', {
      type: 'search', placeholder: 'Search path or owner', 'aria-label': 'Search path or owner',
      value: this.#search, spellcheck: 'false', autocomplete: 'off', id: 'search',
      on: {input: () => { this.#search = this.input.value; this.#changedFilter(); },
           keydown: (e) => { if (e.key === 'ArrowDown') { e.preventDefault(); this.list.focus(0); } }},
    });
    this.chips = FILTERS.map(([id, label]) => {
      const number = el('span', {class: 'number'});
      const chip = el('button', {type: 'button', class: 'chip', 'aria-pressed': 'false',
        on: {click: () => { this.#filter = id; this.#changedFilter(); }}}, label, number);
      return {id, chip, number};
    });
    this.list = new VirtualList('Locks, queues and elections', makeRow, updateRow, 'recipes');
    this.list.element.addEventListener('keydown', (e) => this.#onKey(e));
    this.empty = el('p', {class: 'empty', hidden: true});
    this.shown = el('p', {class: 'visually-hidden', role: 'status'});
    this.element = el('section', {'aria-label': 'Overview'},
      el('h1', {class: 'visually-hidden', text: 'Overview'}),
      el('dl', {class: 'tiles'}, ...this.tiles.map((t) => t.element)),
      el('div', {class: 'tools'}, this.input,
        el('div', {class: 'chips', role: 'group', 'aria-label': 'Kind'}, ...this.chips.map((c) => c.chip))),
      el('div', {class: 'heading recipes-heading', 'aria-hidden': 'true'},
        el('span', {text: 'Path'}), el('span', {text: 'Holder'}), el('span', {text: 'Waiting'}),
        el('span', {class: 'right', text: 'Longest wait'}), el('span', {class: 'right', text: 'Hand-offs/s'})),
      this.list.element, this.empty, this.shown);
  }

  destroy() { this.list.destroy(); }

  onEvent(name, data) {
    if (name === 'all') this.#recipes.clear();
    for (const id of data.gone) this.#recipes.delete(id);
    let isNew = name === 'all' || data.gone.length > 0;
    for (const r of data.recipes) {
      const old = this.#recipes.get(r.id);
      isNew ||= !old || !old.deadlock !== !r.deadlock;
      r.text = `${r.path}\n${[...r.holders, ...r.first_waiters].map((c) => c.owner).join('\n')}`.toLowerCase();
      this.#recipes.set(r.id, r);
    }
    this.complete = data.status.complete;
    this.paths = data.status.paths;
    this.#order(isNew);
    this.tick();
  }

  #changedFilter() {
    const params = new URLSearchParams();
    if (this.#search) params.set('q', this.#search);
    if (this.#filter !== 'all') params.set('kind', this.#filter);
    const text = params.toString();
    history.replaceState(null, '', text ? `#/?${text}` : '#/');
    this.#order(true);
    this.tick();
    this.shown.textContent = `${this.#ordered.length} shown`;
  }

  // Between two changes of the order, rows keep their places and only change their contents.
  #order(isNew) {
    const time = performance.now();
    const all = [...this.#recipes.values()];
    const search = this.#search.trim().toLowerCase();
    const accepts = (FILTERS.find(([id]) => id === this.#filter) ?? FILTERS[0])[2];
    for (const {id, chip, number} of this.chips) {
      const of = FILTERS.find((f) => f[0] === id)[2];
      const n = all.filter((r) => of(r) && !isFree(r)).length;
      setText(number, String(n));
      chip.setAttribute('aria-pressed', String(id === this.#filter));
    }
    const matches = all.filter((r) => accepts(r) && (!search || r.text.includes(search)));
    if (isNew || time - this.#orderedAt > ORDER_MS) {
      const now = nowUs();
      this.#orderedAt = time;
      this.#ordered = matches
        .map((r) => [trouble(r, now), r])
        .sort((a, b) => b[0] - a[0] || (a[1].path < b[1].path ? -1 : a[1].path > b[1].path ? 1 : a[1].id - b[1].id))
        .map(([, r]) => r);
    } else {
      const present = new Map(matches.map((r) => [r.id, r]));
      this.#ordered = this.#ordered.map((r) => present.get(r.id)).filter(Boolean);
    }
  }

  tick() {
    const now = nowUs();
    if (performance.now() - this.#orderedAt > ORDER_MS) this.#order(false);
    let held = 0, waiting = 0, oldest = 0, handoffs = 0;
    for (const r of this.#recipes.values()) {
      handoffs += r.handoffs_per_second;
      if (r.kind === 'queue' || r.kind === 'election') continue;
      held += r.holder_count > 0;
      waiting += r.waiter_count;
      if (r.oldest_wait_us) oldest = Math.max(oldest, now - r.oldest_wait_us);
    }
    setText(this.tiles[0].value, count(held));
    setText(this.tiles[1].value, count(waiting));
    setText(this.tiles[2].value, waiting ? age(oldest) : '–');
    setText(this.tiles[3].value, `${rate(handoffs)}/s`);
    this.empty.hidden = this.#ordered.length > 0;
    if (!this.empty.hidden) {
      setText(this.empty, !this.complete ? 'Reading the tree…'
        : this.#search || this.#filter !== 'all' ? 'Nothing matches.'
        : `Nothing is in use at or below ${(this.paths ?? []).map(visible).join(', ')}.`);
    }
    this.list.set(this.#ordered);
  }

  #onKey(e) {
    const row = e.target.closest('.recipe');
    if (!row) return;
    const at = this.list.indexOf(Number(row.dataset.id));
    const step = {ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10}[e.key];
    if (step) {
      e.preventDefault();
      if (at === 0 && step < 0) this.input.focus(); else this.list.focus(at + step);
    } else if (e.key === 'Home' || e.key === 'End') {
      e.preventDefault();
      this.list.focus(e.key === 'Home' ? 0 : this.#ordered.length - 1);
    }
  }
}

// Paths differ most at their end.
export function pathParts(path) {
  const text = visible(path);
  const slash = text.lastIndexOf('/');
  return [el('span', {class: 'folder', text: text.slice(0, slash + 1)}), el('span', {class: 'leaf', text: text.slice(slash + 1)})];
}

function makeRow(r) {
  const part = (name, tag = 'span') => el(tag, {class: name});
  const parts = {
    path: el('span', {class: 'path'}, ...pathParts(r.path)),
    tag: el('span', {class: 'tag'}),
    holder: part('name'), held: part('sub'), waiters: part('name'), first: part('sub'),
    longest: part('value'), rate: part('value'),
  };
  const row = el('div', {class: r.kind === 'queue' ? 'row recipe queue' : 'row recipe', 'data-id': r.id},
    el('a', {class: 'cell target', href: recipeUrl(r)}, parts.path, parts.tag),
    el('span', {class: 'cell holder'}, parts.holder, parts.held),
    el('span', {class: 'cell waiting'}, parts.waiters, parts.first),
    el('span', {class: 'cell right longest'}, parts.longest),
    el('span', {class: 'cell right rate'}, parts.rate));
  row.parts = parts;
  return row;
}

function updateRow(row, r) {
  const now = nowUs();
  const p = row.parts;
  const state = severity(r, now);
  if (row.dataset.state !== state) row.dataset.state = state;
  const dead = r.deadlock ? (r.deadlock === 'certain' ? ' · deadlock' : ' · possible deadlock') : '';
  setText(p.tag, `${r.kind}${r.permits ? ` of ${r.permits}` : ''} · ${layoutName(r.layout)}${dead}`);
  if (r.kind === 'queue') {
    const q = r.queue;
    setText(p.holder, plural(q.length, 'item'));
    setText(p.held, `${count(q.claimed)} claimed${q.set_aside ? ` · ${count(q.set_aside)} set aside` : ''}`);
    setText(p.waiters, q.waiting ? plural(q.waiting, 'consumer') + ' waiting' : plural(q.consumers, 'consumer'));
    setText(p.first, `${plural(q.producers, 'producer')}`);
    setText(p.longest, `in ${rate(q.pushed_per_second)}/s`);
    setText(p.rate, `out ${rate(q.popped_per_second)}/s`);
    return;
  }
  const h = r.holders[0];
  setText(p.holder, h ? nameOf(h) + (r.holder_count > 1 ? ` +${count(r.holder_count - 1)}` : '') : 'free');
  setText(p.held, h ? `${r.kind === 'election' ? 'leads' : 'held'} ${h.is_exact === false ? 'at most ' : ''}${age(now - h.since_us)}` : '');
  setText(p.waiters, r.waiter_count ? count(r.waiter_count) : '–');
  const rest = r.waiter_count - r.first_waiters.length;
  setText(p.first, r.first_waiters.map((w) => `${nameOf(w)} ${age(now - w.since_us)}`).join(', ') + (rest > 0 ? ` +${count(rest)}` : ''));
  setText(p.longest, r.waiter_count ? age(now - r.oldest_wait_us) : '–');
  setText(p.rate, rate(r.handoffs_per_second));
}
