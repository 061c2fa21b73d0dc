//! Host memory as [`Bytes`], without a copy.
//!
//! The other way [`Buffer::from_owner`](super::Buffer::from_owner) takes `Bytes` as any owner, and
//! [`Buffer::try_into_owner`](super::Buffer::try_into_owner) gives them back.

use bytes::Bytes;

use super::HostBuffer;

impl From<HostBuffer> for Bytes {
    fn from(buffer: HostBuffer) -> Self {
        Self::from_owner(buffer)
    }
}
