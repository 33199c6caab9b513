// `conclave queue push`: adds items.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "cli/commands/queue/queue_flags.hpp"
#include "cli/exit_code.hpp"
#include "cli/run/close_on_signal.hpp"

namespace conclave::cli {
namespace {

struct push_flags {
  queue_flags queue;
  std::vector<std::string> files;
  std::string unused;
  const CLI::App* words = nullptr;
  std::string wait = "forever";
  int priority = default_priority;
  std::size_t capacity = 0;
  bool nul = false;
};

// The limits of one transaction. They are large enough to share a write to the server's disk, and
// small enough not to delay other clients.
constexpr std::size_t most_items = 256;
constexpr std::size_t most_bytes = std::size_t{256} * 1024;

struct queue_full {};  // thrown if the queue is still full after the wait limit

class pusher {
 public:
  pusher(connection& c, const push_flags& f)
      : flags_{f},
        connection_{c},
        limit_{parse_wait(f.wait)},
        // A queue accepts more items than its capacity only while it is empty.
        at_once_{f.capacity == 0 ? most_items
                                 : std::clamp<std::size_t>(f.capacity / 4, 1, most_items)},
        queue_{c.zk(), f.queue.node(), options(f)} {}

  void add(std::string item) {
    if (!items_.empty() && (items_.size() >= at_once_ || bytes_ + item.size() > most_bytes)) send();
    bytes_ += item.size();
    items_.push_back(std::move(item));
  }

  // Pushes the items that were added since the last call.
  void send() {
    if (items_.empty()) return;
    const auto n = items_.size();
    bytes_ = 0;
    sent_ = n;
    auto batch = std::exchange(items_, {});
    if (!limit_)
      queue_.push(std::move(batch), flags_.priority);
    else if (!connection_.try_for(*limit_, [&](std::chrono::nanoseconds d) {
               return queue_.push_for(d, batch, flags_.priority);
             }))
      throw queue_full{};
    pushed_ += n;
  }

  std::size_t pushed() const noexcept { return pushed_; }
  std::size_t sent() const noexcept { return sent_; }  // in the last transaction

 private:
  static queue_options options(const push_flags& f) {
    auto o = f.queue.options();
    o.capacity = f.capacity;
    return o;
  }

  const push_flags& flags_;
  connection& connection_;
  std::optional<std::chrono::milliseconds> limit_;
  std::size_t at_once_;
  queue queue_;
  std::vector<std::string> items_;
  std::size_t bytes_ = 0;
  std::size_t pushed_ = 0;
  std::size_t sent_ = 0;
};

// Appends the next bytes. Returns false at the end of the file.
bool read_more(int fd, const std::string& name, std::string& to) {
  std::array<char, std::size_t{64} * 1024> buffer{};
  ssize_t n;
  while ((n = ::read(fd, buffer.data(), buffer.size())) < 0 && errno == EINTR) {
  }
  if (n < 0) throw failure{usage, "cannot read " + name + ": " + std::strerror(errno)};
  to.append(buffer.data(), static_cast<std::size_t>(n));
  return n > 0;
}

std::string read_whole_file(const std::string& file) {
  const int fd = file == "-" ? STDIN_FILENO : ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw failure{usage, "cannot read " + file + ": " + std::strerror(errno)};
  std::string content;
  while (read_more(fd, file, content)) {
  }
  if (fd != STDIN_FILENO) ::close(fd);
  return content;
}

// Pushes the available lines before it waits for more, because a user may be typing them.
void push_lines(pusher& to, char end) {
  std::string text;
  while (read_more(STDIN_FILENO, "stdin", text)) {
    std::size_t begin = 0;
    for (std::size_t at; (at = text.find(end, begin)) != std::string::npos; begin = at + 1)
      to.add(text.substr(begin, at - begin));
    text.erase(0, begin);
    to.send();
  }
  if (!text.empty()) to.add(std::move(text));
}

std::vector<std::string> items_of(const push_flags& f, const invocation& call) {
  auto items = f.words->remaining();
  for (const auto& item : items)
    if (item.size() > 1 && item.front() == '-')
      throw failure{usage, "there is no option " + item + "; put items that begin with - after --"};
  items.insert(items.end(), call.program.begin(), call.program.end());
  for (const auto& name : f.files) items.push_back(read_whole_file(name));
  return items;
}

int run(push_flags& f, const invocation& call) {
  if (f.priority != default_priority && f.queue.options().layout == queue_layout::zookeeper)
    throw failure{usage,
                  "--layout zookeeper has no priorities; use --layout kazoo or kazoo-locking"};
  auto items = items_of(f, call);
  close_on_signal on_signal;
  connection c{f.queue.connect};
  const auto closing = on_signal.closes(c.zk());
  pusher to{c, f};
  const auto so_far = [&] {
    return " (" + std::to_string(to.pushed()) + (to.pushed() == 1 ? " item was" : " items were") +
           " pushed)";
  };
  try {
    for (auto& item : items) to.add(std::move(item));
    if (items.empty() && !call.has_program) push_lines(to, f.nul ? '\0' : '\n');
    to.send();
    return ok;
  } catch (const queue_full&) {
    throw failure{failed, "queue " + f.queue.path + " is full" + so_far()};
  } catch (const error& e) {
    if (e.code() == errc::too_large)
      throw failure{failed, "an item is too large for the server" + so_far()};
    // The message of `e` already contains that of its code.
    if (e.code() == condition::outcome_unknown)
      throw failure{exit_code_of(e.code()), e.what() + (" for " + std::to_string(to.sent())) +
                                                (to.sent() == 1 ? " item" : " items") + so_far()};
    throw failure{exit_code_of(e.code()), e.what() + so_far()};
  }
}

}  // namespace

void describe_push(CLI::App& app, invocation& call) {
  auto flags = std::make_shared<push_flags>();
  app.description("add items: the arguments, whole files, or the lines of stdin");
  app.footer(
      "Examples:\n"
      "  conclave queue push jobs 'resize 1.png' 'resize 2.png'\n"
      "  conclave queue push jobs -- -begins-with-a-dash\n"
      "  conclave queue push jobs --file report.pdf\n"
      "  ls | conclave queue push jobs\n"
      "  conclave queue push --layout kazoo --priority 10 jobs urgent\n"
      "Without arguments and files, it reads stdin.\n"
      "Exit code: 1 if the queue stayed full (--capacity, --wait).");
  add_queue_flags(app, flags->queue);
  // For the help text only. Items are the remaining words, because CLI11 would split the value
  // [a,b] of an option in two.
  app.add_option("ITEM", flags->unused, "items")->expected(0)->type_name("...");
  app.allow_extras();
  flags->words = &app;
  app.add_option("-f,--file", flags->files, "a file that becomes one item; - is stdin")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_flag("-0,--null", flags->nul, "items on stdin end with a zero byte instead of a newline");
  app.add_option("-p,--priority", flags->priority, "0 to 999; lower numbers first")
      ->type_name("N")
      ->check(CLI::Range{0, 999})
      ->capture_default_str();
  app.add_option("--capacity", flags->capacity, "wait while the queue has this many items")
      ->type_name("N")
      ->check(CLI::Range{1, 1'000'000'000});
  app.add_option("-w,--wait", flags->wait, "with --capacity: give up after this time; 0: at once")
      ->type_name("SECONDS")
      ->needs("--capacity")
      ->capture_default_str();
  when_used(app, call, flags, run);
}

}  // namespace conclave::cli
