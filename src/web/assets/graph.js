// The wait-for graph: sessions and locks. An arrow from a session to a lock is a wait, and an arrow
// from a lock to a session shows who holds it. So a deadlock is a cycle of arrows.
import {el, plural, recipeUrl, svg, visible} from './format.js';

const W = 190, H = 46;            // size of a node
const DX = 270, DY = 74;          // distance between nodes of a layer, and between layers

const clip = (text, n) => text.length > n ? `${text.slice(0, n - 1)}…` : text;
// Paths differ most at their end.
const clipPath = (text, n) => text.length > n ? `…${text.slice(1 - n)}` : text;

export class GraphView {
  title = 'Wait-for graph';
  query = {view: 'graph'};

  constructor() {
    this.sentences = el('div', {class: 'deadlocks', role: 'alert'});
    this.same = el('span', {text: 'session ··· session: the same task', hidden: true});
    this.note = el('p', {class: 'sub'});
    this.canvas = svg('svg', {class: 'graph', role: 'group', 'aria-label': 'Wait-for graph'});
    this.scroll = el('div', {class: 'graph-scroll', tabindex: '0', role: 'region', 'aria-label': 'Graph, scrolls'}, this.canvas);
    this.words = el('ul');
    this.empty = el('p', {class: 'empty', text: 'Nobody waits for a lock.', hidden: true});
    this.element = el('section', {},
      el('h1', {text: 'Wait-for graph'}), this.sentences,
      el('p', {class: 'legend'},
        el('span', {class: 'key session', text: 'session'}), el('span', {class: 'key lock', text: 'lock'}),
        el('span', {text: 'session ⇢ lock: waits'}), el('span', {text: 'lock → session: is held by'}), this.same),
      this.empty, this.scroll, this.note,
      el('details', {class: 'recent'}, el('summary', {text: 'As text'}), this.words));
  }

  destroy() {}
  tick() {}

  onEvent(name, data) {
    if (!data.graph) {
      if (name === 'all') this.empty.hidden = false;
      return;
    }
    this.#drawDeadlocks(data.graph.deadlocks);
    this.#drawGraph(data.graph);
  }

  #drawDeadlocks(deadlocks) {
    this.sentences.replaceChildren(...deadlocks.map((d) => el('div', {class: d.certain ? 'deadlock' : 'deadlock possible'},
      el('strong', {text: d.certain ? 'Deadlock' : 'Possible deadlock'}),
      el('p', {class: 'sentence', text: `${visible(d.sentence)}.`}),
      el('p', {class: 'sub', text: d.certain
        ? 'Each task holds a lock that the next one waits for. None of them can continue until one releases its lock.'
        : 'The same sessions hold these locks and wait for them. If different threads of a session hold and wait, it is no deadlock and resolves itself.'}))));
  }

  #drawGraph(g) {
    this.empty.hidden = g.locks.length > 0;
    this.scroll.hidden = g.locks.length === 0;
    this.note.textContent = g.hidden_locks ? `${plural(g.hidden_locks, 'more lock')} with waiters ${g.hidden_locks === 1 ? 'is' : 'are'} not drawn.` : '';
    const nodes = [
      ...g.sessions.map((s, i) => ({type: 'session', key: `s${i}`, name: visible(s.name), sub: s.id, edges: []})),
      ...g.locks.map((l, i) => ({type: 'lock', key: `l${i}`, lock: l, name: visible(l.path), edges: [],
        sub: `${l.kind}${l.hidden_waiters ? ` · ${l.hidden_waiters} more waiting` : ''}`})),
    ];
    const sessions = g.sessions.length;
    const edges = g.edges.map((e) => {
      const s = nodes[e.session], l = nodes[sessions + e.lock];
      return {from: e.holds ? l : s, to: e.holds ? s : l, kind: e.holds ? 'holds' : 'waits', deadlock: e.deadlock};
    });
    for (const l of g.links) edges.push({from: nodes[l.from], to: nodes[l.to], kind: 'same', deadlock: l.deadlock});
    this.same.hidden = g.links.length === 0;
    const size = place(nodes, edges);
    this.canvas.setAttribute('viewBox', `0 0 ${size.width} ${size.height}`);
    this.canvas.setAttribute('width', size.width);
    this.canvas.setAttribute('height', size.height);
    this.canvas.replaceChildren(
      svg('defs', {}, ...['plain', 'certain', 'possible'].map((id) =>
        svg('marker', {id: `arrow-${id}`, class: id, viewBox: '0 0 8 8', refX: '7', refY: '4', markerWidth: '7', markerHeight: '7', orient: 'auto-start-reverse'},
          svg('path', {d: 'M0,0.5L7.5,4L0,7.5Z'})))),
      ...edges.map(drawEdge), ...nodes.map(drawNode));
    const words = {
      holds: (e) => `${e.to.name} (${e.to.sub}) holds ${e.from.name}`,
      waits: (e) => `${e.from.name} (${e.from.sub}) waits for ${e.to.name}`,
      same: (e) => `${e.from.name} (${e.from.sub}) and ${e.to.name} (${e.to.sub}) are one task`,
    };
    this.words.replaceChildren(...edges.map((e) => el('li', {text: words[e.kind](e)})));
  }
}

