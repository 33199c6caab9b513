// The frame of the page: sign-in, navigation, the state of the connection, notices.
import {session, signIn, signOut, Stream} from './api.js';
import {clockTime, count, duration, el, nowUs, setServerTime, setText, visible} from './format.js';
import {GraphView} from './graph.js';
import {Overview} from './overview.js';
import {RecipeView} from './recipe.js';
import {ServerView} from './server.js';

const TICK_MS = 500;  // running times are redrawn this often

const main = document.getElementById('main');
const banner = document.getElementById('banner');
const connection = document.getElementById('connection');
const noticeList = document.getElementById('notices');
const footer = el('span');
const signOutButton = el('button', {type: 'button', class: 'link', text: 'Sign out', hidden: true,
  on: {click: async () => { if (await signOut().catch(() => false)) showSignIn(); }}});
document.getElementById('footer').append(footer, ' ', signOutButton);
const badge = document.getElementById('deadlock-badge');
badge.append(el('span'), el('span', {class: 'word'}));

let view = null;
let status = null;
let isOnline = false;   // the stream to the server of this page is open
let isSigningIn = false;
let shownNotices = null;

const stream = new Stream({
  onOpen() { isOnline = true; drawConnection(); },
  onEvent(name, data) {
    isOnline = true;
    status = data.status;
    setServerTime(status.now_us);
    view?.onEvent(name, data);
    drawConnection();
    drawNotices();
  },
  async onLost() {
    isOnline = false;
    drawConnection();
    try {
      const s = await session();
      if (!s.signed_in) showSignIn();
    } catch {
      // The server does not answer; the stream tries again.
    }
  },
});

function parseRoute() {
  const [path, query = ''] = location.hash.slice(1).split('?', 2);
  const params = new URLSearchParams(query);
  if (path === '/recipe') return ['recipe', params];
  if (path === '/graph' || path === '/server') return [path.slice(1), params];
  return ['overview', params];
}

