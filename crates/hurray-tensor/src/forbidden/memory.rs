//! What memory and its holders forbid.

/// Nobody looks at bytes any more when they are written to again, or given back.
///
/// ```
/// # use hurray_tensor::*;
/// let buffer = BufferMut::zeroed(1)?.freeze();
/// let first = buffer.host_bytes()?[0];
/// let memory = buffer.try_into_mut().unwrap();
/// assert_eq!(first, 0);
/// # Ok::<(), Error>(())
/// ```
///
/// ```compile_fail,E0505
/// # use hurray_tensor::*;
/// let buffer = BufferMut::zeroed(1)?.freeze();
/// let first = &buffer.host_bytes()?[0];
/// let memory = buffer.try_into_mut().unwrap();
/// assert_eq!(*first, 0);
/// # Ok::<(), Error>(())
/// ```
///
/// ```compile_fail,E0505
/// # use hurray_tensor::*;
/// let buffer = BufferMut::from_vec(vec![0_u8])?.freeze();
/// let first = &buffer.host_bytes()?[0];
/// let vector = buffer.try_into_vec::<u8>().unwrap();
/// assert_eq!(*first, 0);
/// # Ok::<(), Error>(())
/// ```
struct BytesAreBorrowed;

/// An event has one holder, who releases it.
///
/// ```
/// # use hurray_tensor::device::*;
/// fn hold(event: Event) {
///     drop(event);
/// }
/// ```
///
/// ```compile_fail,E0382
/// # use hurray_tensor::device::*;
/// fn hold(event: Event) {
///     drop(event);
///     drop(event);
/// }
/// ```
///
/// ```compile_fail,E0599
/// # use hurray_tensor::device::*;
/// fn hold(event: Event) {
///     drop(event.clone());
/// }
/// ```
struct EventsAreReleasedOnce;

/// Memory that others can change is copied, or vouched for.
///
/// ```
/// # use hurray_tensor::*;
/// fn first(shared: &SharedBytes) -> Result<u8> {
///     Ok(shared.copy_out()?[0])
/// }
/// ```
///
/// ```compile_fail,E0608
/// # use hurray_tensor::*;
/// fn first(shared: &SharedBytes) -> Result<u8> {
///     Ok(shared[0])
/// }
/// ```
///
/// ```compile_fail,E0133
/// # use hurray_tensor::*;
/// fn first(shared: &SharedBytes) -> Result<u8> {
///     Ok(shared.as_slice()[0])
/// }
/// ```
struct ChangingBytesAreCopied;

/// Memory that was not written is not read.
///
/// ```
/// # use hurray_tensor::*;
/// let mut memory = Unfilled::new(Alignment::LINE, 1)?;
/// memory.zero_rest();
/// assert_eq!(memory.finish()?[0], 0);
/// # Ok::<(), Error>(())
/// ```
///
/// ```compile_fail,E0608
/// # use hurray_tensor::*;
/// let mut memory = Unfilled::new(Alignment::LINE, 1)?;
/// memory.zero_rest();
/// assert_eq!(memory[0], 0);
/// # Ok::<(), Error>(())
/// ```
struct UnwrittenBytesAreNotRead;

/// What releases memory may run on any thread, and lives as long as the memory.
///
/// ```
/// # use hurray_tensor::*;
/// use std::sync::Arc;
/// let owner: Arc<Vec<u8>> = Arc::new(vec![1]);
/// let buffer = Buffer::from_owner(Arc::unwrap_or_clone(owner))?;
/// # Ok::<(), Error>(())
/// ```
///
/// ```compile_fail,E0277
/// # use hurray_tensor::*;
/// use std::rc::Rc;
/// let owner: Rc<[u8]> = Rc::from(vec![1]);
/// let buffer = Buffer::from_owner(owner)?;
/// # Ok::<(), Error>(())
/// ```
///
/// ```compile_fail,E0277
/// # use hurray_tensor::*;
/// use std::rc::Rc;
/// fn adopt(region: Region, owner: Rc<()>) -> Result<Buffer> {
///     // SAFETY: empty memory.
///     unsafe { Buffer::adopt(Region { length: 0, ..region }, move || drop(owner)) }
/// }
/// ```
///
/// ```compile_fail,E0597
/// # use hurray_tensor::*;
/// let buffer = {
///     let owner = vec![1_u8];
///     Buffer::from_owner(owner.as_slice())?
/// };
/// # Ok::<(), Error>(())
/// ```
struct ReleasesRunAnywhere;

/// That a type's values are elements is promised, and not assumed.
///
/// ```
/// # use hurray_tensor::*;
/// #[derive(Clone, Copy)]
/// #[repr(transparent)]
/// struct Celsius(f32);
/// // SAFETY: it is laid out as a number that is one.
/// unsafe impl Element for Celsius {
///     const DTYPE: format::Dtype = format::Dtype::Float32;
/// }
/// ```
///
/// ```compile_fail,E0200
/// # use hurray_tensor::*;
/// #[derive(Clone, Copy)]
/// #[repr(transparent)]
/// struct Celsius(f32);
/// impl Element for Celsius {
///     const DTYPE: format::Dtype = format::Dtype::Float32;
/// }
/// ```
struct ElementsArePromised;
