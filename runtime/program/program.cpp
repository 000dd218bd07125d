#include "program/program.h"

namespace stator {

std::string to_text(const Type& type) {
  switch (type.kind) {
    case Type::Kind::kNumber:
      return type.number;
    case Type::Kind::kText:
      return "text";
    case Type::Kind::kList:
      return "list<" + to_text(type.element.at(0)) + ">";
    case Type::Kind::kOptional:
      return to_text(type.element.at(0)) + "?";
    case Type::Kind::kTensor:
      break;
  }
  std::string sizes;
  for (const Type::Size& size : type.shape) {
    const std::string shown = size.number         ? std::to_string(*size.number)
                              : size.name.empty() ? "?"
                                                  : size.name;
    sizes += (sizes.empty() ? "" : ", ") + shown;
  }
  return short_dtype_name(type.dtype) + "[" + sizes + "]" +
         (type.device == "cpu" ? "" : "@" + type.device);
}

bool is_list(const Type& type) {
  if (type.kind == Type::Kind::kOptional) return is_list(type.element.at(0));
  return type.kind == Type::Kind::kList;
}

}  // namespace stator
