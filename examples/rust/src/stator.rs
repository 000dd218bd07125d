//! What this example needs of `stator.h`, and safe types over it.

use std::ffi::{c_char, c_void, CStr, CString};
use std::ptr;

#[repr(C)]
struct RawModel(c_void);
#[repr(C)]
struct RawValue(c_void);
#[repr(C)]
struct RawOutputs(c_void);
#[repr(C)]
struct RawError(c_void);

const FLOAT32: i32 = 1;

extern "C" {
    fn stator_load(path: *const c_char, model: *mut *mut RawModel) -> *mut RawError;
    fn stator_model_free(model: *mut RawModel);
    fn stator_method_count(model: *const RawModel) -> usize;
    fn stator_method_name(model: *const RawModel, index: usize) -> *const c_char;
    fn stator_run(
        model: *const RawModel, options: *const c_void, inputs: *const *mut RawValue, count: usize,
        outputs: *mut *mut RawOutputs,
    ) -> *mut RawError;
    fn stator_outputs_get(outputs: *const RawOutputs, index: usize) -> *const RawValue;
    fn stator_outputs_free(outputs: *mut RawOutputs);
    fn stator_tensor_new(
        dtype: i32, shape: *const i64, rank: usize, data: *const c_void, size: usize,
        value: *mut *mut RawValue,
    ) -> *mut RawError;
    fn stator_tensor_data(value: *const RawValue, data: *mut *const c_void, size: *mut usize) -> *mut RawError;
    fn stator_value_free(value: *mut RawValue);
    fn stator_error_code(error: *const RawError) -> *const c_char;
    fn stator_error_type(error: *const RawError) -> *const c_char;
    fn stator_error_message(error: *const RawError) -> *const c_char;
    fn stator_error_free(error: *mut RawError);
}

#[derive(Debug)]
pub struct Error {
    pub code: String,
    pub kind: String,
    pub message: String,
}

unsafe fn text(pointer: *const c_char) -> String {
    CStr::from_ptr(pointer).to_string_lossy().into_owned()
}

/// The error as a value of Rust; the handle is freed.
fn check(error: *mut RawError) -> Result<(), Error> {
    if error.is_null() {
        return Ok(());
    }
    unsafe {
        let made = Error {
            code: text(stator_error_code(error)),
            kind: text(stator_error_type(error)),
            message: text(stator_error_message(error)),
        };
        stator_error_free(error);
        Err(made)
    }
}

/// A tensor of float32.
pub struct Tensor(*mut RawValue);

impl Tensor {
    pub fn new(shape: &[i64], data: &[f32]) -> Result<Tensor, Error> {
        let mut value = ptr::null_mut();
        let size = std::mem::size_of_val(data);
        check(unsafe {
            stator_tensor_new(FLOAT32, shape.as_ptr(), shape.len(), data.as_ptr().cast(), size, &mut value)
        })?;
        Ok(Tensor(value))
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        unsafe { stator_value_free(self.0) }
    }
}

/// A saved model. Threads may share it: the runtime says so.
pub struct Model(*mut RawModel);
unsafe impl Send for Model {}
unsafe impl Sync for Model {}

impl Model {
    pub fn load(path: &str) -> Result<Model, Error> {
        let path = CString::new(path).expect("a path has no zero byte");
        let mut model = ptr::null_mut();
        check(unsafe { stator_load(path.as_ptr(), &mut model) })?;
        Ok(Model(model))
    }

    pub fn methods(&self) -> Vec<String> {
        unsafe {
            (0..stator_method_count(self.0)).map(|k| text(stator_method_name(self.0, k))).collect()
        }
    }

    /// The first output of `forward`, a tensor of float32.
    pub fn run(&self, inputs: &[&Tensor]) -> Result<Vec<f32>, Error> {
        let handles: Vec<*mut RawValue> = inputs.iter().map(|input| input.0).collect();
        let mut outputs = ptr::null_mut();
        check(unsafe { stator_run(self.0, ptr::null(), handles.as_ptr(), handles.len(), &mut outputs) })?;
        let (mut data, mut size) = (ptr::null(), 0);
        unsafe {
            let found = check(stator_tensor_data(stator_outputs_get(outputs, 0), &mut data, &mut size));
            let made = found.map(|()| {
                let count = size / std::mem::size_of::<f32>();
                let numbers: *const f32 = data.cast();
                (0..count).map(|k| *numbers.add(k)).collect()
            });
            stator_outputs_free(outputs);
            made
        }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        unsafe { stator_model_free(self.0) }
    }
}
