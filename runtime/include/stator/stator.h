/* The C API: load a saved model and run it, from any language.
 *
 *     stator_model* model = NULL;
 *     stator_error* error = stator_load("out/model", &model);
 *     if (error != NULL) { fputs(stator_error_text(error), stderr); stator_error_free(error); }
 *
 * Errors. A function that can fail returns NULL for success, or else an error that the caller
 * frees. Results are written through the last parameters, and only on success.
 *
 * Ownership. What a function with `_new` in its name, stator_load or stator_run gives belongs to
 * the caller, who calls the `_free` function. `const char*` and `const void*` that are returned
 * live as long as the object that was asked. Every `_free` takes NULL too.
 *
 * Threads. A model may be used by any number of threads at once. A value may be read by any number
 * of threads; it must not be freed while it is used.
 *
 * Text is UTF-8 and ends with a zero byte.
 */
#ifndef STATOR_STATOR_H
#define STATOR_STATOR_H

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define STATOR_C_API __attribute__((visibility("default")))

typedef struct stator_model stator_model;
typedef struct stator_value stator_value;
typedef struct stator_error stator_error;

/* The version of the runtime, and of the torch that it was built for. */
STATOR_C_API const char* stator_version(void);
STATOR_C_API const char* stator_torch_version(void);

/* How many threads an op may use, in the whole process. */
STATOR_C_API stator_error* stator_set_threads(int32_t count);

/* ---- errors */

STATOR_C_API void stator_error_free(stator_error* error);
/* "ST301": an error of Stator's own. Empty: an exception of the program. */
STATOR_C_API const char* stator_error_code(const stator_error* error);
/* "ValueError", or the name of the class that the user wrote. */
STATOR_C_API const char* stator_error_type(const stator_error* error);
STATOR_C_API const char* stator_error_message(const stator_error* error);
/* Where the op that failed comes from; NULL and 0 where that is not known. */
STATOR_C_API const char* stator_error_file(const stator_error* error);
STATOR_C_API int64_t stator_error_line(const stator_error* error);
STATOR_C_API const char* stator_error_function(const stator_error* error);
/* All of it, as a user reads it. */
STATOR_C_API const char* stator_error_text(const stator_error* error);

/* ---- values */

typedef enum stator_kind {
  STATOR_NONE = 0,
  STATOR_TENSOR = 1,
  STATOR_BOOL = 2,
  STATOR_INT = 3,
  STATOR_FLOAT = 4,
  STATOR_COMPLEX = 5,
  STATOR_TEXT = 6,
  STATOR_LIST = 7
} stator_kind;

typedef enum stator_dtype {
  STATOR_OTHER_DTYPE = 0, /* one that this list does not name: see stator_tensor_dtype_name */
  STATOR_FLOAT32 = 1,
  STATOR_FLOAT64 = 2,
  STATOR_FLOAT16 = 3,
  STATOR_BFLOAT16 = 4,
  STATOR_INT64 = 5,
  STATOR_INT32 = 6,
  STATOR_INT16 = 7,
  STATOR_INT8 = 8,
  STATOR_UINT8 = 9,
  STATOR_BOOL8 = 10,
  STATOR_COMPLEX64 = 11,
  STATOR_COMPLEX128 = 12
} stator_dtype;

/* A tensor with a copy of the data: dense, row by row, `size` bytes. */
STATOR_C_API stator_error* stator_tensor_new(stator_dtype dtype, const int64_t* shape, size_t rank,
                                             const void* data, size_t size, stator_value** value);

/* The same without a copy. `release(context)` is called, on any thread, when nothing uses the data
 * any more; it may be NULL. An output can be a view of an input, and so keep its data in use. */
STATOR_C_API stator_error* stator_tensor_view_new(stator_dtype dtype, const int64_t* shape,
                                                  size_t rank, void* data, size_t size,
                                                  void (*release)(void* context), void* context,
                                                  stator_value** value);

STATOR_C_API stator_error* stator_none_new(stator_value** value);
STATOR_C_API stator_error* stator_bool_new(int32_t number, stator_value** value);
STATOR_C_API stator_error* stator_int_new(int64_t number, stator_value** value);
STATOR_C_API stator_error* stator_float_new(double number, stator_value** value);
STATOR_C_API stator_error* stator_complex_new(double real, double imaginary, stator_value** value);
STATOR_C_API stator_error* stator_text_new(const char* text, size_t size, stator_value** value);
/* A list of these values, which stay the caller's. */
STATOR_C_API stator_error* stator_list_new(stator_value* const* items, size_t count,
                                           stator_value** value);
