#include "cli/run/inherited_task.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace conclave::cli {
namespace {

constexpr auto task_variable = "CONCLAVE_TASK";

// Identifies a process, even if its process id is used again. Empty if the process does not exist.
std::string identity_of(::pid_t process) {
  std::ifstream file{"/proc/" + std::to_string(process) + "/stat"};
  std::string text{std::istreambuf_iterator<char>{file}, {}};
  // The name of the program, in parentheses, may contain spaces.
  const auto name_end = text.rfind(')');
  if (name_end == text.npos) return {};
  std::istringstream fields{text.substr(name_end + 1)};
  constexpr int start_time = 20;  // the 22nd field of the file
  std::string field;
  for (int i = 0; i < start_time; ++i) fields >> field;
  return fields ? std::to_string(process) + ":" + field : std::string{};
}

}  // namespace

inherited_task inherited_task::from_environment() {
  inherited_task task;
  task.holds_.may_hold_others = false;  // our session has only one lock
  const char* const text = std::getenv(task_variable);
  std::istringstream words{text == nullptr ? "" : text};
  std::string setter;
  words >> setter;
  const bool is_parent = !setter.empty() && setter == identity_of(::getppid());
  for (std::string id; words >> id;) {
    const bool possible = id.ends_with('?');
    if (possible) id.pop_back();
    auto& list = is_parent && !possible ? task.holds_.certain : task.holds_.possible;
    list.push_back(std::move(id));
  }
  return task;
}

std::pair<std::string, std::string> inherited_task::with(const hold& another) const {
  auto text = identity_of(::getpid());
  if (text.empty()) text = "?";  // without /proc, nothing is certain
  for (const auto& id : holds_.certain) text += ' ' + id;
  for (const auto& id : holds_.possible) text += ' ' + id + '?';
  return {task_variable, text + ' ' + another.id()};
}

}  // namespace conclave::cli
