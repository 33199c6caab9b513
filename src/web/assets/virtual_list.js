// A list that contains elements only for the visible rows. It scrolls with the page.
import {el} from './format.js';

const MARGIN = 12;  // rows above and below the visible part

export class VirtualList {
  #items = [];
  #rows = new Map();  // by the id of the item
  #height;
  #make;
  #update;

  // make(item) creates a row; update(row, item, index) fills it. All rows have the same height,
  // which the style sheet defines as the property --row of the list.
  constructor(label, make, update, extraClass = '') {
    this.#make = make;
    this.#update = update;
    this.element = el('div', {class: `rows ${extraClass}`, role: 'list', 'aria-label': label});
    this.onScroll = () => this.draw();
    this.onResize = () => { this.#height = 0; this.draw(); };
    addEventListener('scroll', this.onScroll, {passive: true});
    addEventListener('resize', this.onResize);
  }

  destroy() {
    removeEventListener('scroll', this.onScroll);
    removeEventListener('resize', this.onResize);
  }

  set(items) {
    this.#items = items;
    this.draw();
  }

  indexOf(id) { return this.#items.findIndex((i) => i.id === id); }

  // Moves the keyboard focus to the item at this index.
  focus(index) {
    const at = Math.max(0, Math.min(index, this.#items.length - 1));
    if (this.#items.length === 0) return;
    const top = this.element.getBoundingClientRect().top + scrollY + at * this.#height;
    if (top < scrollY + 140) scrollTo({top: top - 140});
    else if (top + this.#height > scrollY + innerHeight) scrollTo({top: top + this.#height - innerHeight + 20});
    this.draw();
    (this.#rows.get(this.#items[at].id)?.querySelector('a') ?? null)?.focus({preventScroll: true});
  }

  draw() {
    if (!this.element.isConnected) return;
    if (!this.#height) this.#height = parseFloat(getComputedStyle(this.element).getPropertyValue('--row')) || 44;
    const height = this.#height;
    this.element.style.height = `${this.#items.length * height}px`;
    const top = this.element.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(-top / height) - MARGIN);
    const last = Math.min(this.#items.length, Math.ceil((innerHeight - top) / height) + MARGIN);
    const shown = new Set();
    let previous = null;
    for (let i = first; i < last; ++i) {
      const item = this.#items[i];
      shown.add(item.id);
      let row = this.#rows.get(item.id);
      if (!row) {
        row = this.#make(item);
        row.setAttribute('role', 'listitem');
        this.#rows.set(item.id, row);
        this.element.append(row);
      }
      row.style.transform = `translateY(${i * height}px)`;
      row.setAttribute('aria-posinset', i + 1);
      row.setAttribute('aria-setsize', this.#items.length);
      this.#update(row, item, i);
      // The order of the elements is that of the rows, for the Tab key and for screen readers.
      if (previous ? previous.nextSibling !== row : this.element.firstChild !== row) {
        const focused = row.contains(document.activeElement) ? document.activeElement : null;
        if (previous) previous.after(row); else this.element.prepend(row);
        focused?.focus({preventScroll: true});
      }
      previous = row;
    }
    for (const [id, row] of this.#rows) {
      if (shown.has(id)) continue;
      row.remove();
      this.#rows.delete(id);
    }
  }
}
