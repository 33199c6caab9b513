// What a process did, a line for each event: "TIME WHAT WORD...". TIME is in nanoseconds of
// CLOCK_BOOTTIME, which all processes of a machine share.
//
//   granted ID RESOURCE TOKEN MODE SESSION UNTIL   a hold begins; by its own clock it lasts to
//   UNTIL until ID UNTIL                                 the server was heard: it lasts longer
//   shares ID                                      a writer asks to go on as a reader
//   ended ID released|lost                         given back (from now on), or told as lost
//   late RESOURCE TOKEN                            granted, but its time was up by then
//   refused RESOURCE TOKEN ID stale|held           what was written under it was refused
//   accepted RESOURCE TOKEN ID                     a write that had to be refused was not
//   pushing ITEM, pushed ITEM done|refused|unclear
//   popping, popped ITEM|-, unclear-pop            "-": nothing there, and nothing taken
//   completing ITEM, completed ITEM done|lost|unclear
//   error TEXT                                     what should never come
//
// MODE is "alone", "shared", or the number of permits that there are.
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

// None if it is no line of a history.
std::optional<event> parse(std::string_view line);

// A history that is being written. A line is one write(2) to a file that is only appended to: what
// was written is there, whatever becomes of the process.
class history {
 public:
  explicit history(const std::filesystem::path& file);
  ~history();
  history(const history&) = delete;
  history& operator=(const history&) = delete;

  void say(nanoseconds at, std::string_view what, std::initializer_list<std::string> words = {});
  void say(std::string_view what, std::initializer_list<std::string> words = {}) {
    say(now(), what, words);
  }

 private:
  int file_;
};

// Reads what others write, as far as they have come.
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
