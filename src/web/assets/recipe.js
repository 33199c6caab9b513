// One lock, semaphore, election or queue: its holders, its wait queue, and what happened so far.
import {revoke} from './api.js';
import {Histogram, LengthChart, Timeline} from './charts.js';
import {age, clockTime, count, duration, el, layoutName, nameOf, nowUs, plural, rate, setText, visible} from './format.js';
import {pathParts, severity} from './overview.js';
import {VirtualList} from './virtual_list.js';

const RECENT = 8;

function applyDifference(list, difference) {
  const changed = new Set(difference.gone);
  for (const [, entry] of difference.put) changed.add(entry.id);
  const kept = changed.size ? list.filter((e) => !changed.has(e.id)) : list;
  if (!difference.put.length) return kept;
  const result = [];
  let k = 0;
  for (const [index, entry] of difference.put) {
    while (result.length < index && k < kept.length) result.push(kept[k++]);
    result.push(entry);
  }
  while (k < kept.length) result.push(kept[k++]);
  return result;
}

export class RecipeView {
  #recipe = null;
  #contenders = [];
  #holds = [];
  #addresses = {};  // of sessions

  constructor(params, {allowsActions}) {
    this.path = params.get('path') ?? '';
    this.title = visible(this.path);
    this.query = {view: 'recipe', path: this.path, layout: params.get('layout') ?? '', kind: params.get('kind') ?? ''};
    this.allowsActions = allowsActions;
    this.tag = el('p', {class: 'tag'});
    this.tiles = new Map();
    this.tileList = el('dl', {class: 'tiles'});
    this.timeline = new Timeline();
    this.lengths = new LengthChart();
    this.waits = new Histogram('Wait times', 'from arrival to grant');
    this.holdTimes = new Histogram('Hold times', 'from grant to release');
    this.recent = el('tbody');
    this.timelineCard = el('section', {class: 'card wide', 'aria-label': 'Timeline'},
      el('h2', {text: 'Timeline'}), this.timeline.element,
      el('details', {class: 'recent'}, el('summary', {text: 'Recent holds'}),
        el('div', {class: 'scroll'}, el('table', {}, el('thead', {}, el('tr', {},
          ...['Holder', 'From', 'Held', 'Waited before'].map((t) => el('th', {scope: 'col', text: t})))), this.recent))));
    this.lengthCard = el('section', {class: 'card wide', hidden: true, 'aria-label': 'Length'},
      el('h2', {text: 'Items'}), this.lengths.element);
    this.list = new VirtualList('Wait queue', (c) => this.#makeRow(c), (row, c, i) => this.#updateRow(row, c, i), 'contenders');
    this.listTitle = el('h2', {text: 'Wait queue'});
    this.gone = el('p', {class: 'empty', hidden: true, text: 'Nobody uses this path now, and nobody did in the last ten minutes.'});
    this.listCard = el('section', {class: 'card wide flush', 'aria-label': 'Wait queue'}, this.listTitle, this.list.element);
    this.content = el('div', {class: 'cards'}, this.lengthCard, this.timelineCard,
      this.waits.element, this.holdTimes.element, this.listCard);
    this.element = el('section', {},
      el('p', {class: 'back'}, el('a', {href: '#/', text: '← Overview'})),
      el('h1', {class: 'path'}, ...pathParts(this.path)), this.tag, this.tileList, this.gone, this.content);
  }

  destroy() { this.list.destroy(); }

  onEvent(name, data) {
    this.allowsActions = data.status.allows_actions;
    if (name === 'all') {
      this.#recipe = data.recipe;
      this.#contenders = data.contenders ?? [];
      this.#holds = data.holds ?? [];
      this.#addresses = {};
    } else if (data.recipe) {
      this.#recipe = data.recipe;
      this.#contenders = applyDifference(this.#contenders, data.contenders);
      this.#holds = applyDifference(this.#holds, data.holds);
    }
    if (data.addresses) this.#addresses = data.addresses;
    if (data.charts) {
      this.waits.set(data.charts.waits);
      this.holdTimes.set(data.charts.holds);
    }
    if (this.#recipe?.queue) this.lengths.add(nowUs(), this.#recipe.queue.length);
    this.#drawRecent();
    this.tick();
  }

  #tile(label, text) {
    let value = this.tiles.get(label);
    if (!value) {
      value = el('dd');
      this.tiles.set(label, value);
      this.tileList.append(el('div', {class: 'tile'}, el('dt', {text: label}), value));
    }
    setText(value, text);
  }

  tick() {
    const r = this.#recipe;
    this.gone.hidden = r !== null;
    this.content.hidden = r === null;
    if (!r) return;
    const now = nowUs();
    const isQueue = r.kind === 'queue';
    this.element.dataset.state = severity(r, now);
    const dead = r.deadlock ? (r.deadlock === 'certain' ? ' · part of a deadlock' : ' · part of a possible deadlock') : '';
    setText(this.tag, `${r.kind}${r.permits ? ` of ${r.permits}` : ''} · layout ${layoutName(r.layout)}${dead}`);
    if (isQueue) {
      const q = r.queue;
      this.#tile('Items', count(q.length));
      this.#tile('Claimed', count(q.claimed));
      this.#tile('Set aside', count(q.set_aside));
      this.#tile('In', `${rate(q.pushed_per_second)}/s`);
      this.#tile('Out', `${rate(q.popped_per_second)}/s`);
      this.#tile('Consumers', `${count(q.consumers)}, ${count(q.waiting)} waiting`);
    } else {
      const h = r.holders[0];
      const leads = r.kind === 'election';
      this.#tile(leads ? 'Leader' : 'Holder', h ? nameOf(h) + (r.holder_count > 1 ? ` +${count(r.holder_count - 1)}` : '') : 'free');
      this.#tile(leads ? 'Leads for' : 'Held for', h ? (h.is_exact === false ? 'at most ' : '') + age(now - h.since_us) : '–');
      this.#tile(leads ? 'Candidates' : 'Waiting', count(r.waiter_count));
      this.#tile('Longest wait', r.waiter_count ? age(now - r.oldest_wait_us) : '–');
      this.#tile(leads ? 'Changes' : 'Hand-offs', leads ? count(r.handoffs) : `${rate(r.handoffs_per_second)}/s`);
    }
    this.lengthCard.hidden = !isQueue;
    // The nodes of permits and claims do not show how long their owners waited.
    this.waits.element.hidden = isQueue || r.kind === 'semaphore';
    this.holdTimes.element.classList.toggle('only', this.waits.element.hidden);
    this.timelineCard.hidden = this.holdTimes.element.hidden = isQueue && this.#holds.length === 0;
    this.listCard.hidden = isQueue && this.#contenders.length === 0;
    this.timeline.draw(this.#holds, now);
    if (isQueue) this.lengths.draw(now);
    setText(this.listTitle, isQueue ? `Claims (${count(this.#contenders.length)})`
      : `Wait queue (${plural(r.holder_count, r.kind === 'election' ? 'leader' : 'holder')}, ${count(r.waiter_count)} waiting)`);
    this.list.set(this.#contenders);
  }

  #drawRecent() {
    const last = this.#holds.slice(-RECENT).reverse();
    this.recent.replaceChildren(...last.map((h) => el('tr', {},
      el('td', {text: nameOf(h)}), el('td', {text: clockTime(h.begin_us)}),
      el('td', {text: h.end_us ? duration(h.end_us - h.begin_us) : 'still'}),
      el('td', {text: h.waited_us === undefined ? 'not known' : duration(h.waited_us)}))));
  }

  #makeRow(c) {
    const parts = {
      place: el('span', {class: 'place'}), name: el('span', {class: 'name'}), sub: el('span', {class: 'sub mono'}),
      time: el('span', {class: 'value'}),
    };
    const row = el('div', {class: 'row contender'}, parts.place,
      el('span', {class: 'cell'}, parts.name, parts.sub), parts.time);
    if (this.allowsActions && c.holds && this.#recipe.kind !== 'queue' && this.#recipe.kind !== 'election') {
      parts.button = el('button', {type: 'button', class: 'action', text: 'Ask to release',
        on: {click: () => this.#askToRelease(c)}});
      row.append(parts.button);
    }
    row.parts = parts;
    row.held = c.holds;
    return row;
  }

  async #askToRelease(c) {
    if (!confirm(`Ask ${nameOf(c)} to release ${visible(this.path)}?\n\nPrograms can ignore the request.`)) return;
    const problem = await revoke(c.node);
    if (problem) alert(problem);
  }

  #updateRow(row, c, index) {
    const now = nowUs();
    const p = row.parts;
    const holds = c.holds === true;
    row.dataset.state = holds ? 'holds' : 'waits';
    setText(p.place, holds ? '●' : String(index + 1 - (this.#recipe?.holder_count ?? 0)));
    setText(p.name, c.unreadable ? 'not readable (ACL)' : nameOf(c));
    const role = c.role && c.role !== 'exclusive' ? `${c.role} · ` : '';
    const address = this.#addresses[c.session];
    setText(p.sub, `${role}${c.session ? `session ${c.session}${address ? ` at ${visible(address)}` : ''} · ` : ''}${visible(c.node.slice(c.node.lastIndexOf('/') + 1))}${c.asked ? ' · asked to release' : ''}`);
    const since = holds ? c.granted_us ?? c.since_us : c.since_us;
    setText(p.time, `${holds ? (this.#recipe?.kind === 'election' ? 'leads' : 'holds') : 'waits'} ${holds && c.grant_is_exact === false ? 'at most ' : ''}${age(now - since)}`);
    // A waiter that is granted the lock gets the button of a holder.
    if (holds && !row.held && this.allowsActions && !p.button && !['queue', 'election'].includes(this.#recipe.kind)) {
      p.button = el('button', {type: 'button', class: 'action', text: 'Ask to release', on: {click: () => this.#askToRelease(c)}});
      row.append(p.button);
    }
    row.held = holds;
  }
}
