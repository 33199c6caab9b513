// The server that contains this page: sessions, connections, requests, times and the disk.
import {Histogram, LengthChart} from './charts.js';
import {count, duration, el, nowUs, rate, setText} from './format.js';

const WINDOW = 10;  // seconds, for rates

function bytes(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  for (; n >= 1024 && i < units.length - 1; ++i) n /= 1024;
  return `${i ? n.toFixed(1) : n} ${units[i]}`;
}

const HISTOGRAMS = [
  ['conclave_turn', 'Latency', 'from reading requests to sending the replies'],
  ['conclave_commit', 'Commits', 'storing the changes of one turn'],
  ['conclave_flush', 'Flushes', 'the part of a commit that writes and syncs the journal'],
];

// Returns the histogram of the figures NAME_us_le_LIMIT, or null if the server does not have it. The
// figures count all values up to their limits.
function histogramOf(figures, name) {
  const prefix = `${name}_us_le_`;
  const limits = Object.keys(figures).filter((k) => k.startsWith(prefix)).map((k) => Number(k.slice(prefix.length)))
    .sort((a, b) => a - b);
  if (!limits.length) return null;
  const total = figures[`${name}_us_count`];
  const upTo = [...limits.map((l) => figures[prefix + l]), total];
  return {limits: limits.map((l) => l / 1e6), sum: figures[`${name}_us_sum`] / 1e6, total,
    counts: upTo.map((n, i) => n - (i ? upTo[i - 1] : 0))};
}

export class ServerView {
  #samples = [];
  #tiles = new Map();

  title = 'Server';
  query = {view: 'server'};

  constructor() {
    this.list = el('dl', {class: 'tiles four', hidden: true});
    this.requests = new LengthChart();
    this.empty = el('p', {class: 'empty', text: 'This page is not part of a server. See: conclave serve --http'});
    this.card = el('section', {class: 'card', hidden: true, 'aria-label': 'Requests per second'},
      el('h2', {text: 'Requests per second'}), this.requests.element);
    this.histograms = new Map();
    this.times = el('div', {class: 'cards times'});
    this.element = el('section', {}, el('h1', {text: 'Server'}), this.empty, this.list, this.card, this.times);
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

  #drawHistograms(figures) {
    for (const [name, title, explanation] of HISTOGRAMS) {
      const h = histogramOf(figures, name);
      if (!h) continue;
      let chart = this.histograms.get(name);
      if (!chart) {
        chart = new Histogram(title, explanation, h.limits);
        this.histograms.set(name, chart);
        this.times.append(chart.element);
      }
      chart.set(h);
    }
    // An odd number of cards would leave a gap.
    this.times.lastChild?.classList.toggle('only', this.times.children.length % 2 === 1);
  }

  onEvent(_, {status, server: s}) {
    const isKnown = Object.keys(s).length > 0;
    this.empty.hidden = isKnown;
    this.list.hidden = this.card.hidden = this.times.hidden = !isKnown;
    if (!isKnown) return;
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
    if (s.conclave_store_bytes !== undefined) {
      this.#tile('Store', bytes(s.conclave_store_bytes));
      this.#tile('Journal', bytes(s.conclave_journal_bytes));
      this.#tile('Free disk space', bytes(s.conclave_disk_free_bytes));
      this.#tile('Flush, mean', s.conclave_flush_us_count ? duration(s.conclave_flush_us_sum / s.conclave_flush_us_count) : '–');
    }
    this.#drawHistograms(s);
    if (this.#samples.length > 1) this.requests.add(status.now_us, Math.round(requests));
    this.tick();
  }
}
