#include "faulty_disk/faulty_disk.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <cerrno>

#include "faulty_disk/faulty_vfs.hpp"
#include "server/store/store_error.hpp"

namespace conclave::testing {
namespace {

constexpr std::uint64_t sector = 512;

bool chance(std::mt19937_64& random, unsigned percent) { return random() % 100 < percent; }

}  // namespace

class faulty_disk::faulty_folder_lock final : public folder_lock {
 public:
  faulty_folder_lock(faulty_disk& disk, const path& folder)
      : disk_{disk}, folder_{folder.native()}, file_{folder / "lock"} {
    if (!disk_.locked_.insert(folder_).second)
      throw server_impl::store_error{folder_ + " is in use"};
    try {
      if (disk_.find(file_) == nullptr) disk_.create(file_);
    } catch (...) {
      disk_.locked_.erase(folder_);
      throw;
    }
  }
  ~faulty_folder_lock() override { disk_.locked_.erase(folder_); }
  faulty_folder_lock(const faulty_folder_lock&) = delete;
  faulty_folder_lock& operator=(const faulty_folder_lock&) = delete;

  std::string read() const override { return disk_.read_prefix(file_, 200); }
  void write(std::uint64_t offset, std::string_view bytes) override {
    disk_.or_throw(disk_.change_file(act::write, file_.native(), *disk_.find(file_),
                                     {false, offset, std::string{bytes}}),
                   "write", file_);
  }
  void sync() override { disk_.sync(file_); }
  bool is_valid() const override { return true; }

 private:
  faulty_disk& disk_;
  const std::string folder_;
  const path file_;
};

faulty_disk::faulty_disk(std::uint64_t seed) {
  static std::uint64_t count = 0;
  name_ = "faulty-" + std::to_string(++count);
  face_ = sqlite_face::make(*this);
  sqlite3_vfs_register(face_.get(), 0);
  // SQLite writes random numbers into the headers of the log.
  sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, static_cast<int>(seed % 0x7ffffffe) + 1, nullptr);
}

faulty_disk::~faulty_disk() { sqlite3_vfs_unregister(face_.get()); }

faulty_disk::outcome faulty_disk::ask(act what, std::string_view file) {
  if (off_) {
    last_errno_ = EIO;
    return outcome::broken;
  }
  const auto result = plan ? plan({++steps_, what, file}) : (++steps_, outcome::done);
  off_ = result == outcome::power_off;
  if (result == outcome::no_room) last_errno_ = ENOSPC;
  if (result == outcome::over_quota) last_errno_ = EDQUOT;
  if (result == outcome::broken || result == outcome::power_off) last_errno_ = EIO;
  return result;
}

void faulty_disk::apply(std::string& image, const inode::change& change) {
  if (change.truncate) {
    image.resize(change.offset);
    return;
  }
  const auto end = change.offset + change.bytes.size();
  if (image.size() < end) image.resize(end);
  image.replace(change.offset, change.bytes.size(), change.bytes);
}

void faulty_disk::apply(folder_map& names, const naming& change) {
  if (!change.gone.empty()) names.erase(change.gone);
  if (!change.made.empty()) names[change.made] = change.what;
}

faulty_disk::outcome faulty_disk::change_file(act what, const std::string& name, inode& f,
                                              inode::change change) {
  auto result = ask(what, name);
  if (result == outcome::done && !change.truncate) {
    const auto end = change.offset + change.bytes.size();
    if (end > f.now.size() && used() + (end - f.now.size()) > capacity) {
      last_errno_ = ENOSPC;
      result = outcome::no_room;
    }
  }
  if (result == outcome::done || result == outcome::power_off) {
    apply(f.now, change);
    f.pending.push_back(std::move(change));
  }
  return result;
}

faulty_disk::outcome faulty_disk::change_names(act what, naming change) {
  const auto result = ask(what, change.made.empty() ? change.gone : change.made);
  if (result == outcome::done || result == outcome::power_off) {
    apply(names_, change);
    pending_names_.push_back(std::move(change));
  }
  return result;
}

faulty_disk::outcome faulty_disk::sync_file(const std::string& name, inode& f) {
  if (off_) return outcome::broken;
  const auto result = ask(act::sync, name);
  if (ignores_syncs) return result;
  if (result == outcome::done) {
    for (const auto& change : f.pending) apply(f.durable, change);
  }
  // Linux marks pages as clean even if it could not write them. Reads return the new data, but no
  // later sync writes it.
  if (result != outcome::power_off) f.pending.clear();
  return result;
}

faulty_disk::outcome faulty_disk::sync_names(const std::string& cause) {
  const auto result = ask(act::sync, cause);
  if (result != outcome::done || ignores_syncs || ignores_folder_syncs) return result;
  durable_names_ = names_;
  pending_names_.clear();
  return result;
}