STATOR_C_API void stator_value_free(stator_value* value);

STATOR_C_API stator_kind stator_value_kind(const stator_value* value);

/* These are errors (ST301) for a value of another kind. */
STATOR_C_API stator_error* stator_value_bool(const stator_value* value, int32_t* number);
STATOR_C_API stator_error* stator_value_int(const stator_value* value, int64_t* number);
STATOR_C_API stator_error* stator_value_float(const stator_value* value, double* number);
STATOR_C_API stator_error* stator_value_complex(const stator_value* value, double* real,
                                                double* imaginary);
STATOR_C_API stator_error* stator_value_text(const stator_value* value, const char** text,
                                             size_t* size);
STATOR_C_API stator_error* stator_list_length(const stator_value* value, size_t* length);
/* A new handle of an item. */
STATOR_C_API stator_error* stator_list_item_new(const stator_value* value, size_t index,
                                                stator_value** item);

STATOR_C_API stator_error* stator_tensor_dtype(const stator_value* value, stator_dtype* dtype);
STATOR_C_API stator_error* stator_tensor_dtype_name(const stator_value* value, const char** name);
STATOR_C_API stator_error* stator_tensor_shape(const stator_value* value, const int64_t** shape,
                                               size_t* rank);
/* The data in main memory, dense, row by row; `size` in bytes. */
STATOR_C_API stator_error* stator_tensor_data(const stator_value* value, const void** data,
                                              size_t* size);

/* ---- models */

/* The model at `path`: `out/model`, or `out/model.stator`. */
STATOR_C_API stator_error* stator_load(const char* path, stator_model** model);
/* The same, with the libraries in `out/model.compiled/`. They are machine code, and can do whatever
 * the process can do: call this only for a folder whose origin you know. `problem` is why they are
 * not used, and lives as long as the model; NULL if they are. */
STATOR_C_API stator_error* stator_load_compiled(const char* path, stator_model** model,
                                                const char** problem);
STATOR_C_API void stator_model_free(stator_model* model);

/* A model that keeps something between calls has a state; runs that use it wait for each other.
 * This makes it what it was when the model was saved. */
STATOR_C_API stator_error* stator_reset_state(const stator_model* model);
/* The same model with a state of its own, for another client; weights and buffers are shared. */
STATOR_C_API stator_error* stator_own_state_new(const stator_model* model, stator_model** other);

STATOR_C_API size_t stator_method_count(const stator_model* model);
/* NULL beyond the last one. */
STATOR_C_API const char* stator_method_name(const stator_model* model, size_t index);

/* `method` NULL is "forward", `mode` NULL the mode that the model was saved in ("train", "eval").
 */
STATOR_C_API stator_error* stator_input_count(const stator_model* model, const char* method,
                                              const char* mode, size_t* count);
STATOR_C_API stator_error* stator_output_count(const stator_model* model, const char* method,
                                               const char* mode, size_t* count);
/* The name, and the type as text: "f32[4, n]". An output's name is its path in the result; the type
 * of a constant output is empty. */
STATOR_C_API stator_error* stator_input(const stator_model* model, const char* method,
                                        const char* mode, size_t index, const char** name,
                                        const char** type);
STATOR_C_API stator_error* stator_output(const stator_model* model, const char* method,
                                         const char* mode, size_t index, const char** name,
                                         const char** type);

/* How to run; all zero is the default. */
typedef struct stator_options {
  const char* method; /* NULL: "forward" */
  const char* mode;   /* NULL: as saved */
  void* context;      /* given to the functions below */
  /* Takes what the program prints; NULL: the standard output. */
  void (*print)(void* context, const char* text, size_t size);
  /* Called about every 20 ms in loops; not 0 ends the run with an error whose code is "interrupt".
   */
  int32_t (*is_interrupted)(void* context);
} stator_options;

typedef struct stator_outputs stator_outputs;

/* Runs a method. The inputs stay the caller's. `options` may be NULL. */
STATOR_C_API stator_error* stator_run(const stator_model* model, const stator_options* options,
                                      stator_value* const* inputs, size_t count,
                                      stator_outputs** outputs);
STATOR_C_API size_t stator_outputs_count(const stator_outputs* outputs);
/* Belongs to the outputs; NULL beyond the last one. */
STATOR_C_API const stator_value* stator_outputs_get(const stator_outputs* outputs, size_t index);
STATOR_C_API void stator_outputs_free(stator_outputs* outputs);

#if defined(__cplusplus)
}
#endif

#endif /* STATOR_STATOR_H */
