/* The same by the C API: classify_c MODEL */
#include <stator/stator.h>
#include <stdio.h>
#include <stdlib.h>

static void check(stator_error* error) {
  if (error == NULL) return;
  fprintf(stderr, "%s\n", stator_error_text(error));
  stator_error_free(error);
  exit(1);
}

static double score(const stator_model* model, float number) {
  const float row[4] = {number, number, number, number};
  const int64_t shape[2] = {1, 4};
  stator_value* x = NULL;
  check(stator_tensor_new(STATOR_FLOAT32, shape, 2, row, sizeof row, &x));
  stator_outputs* outputs = NULL;
  check(stator_run(model, NULL, &x, 1, &outputs));
  const void* data = NULL;
  size_t size = 0;
  check(stator_tensor_data(stator_outputs_get(outputs, 0), &data, &size));
  double sum = 0;
  for (size_t k = 0; k < size / sizeof(float); ++k) sum += ((const float*)data)[k];
  stator_outputs_free(outputs);
  stator_value_free(x);
  return sum;
}

int main(int count, char** words) {
  if (count != 2) return 2;
  stator_model* model = NULL;
  check(stator_load(words[1], &model));
  for (size_t k = 0; k < stator_method_count(model); ++k)
    printf("%s\n", stator_method_name(model, k));
  for (int k = 1; k <= 4; ++k) printf("score %.6f\n", score(model, (float)k));
  stator_outputs* outputs = NULL;
  stator_error* error = stator_run(model, NULL, NULL, 0, &outputs);
  printf("refused [%s] %s\n", stator_error_code(error), stator_error_message(error));
  stator_error_free(error);
  stator_model_free(model);
  return 0;
}
