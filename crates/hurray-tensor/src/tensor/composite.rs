//! Composites that are alive: a head and the tensors that make it.

use hurray_format::{self as format, Descriptor, Error as FormatError, Limits, bind};

use super::Tensor;
use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::offered::Held;

/// A tensor made of others: a head without memory, and its members, which may be heads
/// themselves. Head and members were checked to make a whole.
///
/// ```
/// use hurray_tensor::format::{CompositeHead, Composition, Descriptor, Dtype, Layout};
/// use hurray_tensor::{Composite, Tensor};
///
/// let head = CompositeHead { composition: Composition::Group, member_count: 2 };
/// let head = Descriptor::builder(Dtype::Float32, &[2]).layout(Layout::Composite(head)).build();
/// let key = Tensor::from_vec(vec![1.0_f32, 2.0], &[2])?;
/// let value = Tensor::from_vec(vec![3_i8], &[1])?;
/// let both = Composite::new([Tensor::new(head?, [])?, key, value])?;
/// assert_eq!(both.members().len(), 2);
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Composite(format::Composite<Tensor>);

impl Composite {
    /// A composite of its head and its members in order, each nested head before its own. A
    /// tensor that is no head makes a composite without members.
    ///
    /// # Errors
    ///
    /// The rules of `composite.*`.
    pub fn new(tensors: impl IntoIterator<Item = Tensor>) -> Result<Self> {
        Self::with_limits(tensors, &Limits::default())
    }

    /// The same under other limits.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_limits(tensors: impl IntoIterator<Item = Tensor>, limits: &Limits) -> Result<Self> {
        let mut rest = tensors.into_iter();
        let torn = |expected| {
            let (rule, found) = (format::Rule::CompositeTorn, format::Value::None);
            Error::from(FormatError::new(rule, "tensors", 0, found, expected))
        };
        let Some(head) = rest.next() else {
            return Err(torn(format::Expected::AtLeast(1)));
        };
        let bound = Self::bind(head, &mut rest.by_ref().map(Ok), limits)?;
        match rest.next() {
            None => Ok(bound),
            Some(_) => Err(torn(format::Expected::Unsaid)),
        }
    }

    /// A head with as many of the tensors that `rest` gives as make it.
    pub(crate) fn bind(
        head: Tensor,
        rest: &mut impl Iterator<Item = Result<Tensor>>,
        limits: &Limits,
    ) -> Result<Self> {
        let mut rest = rest.map(|tensor| tensor.map(with_descriptor));
        let (descriptor, head) = with_descriptor(head);
        bind(descriptor, head, &mut rest, |_| 0, limits).map(Self)
    }

    /// The head; without members, the tensor itself.
    pub fn head(&self) -> &Tensor {
        &self.0.item
    }

    /// Its members and theirs, as they were bound.
    pub fn members(&self) -> &[format::Composite<Tensor>] {
        &self.0.members
    }

    /// The head and every tensor under it, in the order in which they are written.
    pub fn tensors(&self) -> Vec<&Tensor> {
        let mut tensors = Vec::new();
        gather(&self.0, &mut tensors);
        tensors
    }

    /// The head and its members, each with its own.
    pub fn as_bound(&self) -> &format::Composite<Tensor> {
        &self.0
    }
}

fn with_descriptor(tensor: Tensor) -> (Descriptor, Tensor) {
    (tensor.descriptor().clone(), tensor)
}

fn gather<'c>(composite: &'c format::Composite<Tensor>, tensors: &mut Vec<&'c Tensor>) {
    tensors.push(&composite.item);
    composite.members.iter().for_each(|member| gather(member, tensors));
}

impl Held for Composite {
    type OnHost = Self;

    fn each_buffer(&self, see: &mut dyn FnMut(&Buffer)) {
        each_buffer(&self.0, see);
    }

    fn on_host(self) -> Result<Self> {
        let mut checked = Ok(());
        self.each_buffer(&mut |buffer| {
            if checked.is_ok() {
                checked = buffer.check_host();
            }
        });
        checked.map(|()| self)
    }

    fn check_held(&self) -> Result<()> {
        self.tensors().into_iter().try_for_each(Tensor::check_contents)
    }
}

/// Head first. Composites are bound to a limited depth.
fn each_buffer(bound: &format::Composite<Tensor>, see: &mut dyn FnMut(&Buffer)) {
    bound.item.each_buffer(see);
    for member in &bound.members {
        each_buffer(member, see);
    }
}
