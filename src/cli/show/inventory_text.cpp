#include "cli/show/inventory_text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <set>

#include "cli/show/contender.hpp"
#include "cli/show/duration.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;
using kind = recipe_info::kind;

// A line in two columns.
struct row {
  std::string branches;  // branches of the tree
  std::string left, right;
  text_style left_style = text_style::plain, right_style = text_style::plain;
};

struct branch {
  std::map<std::string, branch> below;
  std::vector<const recipe_info*> recipes;
};

std::string count(std::size_t n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

std::string describe(const recipe_info& r, const inventory_view& view) {
  std::string text = to_string(r.what);
  if (r.what == kind::queue) {
    text += ", " + count(r.queue.items, "item");
    if (r.queue.claimed != 0) text += ", " + std::to_string(r.queue.claimed) + " claimed";
    if (r.queue.waiting != 0) text += ", " + count(r.queue.waiting, "consumer") + " waiting";
    if (r.queue.set_aside != 0) text += ", " + std::to_string(r.queue.set_aside) + " set aside";
    return text;
  }
  const auto waiters = count_waiters(r);
  if (r.permits)
    text +=
        ", " + std::to_string(r.contenders.size() - waiters) + " of " + std::to_string(*r.permits);
  if (waiters != 0) text += ", " + std::to_string(waiters) + " waiting";
  if (!r.in_use() && r.what != kind::unused) text += ", unused";
  if (view.rates == nullptr) return text;
  if (const auto longest = longest_wait(r, view.now)) text += " up to " + short_time(*longest);
  if (const auto rate = view.rates->of(r)) {
    std::array<char, 32> number{};
    std::snprintf(number.data(), number.size(), ", %.1f/s", *rate);
    text += number.data();
  }
  return text;
}

std::string activity(const recipe_info& r, const contender_info& who) {
  if (!who.holds) {
    if (who.role == layout::role::reader) return "waits to read";
    if (who.role == layout::role::writer) return "waits to write";
    return "waits";
  }
  if (r.what == kind::election) return "leads";
  if (r.what == kind::queue) return "claims";
  if (who.role == layout::role::reader) return "reads";
  if (who.role == layout::role::writer) return "writes";
  return "holds";
}

class inventory_renderer {
 public:
  inventory_renderer(const output_format& p, const inventory_view& view)
      : format_{p}, view_{view}, most_{view.most}, now_{view.now} {}

  void add(const std::string& root, const branch& tree) {
    row r;
    r.left = printable(root);
    r.left_style = text_style::bold;
    head(r, tree);
    rows_.push_back(std::move(r));
    for (const auto* const one : tree.recipes) add_contenders(*one, below(tree) + pad());
    children(tree, {});
  }

  // Adds a recipe with its whole path.
  void add(const recipe_info& r) {
    row one;
    one.left = printable(r.path);
    one.left_style = text_style::bold;
    one.right = describe(r, view_);
    rows_.push_back(std::move(one));
    add_contenders(r, pad());
  }

  void add_note(const std::string& text) {
    row r;
    r.left = text;
    r.left_style = text_style::dim;
    rows_.push_back(std::move(r));
  }

  std::vector<std::string> lines() const {
    std::size_t left = 0, right = 0;
    for (const auto& r : rows_) {
      if (r.right.empty()) continue;
      left = std::max(left, columns(r.branches) + columns(r.left));
      right = std::max(right, columns(r.right));
    }
    // The right column has the numbers. The left column can be clipped to a third of the width.
    if (format_.width != 0 && left + gap + right > format_.width)
      left = std::max(format_.width / 3, format_.width - std::min(format_.width, right + gap));
    std::vector<std::string> all;
    for (const auto& r : rows_) all.push_back(text_of(r, left));
    return all;
  }

 private:
  static constexpr std::size_t gap = 2;

  const char* fork(bool last) const {
    if (!format_.unicode) return "  ";
    return last ? "└─ " : "├─ ";
  }
  const char* trunk(bool last) const {
    if (!format_.unicode) return "  ";
    return last ? "   " : "│  ";
  }
  std::string pad() const { return format_.unicode ? "   " : "  "; }
  // The lines between a node and its children show the branch to the first child.
  std::string below(const branch& b) const {
    if (b.below.empty() || !format_.unicode) return "";
    return "│";
  }

  void head(row& r, const branch& b) const {
    for (const auto* const one : b.recipes) {
      if (!r.right.empty()) r.right += "; ";
      r.right += describe(*one, view_);
    }
    // Different layouts on one path do not exclude each other, so highlight the line.
    if (b.recipes.size() > 1) r.right_style = text_style::yellow;
  }

  void children(const branch& b, const std::string& branches) {
    std::size_t n = 0;
    for (const auto& [name, first] : b.below) {
      const bool last = ++n == b.below.size();
      auto text = name;
      const auto* at = &first;
      while (at->recipes.empty() && at->below.size() == 1) {
        text += "/" + at->below.begin()->first;
        at = &at->below.begin()->second;
      }
      row r;
      r.branches = branches + fork(last);
      r.left = printable(text);
      r.left_style = text_style::bold;
      head(r, *at);
      rows_.push_back(std::move(r));
      const auto deeper = branches + trunk(last);
      for (const auto* const one : at->recipes) {
        const auto bar = below(*at);
        add_contenders(*one, deeper + bar + (bar.empty() ? pad() : pad().substr(1)));
      }
      children(*at, deeper);
    }
  }

  void add_contenders(const recipe_info& r, const std::string& branches) {
    std::size_t position = 0, shown = 0, left_out = 0;
    for (const auto& who : r.contenders) {
      const bool limited = !who.holds || r.what == kind::queue;
      if (limited && most_ != 0 && shown >= most_) {
        ++left_out;
        continue;
      }
      if (limited) ++shown;
      row one;
      one.branches = branches;
      const std::string mark = format_.unicode ? "● " : "* ";
      one.left = (who.holds ? mark : std::to_string(++position) + " ") + name_of(r, who);
      one.right = padded(activity(r, who), 6);
      if (who.readable && !who.holds) one.right += " " + short_time(now_ - who.since);
      // The token of a waiter has no meaning yet, and it is long.
      if (who.readable && who.holds)
        one.right = padded(one.right + " " + held_for(who, now_) + "  ", 14) + "token " +
                    std::to_string(who.fencing_token);
      if (who.asked_to_release) one.right += "  asked to release";
      if (who.holds) one.left_style = text_style::green;
      if (who.asked_to_release) one.right_style = text_style::yellow;
      rows_.push_back(std::move(one));
    }
    if (left_out == 0) return;
    row more;
    more.branches = branches;
    more.left = "and " + std::to_string(left_out) + " more";
    more.left_style = text_style::dim;
    rows_.push_back(std::move(more));
  }

  static std::string name_of(const recipe_info& r, const contender_info& who) {
    std::string name = printable(who.owner);
    if (name.empty()) {
      // A contender without an owner is shown by its node.
      name = printable(last_name(who.node));
      if (!who.readable) name += " (cannot be read)";
    } else if (r.what == kind::queue) {
      name += " (" + printable(last_name(who.node)) + ")";
    }
    return name;
  }

  std::string text_of(const row& r, std::size_t left) const {
    const auto used = columns(r.branches);
    const auto end = format_.width == 0 ? std::string::npos : format_.width;
    if (r.right.empty()) {
      const auto text = clipped(r.left, end - std::min(end, used), format_.unicode);
      return styled(r.branches, text_style::dim, format_) + styled(text, r.left_style, format_);
    }
    const auto name = clipped(r.left, left - std::min(left, used), format_.unicode);
    const auto at = std::max(left, used + columns(name)) + gap;
    return styled(r.branches, text_style::dim, format_) + styled(name, r.left_style, format_) +
           std::string(at - used - columns(name), ' ') +
           styled(clipped(r.right, end - std::min(end, at), format_.unicode), r.right_style,
                  format_);
  }

  const output_format& format_;
  const inventory_view& view_;
  const std::size_t most_;
  const std::chrono::system_clock::time_point now_;
  std::vector<row> rows_;
};

bool is_below(const std::string& path, const std::string& root) {
  return root == "/" || path == root ||
         (path.size() > root.size() && path.starts_with(root) && path[root.size()] == '/');
}

void insert_recipe(branch& tree, const std::string& root, const recipe_info& r) {
  auto* at = &tree;
  for (auto from = root == "/" ? 1 : root.size() + 1; from < r.path.size();) {
    const auto end = std::min(r.path.find('/', from), r.path.size());
    at = &at->below[r.path.substr(from, end - from)];
    from = end + 1;
  }
  at->recipes.push_back(&r);
}

}  // namespace

