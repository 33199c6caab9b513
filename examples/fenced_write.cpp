// Fencing tokens prevent late writes, which a lock alone cannot: fenced_write SERVER
//
// A holder is paused for longer than its session timeout. When it resumes, it does not know yet
// that another client holds the lock, and it writes. A resource that stores the highest token it
// has seen refuses this write. For data in ZooKeeper, the server itself refuses it.
#include <cstdint>
#include <iostream>
#include <string>

#include <conclave/mutex.hpp>

namespace {

// For example a file server, a database or a device.
class resource {
 public:
  bool write(std::int64_t token, const std::string& text) {
    if (token < highest_) return false;
    highest_ = token;
    text_ = text;
    return true;
  }

 private:
  std::int64_t highest_ = 0;
  std::string text_;
};

}  // namespace

int main(int argc, char** argv) try {
  conclave::client zk{argc > 1 ? argv[1] : "127.0.0.1:2181"};
  conclave::mutex m{zk, "/examples/fenced"};
  const auto report =
      zk.create("/examples-report-", "", conclave::create_mode::ephemeral_sequential).path;
  resource file;

  m.lock();
  const auto first = m.hold();
  const auto write = first.fenced(conclave::transaction{}.set(report, "by the first holder"));
  zk.commit(write);
  m.unlock();

  m.lock();
  file.write(m.fencing_token(), "by the second holder");
  std::cout << "late write to the resource accepted: " << std::boolalpha
            << file.write(first.fencing_token(), "by the first holder, late") << "\n";
  try {
    zk.commit(write);
  } catch (const conclave::error& e) {
    std::cout << "late write to a node refused: " << e.code().message() << "\n";
  }
  m.unlock();
} catch (const conclave::error& e) {
  std::cerr << "fenced_write: " << e.what() << "\n";
  return 1;
}
