#include "cli/show/item_output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>

#include <boost/json/serialize.hpp>

#include "cli/exit_code.hpp"
#include "cli/show/node.hpp"

namespace conclave::cli {

void add_item_format(CLI::App& app, item_format& f) {
  app.add_flag("--raw", f.raw, "print exactly the item, without a newline after it");
  app.add_flag("-0,--null", f.nul, "print a zero byte after the item instead of a newline")
      ->excludes("--raw");
  app.add_flag("--json", f.json, "print a line of JSON: name, data (or base64), priority")
      ->excludes("--raw")
      ->excludes("--null");
}

item_output::item_output(const item_format& f) : format_{f} {
  const int flags = ::fcntl(STDOUT_FILENO, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
    throw failure{cannot_write, "stdout is closed; open it to print items"};
  ::signal(SIGPIPE, SIG_IGN);  // a closed pipe is handled as an error
}

void item_output::add(const queue_item& item, int attempts) {
  if (format_.json) {
    json::object o{{"name", item.name}, {"priority", item.priority}};
    if (attempts != 0) o["attempts"] = attempts;
    add_data(o, item.data);
    text_ += json::serialize(o) + '\n';
    return;
  }
  text_ += item.data;
  if (!format_.raw) text_ += format_.nul ? '\0' : '\n';
}

void item_output::write() {
  std::size_t done = 0;
  while (done < text_.size()) {
    const auto n = ::write(STDOUT_FILENO, text_.data() + done, text_.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {  // another process has set O_NONBLOCK on the shared stdout
      pollfd p{STDOUT_FILENO, POLLOUT, 0};
      ::poll(&p, 1, -1);
      continue;
    }
    if (n < 0)
      throw failure{cannot_write, std::string{"cannot print the item: "} + std::strerror(errno)};
    done += static_cast<std::size_t>(n);
  }
  text_.clear();
}

}  // namespace conclave::cli
