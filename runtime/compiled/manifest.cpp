#include "compiled/manifest.h"

#include <ATen/Version.h>
#include <sys/utsname.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <regex>

#include "errors.h"
#include "format/decode.h"
#include "format/mapped_file.h"
#include "format/sha256.h"

namespace stator {
namespace {

constexpr std::size_t kTextLimit = std::size_t{1} << 28;
constexpr const char* kFix = "compile it again with `stator compile`";

/// What the text holds after its digest has been checked.
Json read_text(const std::string& file) {
  static const std::regex form(
      R"re(\{"format":"stator-compiled","version":(\d{1,9}),"digest":"([0-9a-f]{64})",)re");
  const auto mapped = MappedFile::open_if_there(file);
  if (mapped == nullptr) throw format_error("there is no " + file, kFix);
  const std::span<const char> text = mapped->bytes();
  const std::string head(text.data(), std::min<std::size_t>(text.size(), 150));
  std::smatch found;
  if (text.size() > kTextLimit ||
      !std::regex_search(head, found, form, std::regex_constants::match_continuous) ||
      found[1] != "1") {
    throw format_error(file + " is not a list of libraries that this version of Stator reads", kFix);
  }
  if (sha256(text.subspan(static_cast<std::size_t>(found.length()))) != found[2])
    throw format_error(file + " is damaged: its text does not have the digest it names", kFix);
  return parse_json(text, SIZE_MAX);
}

std::string machine() {
  utsname names{};
  return ::uname(&names) == 0 ? names.machine : "";
}

/// The digest of what the processor here can do, as Linux names it; empty if it cannot be told.
std::string own_processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("flags") || line.starts_with("Features")) return sha256(line);
  return "";
}

/// Can a processor of capability `own` run code that was made for `wanted`? Both are ATen's names.
bool is_capable(const std::string& own, const std::string& wanted) {
  static const std::array<std::string, 3> kRanks = {"DEFAULT", "AVX2", "AVX512"};
  const auto mine = std::ranges::find(kRanks, own);
  const auto theirs = std::ranges::find(kRanks, wanted);
  return own == wanted || (mine != kRanks.end() && theirs != kRanks.end() && theirs <= mine);
}

void check_same(const Json& data, const char* key, const std::string& own, const char* what) {
  const std::string& found = text_at(field(data, key, "the list"), key);
  if (found != own)
    throw format_error(
        std::string("it was made for ") + what + " " + found + ", and this is " + own, kFix);
}

void check_target(const Json& data, const std::string& model, const std::string& device) {
  const std::string at = "the list";
  if (text_at(field(data, "model", at), "model") != model)
    throw format_error("it was made of another model than the one beside it", kFix);
  check_same(data, "target", device, "the device");
  check_same(data, "torch", TORCH_VERSION, "torch");
  check_same(data, "machine", machine(), "processors of the type");
  const std::string& wanted = text_at(field(data, "capability", at), "capability");
  const std::string own = at::get_cpu_capability();
  if (!is_capable(own, wanted))
    throw format_error("it was made for processors with " + wanted + ", and this one has " + own,
                       kFix);
  const std::string& processor = text_at(field(data, "processor", at), "processor");
  if (!processor.empty() && processor != own_processor())
    throw format_error("it was made for another processor than this one", kFix);
}

/// A library beside the list: a plain name, and bytes that have the digest named for it.
std::shared_ptr<Library> read_library(const std::string& folder, const Json& data,
                                      const std::string& device, const std::string& at) {
  static const std::regex plain(R"re([0-9]{1,6}\.so)re");
  const std::string& name = text_at(field(data, "library", at), at + ".library");
  if (!std::regex_match(name, plain)) damaged(at + ".library", "is no name of a library");
  const std::string file = folder + "/" + name;
  const auto mapped = MappedFile::open_if_there(file);
  if (mapped == nullptr) throw format_error("there is no " + file, kFix);
  const std::string& digest = text_at(field(data, "sha256", at), at + ".sha256");
  // a copy: a mapped file may change between the check and the load
  const std::vector<char> bytes(mapped->bytes().begin(), mapped->bytes().end());
  if (sha256(bytes) != digest)
    throw format_error(file + " is damaged, or was changed: it does not have its digest", kFix);
  return Library::load(bytes, digest, device);
}

CompiledCode decode_code(const std::string& folder, const Json& data, const std::string& device,
                         const std::string& at) {
  CompiledCode code;
  code.layout = RegionLayout::decode(field(data, "layout", at), at + ".layout");
  for (const Json& item : list_at(field(data, "conditions", at), at + ".conditions"))
    code.conditions.push_back(
        SizeCondition::decode(item, code.layout.dynamic_count(), at + ".conditions"));
  code.library = read_library(folder, data, device, at);
  return code;
}

CompiledRegions decode_regions(const std::string& folder, const Json& data,
                               const std::string& device, const std::string& at) {
  CompiledRegions regions;
  for (const Json& item : list_at(data, at)) {
    auto region = std::make_shared<CompiledRegion>();
    region->device = at::Device(device).type();
    for (const Json& code : list_at(item, at))
      region->codes.push_back(decode_code(folder, code, device, at));
    regions.push_back(std::move(region));
  }
  return regions;
}

}  // namespace

CompiledModel read_compiled(const std::string& path, const std::string& model,
                            const std::string& device) {
  const Json data = read_text(path + "/manifest.json");
  check_target(data, model, device);
  CompiledModel made;
  for (const auto& [name, item] :
       object_at(field(data, "programs", "the list"), "programs").items()) {
    const std::string at = "programs." + name;
    CompiledProgram& compiled = made.programs[name];
    compiled.program = decode_program(field(item, "program", at), at + ".program");
    verify(compiled.program);
    compiled.regions = decode_regions(path, field(item, "regions", at), device, at + ".regions");
  }
  return made;
}

}  // namespace stator
