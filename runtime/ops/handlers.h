// The handlers: one function for each op. The comment above each definition says what the op does.
#pragma once

#include "interpreter/frame.h"

namespace stator {

// control.cpp
void run_if(const Step& step, Frame& frame);
void run_while(const Step& step, Frame& frame);
void run_call(const Step& step, Frame& frame);
void run_try(const Step& step, Frame& frame);
void run_keep(const Step& step, Frame& frame);
void run_reraise(const Step& step, Frame& frame);

// region.cpp
void run_region(const Step& step, Frame& frame);

// effects.cpp
void run_assert(const Step& step, Frame& frame);
void run_raise(const Step& step, Frame& frame);
void run_demand(const Step& step, Frame& frame);
void run_print(const Step& step, Frame& frame);
void run_set_grad(const Step& step, Frame& frame);
void run_set_inference(const Step& step, Frame& frame);
void run_set_autocast(const Step& step, Frame& frame);
void run_seed(const Step& step, Frame& frame);
void run_random_state(const Step& step, Frame& frame);
void run_set_random_state(const Step& step, Frame& frame);
void run_format(const Step& step, Frame& frame);
void run_join(const Step& step, Frame& frame);
void run_note(const Step& step, Frame& frame);

// texts.cpp
void run_text_length(const Step& step, Frame& frame);
void run_text_slice(const Step& step, Frame& frame);
void run_text_find(const Step& step, Frame& frame);
void run_text_code(const Step& step, Frame& frame);
void run_text_case(const Step& step, Frame& frame);
void run_text_is(const Step& step, Frame& frame);
void run_text_int(const Step& step, Frame& frame);
void run_text_float(const Step& step, Frame& frame);

// lists.cpp
void run_list_make(const Step& step, Frame& frame);
void run_list_length(const Step& step, Frame& frame);
void run_list_get(const Step& step, Frame& frame);
void run_list_slice(const Step& step, Frame& frame);
void run_list_append(const Step& step, Frame& frame);
void run_list_insert(const Step& step, Frame& frame);
void run_list_set(const Step& step, Frame& frame);
void run_list_delete(const Step& step, Frame& frame);
void run_list_pop(const Step& step, Frame& frame);
void run_list_extend(const Step& step, Frame& frame);
void run_list_repeat(const Step& step, Frame& frame);
void run_list_reverse(const Step& step, Frame& frame);
void run_list_take(const Step& step, Frame& frame);
void run_list_order(const Step& step, Frame& frame);
void run_list_tensor(const Step& step, Frame& frame);
void run_tensor_list(const Step& step, Frame& frame);

// gradients.cpp
void run_custom_gradient(const Step& step, Frame& frame);
void run_gradients(const Step& step, Frame& frame);
void run_hook(const Step& step, Frame& frame);

// torch_call.cpp
void run_torch(const Step& step, Frame& frame);

}  // namespace stator
