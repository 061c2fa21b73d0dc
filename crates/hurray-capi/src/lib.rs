#![doc = include_str!("../README.md")]
#![allow(
    unsafe_code,
    reason = "every pointer here comes from a caller in another language: each is checked for null \
              and for alignment, and what is left to trust stands in the header"
)]
#![allow(
    clippy::missing_safety_doc,
    reason = "the contract of all calls is one, and stands at the head of hurray.h"
)]

pub mod accept;
pub mod buffer;
pub mod builder;
pub mod composite;
pub mod descriptor;
pub mod dtype;
pub mod exchange;
pub mod fields;
pub mod file;
pub mod file_tensor;
pub mod key_value;
pub mod layout;
pub mod library;
pub mod locate;
pub mod producer;
pub mod quantization;
pub mod rules;
pub mod tensor;
pub mod verdict;
pub mod view;
pub mod writer;

mod failure;
mod fence;
mod growing;
mod pointer;
mod words;

/// The header lets any number of threads look at an object at once, and any thread end it.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<descriptor::hurray_descriptor>();
    shared::<builder::hurray_builder>();
    shared::<tensor::hurray_tensor>();
    shared::<exchange::hurray_offer>();
    shared::<composite::hurray_composite>();
    shared::<file::hurray_file>();
    shared::<file_tensor::hurray_file_tensor>();
};
