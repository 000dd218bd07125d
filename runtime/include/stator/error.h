// Error: an exception of the user's program, or an error of Stator's own, as data.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stator/export.h"
#include "stator/value.h"

namespace stator {

/// A place in the user's file.
struct Location {
  std::string file;
  std::int64_t line = 0;
  std::int64_t column = 0;
  std::string function;
};

/// `model.py:14, in forward`.
STATOR_API std::string to_text(const Location& place);

/// What a program raises. `code` is empty for an exception of the user's program, which `try` can
/// catch; an error of Stator's own has a code, which no `try` catches.
class STATOR_API Error : public std::exception {
 public:
  Error() = default;

  /// An exception of a builtin Python class with one argument, its message.
  Error(std::string type_name, std::string text);

  const char* what() const noexcept override { return message.c_str(); }

  /// The name of the class that the user wrote, or else of the builtin class.
  std::string shown_type() const;

  /// The error as a user reads it: its code or class, the message, the place, the notes, the fix.
  std::string text() const;

  /// Is this an instance of the class of that name?
  bool is_a(std::string_view name) const;

  std::string code;                                           // "ST302"
  std::string type = "RuntimeError";                          // the builtin class
  std::string message;                                        // Python's `str(error)`
  std::vector<Value> args;                                    // Python's `error.args`
  std::vector<std::string> names;                             // classes that the user wrote
  std::vector<std::pair<std::string, Value>> fields;          // attributes of the user's class
  std::vector<std::pair<std::string, std::string>> involved;  // variables, and what they are
  std::optional<Location> place;
  std::vector<std::string> notes;
  std::string fix;
  bool before_running = false;  // nothing of the program had run yet
  std::exception_ptr original;  // an exception of another library, such as one raised in Python
};

}  // namespace stator
