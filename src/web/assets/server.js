// The server that contains this page: sessions, connections, requests and commits.
import {LengthChart} from './charts.js';
import {count, duration, el, nowUs, rate, setText} from './format.js';

const WINDOW = 10;  // seconds, for rates

function bytes(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let i = 0;
  for (; n >= 1024 && i < units.length - 1; ++i) n /= 1024;
  return `${i ? n.toFixed(1) : n} ${units[i]}`;
}

export class ServerView {
  #samples = [];
  #tiles = new Map();

  title = 'Server';
  query = {view: 'server'};

  constructor() {
    this.list = el('dl', {class: 'tiles six', hidden: true});
    this.requests = new LengthChart();
    this.empty = el('p', {class: 'empty', text: 'This page is not part of a server. See: conclave serve --http'});
    this.card = el('section', {class: 'card', hidden: true, 'aria-label': 'Requests per second'},
      el('h2', {text: 'Requests per second'}), this.requests.element);
    this.element = el('section', {}, el('h1', {text: 'Server'}), this.empty, this.list, this.card);
  }

  destroy() {}
  tick() { if (!this.card.hidden) this.requests.draw(nowUs()); }

  #tile(label, text) {
    let value = this.#tiles.get(label);
    if (!value) {
      value = el('dd');
      this.#tiles.set(label, value);
      this.list.append(el('div', {class: 'tile'}, el('dt', {text: label}), value));
    }
    setText(value, text);
  }

  // The increase per second of a number during the last seconds.
  #rate(name) {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    const seconds = (last.at - first.at) / 1e6;
    return seconds > 0 ? Math.max(0, last[name] - first[name]) / seconds : 0;
  }

  onEvent(_, {status}) {
    const s = status.server;
    this.empty.hidden = Boolean(s);
    this.list.hidden = this.card.hidden = !s;
    if (!s) return;
    const last = this.#samples.at(-1);
    if (!last || last.zk_uptime !== s.zk_uptime) this.#samples.push({...s, at: status.now_us});
    while (this.#samples.length > 2 && this.#samples[0].at < status.now_us - WINDOW * 1e6) this.#samples.shift();
    const requests = this.#rate('zk_packets_received');
    this.#tile('Sessions', count(s.zk_global_sessions));
    this.#tile('Connections', count(s.zk_num_alive_connections));
    this.#tile('Requests', `${rate(requests)}/s`);
    this.#tile('Commits', `${rate(this.#rate('conclave_commits'))}/s`);
    this.#tile('Latency, mean', duration(s.zk_avg_latency * 1000));
    this.#tile('Latency, longest', duration(s.zk_max_latency * 1000));
    this.#tile('Nodes', count(s.zk_znode_count));
    this.#tile('Ephemeral nodes', count(s.zk_ephemerals_count));
    this.#tile('Watches', count(s.zk_watch_count));
    this.#tile('Data', bytes(s.zk_approximate_data_size));
    this.#tile('Running for', duration(s.zk_uptime * 1000));
    this.#tile('Disk', s.conclave_disk_full ? 'full' : 'ok');
    if (this.#samples.length > 1) this.requests.add(status.now_us, Math.round(requests));
    this.tick();
  }
}
