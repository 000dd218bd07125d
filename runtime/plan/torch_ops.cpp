// How a call of a torch op is planned: its schema, its arguments, its results.
#include "format/allowed_ops.h"
#include "kernels/iteration.h"
#include "ops/handlers.h"
#include "ops/recorded.h"
#include "ops/small.h"
#include "ops/torch_call.h"
#include "ops/unboxed.h"
#include "plan/planner.h"

namespace stator {
namespace {

using c10::TypeKind;

[[noreturn]] void refuse(const Op& op, const std::string& problem) {
  Error error = format_error(op.name + " " + problem);
  error.place = op.place;
  throw error;
}

c10::TypePtr without_optional(c10::TypePtr type) {
  const auto* optional = type->castRaw<c10::OptionalType>();
  return optional == nullptr ? type : optional->getElementType();
}

Coercion list_coercion(const c10::TypePtr& element, const Op& op) {
  switch (element->kind()) {
    case TypeKind::OptionalType:
      return Coercion::kOptionalTensorList;
    case TypeKind::TensorType:
      return Coercion::kTensorList;
    case TypeKind::IntType:
    case TypeKind::SymIntType:
      return Coercion::kIntList;
    case TypeKind::FloatType:
      return Coercion::kFloatList;
    case TypeKind::BoolType:
      return Coercion::kBoolList;
    case TypeKind::NumberType:
      return Coercion::kScalarList;
    default:
      refuse(op, "takes a list that no program can make");
  }
}

Coercion coercion_of(const c10::TypePtr& type, const Op& op) {
  if (const auto* list = type->castRaw<c10::ListType>())
    return list_coercion(list->getElementType(), op);
  switch (type->kind()) {
    case TypeKind::TensorType:
      return Coercion::kTensor;
    case TypeKind::IntType:
    case TypeKind::SymIntType:
      return Coercion::kInt;
    case TypeKind::FloatType:
      return Coercion::kFloat;
    case TypeKind::DeviceObjType:
      return Coercion::kDevice;
    default:
      return Coercion::kNone;
  }
}

/// Torch takes any integer for a dtype, layout or memory format, and does not check it.
std::optional<Constant::Kind> literal_needed(const c10::Argument& expected) {
  switch (without_optional(expected.real_type())->kind()) {
    case TypeKind::ScalarTypeType:
      return Constant::Kind::kDtype;
    case TypeKind::LayoutType:
      return Constant::Kind::kLayout;
    case TypeKind::MemoryFormatType:
      return Constant::Kind::kMemoryFormat;
    default:
      return std::nullopt;
  }
}

void check_literal(const Arg& arg, const c10::Argument& expected, const Op& op) {
  const auto needed = literal_needed(expected);
  if (!needed) return;
  const bool is_constant = arg.kind == Arg::Kind::kConstant;
  const bool fits = is_constant && (arg.constant.value.isNone() || arg.constant.kind == *needed);
  if (!fits)
    refuse(op, "is given something else than a dtype, layout or memory format for '" +
                   expected.name() + "'");
}

/// Sparse tensors hold indexes, which a program could write.
bool is_other_layout(const Arg& arg) {
  return arg.kind == Arg::Kind::kConstant && arg.constant.kind == Constant::Kind::kLayout &&
         arg.constant.value.toInt() != static_cast<std::int64_t>(at::kStrided);
}

/// Can the constant be an argument of the type? Those that are converted are checked there.
bool may_be(const Value& value, const c10::TypePtr& type) {
  switch (type->kind()) {
    case TypeKind::BoolType:
      return value.isBool();
    case TypeKind::StringType:
      return value.isString();
    case TypeKind::NumberType:
      return value.isScalar();
    case TypeKind::GeneratorType:
      return value.isNone();
    default:
      return true;
  }
}

bool is_tensor_or_absent(const Type& type) {
  const Type& inner = type.kind == Type::Kind::kOptional ? type.element.at(0) : type;
  return inner.kind == Type::Kind::kTensor;
}

c10::OperatorHandle find_op(const Op& op) {
  const std::size_t dot = op.name.find('.');
  const std::string overload = dot == std::string::npos ? "" : op.name.substr(dot + 1);
  const auto found = c10::Dispatcher::singleton().findSchema({op.name.substr(0, dot), overload});
  if (!found) refuse(op, "is not in this version of torch");
  return *found;
}

/// The argument of the op for one of the schema; null where its default holds.
const Arg* given_for(const Op& op, const c10::Argument& expected, std::size_t position) {
  if (!expected.kwarg_only() && position < op.args.size()) return &op.args[position];
  const auto found = op.attributes.find(expected.name());
  return found == op.attributes.end() ? nullptr : &found->second;
}

void check_names(const Op& op, const c10::FunctionSchema& schema) {
  for (const auto& [name, arg] : op.attributes) {
    const auto place = schema.argumentIndexWithName(name);
    if (!place || static_cast<std::size_t>(*place) < op.args.size())
      refuse(op, "cannot take '" + name + "'");
  }
  std::size_t positional = 0;
  for (const auto& argument : schema.arguments()) positional += argument.kwarg_only() ? 0 : 1;
  if (op.args.size() > positional) refuse(op, "takes fewer arguments");
}

}  // namespace

TorchArgument Planner::torch_argument(const Arg& arg, const c10::Argument& expected, const Op& op) {
  check_literal(arg, expected, op);
  if (trust_ == Trust::kFile && is_other_layout(arg))
    refuse(op, "is given a layout that a saved model may not have");
  const c10::TypePtr type = without_optional(expected.type());
  TorchArgument made;
  made.coercion = coercion_of(type, op);
  made.repeat = expected.N().value_or(1);
  const bool may_be_absent = expected.type()->kind() == TypeKind::OptionalType;
  std::vector<Step> none;
  if (arg.kind == Arg::Kind::kValue) {
    made.operand = operand(arg.value);
    const Type& given = plan_.program.values[arg.value].type;
    if (may_be_absent && made.coercion == Coercion::kTensor && is_tensor_or_absent(given))
      made.coercion = Coercion::kNone;  // None is not the same as an undefined tensor
    return made;
  }
  const auto has_values = [](const Arg& list) {
    return std::ranges::any_of(list.items,
                               [](const Arg& item) { return item.kind != Arg::Kind::kConstant; });
  };
  if (arg.kind == Arg::Kind::kList && has_values(arg)) {
    if (made.coercion < Coercion::kTensorList)
      refuse(op, "is given a list for '" + expected.name() + "'");
    made.is_literal_list = true;
    for (const Arg& item : arg.items) {
      if (item.kind == Arg::Kind::kList) refuse(op, "is given lists in a list");
      made.items.push_back(operand(item, none));
    }
    return made;
  }
  const Operand plain = operand(arg, none);
  if (may_be_absent && plan_.constants[plain.index].isNone()) {
    made.operand = plain;
    return made;
  }
  const Value given = plan_.constants[plain.index];
  const auto unfit = [&] {
    refuse(op, "cannot take " + describe(given) + " for '" + expected.name() + "'");
  };
  if (!may_be(given, type)) unfit();
  try {
    made.operand = constant(coerced(given, made.coercion, made.repeat));
  } catch (const std::exception&) {  // torch's own, of a value that is none of the kind
    unfit();
  }
  return made;
}

/// A number next to a tensor is converted by each run of the op; here it is converted once.
/// NOTE: not for half and bfloat16, whose kernels read the number in a higher precision.
void Planner::add_cast_number(const Op& op, TorchCall& call) const {
  const bool fits = op.args.size() == 2 && op.args[0].kind == Arg::Kind::kValue &&
                    op.args[1].kind == Arg::Kind::kConstant && call.arguments.size() >= 2 &&
                    call.arguments[1].coercion == Coercion::kTensor;
  if (!fits || !is_real(op.args[1].constant.value)) return;
  const Type& type = plan_.program.values[op.args[0].value].type;
  if (type.kind != Type::Kind::kTensor || (type.dtype != at::kFloat && type.dtype != at::kDouble))
    return;
  call.cast_number = cast_number(op.args[1].constant.value, type.dtype);
}

void Planner::plan_torch_op(const Op& op, Step& step) {
  if (trust_ == Trust::kFile && !may_be_called(op.name))
    refuse(op, "may not be called by a saved model");
  TorchCall call{.op = find_op(op), .arguments = {}, .cast_number = std::nullopt};
  const c10::FunctionSchema& schema = call.op.schema();
  check_names(op, schema);
  for (std::size_t k = 0; k < schema.arguments().size(); ++k) {
    const c10::Argument& expected = schema.arguments()[k];
    if (const Arg* arg = given_for(op, expected, k)) {
      call.arguments.push_back(torch_argument(*arg, expected, op));
      continue;
    }
    if (!expected.default_value()) refuse(op, "is not given its '" + expected.name() + "'");
    TorchArgument made;
    made.operand = constant(*expected.default_value());
    call.arguments.push_back(std::move(made));
  }
  const auto& returns = schema.returns();
  const bool gives_list = returns.size() == 1 && returns[0].type()->kind() == TypeKind::ListType;
  const bool one_list = op.results.size() == 1 && is_list(plan_.program.values[op.results[0]].type);
  call.spreads_list = gives_list && !op.results.empty() && !one_list;
  if (!op.results.empty() && !call.spreads_list && op.results.size() != returns.size()) {
    refuse(op, "gives another number of results");
  }
  call.aliases = std::ranges::any_of(
      schema.arguments(), [](const auto& argument) { return argument.alias_info() != nullptr; });
  // A view of a parameter asks for gradients in any grad mode, and ops that are made of others look:
  // `linear` folds the rows of its input then, which gives other bits.
  call.tracks_views =
      call.aliases ||
      call.op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
  call.conditions = conditions_of(schema, op.name);
  if (op.results.size() == 1) {
    call.is_private = uses_.is_private(op.results[0]);
    call.is_discrete = decides(op.name) || uses_.is_discrete(op.results[0]);
  }
  if (!call.aliases) add_cast_number(op, call);
  step.run = run_torch;
  if (const Handler faster = unboxed_handler(op.name, call);
      faster != nullptr && call.conditions.empty()) {
    step.run = faster;
  }
  if (const SmallRow* small = small_row(op.name, call, plan_.constants);
      small != nullptr && op.results.size() == small->results) {
    call.otherwise = step.run;
    step.run = small->run;
    call.recorded = recorded_attempt(op.name);
    call.kernel = kernels::unary_kernel(op.name);
    call.scratch = routine_->scratch;
    call.iteration = routine_->iterations;
    routine_->scratch += 2 * static_cast<std::uint32_t>(small->results);
    routine_->iterations += 2;
  }
  step.detail = std::move(call);
}

}  // namespace stator
