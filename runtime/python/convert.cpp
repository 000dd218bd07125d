#include "python/convert.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

namespace stator {
namespace {

Value to_integer(PyObject* object) {
  const long long number = PyLong_AsLongLong(object);
  if (number == -1 && PyErr_Occurred() != nullptr) throw PythonFailure{};
  return static_cast<std::int64_t>(number);
}

Value to_text(PyObject* object) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object, &size);
  if (text == nullptr) throw PythonFailure{};
  return std::string(text, static_cast<std::size_t>(size));
}

Value to_list(PyObject* object) {
  std::vector<Value> items;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
  for (Py_ssize_t k = 0; k < count; ++k)
    items.push_back(to_value(PySequence_Fast_GET_ITEM(object, k)));
  return make_list(std::move(items));
}

Reference list_object(at::ArrayRef<Value> items) {
  Reference list = checked(PyList_New(static_cast<Py_ssize_t>(items.size())));
  for (std::size_t k = 0; k < items.size(); ++k) {
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(k), to_object(items[k]).release());
  }
  return list;
}

Reference none() { return Reference(Py_NewRef(Py_None)); }

void set_item(const Reference& fields, const char* name, const Reference& value) {
  if (PyDict_SetItemString(fields.get(), name, value.get()) != 0) throw PythonFailure{};
}

template <class Items, class Convert>
Reference tuple_of(const Items& items, const Convert& convert) {
  Reference tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  Py_ssize_t k = 0;
  for (const auto& item : items) PyTuple_SET_ITEM(tuple.get(), k++, convert(item).release());
  return tuple;
}

}  // namespace

Reference checked(PyObject* object) {
  if (object == nullptr) throw PythonFailure{};
  return Reference(object);
}

Value to_value(PyObject* object) {
  if (THPVariable_Check(object)) return THPVariable_Unpack(object);
  if (object == Py_None) return Value();
  if (PyBool_Check(object)) return object == Py_True;
  if (PyFloat_Check(object)) return PyFloat_AS_DOUBLE(object);
  if (PyLong_Check(object)) return to_integer(object);
  if (PyUnicode_Check(object)) return to_text(object);
  if (PyList_Check(object) || PyTuple_Check(object)) return to_list(object);
  if (PyComplex_Check(object))
    return Complex(PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object));
  PyErr_Format(PyExc_TypeError, "a program cannot be given a %s", Py_TYPE(object)->tp_name);
  throw PythonFailure{};
}

Reference to_object(const std::string& text) {
  return checked(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogatepass"));
}

Reference to_object(const Value& value) {
  if (value.isTensor())
    return value.toTensor().defined() ? checked(THPVariable_Wrap(value.toTensor())) : none();
  if (value.isNone()) return none();
  if (value.isBool()) return Reference(Py_NewRef(value.toBool() ? Py_True : Py_False));
  if (value.isInt()) return checked(PyLong_FromLongLong(value.toInt()));
  if (value.isDouble()) return checked(PyFloat_FromDouble(value.toDouble()));
  if (value.isString()) return to_object(value.toStringRef());
  if (value.isList()) return list_object(items_of(value));
  if (value.isComplexDouble()) {
    return checked(
        PyComplex_FromDoubles(value.toComplexDouble().real(), value.toComplexDouble().imag()));
  }
  PyErr_SetString(PyExc_TypeError, "a program gave a value that Python does not have");
  throw PythonFailure{};
}

Reference error_fields(const Error& error) {
  Reference fields = checked(PyDict_New());
  const auto text = [](const std::string& item) { return to_object(item); };
  set_item(fields, "code", to_object(error.code));
  set_item(fields, "class_name", to_object(error.type));
  set_item(fields, "message", to_object(error.message));
  set_item(fields, "args", tuple_of(error.args, [](const Value& arg) { return to_object(arg); }));
  set_item(fields, "classes", tuple_of(error.names, text));
  set_item(fields, "notes", tuple_of(error.notes, text));
  set_item(fields, "before_running",
           Reference(Py_NewRef(error.before_running ? Py_True : Py_False)));
  Reference own = checked(PyDict_New());
  for (const auto& [name, value] : error.fields) set_item(own, name.c_str(), to_object(value));
  set_item(fields, "fields", own);
  Reference involved = checked(PyDict_New());
  for (const auto& [name, kind] : error.involved) set_item(involved, name.c_str(), to_object(kind));
  set_item(fields, "involved", involved);
  if (error.place) {
    const Location& at = *error.place;
    set_item(fields, "place",
             checked(Py_BuildValue("(sLLs)", at.file.c_str(), static_cast<long long>(at.line),
                                   static_cast<long long>(at.column), at.function.c_str())));
  } else {
    set_item(fields, "place", none());
  }
  return fields;
}

Reference original_exception(const Error& error) {
  if (!error.original) return Reference();
  try {
    std::rethrow_exception(error.original);
  } catch (python_error& raised) {
    raised.persist();
    raised.restore();
  } catch (...) {
    torch::translate_exception_to_python(error.original);
  }
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace != nullptr) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return Reference(value);
}

}  // namespace stator
