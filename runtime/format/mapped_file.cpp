#include "format/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "errors.h"

namespace stator {

std::shared_ptr<MappedFile> MappedFile::open(const std::string& path) {
  auto file = open_if_there(path);
  if (file != nullptr) return file;
  if (errno == ENOENT) throw format_error(path + " does not exist", "check the path");
  throw format_error(path + " cannot be read: " + std::strerror(errno),
                     "check the path and its permissions");
}

std::shared_ptr<MappedFile> MappedFile::open_if_there(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return nullptr;
  try {
    std::shared_ptr<MappedFile> file(
        new MappedFile(descriptor, path));  // NOLINT: private constructor
    ::close(descriptor);
    return file;
  } catch (...) {
    ::close(descriptor);
    throw;
  }
}

MappedFile::MappedFile(int descriptor, const std::string& path) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    throw format_error(path + " cannot be read: it is no regular file", "check the path");
  }
  device_ = status.st_dev;
  inode_ = status.st_ino;
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;
  void* mapped = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, 0);
  if (mapped == MAP_FAILED) throw format_error(path + " cannot be mapped: " + std::strerror(errno));
  data_ = static_cast<char*>(mapped);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

bool MappedFile::is_at(const std::string& path) const {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

}  // namespace stator
