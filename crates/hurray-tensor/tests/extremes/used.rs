//! Everything that can be asked of a tensor.

use hurray_tensor::dlpack::{self, Export};
use hurray_tensor::exchange::Exported;
use hurray_tensor::{Composite, Copying, Cut, FileWriter, Tensor, WriteOptions};

use super::made::Random;

/// More elements than this nobody waits for.
const SOME: usize = 300;

pub(crate) fn in_every_way(random: &mut Random, tensor: Tensor) {
    let mut tensor = tensor;
    for _ in 0..1 + random.below(4) {
        look(random, &tensor);
        match turned(random, &tensor) {
            Ok(other) => tensor = other,
            Err(error) => assert!(error.rule().is_some(), "{error}"),
        }
    }
    look(random, &tensor);
    hand_over(random, tensor);
}

fn look(random: &mut Random, tensor: &Tensor) {
    let descriptor = tensor.descriptor();
    let rank = descriptor.rank();
    let width = descriptor.dtype().bits();
    let from_iter: Option<Vec<u128>> =
        tensor.iter_bits().ok().map(|elements| elements.take(SOME).collect());
    if let Ok(elements) = tensor.iter_bits() {
        // What it says of its length is so, as far as anybody counts.
        let said = elements.len();
        assert_eq!(Some(said as u64), descriptor.element_count());
        if said <= 4096 {
            assert_eq!(elements.count(), said, "{descriptor:?}");
        }
    }
    if let (Some(first), Ok(at_zero)) =
        (from_iter.as_ref().and_then(|all| all.first()), tensor.bits(&vec![0; rank]))
    {
        assert_eq!(*first, at_zero, "{descriptor:?}");
    }
    for _ in 0..4 {
        let inside: Vec<u64> = descriptor
            .shape()
            .iter()
            .map(|size| {
                let at = if random.one_in(2) { random.number() } else { u64::MAX };
                at.min(size.saturating_sub(1))
            })
            .collect();
        let found = tensor.bits(&inside);
        // Every index of a tensor that can be stepped through has an element.
        if from_iter.is_some() && !descriptor.shape().contains(&0) {
            assert!(found.is_ok(), "{found:?} {inside:?} {descriptor:?}");
        }
        if let Ok(bits) = found {
            assert!(width == 128 || bits >> width == 0);
        }
        let outside = random.shape(rank);
        let _ = tensor.bits(&outside);
        let _ = tensor.bit(&outside);
        let _ = tensor.element::<f32>(&outside);
        let other_rank = random.below(70);
        assert!(rank == other_rank || tensor.bits(&vec![0; other_rank]).is_err());
    }
    if let Ok(bytes) = tensor.as_bytes() {
        assert!(
            tensor.buffers().is_empty() || bytes.len() as u64 <= tensor.buffers()[0].byte_size()
        );
    }
    let _ = tensor.as_slice::<i32>();
    let _ = tensor.iter::<u8>().map(|elements| elements.take(SOME).count());
    let _ = tensor.to_vec::<u8>();
    let _ = tensor.to_vec_within::<f64>(random.number().min(1 << 16));
    if let Ok(copy) = tensor.to_row_major() {
        let again: Option<Vec<u128>> =
            copy.iter_bits().ok().map(|elements| elements.take(SOME).collect());
        if let (Some(one), Some(other)) = (from_iter, again) {
            assert_eq!(one, other, "{descriptor:?}");
        }
        if copy.descriptor().quantization().is_none()
            && let Ok(elements) = copy.to_vec::<u8>()
            && let Ok(own) = copy.try_into_vec::<u8>()
        {
            assert_eq!(elements, own);
        }
    }
    let _ = tensor.to_row_major_within(random.number().min(1 << 16));
    let _ = tensor.check_contents();
    if let Ok(mut entries) = tensor.entries() {
        let mut count = 0;
        while count < SOME && entries.next_entry().unwrap().is_some() {
            count += 1;
        }
    }
    if let Ok(pages) = tensor.pages() {
        for number in [0, 1, 2, u32::MAX] {
            let _ = pages.of(number).map(|ids| {
                ids.iter().map(|id| pages.page(*id).map_or(0, <[u8]>::len)).sum::<usize>()
            });
            let _ = pages.page(u64::from(number));
        }
        let _ = pages.page(random.number());
        let lengths: Vec<u64> = (0..random.below(4)).map(|_| random.number()).collect();
        if let Ok(tokens) = pages.with_lengths(&lengths) {
            let _ = tokens.bits(random.below(3) as u32, random.number(), random.number(), 0);
            if let Ok(bits) = tokens.iter_bits() {
                let said = bits.len();
                assert!(said > 4096 || bits.count() == said);
            }
        }
    }
    let _ = tensor.borrowed().map(|borrowed| borrowed.buffer(0).map(<[u8]>::len));
}

