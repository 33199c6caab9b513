// A disk in memory that keeps only synced data after a power failure, for tests of the store.
//
// Each file has two images: the current content and the durable content. A write changes the first.
// A sync copies the writes to the second. File names are part of the folder, which is synced
// separately: by a rename of the store, and by SQLite together with a new journal or log.
//
// Every change is a numbered step, so a test can place a fault at each step. The numbers, the
// outcomes and the surviving data depend only on the seeds.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "server/store/disk.hpp"

struct sqlite3_vfs;

namespace conclave::testing {

class faulty_disk final : public server_impl::disk {
 public:
  enum class act { write, truncate, sync, create, remove, rename };
  enum class outcome {
    done,
    no_room,     // nothing is written
    over_quota,  // like no_room, with another error code
    broken,      // an I/O error; a failed sync loses its writes forever
    power_off,   // done in part; every later step fails until power_cycle()
  };
  struct step {
    std::uint64_t number;  // from 1
    act what;
    std::string_view file;
  };

  explicit faulty_disk(std::uint64_t seed = 1);
  ~faulty_disk() override;
  faulty_disk(const faulty_disk&) = delete;
  faulty_disk& operator=(const faulty_disk&) = delete;

  // Called before every step. If empty, every step succeeds.
  std::function<outcome(const step&)> plan;
  bool ignores_syncs = false;           // reports success without syncing
  bool ignores_folder_syncs = false;    // ignores only syncs of names
  std::uint64_t capacity = UINT64_MAX;  // in bytes, all files together
  std::optional<std::int64_t> birth;    // the birth time of every file, if supported

  std::uint64_t steps() const noexcept { return steps_; }
  bool is_off() const noexcept { return off_; }
  std::uint64_t used() const;  // in bytes

  // Simulates a power failure and a restart. Seed 0 loses everything that was not synced. Other
  // seeds keep a part of it: any sectors of any writes, torn writes, garbage behind the old end of
  // a file, and the first changes of names.
  void power_cycle(std::uint64_t seed);

  // Like `cat FILE` and `cp OTHER FILE; sync` while no server runs.
  std::string content(const path& file) const;
  void overwrite(const path& file, const std::string& bytes);

  // --- server_impl::disk

  const char* vfs() const noexcept override { return name_.c_str(); }
  std::unique_ptr<folder_lock> lock_folder(const path& folder) override;
  std::vector<std::string> list(const path& folder) override;
  std::optional<std::uint64_t> size(const path& file) override;
  std::string read_prefix(const path& file, std::size_t bytes) override;
  void create(const path& file) override;
  std::optional<std::int64_t> birth_time(const path& /*file*/) override { return birth; }
  void make_private(const path& /*file*/) override {}
  void sync(const path& file) override;
  void rename(const path& from, const path& to) override;
  void remove(const path& file) noexcept override;

 private:
  struct inode {
    struct change {
      bool truncate;
      std::uint64_t offset;
      std::string bytes;
    };
    std::string now;
    std::string durable;
    std::vector<change> pending;  // since the last sync, in order
  };
  struct naming {
    std::string gone;  // either may be empty
    std::string made;
    std::shared_ptr<inode> what;
  };
  using folder_map = std::map<std::string, std::shared_ptr<inode>>;
  struct sqlite_face;  // the functions that SQLite calls
  struct open_file;
  class faulty_folder_lock;

  outcome ask(act what, std::string_view file);
  static void apply(std::string& image, const inode::change& change);
  static void apply(folder_map& names, const naming& change);
  static void keep_part(inode& f, std::mt19937_64& random);
  outcome change_file(act what, const std::string& name, inode& f, inode::change change);
  outcome change_names(act what, naming change);
  outcome sync_file(const std::string& name, inode& f);
  outcome sync_names(const std::string& cause);
  inode* find(const path& file);
  void or_throw(outcome result, std::string_view action, const path& file) const;

  std::string name_;
  std::unique_ptr<sqlite3_vfs> face_;
  folder_map names_;
  folder_map durable_names_;
  std::vector<naming> pending_names_;
  std::set<std::string> locked_;
  std::uint64_t steps_ = 0;
  bool off_ = false;
  int last_errno_ = 0;
};

}  // namespace conclave::testing