function showView() {
  if (isSigningIn) return;
  const [name, params] = parseRoute();
  view?.destroy();
  if (name === 'recipe') view = new RecipeView(params, {allowsActions: status?.allows_actions ?? false});
  else if (name === 'graph') view = new GraphView();
  else if (name === 'server') view = new ServerView();
  else view = new Overview(params);
  main.replaceChildren(view.element);
  main.dataset.view = name;
  for (const link of document.querySelectorAll('#views a')) {
    if (link.dataset.view === name) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  scrollTo({top: 0});
  drawTitle();
  stream.show(view.query);
}

function drawTitle() {
  const dead = status?.deadlocks ? `(${status.deadlocks}) ` : '';
  const title = `${dead}${view?.title ?? 'Sign in'} · Conclave`;
  if (document.title !== title) document.title = title;
}

function drawConnection() {
  const state = !isOnline ? 'lost' : !status?.connected ? 'suspended' : 'live';
  connection.dataset.state = state;
  setText(connection, {lost: 'Page server not reachable', suspended: 'Not connected', live: 'Live'}[state]);
  let text = '';
  if (state === 'lost') {
    text = 'The server of this page does not answer. Trying again…';
    if (status) text += ` The page shows the state of ${clockTime(status.now_us)}.`;
  } else if (status && !status.connected) {
    text = `Not connected to ZooKeeper for ${duration(nowUs() - status.connection_since_us)}. Trying again…`;
    if (status.read_at_us) text += ` The page shows the state of ${clockTime(status.read_at_us)}.`;
  } else if (status?.error) {
    text = visible(status.error);
  } else if (status?.omits_recipes) {
    text = 'There are too many locks and queues. The page shows only some of them; start it with a path below which there are fewer.';
  } else if (status?.unreadable?.length) {
    const u = status.unreadable;
    text = `${count(u.length)} ${u.length === 1 ? 'path is' : 'paths are'} not readable: ${visible(u[0].path)} (${visible(u[0].why)})${u.length > 1 ? ' and others' : ''}`;
  }
  banner.dataset.state = state;
  banner.hidden = text === '' || status === null && state !== 'lost';
  setText(banner, text);
  if (!status) return;
  document.getElementById('server-link').hidden = !status.has_server;
  const dead = status.deadlocks + status.possible_deadlocks;
  badge.hidden = dead === 0;
  badge.dataset.state = status.deadlocks ? 'certain' : 'possible';
  badge.firstChild.textContent = String(dead);
  setText(badge.lastChild, ` ${status.deadlocks ? 'deadlock' : 'possible deadlock'}${dead === 1 ? '' : 's'}`);
  setText(footer, `${visible(status.servers)} · ${status.paths.map(visible).join(' ')} · ${count(status.events)} events, ${count(status.inspections)} inspections, ${count(status.node_reads)} contenders read · Conclave ${status.version}`);
  drawTitle();
}

function drawNotices() {
  const all = status.notices;
  // Notices from before the page was opened are old.
  if (shownNotices === null) shownNotices = new Set(all.map((n) => n.id));
  for (const n of all) {
    if (shownNotices.has(n.id)) continue;
    shownNotices.add(n.id);
    const note = el('p', {class: n.is_error ? 'notice error' : 'notice', text: visible(n.text)});
    noticeList.append(note);
    setTimeout(() => note.remove(), 8000);
  }
}

function showSignIn(problem = '') {
  isSigningIn = true;
  stream.stop();
  view?.destroy();
  view = null;
  signOutButton.hidden = true;
  const input = el('input', {type: 'password', id: 'token', autocomplete: 'current-password', required: true, spellcheck: 'false'});
  const error = el('p', {class: 'problem', role: 'alert', text: problem});
  const button = el('button', {type: 'submit', class: 'primary', text: 'Sign in'});
  main.replaceChildren(el('form', {class: 'sign-in', on: {submit: async (e) => {
    e.preventDefault();
    button.disabled = true;
    const done = await signIn(input.value).catch(() => false);
    button.disabled = false;
    if (done) return start();
    error.textContent = 'This token is not valid.';
    input.select();
  }}}, el('h1', {text: 'Sign in'}),
    el('p', {class: 'sub', text: 'The token is in the output of the command that started this page.'}),
    el('label', {for: 'token', text: 'Token'}), input, error, button));
  input.focus();
  drawTitle();
}

// The token of a link is after the #, so the browser does not send it to the server. It must not stay
// in the address bar and in the history.
async function signInFromLink() {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (given === null) return '';
  history.replaceState(null, '', location.pathname);
  return await signIn(given) ? '' : 'The token of this link is not valid.';
}

async function start() {
  isSigningIn = false;
  try {
    const problem = await signInFromLink();
    const s = await session();
    if (!s.signed_in) return showSignIn(problem);
    signOutButton.hidden = !s.needs_token;
  } catch {
    drawConnection();
    setTimeout(start, 1000);
    return;
  }
  showView();
}

addEventListener('hashchange', () => {
  if (new URLSearchParams(location.hash.slice(1)).has('token')) start();
  else showView();
});

addEventListener('keydown', (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.('input, textarea, [contenteditable]')) {
    if (e.key === 'Escape' && e.target.id === 'search') e.target.blur();
    return;
  }
  if (e.key === '/' && document.getElementById('search')) {
    e.preventDefault();
    document.getElementById('search').focus();
  } else if (e.key === 'o' || e.key === 'Escape') {
    if (view && parseRoute()[0] !== 'overview') location.hash = '#/';
  } else if (e.key === 'g') {
    location.hash = '#/graph';
  }
});

document.querySelector('.skip').addEventListener('click', (e) => {
  e.preventDefault();
  main.focus();
});

setInterval(() => {
  if (document.hidden) return;
  if (isOnline) view?.tick();
  if (status) drawConnection();
}, TICK_MS);

start();