fn turned(random: &mut Random, tensor: &Tensor) -> hurray_tensor::Result<Tensor> {
    let rank = tensor.descriptor().rank();
    match random.below(9) {
        0 => tensor.transpose(),
        1 => {
            let mut axes: Vec<usize> = (0..rank).collect();
            for _ in 0..rank {
                axes.swap(random.below(rank), random.below(rank));
            }
            if random.one_in(3) {
                axes.push(random.of(&[0, rank, usize::MAX]));
            }
            tensor.permute(&axes)
        }
        2 => {
            let cuts: Vec<Cut> = (0..random.below(rank + 2))
                .map(|axis| {
                    let size = tensor.descriptor().shape().get(axis).copied().unwrap_or(0);
                    let mut edge = || random.number().min(if size < 20 { size } else { u64::MAX });
                    let (one, other) = (edge(), edge());
                    Cut::from(one.min(other)..other.max(one)).by(random.step())
                })
                .collect();
            tensor.slice(cuts)
        }
        3 => {
            let (axis, cut) = (random.below(rank + 1), Cut::from(random.number()..));
            let step = random.step();
            tensor.slice_axis(axis, cut.by(step))
        }
        4 => {
            let axis = random.below(rank + 1);
            tensor.index_axis(axis, random.number())
        }
        5 => {
            let axis = random.below(rank + 2);
            tensor.unsqueeze(axis)
        }
        6 => {
            let mut shape = random.shape(random.0 as usize % 3);
            shape.extend(tensor.descriptor().shape().iter().map(|size| match size {
                1 => random.number(),
                size => *size,
            }));
            tensor.broadcast(&shape)
        }
        7 => {
            let mut shape = tensor.descriptor().shape().to_vec();
            if let Some(first) = shape.first_mut() {
                *first = first.wrapping_mul(2);
            }
            shape.insert(random.below(shape.len() + 1), random.of(&[0, 1, 2, u64::MAX - 1]));
            tensor.reshape(&shape)
        }
        _ => {
            let count = tensor.descriptor().element_count().unwrap_or(7);
            let two = random.of(&[1, 2, 3, 4]);
            tensor.reshape(&[two, count / two])
        }
    }
}

fn hand_over(random: &mut Random, tensor: Tensor) {
    let copying = random.of(&[Copying::Never, Copying::WhenNeeded]);
    let how = Export { copying, copy_bytes: 1 << 16, ..Export::default() };
    let again = how.share(&tensor).map(|out: dlpack::Exported| dlpack::Foreign::from(out));
    if let Ok(again) = again.and_then(Tensor::try_from) {
        assert_eq!(again.descriptor().shape(), tensor.descriptor().shape());
        let some = |tensor: &Tensor| {
            tensor.iter_bits().ok().map(|elements| elements.take(SOME).collect::<Vec<_>>())
        };
        assert_eq!(some(&again), some(&tensor), "{:?}", tensor.descriptor());
    }
    drop(Exported::share(&tensor).unwrap());
    let mut file = FileWriter::new(Vec::new(), WriteOptions::default()).unwrap();
    if let Ok(borrowed) = tensor.borrowed() {
        let _ = file.write("t", &borrowed);
        drop(file.finish());
    }
    let composite = Composite::new([tensor.clone()]);
    drop(composite);
    let _ = tensor.try_into_vec::<u8>().map(|elements| elements.len());
}
