#include "cli/calls.h"

#include <cmath>

#include "format/decode.h"
#include "format/json.h"
#include "format/safetensors.h"

namespace stator {
namespace {

/// Everything that input files hold, by name.
struct Given {
  std::map<std::string, at::Tensor> tensors;
  std::map<std::string, std::string> constants;  // JSON texts
};

std::string stem_of(const std::string& path) {
  const std::string file = path.substr(path.rfind('/') + 1);
  return file.substr(0, file.rfind('.'));
}

Given read_files(const std::vector<std::string>& files) {
  Given given;
  for (const std::string& word : files) {
    if (word.ends_with(".npy")) {
      const std::size_t equals = word.find('=');
      const bool named = equals != std::string::npos;
      given.tensors[named ? word.substr(0, equals) : stem_of(word)] =
          read_npy(named ? word.substr(equals + 1) : word);
      continue;
    }
    TensorFile file;
    try {
      file = read_safetensors(MappedFile::open(word));
    } catch (const Error& error) {
      const bool says_which = error.message.find(word) != std::string::npos;
      throw format_error(says_which ? error.message : word + " is damaged: " + error.message,
                         error.fix);
    }
    given.tensors.merge(file.tensors);
    given.constants.merge(file.metadata);
  }
  return given;
}

/// A tensor of one element is a number where the program takes one.
Value as_number(const at::Tensor& tensor, const Type& type, const std::string& name) {
  if (tensor.numel() != 1) throw mismatch_error(name + " must be one " + type.number);
  const at::Scalar scalar = tensor.item();
  if (type.number == "bool" && scalar.isBoolean()) return scalar.toBool();
  if (type.number == "int" && scalar.isIntegral(false)) return scalar.toLong();
  if (type.number == "float" && scalar.isFloatingPoint()) return scalar.toDouble();
  if (type.number == "complex" && scalar.isComplex()) return scalar.toComplexDouble();
  throw mismatch_error(name + " must be a number of the type " + type.number);
}

Value input_named(const std::string& name, const Type& type, const Given& given) {
  const auto constant = given.constants.find(name);
  if (constant != given.constants.end()) {
    return decode_constant(parse_json(constant->second, 0), name).value;
  }
  if (type.kind == Type::Kind::kOptional) {
    const bool is_there = given.tensors.contains(name) || given.tensors.contains(name + ".0");
    return is_there ? input_named(name, type.element.at(0), given) : Value();
  }
  if (type.kind == Type::Kind::kList) {
    std::vector<Value> items;
    for (std::size_t k = 0;; ++k) {
      const std::string item = name + "." + std::to_string(k);
      const bool is_there = given.tensors.contains(item) || given.constants.contains(item) ||
                            given.tensors.contains(item + ".0");
      if (!is_there) return make_list(std::move(items));
      items.push_back(input_named(item, type.element.at(0), given));
    }
  }
  const auto tensor = given.tensors.find(name);
  if (tensor == given.tensors.end()) throw mismatch_error("the inputs have no `" + name + "`");
  return type.kind == Type::Kind::kNumber ? as_number(tensor->second, type, name)
                                          : Value(tensor->second);
}

Json encode_float(double number) {
  if (std::isfinite(number)) return number;
  return std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
}

using Tensors = std::vector<std::pair<std::string, at::Tensor>>;

/// A value as the format writes constants; tensors go to `tensors`, under `path`.
Json encode(const Value& value, const std::string& path, Tensors& tensors) {
  if (value.isNone()) return nullptr;
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return value.toInt();
  if (value.isDouble()) return {{"float", encode_float(value.toDouble())}};
  if (value.isString()) return value.toStringRef();
  if (value.isComplexDouble()) {
    const Complex number = value.toComplexDouble();
    return {{"complex", {encode_float(number.real()), encode_float(number.imag())}}};
  }
  if (value.isTensor()) {
    if (!value.toTensor().defined()) return nullptr;
    tensors.emplace_back(path, value.toTensor());
    return {{"tensor", path}, {"dtype", dtype_name(value.toTensor().scalar_type())}};
  }
  Json items = Json::array();
  std::size_t k = 0;
  for (const Value& item : items_of(value))
    items.push_back(encode(item, path + "." + std::to_string(k++), tensors));
  return items;
}

Json encode_error(const Error& error, Tensors& tensors) {
  Json args = Json::array();
  for (const Value& arg : error.args)
    args.push_back(encode(arg, "error." + std::to_string(args.size()), tensors));
  Json made = {{"code", error.code},       {"type", error.type}, {"class", error.shown_type()},
               {"message", error.message}, {"args", args},       {"notes", error.notes}};
  if (error.place) made["place"] = to_text(*error.place);
  return made;
}

}  // namespace

std::vector<Value> read_inputs(const std::vector<std::string>& files, const Signature& signature) {
  const Given given = read_files(files);
  std::vector<Value> inputs;
  for (const Signature::Input& wanted : signature.inputs)
    inputs.push_back(input_named(wanted.name, wanted.type, given));
  return inputs;
}

void write_result(const std::string& path, const CallResult& result, const Signature& signature) {
  Tensors tensors;
  std::map<std::string, std::string> metadata;
  const auto dumped = [](const Json& data) { return data.dump(-1, ' ', true); };
  if (result.error) {
    metadata["error"] = dumped(encode_error(*result.error, tensors));
  } else {
    Json outputs = Json::array();
    for (std::size_t k = 0; k < result.outputs.size(); ++k)
      outputs.push_back(encode(result.outputs[k], signature.outputs.at(k).name, tensors));
    metadata["outputs"] = dumped(outputs);
  }
  if (!result.printed.empty()) metadata["printed"] = result.printed;
  write_safetensors(path, tensors, metadata);
}

std::string describe_model(const Model& model) {
  std::string text;
  for (const std::string& method : model.methods()) {
    for (const std::string mode : {"eval", "train"}) {
      Model::Options options;
      options.method = method;
      options.mode = mode;
      text += method + " (" + mode + (mode == model.mode() ? ", as saved)\n" : ")\n");
      try {
        const Signature& signature = model.signature(options);
        for (const Signature::Input& input : signature.inputs)
          text += "  input   " + input.name + ": " + to_text(input.type) + "\n";
        for (const std::string& name : signature.state) text += "  state   " + name + "\n";
        for (const Signature::Output& output : signature.outputs) {
          text += "  output  " + output.name +
                  (output.type ? ": " + to_text(*output.type) : " (a constant)") + "\n";
        }
      } catch (const Error& error) {
        text += "  " + error.message + "\n";
      }
    }
  }
  return text;
}

}  // namespace stator
