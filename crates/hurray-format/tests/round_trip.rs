//! Random descriptors with every optional section: what is built is what is read, in
//! place or kept, and what a permissive reader says is true.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod support;

use hurray_format::*;
use proptest::prelude::*;
use support::random::descriptor;

fn choices() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(any::<u64>(), 0..80)
}

fn all() -> Accept {
    Accept::every_private_tag()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 768, failure_persistence: None, ..<_>::default() })]

    #[test]
    fn what_is_built_is_what_is_read(choices in choices()) {
        let built = descriptor(&choices);
        let bytes = built.encode();
        prop_assert_eq!(bytes.len(), built.encoded_len());
        prop_assert_eq!(Descriptor::length_of(&bytes[..10]), Ok(bytes.len() as u32));

        let mut trace = Recording::default();
        let kept = Descriptor::decode_with(&bytes, &all(), &mut trace).unwrap();
        prop_assert_eq!(&kept, &built);
        let borrowed = DescriptorRef::read_with(&bytes, &all(), &mut Silent).unwrap();
        prop_assert_eq!(&borrowed.to_owned(), &built);
        prop_assert_eq!(&borrowed.encode(), &bytes);

        // The trace names every byte once.
        let mut fields = trace.fields;
        fields.sort_by_key(|field| field.offset);
        let end = fields.iter().try_fold(0, |at, field| {
            (field.offset == at).then_some(at + field.length)
        });
        prop_assert_eq!(end, Some(bytes.len() as u64));

        // Into a buffer of the caller's, which may be longer and may not be shorter.
        let mut out = vec![0xAA; bytes.len() + 3];
        prop_assert_eq!(built.encode_into(&mut out), Ok(bytes.len()));
        prop_assert_eq!(&out[..bytes.len()], &bytes[..]);
        prop_assert_eq!(&out[bytes.len()..], &[0xAA; 3]);
        for short in [0, 19, bytes.len() / 2, bytes.len() - 1] {
            let error = built.encode_into(&mut out[..short]).unwrap_err();
            prop_assert_eq!(error.rule(), Rule::DescriptorOutputTooSmall);
        }
    }

    /// A later minor version may say more; what is known is kept, and the version.
    #[test]
    fn bytes_of_a_later_minor_version_are_stepped_over(
        choices in choices(),
        minor in 1_u8..,
        more in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let built = descriptor(&choices);
        let mut bytes = built.encode();
        bytes.extend(&more);
        let length = bytes.len() as u32;
        bytes[6..10].copy_from_slice(&length.to_le_bytes());
        let read = Descriptor::decode_with(&bytes, &all(), &mut Silent);
        if more.is_empty() {
            prop_assert_eq!(read.as_ref(), Ok(&built));
        } else {
            prop_assert_eq!(read.unwrap_err().rule(), Rule::DescriptorTrailingBytes);
        }
        bytes[5] = minor;
        let read = Descriptor::decode_with(&bytes, &all(), &mut Silent).unwrap();
        prop_assert_eq!(read.version(), (1, minor));
        let mut again = read.encode();
        prop_assert_eq!(again[5], minor);
        again[5] = 0;
        prop_assert_eq!(again, built.encode());
    }

    /// A permissive reader says `Known` exactly when a strict one reads, and the same;
    /// what it calls foreign, a strict one refuses for the reason it gives.
    #[test]
    fn a_permissive_reader_never_lies(
        choices in choices(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        header in prop_oneof![
            Just(None),
            (14_usize..=15, any::<u8>()).prop_map(Some),
        ],
        agreed in any::<bool>(),
    ) {
        let mut bytes = descriptor(&choices).encode();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some((at, tag)) = header {
            bytes[at] = tag;
        }
        let accept = if agreed { all() } else { Accept::default() };
        let strict = DescriptorRef::read_with(&bytes, &accept, &mut Silent);
        match (strict, DescriptorRef::read_permissive(&bytes, &accept)) {
            (Ok(strict), Ok(Permissive::Known(known))) => prop_assert_eq!(strict, known),
            (Err(error), Ok(Permissive::Foreign(foreign))) => {
                prop_assert_eq!(foreign.reason(), error);
                prop_assert_eq!(foreign.bytes(), &bytes[..]);
                prop_assert_eq!((foreign.type_tag(), foreign.layout_tag()), (bytes[14], bytes[15]));
                let tags = ["type_tag", "layout_tag", "scheme_tag"];
                prop_assert!(tags.contains(&error.field()), "{}", error);
            }
            (Err(strict), Err(error)) => {
                // Both refuse, for one reason unless what is unknown came first.
                let unknown = strict.fault() == Fault::Unsupported
                    || strict.rule().id().contains("reserved");
                prop_assert!(strict == error || unknown, "{} / {}", strict, error);
            }
            (strict, permissive) => prop_assert!(false, "{strict:?} / {permissive:?}"),
        }
    }

    /// A tag that is not known leaves everything else checked: what a known tag's
    /// descriptor is refused for by sections of its own, a foreign one is too.
    #[test]
    fn what_a_foreign_type_does_not_touch_is_checked(choices in choices()) {
        let built = descriptor(&choices);
        let mut bytes = built.encode();
        if matches!(built.dtype(), Dtype::Private(_)) {
            return Ok(());
        }
        bytes[14] = 0x60;
        let read = DescriptorRef::read_permissive(&bytes, &all()).unwrap();
        let Permissive::Foreign(foreign) = read else {
            panic!("known");
        };
        prop_assert_eq!(foreign.reason().rule(), Rule::TypeUnknownTag);
        prop_assert_eq!(foreign.shape().to_vec(), built.shape());
        prop_assert_eq!(foreign.buffers().unwrap().to_vec(), built.buffers());
        prop_assert_eq!(foreign.data_bytes(), Some(built.data_bytes()));
        for cut in [bytes.len() - 1, bytes.len() / 2, 20] {
            prop_assert!(DescriptorRef::read_permissive(&bytes[..cut], &all()).is_err());
        }
        bytes.push(0);
        let error = DescriptorRef::read_permissive(&bytes, &all()).unwrap_err();
        prop_assert_eq!(error.rule(), Rule::DescriptorExtraBytes);
    }
}
