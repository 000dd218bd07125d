#include "errors.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>

#include "text/repr.h"

namespace stator {
namespace {

struct BuiltinClass {
  std::string_view name;
  std::string_view base;
};

// The exceptions of Python 3.11, each with the class that it derives from.
constexpr std::array kBuiltinClasses = std::to_array<BuiltinClass>({
    {"Exception", "BaseException"},
    {"ArithmeticError", "Exception"},
    {"AssertionError", "Exception"},
    {"AttributeError", "Exception"},
    {"BlockingIOError", "OSError"},
    {"BrokenPipeError", "ConnectionError"},
    {"BufferError", "Exception"},
    {"BytesWarning", "Warning"},
    {"ChildProcessError", "OSError"},
    {"ConnectionAbortedError", "ConnectionError"},
    {"ConnectionError", "OSError"},
    {"ConnectionRefusedError", "ConnectionError"},
    {"ConnectionResetError", "ConnectionError"},
    {"DeprecationWarning", "Warning"},
    {"EOFError", "Exception"},
    {"EncodingWarning", "Warning"},
    {"FileExistsError", "OSError"},
    {"FileNotFoundError", "OSError"},
    {"FloatingPointError", "ArithmeticError"},
    {"FutureWarning", "Warning"},
    {"ImportError", "Exception"},
    {"ImportWarning", "Warning"},
    {"IndentationError", "SyntaxError"},
    {"IndexError", "LookupError"},
    {"InterruptedError", "OSError"},
    {"IsADirectoryError", "OSError"},
    {"KeyError", "LookupError"},
    {"LookupError", "Exception"},
    {"MemoryError", "Exception"},
    {"ModuleNotFoundError", "ImportError"},
    {"NameError", "Exception"},
    {"NotADirectoryError", "OSError"},
    {"NotImplementedError", "RuntimeError"},
    {"OSError", "Exception"},
    {"OverflowError", "ArithmeticError"},
    {"PendingDeprecationWarning", "Warning"},
    {"PermissionError", "OSError"},
    {"ProcessLookupError", "OSError"},
    {"RecursionError", "RuntimeError"},
    {"ReferenceError", "Exception"},
    {"ResourceWarning", "Warning"},
    {"RuntimeError", "Exception"},
    {"RuntimeWarning", "Warning"},
    {"StopAsyncIteration", "Exception"},
    {"StopIteration", "Exception"},
    {"SyntaxError", "Exception"},
    {"SyntaxWarning", "Warning"},
    {"SystemError", "Exception"},
    {"TabError", "IndentationError"},
    {"TimeoutError", "OSError"},
    {"TypeError", "Exception"},
    {"UnboundLocalError", "NameError"},
    {"UnicodeError", "ValueError"},
    {"UnicodeWarning", "Warning"},
    {"UserWarning", "Warning"},
    {"ValueError", "Exception"},
    {"Warning", "Exception"},
    {"ZeroDivisionError", "ArithmeticError"},
});

const BuiltinClass* builtin_class(std::string_view name) {
  if (name == "EnvironmentError" || name == "IOError") name = "OSError";
  const auto* found = std::ranges::find(kBuiltinClasses, name, &BuiltinClass::name);
  return found == kBuiltinClasses.end() ? nullptr : found;
}

/// Python's `str(type(*args))`.
std::string text_of(std::string_view type, const std::vector<Value>& args) {
  if (args.empty()) return "";
  if (args.size() == 1) return type == "KeyError" ? repr(args[0]) : str(args[0]);
  if (args.size() == 2 && Error(std::string(type), "").is_a("OSError")) {
    return "[Errno " + str(args[0]) + "] " + str(args[1]);
  }
  std::string text = "(";
  for (const Value& arg : args) text += (text.size() > 1 ? ", " : "") + repr(arg);
  return text + ")";
}

Error with_code(const char* code, const char* type, std::string message) {
  Error error(type, std::move(message));
  error.code = code;
  return error;
}

}  // namespace

std::string to_text(const Location& place) {
  return place.file + ":" + std::to_string(place.line) + ", in " + place.function;
}

Error::Error(std::string type_name, std::string text)
    : type(std::move(type_name)), message(std::move(text)), args{Value(message)} {}

std::string Error::shown_type() const {
  if (names.empty()) return type;
  const std::string& name = names.front();
  return name.substr(name.rfind('.') + 1);  // npos + 1 is 0: the whole name
}

std::string Error::text() const {
  std::string made = code.empty() ? shown_type() + ": " + message : "[" + code + "] " + message;
  if (!code.empty() && place) made += "\n  at " + to_text(*place);
  for (const std::string& note : notes) made += "\n" + note;
  if (!fix.empty()) made += "\n  fix: " + fix;
  return made;
}

bool Error::is_a(std::string_view name) const {
  if (std::ranges::find(names, name) != names.end()) return true;
  for (std::string_view mine = type; !mine.empty();) {
    if (mine == name) return true;
    const BuiltinClass* known = builtin_class(mine);
    mine = known == nullptr ? std::string_view() : known->base;
  }
  return name == "object";
}

Error format_error(std::string message, std::string fix) {
  Error error = with_code("ST400", "ValueError", std::move(message));
  error.fix = std::move(fix);
  return error;
}

Error input_error(std::string message) {
  return with_code("ST300", "ValueError", std::move(message));
}

Error mismatch_error(std::string message) {
  return with_code("ST301", "ValueError", std::move(message));
}

Error demand_error(std::string message) {
  return with_code("ST302", "ValueError", std::move(message));
}

Error raised(const std::string& type, std::vector<Value> args) {
  Error error;
  if (const BuiltinClass* known = builtin_class(type)) {
    error.type = known->name;
    error.message = text_of(error.type, args);
    error.args = std::move(args);
    return error;
  }
  std::string text = type;
  for (const Value& arg : args) text += ": " + str(arg);
  return Error("RuntimeError", std::move(text));
}

namespace {

/// A RuntimeError of a class of torch's own, by the name that Python knows the class by.
Error error_of_torch(const char* name, const c10::Error& error) {
  Error made("RuntimeError", error.what_without_backtrace());
  made.names = {name};
  return made;
}

Error error_of(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const c10::IndexError& error) {
    return Error("IndexError", error.what_without_backtrace());
  } catch (const c10::ValueError& error) {
    return Error("ValueError", error.what_without_backtrace());
  } catch (const c10::TypeError& error) {
    return Error("TypeError", error.what_without_backtrace());
  } catch (const c10::NotImplementedError& error) {
    return Error("NotImplementedError", error.what_without_backtrace());
  } catch (const c10::SyntaxError& error) {
    return Error("SyntaxError", error.what_without_backtrace());
  } catch (const c10::LinAlgError& error) {
    return error_of_torch("torch._C._LinAlgError", error);
  } catch (const c10::OutOfMemoryError& error) {
    return error_of_torch("torch.OutOfMemoryError", error);
  } catch (const c10::Error& error) {
    return Error("RuntimeError", error.what_without_backtrace());
  } catch (const std::bad_alloc& error) {
    return Error("MemoryError", error.what());
  } catch (const std::exception& error) {
    return Error("RuntimeError", error.what());
  }
}

}  // namespace

Error current_error() {
  const std::exception_ptr exception = std::current_exception();
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    return error;
  } catch (const std::exception&) {
    Error error = error_of(exception);
    error.original = exception;
    return error;
  }
}

}  // namespace stator
