// MappedFile: a file in memory. Its pages are read when they are first used.
#pragma once

#include <memory>
#include <span>
#include <string>

namespace stator {

class MappedFile {
 public:
  /// Throws ST400 if the file cannot be opened; null if it does not exist and need not.
  static std::shared_ptr<MappedFile> open(const std::string& path);
  static std::shared_ptr<MappedFile> open_if_there(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// The bytes. They may be written: the file does not change, only this process's copy of it.
  std::span<char> bytes() const { return {data_, size_}; }

  /// Is the file that has this path now the one that was opened?
  bool is_at(const std::string& path) const;

 private:
  MappedFile(int descriptor, const std::string& path);

  char* data_ = nullptr;
  std::size_t size_ = 0;
  unsigned long device_ = 0;
  unsigned long inode_ = 0;
};

}  // namespace stator
