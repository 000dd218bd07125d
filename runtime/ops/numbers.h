// Numbers with Python's meaning: integers are checked 64-bit ones, division and modulo round down.
#pragma once

#include "value.h"

namespace stator {

Value add(const Value& a, const Value& b);
Value sub(const Value& a, const Value& b);
Value mul(const Value& a, const Value& b);
Value truediv(const Value& a, const Value& b);
Value floordiv(const Value& a, const Value& b);
Value mod(const Value& a, const Value& b);
Value power(const Value& a, const Value& b);
Value negative(const Value& a);
Value absolute(const Value& a);
Value bitand_(const Value& a, const Value& b);
Value bitor_(const Value& a, const Value& b);
Value bitxor(const Value& a, const Value& b);
Value lshift(const Value& a, const Value& b);
Value rshift(const Value& a, const Value& b);
Value invert(const Value& a);

/// Python's comparisons, of numbers and of strings.
bool equal(const Value& a, const Value& b);
bool less(const Value& a, const Value& b, const char* sign);
Value eq(const Value& a, const Value& b);
Value ne(const Value& a, const Value& b);
Value lt(const Value& a, const Value& b);
Value le(const Value& a, const Value& b);
Value gt(const Value& a, const Value& b);
Value ge(const Value& a, const Value& b);

Value to_int(const Value& a);
Value to_float(const Value& a);
Value to_bool(const Value& a);
Value real_part(const Value& a);
Value imaginary_part(const Value& a);
Value round_to_int(const Value& a);
Value round_to_digits(const Value& a, const Value& digits);
Value floor_of(const Value& a);
Value ceil_of(const Value& a);
Value trunc_of(const Value& a);

}  // namespace stator
