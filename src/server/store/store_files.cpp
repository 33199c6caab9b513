#include "server/store/store_files.hpp"

#include "server/store/database.hpp"
#include "server/store/store_error.hpp"

namespace conclave::server_impl {

store_files::store_files(const std::filesystem::path& data_folder)
    : folder{std::filesystem::absolute(data_folder).lexically_normal()} {
  if (!folder.has_filename()) folder = folder.parent_path();  // "data/"
}

std::filesystem::path store_files::upgrade_backup(int format) const {
  return folder / ("conclave.db.v" + std::to_string(format) + ".bak");
}

void store_files::throw_store_error(const std::string& what) const {
  throw store_error{main().native() + ' ' + what + "; restore a backup, or move the folder " +
                    folder.native() + " away to start with an empty store"};
}

void store_files::throw_store_error(const database_error& error) const {
  if (error.is_disk_full()) {
    throw disk_full{"there is no room for " + main().native() + "; make room on the disk"};
  }
  if (error.is_corrupt()) throw_store_error("is damaged (" + std::string{error.what()} + ')');
  if (error.is_busy()) {
    throw store_error{main().native() +
                      " is open in another program, perhaps sqlite3; close that program"};
  }
  throw store_error{"cannot read or write " + main().native() + " (" + error.what() +
                    "); check the disk and the permissions"};
}

}  // namespace conclave::server_impl