void faulty_disk::keep_part(inode& f, std::mt19937_64& random) {
  const unsigned kept = random() % 3 == 0 ? 100 : static_cast<unsigned>(random() % 100);
  const bool torn = chance(random, 30);
  const bool garbage = chance(random, 30);
  for (const auto& change : f.pending) {
    if (change.truncate) {
      if (chance(random, kept)) apply(f.durable, change);
      continue;
    }
    for (std::uint64_t at = 0; at < change.bytes.size();) {
      const auto offset = change.offset + at;
      const auto n = std::min<std::uint64_t>(sector - offset % sector, change.bytes.size() - at);
      std::string piece = change.bytes.substr(at, n);
      at += n;
      if (chance(random, kept)) {
        if (torn && chance(random, 20)) piece.resize(random() % n);
        apply(f.durable, {false, offset, std::move(piece)});
      } else if (garbage && offset >= f.durable.size()) {
        for (auto& byte : piece) byte = static_cast<char>(random());
        apply(f.durable, {false, offset, std::move(piece)});
      }
    }
  }
}

void faulty_disk::power_cycle(std::uint64_t seed) {
  std::mt19937_64 random{seed};
  const auto names_kept = seed == 0 ? 0 : random() % (pending_names_.size() + 1);
  for (std::size_t i = 0; i < names_kept; ++i) apply(durable_names_, pending_names_[i]);
  pending_names_.clear();
  names_ = durable_names_;
  for (auto& [name, f] : names_) {
    if (seed != 0) keep_part(*f, random);
    f->pending.clear();
    f->now = f->durable;
  }
  off_ = false;
}

std::unique_ptr<faulty_disk::folder_lock> faulty_disk::lock_folder(const path& folder) {
  return std::make_unique<faulty_folder_lock>(*this, folder);
}

std::vector<std::string> faulty_disk::list(const path& folder) {
  std::vector<std::string> out;
  for (const auto& [name, f] : names_) {
    if (path{name}.parent_path() == folder) out.push_back(path{name}.filename().native());
  }
  return out;
}

faulty_disk::inode* faulty_disk::find(const path& file) {
  const auto i = names_.find(file.native());
  return i == names_.end() ? nullptr : i->second.get();
}

std::uint64_t faulty_disk::used() const {
  std::uint64_t sum = 0;
  for (const auto& [name, f] : names_) sum += f->now.size();
  return sum;
}

std::optional<std::uint64_t> faulty_disk::size(const path& file) {
  const auto* f = find(file);
  return f != nullptr ? std::optional<std::uint64_t>{f->now.size()} : std::nullopt;
}

std::string faulty_disk::read_prefix(const path& file, std::size_t bytes) {
  const auto* f = find(file);
  if (f == nullptr || off_) throw server_impl::store_error{"cannot read " + file.native()};
  return f->now.substr(0, bytes);
}

void faulty_disk::or_throw(outcome result, std::string_view action, const path& file) const {
  const auto what = "cannot " + std::string{action} + ' ' + file.native();
  if (result == outcome::no_room || result == outcome::over_quota)
    throw server_impl::disk_full{what};
  if (result != outcome::done) throw server_impl::store_error{what};
}

std::string faulty_disk::content(const path& file) const { return names_.at(file.native())->now; }

void faulty_disk::overwrite(const path& file, const std::string& bytes) {
  names_.at(file.native())->now = bytes;
  for (auto& [name, f] : names_) {
    f->pending.clear();
    f->durable = f->now;
  }
  durable_names_ = names_;
  pending_names_.clear();
}

void faulty_disk::create(const path& file) {
  if (find(file) != nullptr) throw server_impl::store_error{file.native() + " exists"};
  or_throw(change_names(act::create, {{}, file.native(), std::make_shared<inode>()}), "create",
           file);
}

void faulty_disk::sync(const path& file) {
  auto* f = find(file);
  or_throw(f != nullptr ? sync_file(file.native(), *f) : outcome::broken, "sync", file);
}

void faulty_disk::rename(const path& from, const path& to) {
  const auto i = names_.find(from.native());
  if (i == names_.end() || find(to) != nullptr) {
    throw server_impl::store_error{"cannot rename " + from.native()};
  }
  or_throw(change_names(act::rename, {from.native(), to.native(), i->second}), "rename", from);
  const auto result = sync_names(to.native());
  if (result != outcome::done) remove(to);
  or_throw(result, "sync the folder of", to);
}

void faulty_disk::remove(const path& file) noexcept {
  if (find(file) != nullptr) change_names(act::remove, {file.native(), {}, {}});
}

}  // namespace conclave::testing
