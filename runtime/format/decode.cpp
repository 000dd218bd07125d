#include "format/decode.h"

#include <set>
#include <unordered_map>

namespace stator {
namespace {

std::string item_at(const std::string& at, std::size_t index) {
  return at + "[" + std::to_string(index) + "]";
}

double decode_float(const Json& data, const std::string& at) {
  if (data.is_string()) {
    const auto& text = data.get_ref<const std::string&>();
    if (text == "inf") return INFINITY;
    if (text == "-inf") return -INFINITY;
    if (text == "nan") return NAN;
    damaged(at, "must be one of inf, -inf, nan, not '" + text + "'");
  }
  if (!data.is_number_float()) damaged(at, "must be a fraction");
  return data.get<double>();
}

Constant plain(Value value) { return {Constant::Kind::kPlain, std::move(value)}; }

Constant decode_dtype(const std::string& name, const std::string& at) {
  const auto dtype = dtype_named(name);
  if (!dtype) damaged(at, "names '" + name + "', which is no dtype of torch");
  return {Constant::Kind::kDtype, Value(static_cast<std::int64_t>(*dtype))};
}

Constant decode_device(const std::string& name, const std::string& at) {
  try {
    return {Constant::Kind::kDevice, Value(at::Device(name))};
  } catch (const c10::Error&) {
    damaged(at, "names '" + name + "', which is not a device of torch");
  }
}

Constant decode_layout(const std::string& name, const std::string& at) {
  static const std::unordered_map<std::string, at::Layout> layouts = {
      {"strided", at::kStrided},      {"sparse_coo", at::kSparse},
      {"sparse_csr", at::kSparseCsr}, {"sparse_csc", at::kSparseCsc},
      {"sparse_bsr", at::kSparseBsr}, {"sparse_bsc", at::kSparseBsc},
      {"_mkldnn", at::kMkldnn},       {"jagged", at::kJagged}};
  const auto found = layouts.find(name);
  if (found == layouts.end()) damaged(at, "names '" + name + "', which is no layout of torch");
  return {Constant::Kind::kLayout, Value(static_cast<std::int64_t>(found->second))};
}

Constant decode_memory_format(const std::string& name, const std::string& at) {
  static const std::unordered_map<std::string, at::MemoryFormat> formats = {
      {"contiguous_format", at::MemoryFormat::Contiguous},
      {"preserve_format", at::MemoryFormat::Preserve},
      {"channels_last", at::MemoryFormat::ChannelsLast},
      {"channels_last_3d", at::MemoryFormat::ChannelsLast3d}};
  const auto found = formats.find(name);
  if (found == formats.end())
    damaged(at, "names '" + name + "', which is no memory_format of torch");
  return {Constant::Kind::kMemoryFormat, Value(static_cast<std::int64_t>(found->second))};
}

Constant decode_complex(const Json& data, const std::string& at) {
  if (list_at(data, at).size() != 2) damaged(at, "is no constant");
  return plain(Value(Complex(decode_float(data[0], at), decode_float(data[1], at))));
}

/// A number or a symbol. An expression of sizes, and null, say nothing that a run relies on: what a
/// program needs of its sizes it checks by `stator::demand`.
Type::Size decode_size(const Json& data, const std::string& at) {
  Type::Size size;
  if (data.is_string()) {
    size.name = data.get<std::string>();
  } else if (data.is_number_integer()) {
    size.number = integer_at(data, at);
    if (*size.number < 0) damaged(at, "must hold sizes and names of sizes");
  } else if (!data.is_null() && !data.is_object()) {
    damaged(at, "must hold sizes and names of sizes");
  }
  return size;
}

Type decode_type(const Json& data, const std::string& at, int depth = 0) {
  check_depth(depth, at);
  const auto [kind, part] = only_field(data, at);
  Type type;
  if (kind == "tensor") {
    type.dtype = static_cast<at::ScalarType>(
        decode_dtype(text_at(field(*part, "dtype", at), at), at).value.toInt());
    type.device = text_at(field(*part, "device", at), at);
    type.shape = decode_shape(field(*part, "shape", at), at);
  } else if (kind == "number") {
    type.kind = Type::Kind::kNumber;
    type.number = text_at(*part, at);
    if (type.number != "bool" && type.number != "int" && type.number != "float" &&
        type.number != "complex") {
      damaged(at, "must be one of bool, int, float, complex, not '" + type.number + "'");
    }
  } else if (kind == "tag") {
    type.kind = Type::Kind::kNumber;  // what it says of the parts of its union, a run does not need
    type.number = "int";
  } else if (kind == "part") {
    type.kind = Type::Kind::kOptional;
    type.element.push_back(decode_type(field(*part, "type", at), at, depth + 1));
  } else if (kind == "text") {
    type.kind = Type::Kind::kText;
  } else if (kind == "list" || kind == "optional") {
    type.kind = kind == "list" ? Type::Kind::kList : Type::Kind::kOptional;
    type.element.push_back(decode_type(*part, at, depth + 1));
  } else {
    damaged(at, "must be one of list, optional, not '" + kind + "'");
  }
  return type;
}

std::vector<Structure> decode_structures(const Json& data, const std::string& at, int depth);

Structure decode_structure(const Json& data, const std::string& at, int depth = 0) {
  check_depth(depth, at);
  const auto [kind, part] = only_field(data, at);
  const std::string inner = at + "." + kind;
  Structure made;
  made.kind = kind;
  if (kind == "leaf") {
    made.position = integer_at(*part, inner);
  } else if (kind == "fixed") {
    made.constant = decode_constant(*part, inner);
  } else if (kind == "list" || kind == "tuple") {
    made.items = decode_structures(*part, inner, depth + 1);
  } else if (kind == "dict") {
    for (const Json& key : list_at(field(*part, "keys", inner), inner))
      made.keys.push_back(decode_constant(key, inner));
    made.items = decode_structures(field(*part, "items", inner), inner, depth + 1);
    if (made.keys.size() != made.items.size()) damaged(inner, "must have one key for each item");
  } else if (kind == "namedtuple" || kind == "dataclass") {
    made.type_name = text_at(field(*part, "type", inner), inner);
    for (const Json& name : list_at(field(*part, "fields", inner), inner))
      made.fields.push_back(text_at(name, inner));
    made.items = decode_structures(field(*part, "items", inner), inner, depth + 1);
    if (made.fields.size() != made.items.size())
      damaged(inner, "must have one field for each item");
  } else if (kind == "variant") {
    made.position = integer_at(field(*part, "tag", inner), inner);
    made.items = decode_structures(field(*part, "alternatives", inner), inner, depth + 1);
  } else if (kind == "columns" || kind == "tuple_columns" || kind == "dict_columns") {
    made.items.push_back(decode_structure(*part, inner, depth + 1));
  } else {
    damaged(at, "is no structure: '" + kind + "'");
  }
  return made;
}

std::vector<Structure> decode_structures(const Json& data, const std::string& at, int depth) {
  std::vector<Structure> made;
  for (std::size_t k = 0; k < list_at(data, at).size(); ++k) {
    made.push_back(decode_structure(data[k], item_at(at, k), depth));
  }
  return made;
}

/// Reads one program; `ids_` are the values defined so far, by name.
class ProgramReader {
 public:
  Program read(const Json& data, const std::string& at) {
    for (const Json& name : list_at(field(data, "files", at), at + ".files")) {
      files_.push_back(text_at(name, at + ".files"));
    }
    program_.name = text_at(field(data, "name", at), at + ".name");
    program_.inputs = definitions(field(data, "inputs", at), at + ".inputs");
    const Json& stored = list_at(field(data, "stored", at), at + ".stored");
    for (std::size_t k = 0; k < stored.size(); ++k)
      program_.stored.push_back(stored_at(stored[k], item_at(at + ".stored", k)));
    for (const auto& [name, function] :
         object_at(field(data, "functions", at), at + ".functions").items()) {
      program_.functions[name] = block(function, at + ".functions." + name, 0);
    }
    program_.body = block(field(data, "body", at), at + ".body", 0);
    program_.input_structure =
        decode_structure(field(data, "input_structure", at), at + ".input_structure");
    program_.output_structure =
        decode_structure(field(data, "output_structure", at), at + ".output_structure");
    if (const Json* uses = optional_field(data, "state", at)) read_state(*uses, at + ".state");
    return std::move(program_);
  }

