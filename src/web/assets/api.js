// The connection to the server: the session, the event stream and the actions.

export async function session() {
  const reply = await fetch('/api/session');
  if (!reply.ok) throw new Error(`the server replied ${reply.status}`);
  return reply.json();
}

function post(path, body) {
  return fetch(path, {
    method: 'POST',
    headers: {'Content-Type': 'application/json'},
    body: JSON.stringify(body),
  });
}

export async function signIn(token) {
  return (await post('/api/sign-in', {token})).ok;
}

export async function signOut() {
  return (await post('/api/sign-out', {})).ok;
}

export async function revoke(node) {
  const reply = await post('/api/revoke', {node});
  return reply.ok ? '' : (await reply.text()).trim();
}

// Keeps one event stream open while the page is visible. Browsers allow six connections to a server
// for all pages together, so a hidden page gives up its stream. The first event of each stream
// contains the whole state.
export class Stream {
  #source = null;
  #retry = 0;
  #query = null;
  #handlers;

  // handlers: onEvent(name, data), onOpen(), onLost()
  constructor(handlers) {
    this.#handlers = handlers;
    document.addEventListener('visibilitychange', () => this.#restart());
  }

  show(query) {
    this.#query = new URLSearchParams(query).toString();
    this.#restart();
  }

  stop() {
    this.#query = null;
    this.#restart();
  }

  #restart() {
    clearTimeout(this.#retry);
    this.#source?.close();
    this.#source = null;
    if (this.#query === null || document.hidden) return;
    const source = new EventSource(`/api/events?${this.#query}`);
    this.#source = source;
    source.onopen = () => this.#handlers.onOpen();
    for (const name of ['all', 'changes']) {
      source.addEventListener(name, (e) => this.#handlers.onEvent(name, JSON.parse(e.data)));
    }
    source.onerror = () => {
      source.close();
      this.#handlers.onLost();
      this.#retry = setTimeout(() => this.#restart(), 1000);
    };
  }
}
