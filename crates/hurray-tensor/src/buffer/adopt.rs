//! Memory that somebody else made, taken as it is, and given back as it was.

#![allow(unsafe_code, reason = "that a region is true is a promise only its caller can make")]

use std::any::Any;
use std::sync::Arc;

use hurray_format::{Expected, Rule, Value};

use super::{Buffer, Returned};
use crate::element::Element;
use crate::error::Result;
use crate::memory::{Region, Release, Shared, kept_by, refuse};

impl Buffer {
    /// The bytes of an owner, where they are: a memory map, `Bytes`, a boxed slice. They are
    /// read-only, since the owner's other handles may read them too.
    ///
    /// ```
    /// use hurray_tensor::Buffer;
    /// let owner: Box<[u8]> = vec![1, 2, 3].into();
    /// let first = owner.as_ptr();
    /// let buffer = Buffer::from_owner(owner)?;
    /// assert_eq!(buffer.host_bytes()?.as_ptr(), first);
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// The owner is asked for its bytes once. It is dropped with the last share of the memory,
    /// unless it is [taken back](Self::try_into_owner); a panic in its `drop` goes no further.
    ///
    /// # Errors
    ///
    /// What no memory of Rust breaks: `memory.address-null`, `memory.address-beyond`.
    pub fn from_owner(owner: impl AsRef<[u8]> + Any + Send) -> Result<Self> {
        Self::from_elements::<u8, _>(owner)
    }

    /// The elements of an owner, where they are: `Vec<f32>`, `Box<[i64]>`, an array.
    ///
    /// # Errors
    ///
    /// As [`from_owner`](Self::from_owner).
    pub fn from_elements<T, O>(owner: O) -> Result<Self>
    where
        T: Element,
        O: AsRef<[T]> + Any + Send,
    {
        kept_by(owner, |owner| owner.as_ref()).map(Self::whole)
    }

    /// The elements of something shared, which stays so for as long as the buffer lives.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use hurray_tensor::Buffer;
    /// let weights = Arc::new(vec![1.0_f32, 2.0]);
    /// let buffer = Buffer::from_arc::<f32, _>(Arc::clone(&weights))?;
    /// assert_eq!(buffer.host_bytes()?.as_ptr(), weights.as_ptr().cast());
    /// drop(buffer);
    /// assert_eq!(Arc::strong_count(&weights), 1);
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`from_owner`](Self::from_owner).
    pub fn from_arc<T, O>(owner: Arc<O>) -> Result<Self>
    where
        T: Element,
        O: AsRef<[T]> + Any + Send + Sync + ?Sized,
    {
        kept_by(owner, |owner| O::as_ref(owner)).map(Self::whole)
    }

    /// Memory of another library or a device. `release` is called once, when nobody holds
    /// the memory any more, from whatever thread that is; also where the region is refused.
    /// A panic in it is caught and goes no further.
    ///
    /// A base that is no multiple of 64 is rounded down to one: see [`lead`](Self::lead).
    ///
    /// # Safety
    ///
    /// Until `release` is called: the region must be what it says, its addresses must not
    /// move, and where `host` is not null the bytes there must be readable from any thread and
    /// initialised. Where `writable` is set they may be written to from any thread. Unless
    /// `may_change` is set nobody else may write to them, nor read them where `writable` is set.
    ///
    /// # Errors
    ///
    /// `memory.address-null`, `memory.address-beyond`, `memory.host-elsewhere`;
    /// `memory.address-misaligned` where the CPU's address and the device's are not equally far
    /// behind a multiple of 64.
    pub unsafe fn adopt(region: Region, release: impl FnOnce() + Send + 'static) -> Result<Self> {
        Shared::new(region, Release::new(release)).map(Self::whole)
    }

    /// The owner that the memory was adopted with, where it is an `O` and nobody else holds the
    /// memory: a `Bytes`, an `Arc<O>`. It comes back whole, also where the buffer is a part.
    ///
    /// ```
    /// use hurray_tensor::Buffer;
    /// let buffer = Buffer::from_owner(String::from("as it was"))?;
    /// let buffer = buffer.try_into_owner::<Vec<u8>>().unwrap_err().value;
    /// assert_eq!(buffer.try_into_owner::<String>().unwrap(), "as it was");
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The buffer, with `memory.owner` or `memory.shared`.
    pub fn try_into_owner<O: Any>(self) -> Result<O, Returned<Self>> {
        let Self { memory, start, length } = self;
        memory.into_owner::<O>().map_err(|memory| {
            let rule = match memory.is_kept_by::<O>() {
                true => Rule::MemoryShared,
                false => Rule::MemoryOwner,
            };
            let error = refuse(rule, "memory", Value::None, Expected::Unsaid);
            Returned { value: Self { memory, start, length }, error }
        })
    }

    /// The vector that the memory was adopted with, whole, and as it was left when it was
    /// written to.
    ///
    /// ```
    /// use hurray_tensor::BufferMut;
    /// let numbers = vec![1_i32, 2, 3];
    /// let first = numbers.as_ptr();
    /// let mut memory = BufferMut::from_vec(numbers)?;
    /// memory.fill(0);
    /// let numbers = memory.freeze().try_into_vec::<i32>().unwrap();
    /// assert_eq!((numbers.as_slice(), numbers.as_ptr()), (&[0; 3][..], first));
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`try_into_owner`](Self::try_into_owner).
    pub fn try_into_vec<T: Element>(self) -> Result<Vec<T>, Returned<Self>> {
        self.try_into_owner()
    }
}