// Sets x and y of each node. Holders that wait for nothing are on the right, and those who wait for
// them are on their left. The nodes of a cycle form a ring.
function place(nodes, edges) {
  for (const n of nodes) { n.out = []; n.in = []; n.ring = false; }
  for (const e of edges) { e.from.out.push(e); e.to.in.push(e); }
  for (const e of edges) {
    if (!e.deadlock) continue;
    for (const n of [e.from, e.to]) n.ring = n.ring === 'certain' ? n.ring : e.deadlock;
  }
  let y = 16, width = 0;
  const done = new Set();
  for (const parts of components(nodes).sort((a, b) => b.filter((n) => n.ring).length - a.filter((n) => n.ring).length || b.length - a.length)) {
    const ring = ringOrder(parts);
    const layers = new Map();
    // The distance to the ring, or to a session that waits for nothing.
    const queue = ring.length ? [...ring] : parts.filter((n) => n.out.length === 0);
    if (!queue.length) queue.push(parts[0]);
    const rows = Math.ceil(ring.length / 2);
    // Waiters for a lock in the right column of the ring are drawn on its right.
    queue.forEach((n, i) => {
      n.layer = 0;
      n.side = i >= rows && ring.length ? 1 : -1;
      done.add(n);
    });
    for (let i = 0; i < queue.length; ++i) {
      for (const e of [...queue[i].in, ...queue[i].out]) {
        const other = e.from === queue[i] ? e.to : e.from;
        if (done.has(other)) continue;
        done.add(other);
        other.side = queue[i].side;
        other.layer = queue[i].layer + other.side;
        other.parent = queue[i];
        queue.push(other);
      }
    }
    for (const n of parts) if (!ring.includes(n)) (layers.get(n.layer) ?? layers.set(n.layer, []).get(n.layer)).push(n);
    const deepest = Math.max(0, ...[...layers.keys()].map((l) => -l));
    let height = 0;
    const ringX = 16 + deepest * DX;
    if (ring.length) {
      // Two columns: down on the right, up on the left.
      ring.forEach((n, i) => {
        const isFirst = i < rows;
        n.x = ringX + (isFirst ? 0 : DX);
        n.y = y + (isFirst ? i : ring.length - 1 - i) * (DY + 40);
      });
      height = rows * (DY + 40) - 40;
      width = Math.max(width, ringX + DX + W);
    }
    for (const [layer, list] of [...layers].sort((a, b) => Math.abs(a[0]) - Math.abs(b[0]))) {
      const x = ringX + layer * DX + (layer > 0 ? DX : 0);
      list.sort((a, b) => (a.parent?.y ?? 0) - (b.parent?.y ?? 0));
      list.forEach((n, i) => {
        n.x = x;
        n.y = y + i * DY;
      });
      height = Math.max(height, list.length * DY);
      width = Math.max(width, x + W);
    }
    // Centre each layer on the tallest one.
    for (const list of layers.values()) {
      const shift = (height - list.length * DY) / 2;
      for (const n of list) n.y += shift;
    }
    y += height + 26;
  }
  return {width: width + 16, height: Math.max(y, 60)};
}

