#include "recipes/contender_data.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

namespace conclave::recipes {
namespace {
constexpr std::string_view id_mark = "\nid ";
constexpr std::string_view request = "\n__REVOKE__";
constexpr std::string_view request_alone = request.substr(1);  // as written by Curator's Revoker
constexpr std::string_view wait_mark = "holds";
constexpr std::string_view others = "others", limited = "limited", permits = "permits=";
constexpr std::size_t id_size = 32;

bool is_id(std::string_view word) {
  return word.size() == id_size && word.find_first_not_of("0123456789abcdef") == word.npos;
}

std::string_view next_line(std::string_view& rest) {
  const auto line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  return line;
}

bool parse_word(std::string_view word, wait_info& w) {
  if (is_id(word)) {
    w.task.certain.emplace_back(word);
  } else if (word.ends_with('?') && is_id(word.substr(0, word.size() - 1))) {
    w.task.possible.emplace_back(word.substr(0, word.size() - 1));
  } else if (word == others) {
    w.task.may_hold_others = true;
  } else if (word == limited) {
    w.has_time_limit = true;
  } else if (word.starts_with(permits)) {
    std::size_t n = 0;
    word.remove_prefix(permits.size());
    const auto [stop, ec] = std::from_chars(word.data(), word.data() + word.size(), n);
    if (ec != std::errc{} || stop != word.data() + word.size()) return false;
    w.permits = n;
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::string format_contender_data(std::string_view owner, std::string_view id,
                                  std::string_view wait) {
  auto data = std::string{owner}.append(id_mark).append(id);
  if (!wait.empty()) data.append(1, '\n').append(wait);
  return data;
}

std::string format_wait(const wait_info& w) {
  std::string line{wait_mark};
  bool complete = !w.task.may_hold_others;
  std::size_t listed = 0;
  const auto list = [&](const std::vector<std::string>& ids, std::string_view suffix) {
    for (const auto& id : ids) {
      if (!is_id(id) || ++listed > most_listed_holds) {
        complete = false;
        continue;
      }
      line.append(1, ' ').append(id).append(suffix);
    }
  };
  list(w.task.certain, "");
  list(w.task.possible, "?");
  if (!complete) line.append(1, ' ').append(others);
  if (w.has_time_limit) line.append(1, ' ').append(limited);
  if (w.permits) line.append(1, ' ').append(permits).append(std::to_string(*w.permits));
  return line;
}

std::optional<wait_info> parse_wait(std::string_view line) {
  if (!line.starts_with(wait_mark)) return {};
  line.remove_prefix(wait_mark.size());
  wait_info w;
  w.task.may_hold_others = false;
  while (!line.empty()) {
    if (line.front() != ' ') return {};
    line.remove_prefix(1);
    const auto word = line.substr(0, line.find(' '));
    if (!parse_word(word, w)) return {};
    line.remove_prefix(word.size());
  }
  return w;
}

contender_data parse_contender_data(std::string_view data) {
  if (data == request_alone) return {{}, {}, true, {}};
  const auto at = data.rfind(id_mark);
  if (at == data.npos) return {std::string{data}, {}, false, {}};
  auto rest = data.substr(at + id_mark.size());
  contender_data result;
  result.owner = data.substr(0, at);
  result.id = next_line(rest);
  while (!rest.empty()) {
    const auto line = next_line(rest);
    if (line == request_alone) result.asked_to_release = true;
    if (line.starts_with(wait_mark)) result.wait = parse_wait(line);
  }
  return result;
}

void set_node_info(contender_info& info, std::string_view data, const node_stat& stat) {
  auto parsed = parse_contender_data(data);
  info.owner = std::move(parsed.owner);
  info.id = std::move(parsed.id);
  info.wait = std::move(parsed.wait);
  info.asked_to_release = parsed.asked_to_release;
  info.session_id = stat.ephemeral_owner;
  info.fencing_token = stat.czxid;
  info.since = std::chrono::system_clock::time_point{std::chrono::milliseconds{stat.ctime}};
}

std::string ask_to_release(std::string_view data) {
  const auto shown = parse_contender_data(data);
  if (shown.asked_to_release) return std::string{data};
  if (shown.id.empty()) return std::string{request_alone};
  return std::string{data}.append(request);
}

}  // namespace conclave::recipes
