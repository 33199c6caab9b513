#include "chaos/history.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <system_error>

namespace conclave::chaos {

nanoseconds now() noexcept {
  timespec t{};
  ::clock_gettime(CLOCK_BOOTTIME, &t);
  return t.tv_sec * second + t.tv_nsec;
}

std::optional<event> parse(std::string_view line) {
  event e;
  const auto [end, failed] = std::from_chars(line.data(), line.data() + line.size(), e.at);
  if (failed != std::errc{}) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  while (!line.empty()) {
    line.remove_prefix(1);  // the space
    const auto word = line.substr(0, line.find(' '));
    line.remove_prefix(word.size());
    if (e.what.empty())
      e.what = word;
    else
      e.words.emplace_back(word);
  }
  if (e.what.empty()) return std::nullopt;
  return e;
}

history::history(const std::filesystem::path& file)
    : file_{::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)} {
  if (file_ < 0) throw std::system_error{errno, std::generic_category(), file.string()};
}

history::~history() { ::close(file_); }

void history::write(nanoseconds at, std::string_view what,
                    std::initializer_list<std::string> words) {
  auto line = std::to_string(at).append(" ").append(what);
  for (const auto& word : words) line.append(" ").append(word);
  line += '\n';
  if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    throw std::system_error{errno, std::generic_category(), "writing a history"};
}

history_reader::~history_reader() {
  if (open_ >= 0) ::close(open_);
}

std::vector<event> history_reader::more() {
  if (open_ < 0) open_ = ::open(file_.c_str(), O_RDONLY | O_CLOEXEC);
  if (open_ < 0) return {};  // not created yet
  std::array<char, 65536> buffer{};
  for (;;) {
    const auto size = ::read(open_, buffer.data(), buffer.size());
    if (size <= 0) break;
    rest_.append(buffer.data(), static_cast<std::size_t>(size));
  }
  std::vector<event> events;
  std::size_t begin = 0;
  for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
    if (auto e = parse(std::string_view{rest_}.substr(begin, end - begin)))
      events.push_back(std::move(*e));
    begin = end + 1;
  }
  rest_.erase(0, begin);
  return events;
}

}  // namespace conclave::chaos
