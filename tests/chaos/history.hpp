// The history of a process, one line per event: "TIME WHAT WORD...". TIME is in nanoseconds of
// CLOCK_BOOTTIME, which all processes of a machine share.
//
//   granted ID RESOURCE TOKEN MODE SESSION UNTIL   a grant; UNTIL is the deadline of the hold
//   until ID UNTIL                                 the deadline was extended
//   downgrading ID                                 a writer starts a downgrade
//   ended ID released|lost                         a release begins, or a loss was reported
//   late RESOURCE TOKEN                            granted after the deadline had passed
//   refused RESOURCE TOKEN ID stale|held           the store refused a write
//   accepted RESOURCE TOKEN ID                     the store accepted a stale write
//   pushing ITEM, pushed ITEM done|refused|unknown
//   popping, popped ITEM|-, pop-unknown            "-": the queue was empty
//   completing ITEM, completed ITEM done|lost|unknown
//   error TEXT                                     an unexpected error
//
// MODE is "exclusive", "shared", or the number of permits of the semaphore.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace conclave::chaos {

using nanoseconds = std::int64_t;
inline constexpr nanoseconds millisecond = 1'000'000;
inline constexpr nanoseconds second = 1'000'000'000;

nanoseconds now() noexcept;

struct event {
  nanoseconds at = 0;
  std::string what;
  std::vector<std::string> words;

  const std::string& word(std::size_t n) const { return words.at(n); }
  std::int64_t number(std::size_t n) const { return std::stoll(words.at(n)); }
};

// Returns nothing if the line is not an event.
std::optional<event> parse(std::string_view line);

// Writes a history. Each line is one write(2) with O_APPEND, so events survive a kill of the
// process.
class history {
 public:
  explicit history(const std::filesystem::path& file);
  ~history();
  history(const history&) = delete;
  history& operator=(const history&) = delete;

  void write(nanoseconds at, std::string_view what, std::initializer_list<std::string> words = {});
  void write(std::string_view what, std::initializer_list<std::string> words = {}) {
    write(now(), what, words);
  }

 private:
  int file_;
};

// Reads a history while another process writes it.
class history_reader {
 public:
  explicit history_reader(std::filesystem::path file) : file_{std::move(file)} {}
  ~history_reader();
  history_reader(const history_reader&) = delete;
  history_reader& operator=(const history_reader&) = delete;

  // The events since the last call.
  std::vector<event> more();

 private:
  std::filesystem::path file_;
  int open_ = -1;
  std::string rest_;
};

}  // namespace conclave::chaos
