#include "compiled/library.h"

#include <sys/mman.h>
#include <torch/csrc/inductor/aoti_runner/model_container_runner.h>
#include <torch/csrc/inductor/aoti_runner/model_container_runner_cpu.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <thread>

#include "errors.h"

namespace stator {
namespace {

using Runner = torch::inductor::AOTIModelContainerRunner;

constexpr unsigned kMostAtOnce = 8;  // threads that run one library without waiting

/// A file in memory: what is loaded is what the digest was taken of, whatever happens to the file
/// on the disk. It is never closed: the linker knows libraries by their paths, so none may be used
/// twice.
int file_in_memory(std::span<const char> bytes) {
  const int descriptor = memfd_create("stator-compiled", MFD_CLOEXEC);
  if (descriptor < 0) throw format_error("there is no memory for a library");
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t written = ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (written <= 0) {
      ::close(descriptor);
      throw format_error("there is no memory for a library");
    }
    done += static_cast<std::size_t>(written);
  }
  return descriptor;
}

std::unique_ptr<Runner> runner_of(const std::string& path, const std::string& device) {
  const std::size_t count = std::clamp(std::thread::hardware_concurrency(), 1U, kMostAtOnce);
  if (device == "cpu")
    return std::make_unique<torch::inductor::AOTIModelContainerRunnerCpu>(path, count);
  const auto& known = torch::inductor::getAOTIModelRunnerRegistry();
  const auto found = known.find(device);
  if (found == known.end()) throw format_error("this torch cannot run libraries for " + device);
  return found->second(path, count, device, "", false);
}

class AotLibrary : public Library {
 public:
  explicit AotLibrary(std::unique_ptr<Runner> runner) : runner_(std::move(runner)) {}

  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) override {
    return runner_->run(inputs);
  }

 private:
  std::unique_ptr<Runner> runner_;
};

}  // namespace

std::shared_ptr<Library> Library::load(std::span<const char> bytes, const std::string& digest,
                                       const std::string& device) {
  // NOTE: never destroyed: code that is loaded cannot be unloaded safely when a process ends
  static auto& loaded = *new std::map<std::string, std::shared_ptr<Library>>();
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Library>& library = loaded[device + ":" + digest];
  if (library != nullptr) return library;
  const std::string path = "/proc/self/fd/" + std::to_string(file_in_memory(bytes));
  try {
    library = std::make_shared<AotLibrary>(runner_of(path, device));
  } catch (const std::exception& error) {
    const std::string text = error.what();
    throw format_error("a library could not be loaded: " + text.substr(0, text.find('\n')));
  }
  return library;
}

}  // namespace stator