std::vector<const recipe_info*> ordered(const inspection& s, const inventory_view& view) {
  std::vector<std::pair<double, const recipe_info*>> all;
  const auto value = [&](const recipe_info& r) {
    switch (view.order) {
      case inventory_order::rate:
        return view.rates == nullptr ? 0.0 : view.rates->of(r).value_or(0.0);
      case inventory_order::longest_wait:
        return static_cast<double>(longest_wait(r, view.now).value_or(-1ms).count());
      case inventory_order::waiters: return static_cast<double>(count_waiters(r));
      case inventory_order::path: break;
    }
    return 0.0;
  };
  for (const auto& r : s.recipes) all.emplace_back(value(r), &r);
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<const recipe_info*> sorted;
  for (const auto& [v, r] : all) sorted.push_back(r);
  return sorted;
}

std::vector<std::string> inventory_lines(const inspection& s, const std::vector<std::string>& roots,
                                         const output_format& p, const inventory_view& view) {
  inventory_renderer d{p, view};
  const bool as_list = view.order != inventory_order::path && !s.recipes.empty();
  if (as_list)
    for (const auto* const r : ordered(s, view)) d.add(*r);
  std::set<const recipe_info*> drawn;  // a root may be below another one
  for (const auto& root : roots) {
    if (as_list) break;
    branch tree;
    for (const auto& r : s.recipes)
      if (is_below(r.path, root) && drawn.insert(&r).second) insert_recipe(tree, root, r);
    if (tree.below.empty() && tree.recipes.empty())
      d.add_note("nothing in use at " + printable(root));
    else
      d.add(root, tree);
  }
  constexpr std::size_t named = 3;
  for (std::size_t i = 0; i < std::min(named, s.unreadable.size()); ++i)
    d.add_note("cannot read " + printable(s.unreadable[i].path) + ": " +
               s.unreadable[i].why.message());
  if (s.unreadable.size() > named)
    d.add_note("and " + std::to_string(s.unreadable.size() - named) + " more that cannot be read");
  return d.lines();
}

}  // namespace conclave::cli