function components(nodes) {
  const seen = new Set(), all = [];
  for (const start of nodes) {
    if (seen.has(start) || start.in.length + start.out.length === 0) continue;
    const part = [start];
    seen.add(start);
    for (let i = 0; i < part.length; ++i) {
      for (const e of [...part[i].in, ...part[i].out]) {
        for (const n of [e.from, e.to]) if (!seen.has(n)) { seen.add(n); part.push(n); }
      }
    }
    all.push(part);
  }
  return all;
}

// Returns the nodes of deadlocks in the order of the arrows.
function ringOrder(part) {
  const members = part.filter((n) => n.ring);
  const order = [];
  const seen = new Set();
  for (const start of members) {
    for (let n = start; n && !seen.has(n);) {
      seen.add(n);
      order.push(n);
      n = n.out.find((e) => e.deadlock && !seen.has(e.to))?.to;
    }
  }
  return order;
}

function drawNode(n) {
  if (n.x === undefined) return null;
  const isLock = n.type === 'lock';
  const shape = svg('g', {class: `node ${n.type}${n.ring ? ` dead ${n.ring}` : ''}`, transform: `translate(${n.x},${n.y})`},
    svg('title', {text: `${n.name} (${n.sub})`}),
    svg('rect', {width: W, height: H, rx: isLock ? 8 : H / 2}),
    svg('text', {x: W / 2, y: 19, class: 'node-name', text: isLock ? clipPath(n.name, 23) : clip(n.name, 22)}),
    svg('text', {x: W / 2, y: 35, class: 'node-sub', text: clip(n.sub, 30)}));
  if (!isLock) return shape;
  return svg('a', {href: recipeUrl(n.lock)}, shape);
}

// From border to border, with a curve that separates two arrows between the same nodes.
function drawEdge(e) {
  const a = e.from, b = e.to;
  if (a.x === undefined || b.x === undefined) return null;
  const centre = (n) => [n.x + W / 2, n.y + H / 2];
  const [ax, ay] = centre(a), [bx, by] = centre(b);
  const border = ([x, y], [tx, ty]) => {
    const dx = tx - x, dy = ty - y;
    const s = 1 / Math.max(Math.abs(dx) / (W / 2 + 3), Math.abs(dy) / (H / 2 + 3), 1e-6);
    return [x + dx * s, y + dy * s];
  };
  const [x1, y1] = border([ax, ay], [bx, by]);
  const [x2, y2] = border([bx, by], [ax, ay]);
  const certainty = e.deadlock ?? 'plain';
  const mx = (x1 + x2) / 2;
  // A session with several tasks is in a ring more than once. Its arrows to distant nodes of the
  // same column pass the nodes between on the side, where the columns have a gap.
  const isDistant = a.x === b.x && Math.abs(by - ay) > (DY + 40) * 1.5;
  const side = a.side > 0 ? -1 : 1;
  const sx = ax + side * (W / 2 + 3), bend = ax + side * (W / 2 + 70);
  const d = isDistant ? `M${sx},${ay}C${bend},${ay} ${bend},${by} ${sx},${by}` : Math.abs(bx - ax) > W ? `M${x1},${y1}C${mx},${y1} ${mx},${y2} ${x2},${y2}` : `M${x1},${y1}L${x2},${y2}`;
  return svg('path', {class: `edge ${certainty} ${e.kind}`, d, 'marker-end': e.kind === 'same' ? undefined : `url(#arrow-${certainty})`});
}
