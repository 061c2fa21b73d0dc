//! What an input holds, gathered for showing: tensors in the order in which they lie, and
//! which of them are members of which.

use std::ops::Range;

use hurray_tensor::format::{
    self, Accept, Composite, Descriptor, Entry, LayoutKind, Limits, Silent, bind,
};
use hurray_tensor::{Error, File, StreamReader};

/// A tensor that was met.
pub(super) struct Seen {
    /// Its name; in a stream, which has no names, its number.
    pub(super) name: String,
    /// Where its descriptor starts, and how long it is, in bytes.
    pub(super) descriptor: Range<u64>,
    /// Where its data lies, the padding between buffers included.
    pub(super) data: Range<u64>,
    /// What it is and where its buffers lie, or the rule that its descriptor breaks.
    pub(super) known: Result<(Descriptor, Vec<Range<u64>>), format::Error>,
}

/// All tensors of an input.
pub(super) struct Listing {
    pub(super) tensors: Vec<Seen>,
    /// Heads with their members, by number in `tensors`; a tensor that is a member of
    /// nothing and has none is there too.
    pub(super) roots: Vec<Composite<usize>>,
    /// Why composites are not shown as such.
    pub(super) unbound: Option<format::Error>,
}

impl Listing {
    /// What a file holds.
    ///
    /// # Errors
    ///
    /// Where the file cannot be read; broken descriptors are part of the listing.
    pub(super) fn of_file(file: &File, limits: &Limits) -> Result<Self, Error> {
        let mut tensors = Vec::with_capacity(file.len());
        for entry in file.container().index().in_file_order() {
            tensors.push(seen(file, &entry)?);
        }
        Ok(Self::bound(tensors, limits))
    }

    /// What a stream holds, up to where it breaks a rule, if it does.
    pub(super) fn of_stream<R: std::io::Read>(
        stream: &mut StreamReader<R>,
        limits: &Limits,
    ) -> (Self, Option<Error>) {
        let mut tensors = Vec::new();
        let failed = loop {
            match stream.next_tensor() {
                Ok(Some(mut tensor)) => {
                    let start = tensor.offset();
                    let data = tensor.position();
                    let descriptor = tensor.descriptor().clone();
                    let mut at = data;
                    let mut buffers = Vec::with_capacity(descriptor.buffer_count());
                    let skipped = loop {
                        match tensor.copy_buffer(&mut std::io::sink()) {
                            Ok(Some(length)) => {
                                buffers.push(at..at.saturating_add(length));
                                at = at.saturating_add(length);
                            }
                            Ok(None) => break None,
                            Err(error) => break Some(error),
                        }
                    };
                    tensors.push(Seen {
                        name: tensors.len().to_string(),
                        descriptor: start..data,
                        data: data..at,
                        known: Ok((descriptor, buffers)),
                    });
                    if skipped.is_some() {
                        break skipped;
                    }
                }
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        (Self::bound(tensors, limits), failed)
    }

    /// One descriptor alone.
    pub(super) fn of_descriptor(bytes: &[u8], accept: &Accept) -> Result<Self, format::Error> {
        let descriptor = Descriptor::decode_with(bytes, accept, &mut Silent)?;
        let end = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let known = Ok((descriptor, Vec::new()));
        let tensor = Seen { name: "descriptor".into(), descriptor: 0..end, data: end..end, known };
        let roots = vec![Composite { item: 0, members: Vec::new() }];
        Ok(Self { tensors: vec![tensor], roots, unbound: None })
    }

    fn bound(tensors: Vec<Seen>, limits: &Limits) -> Self {
        let (roots, unbound) = match roots(&tensors, limits) {
            Ok(roots) => (roots, None),
            Err(error) => {
                let flat = (0..tensors.len()).map(|item| Composite { item, members: Vec::new() });
                (flat.collect(), Some(error))
            }
        };
        Self { tensors, roots, unbound }
    }

    /// Every head in the order of the file, nested ones too, with its direct members.
    pub(super) fn heads(&self) -> Vec<(&Seen, Vec<&Seen>)> {
        let mut heads = Vec::new();
        let mut stack: Vec<&Composite<usize>> = self.roots.iter().rev().collect();
        while let Some(composite) = stack.pop() {
            let Some(tensor) = self.tensors.get(composite.item) else {
                continue;
            };
            if tensor.is_head() {
                let members = composite.members.iter();
                let members = members.filter_map(|member| self.tensors.get(member.item));
                heads.push((tensor, members.collect()));
            }
            stack.extend(composite.members.iter().rev());
        }
        heads
    }

    /// The first rule that something in the listing breaks.
    pub(super) fn broken(&self) -> Option<format::Error> {
        let descriptors = self.tensors.iter().filter_map(|tensor| tensor.known.as_ref().err());
        descriptors.copied().next().or(self.unbound)
    }
}

impl Seen {
    pub(super) fn descriptor(&self) -> Option<&Descriptor> {
        self.known.as_ref().ok().map(|(descriptor, _)| descriptor)
    }

    fn is_head(&self) -> bool {
        self.descriptor().is_some_and(|d| d.layout().kind() == LayoutKind::Virtual)
    }
}

fn seen(file: &File, entry: &Entry<'_>) -> Result<Seen, Error> {
    let known = match file.read(entry) {
        Ok(tensor) => Ok((tensor.descriptor().clone(), tensor.buffer_ranges().to_vec())),
        Err(error) => match error.format().copied() {
            Some(broken) => Err(broken),
            None => return Err(error),
        },
    };
    Ok(Seen { name: entry.name.into(), descriptor: entry.descriptor(), data: entry.data(), known })
}

fn roots(tensors: &[Seen], limits: &Limits) -> Result<Vec<Composite<usize>>, format::Error> {
    let mut roots = Vec::new();
    let mut rest = tensors.iter().enumerate();
    while let Some((item, tensor)) = rest.next() {
        if !tensor.is_head() {
            // A broken descriptor stands alone; it is told where it is listed.
            roots.push(Composite { item, members: Vec::new() });
            continue;
        }
        let mut members = rest.by_ref().map(|(item, tensor)| match &tensor.known {
            Ok((descriptor, _)) => Ok((descriptor.clone(), item)),
            Err(error) => Err(*error),
        });
        let offset_of = |item: &usize| tensors.get(*item).map_or(0, |t| t.descriptor.start);
        let head = tensor.descriptor().cloned();
        if let Some(head) = head {
            roots.push(bind(head, item, &mut members, offset_of, limits)?);
        }
    }
    Ok(roots)
}
