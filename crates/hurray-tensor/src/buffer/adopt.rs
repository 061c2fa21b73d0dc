//! Memory that somebody else made, taken as it is.

#![allow(unsafe_code, reason = "that a region is true is a promise only its caller can make")]

use std::any::Any;
use std::sync::Arc;

use super::Buffer;
use crate::element::Element;
use crate::error::Result;
use crate::memory::{Region, Release, SharedOwner, kept_by, share};

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
    /// # Errors
    ///
    /// What no memory of Rust breaks: `memory.address-beyond`.
    pub fn from_owner(owner: impl AsRef<[u8]> + Any + Send + Sync) -> Result<Self> {
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
        O: AsRef<[T]> + Any + Send + Sync,
    {
        kept_by(owner).map(Self::whole)
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
        Self::from_elements::<T, _>(SharedOwner(owner))
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
    /// move, and where `host` is not null the bytes there must be initialised and readable
    /// from any thread. Unless `may_change` is set nobody else may write to them. Where
    /// `writable` is set nobody else may read them either.
    ///
    /// # Errors
    ///
    /// `memory.address-null`, `memory.address-beyond`.
    pub unsafe fn adopt(region: Region, release: impl FnOnce() + Send + 'static) -> Result<Self> {
        let keep = Release::new(release);
        share(region, keep).map(Self::whole)
    }
}
