// STATOR_API: what a shared library of the runtime lets others use; all the rest is hidden.
#pragma once

#define STATOR_API __attribute__((visibility("default")))
