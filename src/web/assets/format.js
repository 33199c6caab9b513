// Texts and elements. Texts from nodes are only ever set as text, never as markup.

// Creates an element. `props` may contain class, text, on (event handlers), and attributes.
export function el(tag, props = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'class') e.className = value;
    else if (name === 'text') e.textContent = value;
    else if (name === 'on') for (const [type, f] of Object.entries(value)) e.addEventListener(type, f);
    else e.setAttribute(name, value === true ? '' : value);
  }
  e.append(...children.filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}

const SVG = 'http://www.w3.org/2000/svg';
export function svg(tag, props = {}, ...children) {
  const e = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null) continue;
    if (name === 'text') e.textContent = value;
    else e.setAttribute(name, value);
  }
  e.append(...children.filter(Boolean));
  return e;
}

// Control and direction characters could make one text look like another.
export function visible(text) {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, '\ufffd');
}

// 350 ms, 12.4 s, 3m 04s, 2h 05m, 3d 04h
export function duration(us) {
  const ms = Math.max(us, 0) / 1000;
  if (ms < 1) return ms < 0.05 ? '0 ms' : `${ms.toFixed(1)} ms`;
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 60) return `${Math.floor(s)} s`;
  const two = (n) => String(Math.floor(n)).padStart(2, '0');
  if (s < 3600) return `${Math.floor(s / 60)}m ${two(s % 60)}s`;
  if (s < 86400) return `${Math.floor(s / 3600)}h ${two((s % 3600) / 60)}m`;
  return `${Math.floor(s / 86400)}d ${two((s % 86400) / 3600)}h`;
}

// For running times, which change on each redraw.
export function age(us) {
  if (us >= 10_000_000) return duration(us);
  return us < 1_000_000 ? `${(Math.max(us, 0) / 1_000_000).toFixed(1)} s` : `${Math.floor(us / 1_000_000)} s`;
}

export function rate(perSecond) {
  if (!perSecond) return '0';
  if (perSecond < 0.1) return '<0.1';
  return perSecond < 10 ? perSecond.toFixed(1) : count(Math.round(perSecond));
}

const numbers = new Intl.NumberFormat('en-US');
export const count = (n) => numbers.format(n);
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

export function clockTime(us) {
  return new Date(us / 1000).toLocaleTimeString(undefined, {hour12: false});
}

// The name of a contender: its owner, or the name of its node.
export function nameOf(c) {
  const name = c.owner || (c.node ? c.node.slice(c.node.lastIndexOf('/') + 1) : '') || 'unknown';
  return visible(name);
}

export const recipeUrl = (r) =>
  `#/recipe?${new URLSearchParams({path: r.path, layout: r.layout, kind: r.kind})}`;

const LAYOUTS = {
  curator: 'Curator', kazoo: 'kazoo', zookeeper: 'ZooKeeper', 'leader-latch': 'LeaderLatch',
  'kazoo-locking': 'LockingQueue', election: 'LeaderElection', named: 'named mutex',
};
export const layoutName = (l) => LAYOUTS[l] ?? visible(l);

// Replaces the children only if the text is different, so that screen readers stay quiet.
export function setText(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

// The time of the server of this page. Its clock may differ from that of the browser.
let offset = 0;
export function setServerTime(us) {
  offset = us - performance.now() * 1000;
}
export const nowUs = () => performance.now() * 1000 + offset;
