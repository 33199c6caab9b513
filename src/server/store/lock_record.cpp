#include "server/store/lock_record.hpp"

#include <unistd.h>

#include <algorithm>

#include "server/store/store_error.hpp"

namespace conclave::server_impl {
namespace {

constexpr std::string_view process_key = "process ";
constexpr std::size_t process_digits = 10;
constexpr std::string_view run_key = "run ";
constexpr std::string_view store_created_line = "a store was made here\n";

constexpr std::size_t first_run_line = process_key.size() + process_digits + 1;
constexpr std::size_t run_line_size = run_key.size() + lock_record::run_size + 1;

constexpr std::size_t run_line(std::size_t slot) { return first_run_line + slot * run_line_size; }

std::string process_line() {
  auto line = std::string{process_key} + std::to_string(::getpid());
  line.resize(process_key.size() + process_digits, ' ');
  return line + '\n';
}

bool is_hexadecimal(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Returns true if the lines have their positions. Their values may be damaged.
bool has_format(std::string_view content) {
  if (content.size() < run_line(2) || !content.starts_with(process_key)) return false;
  for (std::size_t slot = 0; slot < 2; ++slot)
    if (!content.substr(run_line(slot)).starts_with(run_key)) return false;
  return true;
}

}  // namespace

lock_record::lock_record(disk::folder_lock& file) : file_{file} {
  const auto content = file.read();
  store_was_created_ = content.find(store_created_line) != std::string::npos;
  formatted_ = has_format(content);
  for (std::size_t slot = 0; formatted_ && slot < runs_.size(); ++slot) {
    auto run = content.substr(run_line(slot) + run_key.size(), run_size);
    if (is_hexadecimal(run)) runs_[slot] = std::move(run);
  }
  try {
    if (formatted_)
      file_.write(0, process_line());
    else
      format();
  } catch (const disk_full&) {
    // The process id is only for messages, and a server can start on a full disk.
  }
}

std::string lock_record::process_of(std::string_view content) {
  const auto end = content.find_first_of(" \n", std::min(process_key.size(), content.size()));
  return std::string{content.substr(0, end)};
}

void lock_record::format() {
  auto content = process_line();
  for (std::size_t slot = 0; slot < runs_.size(); ++slot)
    content += std::string{run_key} + std::string(run_size, '-') + '\n';
  if (store_was_created_) content += store_created_line;
  file_.write(0, content);
  file_.sync();
  formatted_ = true;
}

void lock_record::mark_store_created() {
  if (store_was_created_) return;
  if (!formatted_) format();
  file_.write(run_line(runs_.size()), store_created_line);
  file_.sync();
  store_was_created_ = true;
}

bool lock_record::has_runs() const noexcept {
  return std::ranges::any_of(runs_, [](const auto& run) { return !run.empty(); });
}

bool lock_record::has_run(std::string_view run) const noexcept {
  return !run.empty() && std::ranges::find(runs_, run) != runs_.end();
}

void lock_record::begin_run(std::string_view next, const std::optional<std::string>& stored) {
  if (!formatted_) format();
  if (stored && !has_run(*stored)) write_run(0, *stored);  // the file was lost or is new
  write_run(stored && runs_[0] == *stored ? 1 : 0, next);
}

void lock_record::keep_only(std::string_view run) {
  for (std::size_t slot = 0; slot < runs_.size(); ++slot)
    if (!runs_[slot].empty() && runs_[slot] != run) write_run(slot, {});
}

// A damaged line contains no run of any store, because begin_run() never writes the line of the
// store's run, and the ids are random.
void lock_record::write_run(std::size_t slot, std::string_view run) {
  file_.write(run_line(slot) + run_key.size(),
              run.empty() ? std::string(run_size, '-') : std::string{run});
  file_.sync();
  runs_[slot] = run;
}

}  // namespace conclave::server_impl