 private:
  void read_state(const Json& uses, const std::string& at) {
    std::size_t left = std::min(program_.inputs.size(), program_.body.outputs.size());
    for (const Json& use : list_at(uses, at)) {
      const std::int64_t count = integer_at(field(use, "count", at), at);
      if (count < 0 || static_cast<std::size_t>(count) > left)
        damaged(at, "has more values than the program has inputs and outputs");
      left -= static_cast<std::size_t>(count);
      program_.state.push_back(
          {text_at(field(use, "name", at), at), static_cast<std::size_t>(count)});
    }
  }

  std::vector<ValueId> definitions(const Json& items, const std::string& at) {
    std::vector<ValueId> made;
    for (std::size_t k = 0; k < list_at(items, at).size(); ++k)
      made.push_back(definition(items[k], item_at(at, k)));
    return made;
  }

  ValueId definition(const Json& data, const std::string& at) {
    const std::string& name = text_at(field(data, "name", at), at);
    const auto id = static_cast<ValueId>(program_.values.size());
    if (!ids_.try_emplace(name, id).second) damaged(at, "defines %" + name + " once more");
    program_.values.push_back({name, decode_type(field(data, "type", at), at + ".type")});
    return id;
  }

  Stored stored_at(const Json& data, const std::string& at) {
    const std::string& kind = text_at(field(data, "kind", at), at + ".kind");
    return {definition(field(data, "value", at), at + ".value"),
            text_at(field(data, "name", at), at), kind};
  }

  Block block(const Json& data, const std::string& at, int depth) {
    check_depth(depth, at);
    Block made;
    made.inputs = definitions(field(data, "inputs", at), at + ".inputs");
    const Json& ops = list_at(field(data, "ops", at), at + ".ops");
    for (std::size_t k = 0; k < ops.size(); ++k)
      made.ops.push_back(op(ops[k], item_at(at + ".ops", k), depth));
    made.outputs = args(field(data, "outputs", at), at + ".outputs");
    return made;
  }

  /// The results of an op do not exist yet where its blocks are read.
  Op op(const Json& data, const std::string& at, int depth) {
    Op made;
    made.name = text_at(field(data, "name", at), at + ".name");
    if (const Json* given = optional_field(data, "args", at))
      made.args = args(*given, at + ".args");
    if (const Json* given = optional_field(data, "attributes", at)) {
      for (const auto& [key, item] : object_at(*given, at).items()) {
        made.attributes[key] = arg(item, at + ".attributes." + key, 0);
      }
    }
    if (const Json* blocks = optional_field(data, "blocks", at)) {
      for (std::size_t k = 0; k < list_at(*blocks, at).size(); ++k) {
        made.blocks.push_back(block((*blocks)[k], item_at(at + ".blocks", k), depth + 1));
      }
    }
    if (const Json* results = optional_field(data, "results", at))
      made.results = definitions(*results, at + ".results");
    if (const Json* given = optional_field(data, "place", at))
      made.place = place(*given, at + ".place");
    return made;
  }

  std::vector<Arg> args(const Json& items, const std::string& at) {
    std::vector<Arg> made;
    for (const Json& item : list_at(items, at)) made.push_back(arg(item, at, 0));
    return made;
  }

  Arg arg(const Json& data, const std::string& at, int depth) {
    Arg made;
    if (data.is_array()) {
      check_depth(depth, at);
      made.kind = Arg::Kind::kList;
      for (const Json& item : data) made.items.push_back(arg(item, at, depth + 1));
    } else if (data.is_object() && data.contains("value")) {
      const std::string& name = text_at(*only_field(data, at).second, at);
      const auto found = ids_.find(name);
      if (found == ids_.end()) damaged(at, "uses %" + name + ", which is not defined");
      made.kind = Arg::Kind::kValue;
      made.value = found->second;
    } else {
      made.constant = decode_constant(data, at);
    }
    return made;
  }

  Location place(const Json& data, const std::string& at) const {
    const bool fits = data.is_array() && data.size() == 4 && data[0].is_number_integer() &&
                      data[1].is_number_integer() && data[2].is_number_integer() &&
                      data[3].is_string();
    if (!fits || integer_at(data[0], at) < 0 ||
        static_cast<std::size_t>(integer_at(data[0], at)) >= files_.size()) {
      damaged(at, "must be [file, line, column, function]");
    }
    return {files_[data[0].get<std::size_t>()], integer_at(data[1], at), integer_at(data[2], at),
            data[3].get<std::string>()};
  }

  Program program_;
  std::vector<std::string> files_;
  std::unordered_map<std::string, ValueId> ids_;
};

}  // namespace

Program decode_program(const Json& data, const std::string& at) {
  return ProgramReader().read(data, at);
}

Constant decode_constant(const Json& data, const std::string& at) {
  if (data.is_null()) return plain(Value());
  if (data.is_boolean()) return plain(Value(data.get<bool>()));
  if (data.is_string()) return plain(Value(data.get<std::string>()));
  if (data.is_number_integer()) return plain(Value(integer_at(data, at)));
  if (!data.is_object()) damaged(at, "is no constant");
  const auto [kind, part] = only_field(data, at);
  if (kind == "float") return plain(Value(decode_float(*part, at)));
  if (kind == "complex") return decode_complex(*part, at);
  if (kind == "dtype") return decode_dtype(text_at(*part, at), at);
  if (kind == "device") return decode_device(text_at(*part, at), at);
  if (kind == "layout") return decode_layout(text_at(*part, at), at);
  if (kind == "memory_format") return decode_memory_format(text_at(*part, at), at);
  damaged(at, "is no constant");
}

std::vector<Type::Size> decode_shape(const Json& data, const std::string& at) {
  std::vector<Type::Size> sizes;
  for (const Json& size : list_at(data, at + ".shape"))
    sizes.push_back(decode_size(size, at + ".shape"));
  return sizes;
}

}  // namespace stator
